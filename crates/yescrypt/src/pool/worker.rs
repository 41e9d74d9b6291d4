//! The threads of a pool and what they share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use zeroize::Zeroizing;

use super::batch::Work;
use super::config::{PoolConfig, WipePolicy, bind};
use super::ledger::{Admission, Ledger};
use super::process::Process;
use super::queue::{Queue, Shape, Task, portion};
use super::{PoolStats, lock};
use crate::core::batch::derive_all;
use crate::{CheckedParams, Derivation, Error, Limit, Pages, Workspace};

/// What the threads of a pool, the pool and its tickets share.
pub(super) struct Shared {
    pub(super) config: PoolConfig,
    /// The process that has the threads.
    process: Process,
    state: Mutex<State>,
    /// There may be something to do: work, memory for it, or the end.
    work: Condvar,
    /// A thread is ready to work, or has failed to get there.
    ready: Condvar,
}

struct State {
    queue: Queue,
    ledger: Ledger,
    stats: PoolStats,
    /// Threads that wait for work.
    idle: usize,
    /// Threads that wait for memory.
    starved: usize,
    /// Threads that are ready.
    ready: usize,
    failure: Option<Error>,
    closed: bool,
}

/// Items that are computed together.
struct Group {
    shape: Shape,
    tasks: Vec<Task>,
}

type Outcome = Result<Vec<Zeroizing<Vec<u8>>>, Error>;

/// Bytes that an arena has for so many hashes at once.
pub(super) fn need(params: &CheckedParams, pages: Pages, hashes: usize) -> u64 {
    Workspace::bytes_for(params, hashes, pages).unwrap_or(u64::MAX)
}

impl Shared {
    pub(super) fn new(config: PoolConfig) -> Self {
        let ledger = Ledger::new(config.threads, config.memory, config.level, config.pages);
        let state = State {
            queue: Queue::default(),
            ledger,
            stats: PoolStats { threads: config.threads, ..PoolStats::default() },
            idle: 0,
            starved: 0,
            ready: 0,
            failure: None,
            closed: false,
        };
        Shared {
            config,
            process: Process::current(),
            state: Mutex::new(state),
            work: Condvar::new(),
            ready: Condvar::new(),
        }
    }

    /// Whether this is another process than the one with the threads. There, no lock may be taken: its holder may not exist.
    pub(super) fn forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Puts items into the queue, all or none.
    pub(super) fn submit(
        &self,
        batch: &Arc<dyn Work>,
        shapes: &[(usize, Shape)],
    ) -> Result<(), Error> {
        let limit = self.config.max_waiting;
        if shapes.len() > limit {
            let (value, limit) = (shapes.len() as u64, limit as u64);
            return Err(Error::OverLimit { what: Limit::Batch, value, limit });
        }
        let mut state = lock(&self.state);
        state.admit(shapes.len(), limit)?;
        for &(index, shape) in shapes {
            state.queue.push(shape, Task { work: batch.clone(), index });
        }
        state.stats.batches += 1;
        for _ in 0..shapes.len().min(state.idle) {
            self.work.notify_one();
        }
        Ok(())
    }

    /// Whether anything may be added: asked before a batch is put together.
    pub(super) fn admit(&self) -> Result<(), Error> {
        lock(&self.state).admit(1, self.config.max_waiting)
    }

    /// Cancels what waits of a batch; how many items.
    pub(super) fn cancel(&self, batch: &Arc<dyn Work>) -> usize {
        let mut state = lock(&self.state);
        let cancelled = state.queue.remove(batch);
        state.stats.cancelled += cancelled.len() as u64;
        // The oldest item may have been one that waited for memory.
        self.work.notify_all();
        drop(state);
        settle_all(&cancelled, Error::Cancelled);
        cancelled.len()
    }

