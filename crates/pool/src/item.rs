//! An item on its way: what it is computed from, and whom its result goes to.

use std::sync::Arc;

use zeroize::Zeroizing;

use crate::error::Error;
use crate::queue::Taken;
use crate::shape::Shape;

/// The bytes of an item, or why there are none.
pub(crate) type Outcome = Result<Zeroizing<Vec<u8>>, Error>;

/// An item that has been taken on. It ends exactly once: if it is dropped, it was cancelled.
pub(crate) struct Item {
    pub(crate) password: Zeroizing<Vec<u8>>,
    /// As it goes into the KDF.
    pub(crate) salt: Zeroizing<Vec<u8>>,
    doubt: Doubt,
    /// What computes it, if it is not a hash that the pool knows.
    pub(crate) task: Option<Run>,
    reply: Option<Reply>,
}

/// What computes the bytes of a task.
pub(crate) type Run = Box<dyn FnOnce() -> Outcome + Send>;

/// Whether nothing is to be said of these bytes before what was read of ROMs has been checked; none
/// for always.
pub(crate) type Doubt = Option<Box<dyn Fn(&[u8]) -> bool + Send>>;

/// An item out of the queue, and what it needs to be put back.
pub(crate) type Queued = Taken<Arc<Shape>, Item>;

/// Takes the outcome to whoever waits. It may run foreign code: never called with a lock held.
pub(crate) type Reply = Box<dyn FnOnce(Outcome) + Send>;

impl Item {
    pub(crate) fn new(
        password: Zeroizing<Vec<u8>>,
        salt: Zeroizing<Vec<u8>>,
        doubt: Doubt,
        reply: Reply,
    ) -> Self {
        Item { password, salt, doubt, task: None, reply: Some(reply) }
    }

    /// With a function that computes it.
    pub(crate) fn of_task(task: Run, reply: Reply) -> Self {
        let mut item = Self::new(Zeroizing::default(), Zeroizing::default(), None, reply);
        item.task = Some(task);
        item
    }

    pub(crate) fn is_doubtful(&self, output: &[u8]) -> bool {
        self.doubt.as_ref().is_none_or(|doubt| doubt(output))
    }

    /// Ends it.
    pub(crate) fn end(mut self, outcome: Outcome) {
        if let Some(reply) = self.reply.take() {
            reply(outcome);
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            reply(Err(Error::Cancelled));
        }
    }
}

/// Ends all of them in the same way. Never called with a lock held.
pub(crate) fn end_all(items: Vec<Queued>, error: &Error) {
    for queued in items {
        queued.entry.item.end(Err(error.clone()));
    }
}
