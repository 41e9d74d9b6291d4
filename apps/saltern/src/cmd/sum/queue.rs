//! The tasks of a run, as the workers take them.

use std::collections::VecDeque;
use std::io;
use std::iter::Fuse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::algorithm::{Digest, Spec};
use super::input::Input;

/// Results that may wait for an earlier one: bounds the backlog behind one long file.
const WINDOW: u64 = 16 * 1024;

/// Tasks that are read in advance, to determine how many each worker may still get.
const LOOK_AHEAD: usize = 256;

/// An entry in the output: an input to hash, or only a remark.
pub(super) struct Task<T> {
    pub(super) about: T,
    pub(super) work: Option<(Input, Spec)>,
}

/// The result for an input: its digest, or why there is none.
pub(super) type Outcome = io::Result<Digest>;

/// A result with the place of its task.
pub(super) type Numbered<T> = (u64, T, Option<Outcome>);

/// A source of tasks that the workers of a run share.
pub(super) struct Queue<I: Iterator> {
    source: Mutex<Source<I>>,
    /// How many results have been printed.
    printed: Mutex<u64>,
    advanced: Condvar,
    stop: AtomicBool,
    workers: usize,
    /// Tasks are taken one by one.
    slow: bool,
}

struct Source<I: Iterator> {
    taken: u64,
    tasks: Fuse<I>,
    ahead: VecDeque<I::Item>,
}

impl<T, I: Iterator<Item = Task<T>>> Queue<I> {
    /// `slow` means that the iterator may block, so no result should wait for it.
    pub(super) fn new(tasks: I, workers: usize, slow: bool) -> Self {
        Self {
            source: Mutex::new(Source { taken: 0, tasks: tasks.fuse(), ahead: VecDeque::new() }),
            printed: Mutex::new(0),
            advanced: Condvar::new(),
            stop: AtomicBool::new(false),
            workers,
            slow,
        }
    }

    /// The next task and its number, once printing is close enough.
    pub(super) fn next(&self) -> Option<(u64, Task<T>)> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = source.taken;
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let far = |printed: &mut u64| taken - *printed >= WINDOW && !self.stopped();
        drop(self.advanced.wait_while(printed, far));
        if self.stopped() {
            return None;
        }
        source.look_ahead(if self.slow { 1 } else { LOOK_AHEAD });
        source.take()
    }

    /// The next task, if available without waiting: for a worker with unfinished work, on which
    /// printing may be waiting in turn. A worker with `streams` long files in progress gets no more
    /// than its share of the rest.
    pub(super) fn next_at_once(&self, streams: usize) -> Option<(u64, Task<T>)> {
        let mut source = self.source.try_lock().ok()?;
        let printed = *self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.slow || source.taken - printed >= WINDOW || self.stopped() {
            return None;
        }
        source.look_ahead(LOOK_AHEAD);
        let share = (source.ahead.len() + streams).div_ceil(self.workers);
        if streams > 0 && streams >= share {
            return None;
        }
        source.take()
    }

    /// Sets the number of printed results.
    pub(super) fn set_printed(&self, printed: u64) {
        *self.printed.lock().unwrap_or_else(PoisonError::into_inner) = printed;
        self.advanced.notify_all();
    }

    /// Stop every worker.
    pub(super) fn halt(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // The lock orders this after the check of a worker that is about to wait.
        drop(self.printed.lock());
        self.advanced.notify_all();
    }

    /// Set once the workers should stop.
    pub(super) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl<I: Iterator> Source<I> {
    fn look_ahead(&mut self, count: usize) {
        let missing = count.saturating_sub(self.ahead.len());
        self.ahead.extend(self.tasks.by_ref().take(missing));
    }

    fn take(&mut self) -> Option<(u64, I::Item)> {
        let task = self.ahead.pop_front()?;
        self.taken += 1;
        Some((self.taken - 1, task))
    }
}

/// Held by a worker: should it panic, the others must not wait for its results.
pub(super) struct HaltOnPanic<'a, T, I: Iterator<Item = Task<T>>>(pub(super) &'a Queue<I>);

impl<T, I: Iterator<Item = Task<T>>> Drop for HaltOnPanic<'_, T, I> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.halt();
        }
    }
}
