//! Counts the actual work of the kernels and the ends, per thread: in tests only.

use core::cell::Cell;

/// The work done, for each operation that has a weight.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    /// Blocks, and their bytes, through pwxform.
    pub(crate) pwxform: (u128, u128),
    /// Blocks, and their bytes, through Salsa20, including those for filling S-boxes.
    pub(crate) salsa20: (u128, u128),
    /// Blocks read from ROMs.
    pub(crate) reads: u128,
    /// Bytes that PBKDF2 produces, and bytes that it absorbs.
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

/// Counts some work.
pub(crate) fn count(change: impl FnOnce(&mut Done)) {
    let mut done = DONE.get();
    change(&mut done);
    DONE.set(done);
}

/// The work of this thread while `work` runs.
pub(crate) fn counted(work: impl FnOnce()) -> Done {
    let before = DONE.replace(Done::default());
    work();
    DONE.replace(before)
}