    /// Cancels all that waits and tells the threads to end.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let cancelled = state.queue.clear();
        state.stats.cancelled += cancelled.len() as u64;
        drop(state);
        self.work.notify_all();
        settle_all(&cancelled, Error::Cancelled);
    }

    /// Waits until all threads are ready.
    pub(super) fn await_ready(&self) -> Result<(), Error> {
        let mut state = lock(&self.state);
        while state.ready < self.config.threads && state.failure.is_none() {
            state = wait(&self.ready, state);
        }
        state.failure.map_or(Ok(()), Err)
    }

    pub(super) fn stats(&self) -> PoolStats {
        let state = lock(&self.state);
        PoolStats {
            waiting: state.queue.waiting(),
            peak_waiting: state.queue.peak(),
            reserved: state.ledger.reserved(),
            peak_reserved: state.ledger.peak(),
            ..state.stats
        }
    }

    pub(super) fn addresses(&self) -> Vec<core::ops::Range<usize>> {
        lock(&self.state).ledger.addresses()
    }

    /// What thread `me` does.
    pub(super) fn run(&self, me: usize) {
        if let Err(error) = self.set_up(me) {
            lock(&self.state).failure = Some(error);
            self.ready.notify_all();
            return;
        }
        lock(&self.state).ready += 1;
        self.ready.notify_all();
        while let Some((group, mut workspace)) = self.next(me) {
            let computed = catch_unwind(AssertUnwindSafe(|| group.compute(&mut workspace)));
            let outcome = computed.unwrap_or_else(|_| {
                workspace = Workspace::at(self.config.level, self.config.pages);
                Err(Error::Panicked)
            });
            let wiped = self.config.wipe == WipePolicy::AfterEach;
            if wiped {
                workspace.wipe();
            }
            self.put(me, workspace, !wiped, &group, &outcome);
            group.settle(outcome);
        }
    }

    /// Binds the thread to its processor and gets its memory ready.
    fn set_up(&self, me: usize) -> Result<(), Error> {
        let processors = &self.config.processors;
        if !processors.is_empty() {
            bind(processors[me % processors.len()])?;
        }
        let Some(params) = &self.config.prepare else { return Ok(()) };
        let need = |hashes| need(params, self.config.pages, hashes);
        let mut state = lock(&self.state);
        let share = state.ledger.share();
        let hashes = (1..=params.degree()).rev().find(|hashes| need(*hashes) <= share);
        let Some(hashes) = hashes else {
            let value = need(1).saturating_mul(self.config.threads as u64);
            return Err(over_budget(value, self.config.memory));
        };
        let lent = state.ledger.lend(me, hashes, need(hashes));
        drop(state);
        let Admission::Run(_, mut workspace) = lent else { return Ok(()) };
        let prepared = workspace.prepare(params, hashes);
        lock(&self.state).ledger.put(me, workspace, false);
        prepared
    }

    /// Waits for the next group of thread `me`; nothing at the end.
    fn next(&self, me: usize) -> Option<(Group, Workspace)> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            let Some((shape, waiting)) = state.queue.next() else {
                state = self.rest(me, state);
                continue;
            };
            let params = &shape.params;
            let wanted = portion(waiting, state.idle + 1, params.degree());
            let need = |hashes| need(params, self.config.pages, hashes);
            let contended = state.starved > 0;
            match state.ledger.admit(me, wanted, need, contended) {
                Admission::Run(count, workspace) => {
                    let tasks = state.queue.take(&shape, count);
                    // What is left may have become possible for another thread.
                    if state.queue.waiting() > 0 && state.idle + state.starved > 0 {
                        self.work.notify_one();
                    }
                    return Some((Group { shape, tasks }, workspace));
                }
                Admission::Evict(workspaces, bytes) => {
                    drop(state);
                    drop(workspaces);
                    state = lock(&self.state);
                    state.stats.evictions += 1;
                    state.ledger.freed(bytes);
                    self.feed(&state);
                }
                Admission::Wait => {
                    state.starved += 1;
                    state = wait(&self.work, state);
                    state.starved -= 1;
                }
            }
        }
    }

    /// One step of having nothing to do: wiping, or else waiting.
    fn rest<'s>(&'s self, me: usize, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if self.config.wipe == WipePolicy::WhenIdle
            && let Some(mut workspace) = state.ledger.take_dirty(me)
        {
            drop(state);
            workspace.wipe();
            state = lock(&self.state);
            state.ledger.put(me, workspace, false);
            self.feed(&state);
            return state;
        }
        state.idle += 1;
        state = wait(&self.work, state);
        state.idle -= 1;
        state
    }

    /// Takes an arena back and counts what was computed with it.
    fn put(&self, me: usize, workspace: Workspace, dirty: bool, group: &Group, outcome: &Outcome) {
        let mut state = lock(&self.state);
        state.ledger.put(me, workspace, dirty);
        let size = group.tasks.len();
        let stats = &mut state.stats;
        match outcome {
            Ok(_) => {
                stats.hashes += size as u64;
                if let Some(groups) = stats.groups.get_mut(size - 1) {
                    *groups += 1;
                }
            }
            Err(error) => {
                stats.failed += size as u64;
                stats.panics += u64::from(*error == Error::Panicked);
            }
        }
        self.feed(&state);
    }

    /// Memory has become free: whoever waits for it looks again.
    fn feed(&self, state: &State) {
        if state.starved > 0 {
            self.work.notify_all();
        }
    }
}

