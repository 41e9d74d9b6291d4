//! Memory that a thread keeps between hashes, and gives back when it ends.
#![allow(unsafe_code, reason = "what a thread leaves behind is given back by the C library")]

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use saltern_yescrypt::Workspace;

use crate::boundary::boxed;

/// The most bytes that a thread keeps. What a larger hash took is given back after it.
const CEILING: usize = 48 << 20;

/// Lends this thread's memory, which is wiped before it is kept. A call within a call, from a
/// handler of a signal, say, gets memory of its own.
pub(super) fn with_arena<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    let key = key();
    let mut workspace = match key.and_then(take) {
        Some(kept) => kept,
        None => match boxed(Workspace::new()) {
            Some(new) => new,
            None => return work(&mut Workspace::new()),
        },
    };
    let done = work(&mut workspace);
    if let Some(key) = key
        && workspace.memory() <= CEILING
    {
        workspace.wipe();
        keep(key, workspace);
    }
    done
}

/// What this thread has kept.
fn take(key: libc::pthread_key_t) -> Option<Box<Workspace>> {
    // SAFETY: the key was made by `key`, and is never deleted.
    let kept = unsafe { libc::pthread_getspecific(key) }.cast::<Workspace>();
    if kept.is_null() {
        return None;
    }
    // SAFETY: as above. Replacing a value that is there takes no memory.
    unsafe { libc::pthread_setspecific(key, ptr::null()) };
    // SAFETY: `keep` has put it there, and it is there no more.
    Some(unsafe { Box::from_raw(kept) })
}

fn keep(key: libc::pthread_key_t, workspace: Box<Workspace>) {
    let raw = Box::into_raw(workspace);
    // SAFETY: the key was made by `key`, and is never deleted.
    if unsafe { libc::pthread_setspecific(key, raw.cast()) } != 0 {
        // SAFETY: it has not gone there.
        drop(unsafe { Box::from_raw(raw) });
    }
}

/// When a thread ends.
unsafe extern "C" fn give_back(kept: *mut c_void) {
    crate::boundary::guard((), || {
        // SAFETY: `keep` has put it there, and the C library has taken it away.
        drop(unsafe { Box::from_raw(kept.cast::<Workspace>()) });
    });
}

/// The key under which threads keep their memory; none if there are too many keys in this process.
fn key() -> Option<libc::pthread_key_t> {
    /// The key and 1, or 0.
    static KEY: AtomicU32 = AtomicU32::new(0);
    if let Some(known) = KEY.load(Ordering::Acquire).checked_sub(1) {
        return Some(known);
    }
    let mut key = 0;
    // SAFETY: a place for a key, and a function of this library, which is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(give_back)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: nobody has seen it.
            unsafe { libc::pthread_key_delete(key) };
            other.checked_sub(1)
        }
    }
}
