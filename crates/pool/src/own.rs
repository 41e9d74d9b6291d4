//! Which pool a thread belongs to, and computing in a caller's thread for a pool without any.

use std::cell::Cell;
use std::sync::Mutex;

use crate::shared::{Shared, lock};
use crate::worker;

thread_local! {
    /// The pool that this thread belongs to, by its address, and the thread's number. What the
    /// standard library knows of a thread would be allocated for one that it has not begun.
    static OWN: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

fn address(shared: &Shared) -> usize {
    std::ptr::from_ref(shared).addr()
}

/// Notes that this is a thread of a pool.
pub(crate) fn enter(shared: &Shared, me: usize) {
    OWN.set(Some((address(shared), me)));
}

/// Whether this is thread `me` of a pool.
pub(crate) fn is(shared: &Shared, me: usize) -> bool {
    OWN.get() == Some((address(shared), me))
}

/// Computes what waits in the pool, one caller after the other. What an answer submits is computed
/// by whoever computed the answer.
pub(crate) fn compute_here(shared: &Shared, one: &Mutex<()>) {
    if is(shared, 0) {
        return;
    }
    let _one = lock(one);
    let before = OWN.replace(Some((address(shared), 0)));
    let done = worker::run_here(shared);
    OWN.set(before);
    if let Err(error) = done {
        shared.end_waiting(&error);
    }
}