impl State {
    fn admit(&mut self, items: usize, limit: usize) -> Result<(), Error> {
        let waiting = self.queue.waiting();
        if waiting + items > limit {
            self.stats.refused += 1;
            return Err(Error::Overloaded { waiting: waiting as u64, limit: limit as u64 });
        }
        Ok(())
    }
}

#[cfg(test)]
impl Shared {
    /// Threads that wait for work.
    pub(super) fn idle(&self) -> usize {
        lock(&self.state).idle
    }

    /// Whether anything but zeros is in the arena of an idle thread.
    pub(super) fn residue(&self, me: usize) -> Option<bool> {
        lock(&self.state).ledger.residue(me)
    }
}

/// The refusal of what needs more than the pool has.
pub(super) fn over_budget(value: u64, limit: u64) -> Error {
    Error::OverLimit { what: Limit::PoolMemory, value, limit }
}

impl Group {
    fn compute(&self, workspace: &mut Workspace) -> Outcome {
        let mut outs = Vec::with_capacity(self.tasks.len());
        for _ in &self.tasks {
            outs.push(buffer(self.shape.out_len)?);
        }
        let jobs = self.tasks.iter().zip(&mut outs).map(|(task, out)| {
            let (password, salt) = task.work.input(task.index);
            Derivation { password, salt, out }
        });
        let Some(first) = self.tasks.first() else { return Ok(outs) };
        let roms = first.work.roms(first.index);
        derive_all(&mut jobs.collect::<Vec<_>>(), &self.shape.params, roms, workspace)?;
        Ok(outs)
    }

    fn settle(self, outcome: Outcome) {
        match outcome {
            Ok(outs) => {
                for (task, out) in self.tasks.iter().zip(outs) {
                    task.work.settle(task.index, Ok(out));
                }
            }
            Err(error) => settle_all(&self.tasks, error),
        }
    }
}

/// Zeros for an output, allocated fallibly: a caller may ask for any length.
fn buffer(len: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut buffer = Zeroizing::new(Vec::new());
    buffer.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes: len as u64 })?;
    buffer.resize(len, 0);
    Ok(buffer)
}

fn settle_all(tasks: &[Task], error: Error) {
    for task in tasks {
        task.work.settle(task.index, Err(error));
    }
}

fn wait<'s, T>(condition: &Condvar, guard: MutexGuard<'s, T>) -> MutexGuard<'s, T> {
    condition.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}
