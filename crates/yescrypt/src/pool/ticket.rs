//! What a caller holds while a batch is computed.

use core::pin::Pin;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::batch::{Answer, Batch, Work};
use super::worker::Shared;
use crate::Error;

/// A batch that a [`Pool`](super::Pool) works on. Dropping it cancels what has not begun.
///
/// It can be waited for, polled, or awaited as a future under any executor. Results are in the order of the items, one for each.
/// In a process that was forked after the pool was made, all of them are [`Error::Forked`].
#[must_use = "dropping a ticket cancels its batch"]
pub struct Ticket<T: Answer> {
    batch: Arc<Batch<T>>,
    shared: Arc<Shared>,
}

impl<T: Answer> Ticket<T> {
    pub(super) fn new(batch: Arc<Batch<T>>, shared: Arc<Shared>) -> Self {
        Ticket { batch, shared }
    }

    /// How many items the batch has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all results are there, so that waiting takes no time.
    #[must_use]
    pub fn is_done(&self) -> bool {
        // In a forked process another thread may have held the lock for ever.
        self.shared.forked() || self.batch.open() == 0
    }

    /// Waits for all results.
    ///
    /// # Errors
    /// For each item its own: those of the call that made the ticket, [`Error::Cancelled`], [`Error::OutOfMemory`], the errors of a
    /// ROM, [`Error::Forked`], [`Error::Panicked`].
    pub fn wait(self) -> Vec<Result<T, Error>> {
        if self.shared.forked() {
            return self.all_forked();
        }
        self.batch.wait(None);
        self.batch.take()
    }

    /// The results if they are there, and otherwise the ticket again.
    ///
    /// # Errors
    /// The ticket; for each item as [`Ticket::wait`].
    pub fn try_wait(self) -> Result<Vec<Result<T, Error>>, Self> {
        if self.is_done() { Ok(self.wait()) } else { Err(self) }
    }

    /// Waits at most for so long.
    ///
    /// # Errors
    /// The ticket, if some results are not there by then; for each item as [`Ticket::wait`].
    pub fn wait_timeout(self, timeout: Duration) -> Result<Vec<Result<T, Error>>, Self> {
        let done = self.shared.forked() || self.batch.wait(Some(timeout));
        if done { Ok(self.wait()) } else { Err(self) }
    }

    /// Gives up the items on which work has not begun: their results are [`Error::Cancelled`]. How many they were. What has begun
    /// is finished, and its results can still be had.
    pub fn cancel(&self) -> usize {
        if self.is_done() {
            return 0;
        }
        let batch: Arc<dyn Work> = self.batch.clone();
        self.shared.cancel(&batch)
    }

    fn all_forked(&self) -> Vec<Result<T, Error>> {
        (0..self.len()).map(|_| Err(Error::Forked)).collect()
    }
}

impl<T: Answer> Drop for Ticket<T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl<T: Answer> Future for Ticket<T> {
    type Output = Vec<Result<T, Error>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.shared.forked() {
            return Poll::Ready(self.all_forked());
        }
        self.batch.poll(context.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T: Answer> core::fmt::Debug for Ticket<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Ticket {{ {} items }}", self.len())
    }
}
