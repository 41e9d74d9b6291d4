//! What the threads of a pool, the pool and its tickets share.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::config::PoolConfig;
use crate::error::Error;
use crate::item::{Item, Queued, end_all};
use crate::ledger::{Arena, Ledger};
use crate::process::Process;
use crate::queue::Entry;
use crate::schedule::{Items, Scheduler};
use crate::shape::Shape;
use crate::stats::PoolStats;
use crate::terms::Terms;

/// What the threads of a pool, the pool and its tickets share.
pub(crate) struct Shared {
    pub(crate) config: PoolConfig,
    /// The process that has the threads.
    process: Process,
    started: Instant,
    pub(crate) state: Mutex<State>,
    /// Signalled when there may be something to do: work, memory for it, or the end.
    pub(crate) work: Condvar,
    /// Signalled when a thread is ready to work, or has failed to start.
    pub(crate) ready: Condvar,
    /// Held by the caller that computes, if the pool has no threads.
    pub(crate) turn: Mutex<()>,
}

pub(crate) struct State {
    pub(crate) scheduler: Scheduler<Arc<Shape>, Item>,
    pub(crate) ledger: Ledger,
    pub(crate) stats: PoolStats,
    /// Threads that wait for work.
    pub(crate) idle: usize,
    /// Threads that have been woken and have not looked for work yet.
    pub(crate) waking: usize,
    /// Idle threads that hold buffers, which they free if they are woken.
    pub(crate) idle_with_buffers: usize,
    /// Threads that wait for memory.
    pub(crate) starved: usize,
    /// Threads that are ready.
    pub(crate) ready: usize,
    pub(crate) failure: Option<Error>,
    /// The caller that has the turn.
    pub(crate) caller: Option<usize>,
    /// The threads of the pool, by [`this_thread`].
    pub(crate) members: Vec<usize>,
    pub(crate) closed: bool,
    /// The number of the next submission.
    next_batch: u64,
}

/// An item to submit.
pub(crate) type Submission = (Arc<Shape>, Item);

impl Shared {
    pub(crate) fn new(config: PoolConfig) -> Self {
        let PoolConfig { threads, memory, max_waiting, patience, level, pages, .. } = config;
        let state = State {
            scheduler: Scheduler::new(threads, max_waiting, patience),
            ledger: Ledger::new(threads, memory, level, pages),
            stats: PoolStats { budget: memory, ..PoolStats::default() },
            idle: 0,
            waking: 0,
            idle_with_buffers: 0,
            starved: 0,
            ready: 0,
            failure: None,
            caller: None,
            members: Vec::new(),
            closed: false,
            next_batch: 0,
        };
        Shared {
            config,
            process: Process::current(),
            started: Instant::now(),
            state: Mutex::new(state),
            work: Condvar::new(),
            ready: Condvar::new(),
            turn: Mutex::new(()),
        }
    }

    /// Whether this is a process other than the one with the threads. There, no lock may be taken:
    /// its holder may not exist.
    pub(crate) fn forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Whether anything may be added: called before a submission is assembled.
    pub(crate) fn admit(&self, terms: Terms) -> Result<(), Error> {
        let mut state = lock(&self.state);
        let admitted = state.scheduler.admit_any(Instant::now(), terms);
        state.count(&admitted);
        admitted
    }

    /// Puts items into the queue, all or none. Returns the number of the submission.
    pub(crate) fn submit(&self, terms: Terms, items: Vec<Submission>) -> Result<u64, Error> {
        let now = Instant::now();
        let mut all = Items::default();
        items.iter().for_each(|(shape, _)| all.add(shape.cost));
        let mut state = lock(&self.state);
        if let Err(refused) = state.admit(now, terms, &all) {
            drop(state);
            // Nobody waits for these yet.
            drop(items);
            return Err(refused);
        }
        let batch = state.next_batch;
        state.next_batch += 1;
        state.stats.batches += 1;
        let (class, share, due) = (terms.class(), terms.whose(), terms.due(now));
        for (shape, item) in items {
            let cost = shape.cost;
            state.scheduler.push(Entry {
                shape,
                class,
                share,
                due,
                arrived: now,
                cost,
                batch,
                item,
            });
        }
        // A thread that waits for memory for a large item may have enough for one that comes before
        // it.
        let wanted = all.count.min(state.idle + state.starved);
        drop(state);
        for _ in 0..wanted {
            self.work.notify_one();
        }
        Ok(batch)
    }

