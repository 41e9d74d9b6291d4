//! The caller's own functions among the hashes.

use saltern_pool::task::Task;

use crate::passwords::Passwords;
use crate::ticket::Ticket;

impl Passwords {
    /// Runs a function of the caller's in a thread of the pool, beside the hashes: for example work
    /// on many stored strings. It has the same place in the queue and the same deadline as other
    /// calls of this handle; keep it short (some milliseconds), since logins that arrive meanwhile
    /// wait for it.
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
        // It does not affect predictions, which are for hashes.
        let task = Task { memory: 0, work: 0 };
        Ticket::of(self.pool().run_one(task, run, self.terms()))
    }
}
