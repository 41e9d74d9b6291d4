//! Memory kept between hashes: as much as is needed by the threads that can compute at once, and
//! none once the threads that have hashed have ended.
#![allow(unsafe_code, reason = "memory that threads hand on, and a function for when they end")]

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use saltern_yescrypt::Workspace;

use crate::boundary::boxed;
use crate::gather::processors;

/// The most bytes that are kept between hashes. The memory of a larger hash is freed after it.
const CEILING: usize = 48 << 20;

/// Kept workspaces, wiped. A thread that takes one puts it back or frees it, without a lock that a
/// forked process could find held.
static KEPT: [AtomicPtr<Workspace>; 256] = [const { AtomicPtr::new(ptr::null_mut()) }; 256];

/// The number of threads that have hashed and still exist.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// Lends memory, which is wiped before it is kept.
pub(super) fn with_arena<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    let counted = count_thread();
    let Some(mut workspace) = take().or_else(|| boxed(Workspace::new())) else {
        return work(&mut Workspace::new());
    };
    let done = work(&mut workspace);
    if counted && (1..=CEILING).contains(&workspace.memory()) {
        workspace.wipe();
        keep(workspace);
    }
    done
}

fn take() -> Option<Box<Workspace>> {
    KEPT.iter().find_map(empty)
}

/// Takes the workspace from a place, if there is one.
fn empty(place: &AtomicPtr<Workspace>) -> Option<Box<Workspace>> {
    if place.load(Ordering::Relaxed).is_null() {
        return None;
    }
    let taken = place.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: `keep` has put it there, and it has just been taken out.
    if taken.is_null() { None } else { Some(unsafe { Box::from_raw(taken) }) }
}

/// Keeps a workspace, unless there are as many as threads can use at once.
fn keep(workspace: Box<Workspace>) {
    let users = USERS.load(Ordering::Relaxed).min(KEPT.len());
    // One thread needs no system call, which it may have forbidden itself.
    let most = if users > 1 { users.min(processors().unwrap_or(1)) } else { users };
    let new = Box::into_raw(workspace);
    for place in &KEPT[..most] {
        let none = ptr::null_mut();
        if place.compare_exchange(none, new, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
    }
    // SAFETY: it has not gone anywhere.
    drop(unsafe { Box::from_raw(new) });
}

/// Called when a thread that has hashed ends: frees workspaces kept for more threads than there
/// are.
extern "C" fn thread_ends(_: *mut c_void) {
    crate::boundary::guard((), || {
        let left = USERS.fetch_sub(1, Ordering::Relaxed).saturating_sub(1);
        KEPT[left.min(KEPT.len())..].iter().for_each(|place| drop(empty(place)));
    });
}

/// Counts this thread until it ends; returns whether it is counted.
fn count_thread() -> bool {
    let Some(key) = key() else { return false };
    // SAFETY: the key was made by `key`, and is never deleted.
    if !unsafe { libc::pthread_getspecific(key) }.is_null() {
        return true;
    }
    // SAFETY: as above; the value is an address that nobody reads from.
    let set = unsafe { libc::pthread_setspecific(key, (&raw const USERS).cast()) } == 0;
    USERS.fetch_add(usize::from(set), Ordering::Relaxed);
    set
}

/// The key whose destructor reports the end of threads; `None` if there are too many keys in this
/// process.
fn key() -> Option<libc::pthread_key_t> {
    /// The key and 1, or 0.
    static KEY: AtomicU32 = AtomicU32::new(0);
    if let Some(known) = KEY.load(Ordering::Acquire).checked_sub(1) {
        return Some(known);
    }
    let mut key = 0;
    // SAFETY: a place for a key, and a function of this library, which is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } != 0 {
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