    /// Cancels the waiting items of a submission; returns how many there were.
    pub(crate) fn cancel(&self, batch: u64) -> usize {
        let cancelled = lock(&self.state).cancel(|other| other == batch);
        // The next item may have been one that waited for memory.
        self.work.notify_all();
        let count = cancelled.len();
        end_all(cancelled, &Error::Cancelled);
        count
    }

    /// Cancels all waiting items and tells the threads to end.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let cancelled = state.cancel(|_| true);
        drop(state);
        self.work.notify_all();
        end_all(cancelled, &Error::Cancelled);
    }

    /// Puts back items for which the system has no memory now, beside others.
    pub(crate) fn give_back(&self, items: Vec<Queued>) {
        let mut state = lock(&self.state);
        state.scheduler.give_back(items);
        // The pool may have been closed meanwhile.
        let cancelled = if state.closed { state.cancel(|_| true) } else { Vec::new() };
        drop(state);
        self.work.notify_one();
        end_all(cancelled, &Error::Cancelled);
    }

    /// Waits until all threads are ready.
    pub(crate) fn await_ready(&self) -> Result<(), Error> {
        let mut state = lock(&self.state);
        while state.ready < self.config.threads && state.failure.is_none() {
            state = wait(&self.ready, state);
        }
        state.failure.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let state = lock(&self.state);
        let now = Instant::now();
        PoolStats {
            idle: state.idle,
            elapsed: self.started.elapsed(),
            waiting: state.scheduler.waiting(),
            waiting_interactive: state.scheduler.waiting_interactive(),
            peak_waiting: state.scheduler.peak_waiting(),
            running: state.scheduler.running(),
            reserved: state.ledger.reserved(),
            peak_reserved: state.ledger.peak(),
            rate: state.scheduler.total_rate(now),
            predicted_wait: state.scheduler.predicted_wait(now),
            ..state.stats
        }
    }

    pub(crate) fn addresses(&self) -> Vec<Range<usize>> {
        lock(&self.state).ledger.addresses()
    }

    /// Memory has become free: wakes the threads that wait for it.
    pub(crate) fn feed(&self, state: &State) {
        if state.starved > 0 {
            self.work.notify_all();
        }
    }

    /// Returns arenas that have been taken out of the ledger to the system.
    pub(crate) fn evict(&self, arenas: Vec<Arena>) {
        let bytes = arenas.iter().map(|arena| arena.bytes).sum();
        drop(arenas);
        let mut state = lock(&self.state);
        state.stats.evictions += 1;
        state.ledger.freed(bytes);
        self.feed(&state);
    }
}

impl State {
    fn admit(&mut self, now: Instant, terms: Terms, items: &Items) -> Result<(), Error> {
        let admitted = self.scheduler.admit(now, terms, items);
        self.count(&admitted);
        admitted
    }

    fn count(&mut self, admitted: &Result<(), Error>) {
        match admitted {
            Err(Error::Overloaded { .. }) => self.stats.refused += 1,
            Err(Error::TooLate { .. }) => self.stats.refused_late += 1,
            _ => {}
        }
    }

    /// Takes out the waiting items of these submissions, which must be ended without the lock.
    fn cancel(&mut self, which: impl Fn(u64) -> bool) -> Vec<Queued> {
        let cancelled = self.scheduler.remove(which);
        self.stats.cancelled += cancelled.len() as u64;
        cancelled
    }

    /// Takes out expired items, which must be ended without the lock.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Queued> {
        let expired = self.scheduler.expire(now);
        self.stats.expired += expired.len() as u64;
        expired
    }
}

/// No code that holds one of the pool's locks panics, so poisoning can be ignored.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn wait<'s, T>(condition: &Condvar, guard: MutexGuard<'s, T>) -> MutexGuard<'s, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// A number for the calling thread that no other thread has while this one lives. What the standard
/// library knows of a thread that it has not begun would be allocated, and never freed in the main
/// one.
pub(crate) fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}
