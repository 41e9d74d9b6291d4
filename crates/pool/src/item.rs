//! An item in progress: its inputs, and the receiver of its result.

use std::sync::Arc;

use saltern_wipe::Zeroizing;

use crate::error::Error;
use crate::password::Password;
use crate::queue::Taken;
use crate::shape::Shape;

/// The bytes of an item, or why there are none.
pub(crate) type Outcome = Result<Zeroizing<Vec<u8>>, Error>;

/// An accepted item. It ends exactly once: if it is dropped, it was cancelled.
pub(crate) struct Item {
    pub(crate) password: Password,
    /// As it goes into the KDF.
    pub(crate) salt: Zeroizing<Vec<u8>>,
    needs_rom_check: NeedsRomCheck,
    /// The function that computes it, if it is a task and not a hash.
    pub(crate) task: Option<Run>,
    reply: Option<Reply>,
}

/// The function that computes the bytes of a task.
pub(crate) type Run = Box<dyn FnOnce() -> Outcome + Send>;

/// Whether these bytes must not be answered before the reads from ROMs have been checked; `None`
/// means always.
pub(crate) type NeedsRomCheck = Option<Box<dyn Fn(&[u8]) -> bool + Send>>;

/// An item taken from the queue, with what is needed to put it back.
pub(crate) type Queued = Taken<Arc<Shape>, Item>;

/// Passes the outcome to the waiting caller. It may run foreign code: never called with a lock
/// held.
pub(crate) type Reply = Box<dyn FnOnce(Outcome) + Send>;

impl Item {
    pub(crate) fn new(
        password: Password,
        salt: Zeroizing<Vec<u8>>,
        needs_rom_check: NeedsRomCheck,
        reply: Reply,
    ) -> Self {
        Item { password, salt, needs_rom_check, task: None, reply: Some(reply) }
    }

    /// An item that a function computes.
    pub(crate) fn of_task(task: Run, reply: Reply) -> Self {
        let mut item = Self::new(Password::from(""), Zeroizing::default(), None, reply);
        item.task = Some(task);
        item
    }

    pub(crate) fn is_doubtful(&self, output: &[u8]) -> bool {
        self.needs_rom_check.as_ref().is_none_or(|needs_rom_check| needs_rom_check(output))
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
