//! Functions of one's own among the hashes.

use saltern_pool::task::Task;

use crate::passwords::Passwords;
use crate::ticket::Ticket;

impl Passwords {
    /// Computes a function of one's own in a thread of the pool, beside the hashes: work on many
    /// stored strings, say. It has the place in the queue, and the deadline, that other calls of
    /// this handle have; keep it short (some milliseconds), since a login that comes meanwhile
    /// waits for it.
    ///
    /// ```
    /// use saltern::{Passwords, Policy};
    /// let passwords = Passwords::new(Policy::default())?.bulk();
    /// assert_eq!(passwords.run(|| (1..=10).sum::<u32>()).wait()?, 55);
    /// # Ok::<(), saltern::Error>(())
    /// ```
    ///
    /// # Errors
    /// In the ticket: *overloaded* if the queue is full; *internal* if the function panics.
    pub fn run<T: Send + 'static>(&self, run: impl FnOnce() -> T + Send + 'static) -> Ticket<T> {
        // Predictions are for hashes, and learn nothing from it.
        let task = Task { memory: 0, work: 0 };
        Ticket::of(self.pool().run_one(task, run, self.terms()))
    }
}
