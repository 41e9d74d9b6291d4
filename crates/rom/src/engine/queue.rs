//! Items that wait, and the groups that threads take.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use saltern_yescrypt::Error as Core;
use zeroize::Zeroizing;

use super::{Answer, EngineError, Work};

/// One hash to compute.
pub(super) struct Item {
    pub(super) work: Arc<Work>,
    pub(super) password: Zeroizing<Vec<u8>>,
    pub(super) salt: Zeroizing<Vec<u8>>,
    /// Its place in the batch.
    pub(super) index: usize,
    pub(super) reply: Sender<(usize, Answer)>,
}

impl Item {
    /// Nobody may be listening any more.
    pub(super) fn answer(&self, answer: Answer) {
        let _ = self.reply.send((self.index, answer));
    }
}

/// What waits, oldest first.
pub(super) struct Queue {
    state: Mutex<State>,
    more: Condvar,
    limit: usize,
    /// Threads that wait for memory, which others hold.
    pub(super) starving: AtomicUsize,
}

struct State {
    items: VecDeque<Item>,
    /// Threads that wait for items.
    idle: usize,
    closed: bool,
}

/// What a thread that has nothing to do finds after waiting.
#[derive(PartialEq, Eq)]
pub(super) enum Found {
    /// Perhaps items; perhaps others who need memory.
    Something,
    /// The end of the engine.
    Closed,
}

impl Queue {
    pub(super) fn new(limit: usize) -> Self {
        let state = State { items: VecDeque::new(), idle: 0, closed: false };
        Queue { state: Mutex::new(state), more: Condvar::new(), limit, starving: 0.into() }
    }

    /// Nothing panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, items: Vec<Item>) -> Result<(), EngineError> {
        let mut state = self.lock();
        if state.items.len() + items.len() > self.limit {
            let (waiting, limit) = (state.items.len() as u64, self.limit as u64);
            return Err(Core::Overloaded { waiting, limit }.into());
        }
        state.items.extend(items);
        drop(state);
        self.more.notify_all();
        Ok(())
    }

    /// The oldest item and up to `most` - 1 behind it of the same shape, fewer if there are idle threads for the rest.
    pub(super) fn take(&self, most: impl FnOnce(&Work) -> usize) -> Vec<Item> {
        let mut state = self.lock();
        let Some(first) = state.items.front() else { return Vec::new() };
        let share = state.items.len().div_ceil(state.idle + 1);
        let most = most(&first.work).min(share).max(1);
        let alike =
            |item: &&Item| Arc::ptr_eq(&item.work, &first.work) || *item.work == *first.work;
        let count = state.items.iter().take(most).take_while(alike).count();
        state.items.drain(..count).collect()
    }

    /// Returns what cannot be computed now, to the place where it was.
    pub(super) fn put_back(&self, items: Vec<Item>) {
        let mut state = self.lock();
        for item in items.into_iter().rev() {
            state.items.push_front(item);
        }
    }

    /// Waits until there may be something to do.
    pub(super) fn wait(&self) -> Found {
        let mut state = self.lock();
        state.idle += 1;
        let nothing = |state: &mut State| {
            state.items.is_empty() && !state.closed && self.starving.load(Relaxed) == 0
        };
        state = self.more.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner);
        state.idle -= 1;
        if state.closed { Found::Closed } else { Found::Something }
    }

    /// Lets other threads give back memory that they do not use, for a moment.
    pub(super) fn starve(&self) {
        self.starving.fetch_add(1, Relaxed);
        self.more.notify_all();
        std::thread::sleep(Duration::from_millis(2));
        self.starving.fetch_sub(1, Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Ends all waiting. Items that wait are dropped, which their tickets notice.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let cancelled = std::mem::take(&mut state.items);
        drop(state);
        drop(cancelled);
        self.more.notify_all();
    }

    pub(super) fn reopen(&self) {
        self.lock().closed = false;
    }
}
