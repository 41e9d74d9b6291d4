//! Counts what is really done, as the kernels and the ends see it: in tests only, in each thread.

use core::cell::Cell;

/// What was done, for each thing that has a weight.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    /// Blocks, and their bytes, through pwxform.
    pub(crate) pwxform: (u128, u128),
    /// The same through Salsa20, those of S-boxes being filled among them.
    pub(crate) salsa20: (u128, u128),
    /// Blocks read from ROMs.
    pub(crate) reads: u128,
    /// Bytes that PBKDF2 makes, and bytes that it takes in.
    pub(crate) ends: (u128, u128),
}

std::thread_local! {
    static DONE: Cell<Done> = const { Cell::new(Done {
        pwxform: (0, 0),
        salsa20: (0, 0),
        reads: 0,
        ends: (0, 0),
    }) };
}

/// Says that something was done.
pub(crate) fn count(change: impl FnOnce(&mut Done)) {
    let mut done = DONE.get();
    change(&mut done);
    DONE.set(done);
}

/// What this thread does while `work` runs.
pub(crate) fn counted(work: impl FnOnce()) -> Done {
    let before = DONE.replace(Done::default());
    work();
    DONE.replace(before)
}
