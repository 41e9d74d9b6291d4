//! Tickets, which callers hold while items are computed, and the answers as they arrive.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::error::Error;
use crate::shared::{Shared, lock};

/// The results of a batch, in the order of its items.
pub type Results<T> = Vec<Result<T, Error>>;

/// A batch in progress: it gives [`Results`].
pub type BatchTicket<T> = Ticket<Results<T>>;

/// One item in progress.
pub type OneTicket<T> = Ticket<Result<T, Error>>;

/// The result of a [`Ticket`]: [`Results`], or a single [`Result`].
pub trait Answer: sealed::Sealed + Sized {
    /// The result of each item.
    type Item: Send + 'static;

    #[doc(hidden)]
    fn of(results: Results<Self::Item>) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Results<T> {}
    impl<T> Sealed for Result<T, super::Error> {}
}

impl<T: Send + 'static> Answer for Results<T> {
    type Item = T;

    fn of(results: Results<T>) -> Self {
        results
    }
}

impl<T: Send + 'static> Answer for Result<T, Error> {
    type Item = T;

    fn of(results: Results<T>) -> Self {
        results.into_iter().next().unwrap_or(Err(Error::Cancelled))
    }
}

/// Items that a [`Pool`](crate::Pool) has accepted. Dropping the ticket cancels those that have not
/// begun.
///
/// It can be waited for, polled, or awaited as a future under any executor. Results are in the
/// order of the items, one for each. In a process that was forked after the pool was made, all of
/// them are [`Error::Forked`].
#[must_use = "dropping a ticket cancels its items"]
pub struct Ticket<A: Answer> {
    answers: Arc<Answers<A::Item>>,
    shared: Arc<Shared>,
    batch: u64,
}

impl<A: Answer> Ticket<A> {
    pub(crate) fn new(answers: Arc<Answers<A::Item>>, shared: Arc<Shared>, batch: u64) -> Self {
        Ticket { answers, shared, batch }
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.answers.len
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all results are available, so that waiting returns at once.
    #[must_use]
    pub fn is_done(&self) -> bool {
        // In a forked process the lock may be held forever by a thread that does not exist here.
        self.shared.forked() || self.answers.missing() == 0
    }

    /// Waits for all results.
    ///
    /// Each item has its own result. Its error can be one of those of the call that made the
    /// ticket, [`Error::Expired`], [`Error::Cancelled`], [`Error::Hash`],
    /// [`Error::RomUnavailable`], [`Error::Forked`] and [`Error::Panicked`].
    pub fn wait(self) -> A {
        if self.shared.forked() {
            return self.forked();
        }
        self.answers.wait(None);
        A::of(self.answers.take())
    }

    /// The results if they are available.
    ///
    /// # Errors
    /// The ticket, if they are not.
    pub fn try_wait(self) -> Result<A, Self> {
        if self.is_done() { Ok(self.wait()) } else { Err(self) }
    }

    /// Waits for at most this long.
    ///
    /// # Errors
    /// The ticket, if some results are not available by then.
    pub fn wait_timeout(self, timeout: Duration) -> Result<A, Self> {
        let done = self.shared.forked() || self.answers.wait(Some(timeout));
        if done { Ok(self.wait()) } else { Err(self) }
    }

    /// Cancels the items on which work has not begun: their results are [`Error::Cancelled`].
    /// Returns how many there were. Items that have begun are finished, and their results remain
    /// available.
    pub fn cancel(&self) -> usize {
        if self.is_done() { 0 } else { self.shared.cancel(self.batch) }
    }

    fn forked(&self) -> A {
        A::of((0..self.len()).map(|_| Err(Error::Forked)).collect())
    }
}

impl<A: Answer> Drop for Ticket<A> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<A: Answer> Future for Ticket<A> {
    type Output = A;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<A> {
        if self.shared.forked() {
            return Poll::Ready(self.forked());
        }
        self.answers
            .poll(context.waker())
            .map_or(Poll::Pending, |results| Poll::Ready(A::of(results)))
    }
}

impl<A: Answer> fmt::Debug for Ticket<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticket {{ {} items }}", self.len())
    }
}

/// The answers of a submission as they arrive.
pub(crate) struct Answers<T> {
    len: usize,
    state: Mutex<State<T>>,
    done: Condvar,
}

struct State<T> {
    answers: Vec<Option<Result<T, Error>>>,
    missing: usize,
    /// The waker of the task that polls.
    waker: Option<Waker>,
}

impl<T> Answers<T> {
    /// For as many items, of which some are answered already.
    pub(crate) fn new(answers: Vec<Option<Result<T, Error>>>) -> Self {
        let missing = answers.iter().filter(|answer| answer.is_none()).count();
        let len = answers.len();
        let state = Mutex::new(State { answers, missing, waker: None });
        Answers { len, state, done: Condvar::new() }
    }

    fn missing(&self) -> usize {
        lock(&self.state).missing
    }

    /// Waits for all answers, for at most this long; returns whether they are available.
    fn wait(&self, timeout: Option<Duration>) -> bool {
        let missing = |state: &mut State<T>| state.missing > 0;
        let state = lock(&self.state);
        match timeout {
            None => {
                drop(self.done.wait_while(state, missing).unwrap_or_else(PoisonError::into_inner));
                true
            }
            Some(timeout) => {
                let waited = self.done.wait_timeout_while(state, timeout, missing);
                waited.unwrap_or_else(PoisonError::into_inner).0.missing == 0
            }
        }
    }

    /// The answers, which must be available; empty the second time.
    fn take(&self) -> Results<T> {
        lock(&self.state).answers.drain(..).flatten().collect()
    }

    /// The answers if they are available; otherwise `waker` is woken once they are.
    fn poll(&self, waker: &Waker) -> Option<Results<T>> {
        // Wakers are foreign code, which is not called with the lock held.
        let waker = waker.clone();
        let mut state = lock(&self.state);
        if state.missing > 0 {
            let old = state.waker.replace(waker);
            drop(state);
            drop(old);
            return None;
        }
        Some(state.answers.drain(..).flatten().collect())
    }

    /// Stores the answer of an item. Called once for each.
    pub(crate) fn put(&self, index: usize, answer: Result<T, Error>) {
        let mut state = lock(&self.state);
        state.answers[index] = Some(answer);
        state.missing -= 1;
        if state.missing > 0 {
            return;
        }
        let waker = state.waker.take();
        drop(state);
        self.done.notify_all();
        if let Some(waker) = waker {
            // This is foreign code in a pool thread: it must not end the thread.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}
