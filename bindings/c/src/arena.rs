//! The memory of hashes, taken when a call's turn has come and given back before the call ends.
//!
//! A library that gives back the memory of each hash has, at any moment, memory for all calls in
//! progress. What is kept here between hashes stays within that: new memory is taken only when none
//! is kept that fits exactly, and all that is kept is freed first. So what is held, in use or kept,
//! is never more than calls in progress once needed. A process with limits on its memory might miss
//! even that much between its calls, and keeps none.
#![allow(unsafe_code, reason = "memory that threads hand on, and a function for when they end")]

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use saltern_yescrypt::{Error, Workspace};

use crate::boundary::boxed;
use crate::processors::processors;

/// The most bytes that are kept between hashes. The memory of a larger hash is freed after it.
const CEILING: usize = 48 << 20;

/// Where the memory for a call's hashes comes from.
pub(crate) enum Memory<'a> {
    /// A workspace of the caller, who keeps it.
    Own(&'a mut Workspace),
    /// What is kept here.
    Kept,
}

impl Memory<'_> {
    /// Lends memory for some hashes that need this many bytes each.
    pub(crate) fn lend(
        &mut self,
        hashes: usize,
        each: u64,
        mut work: impl FnMut(&mut Workspace) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Memory::Own(workspace) => work(workspace),
            Memory::Kept => lend_kept((hashes, each), work),
        }
    }
}

/// How many hashes a workspace is for, and the bytes that each needs.
type Size = (usize, u64);

struct Kept {
    workspace: Workspace,
    size: Size,
}

/// Kept workspaces, wiped. A thread that takes one puts it back or frees it, without a lock that a
/// forked process could find held.
static KEPT: [AtomicPtr<Kept>; 256] = [const { AtomicPtr::new(ptr::null_mut()) }; 256];

/// The number of threads that have hashed and still exist.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// Lends kept or new memory, which is wiped before it is kept.
fn lend_kept(
    size: Size,
    mut work: impl FnMut(&mut Workspace) -> Result<(), Error>,
) -> Result<(), Error> {
    let counted = count_thread();
    let bytes = size.1 * size.0 as u64;
    let (mut kept, keeps) = match take(size) {
        Some(kept) => (kept, true),
        None => {
            let new = boxed(Kept { workspace: Workspace::new(), size });
            (new.ok_or(Error::OutOfMemory { bytes })?, counted && !is_limited())
        }
    };
    let mut done = work(&mut kept.workspace);
    // Another call may have put memory back after `take` had looked.
    while matches!(done, Err(Error::OutOfMemory { .. })) && free_kept() {
        done = work(&mut kept.workspace);
    }
    let held = kept.workspace.memory();
    if keeps && held as u64 >= bytes && held <= CEILING {
        kept.workspace.wipe();
        keep(kept);
    }
    done
}

/// Kept memory of this size. What is found of another size on the way is freed, and if there is
/// none of this size, all the rest: put back, it could be missed by who frees it in between.
fn take(size: Size) -> Option<Box<Kept>> {
    KEPT.iter().filter_map(empty).find(|kept| kept.size == size)
}

/// Frees all that is kept; returns whether anything was.
fn free_kept() -> bool {
    KEPT.iter().filter_map(empty).count() > 0
}

/// Takes what is in a place, if there is anything.
fn empty(place: &AtomicPtr<Kept>) -> Option<Box<Kept>> {
    if place.load(Ordering::Relaxed).is_null() {
        return None;
    }
    let taken = place.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: `keep` has put it there, and it has just been taken out.
    if taken.is_null() { None } else { Some(unsafe { Box::from_raw(taken) }) }
}

/// Whether the process has a limit on its memory that kept memory counts towards.
fn is_limited() -> bool {
    [libc::RLIMIT_AS, libc::RLIMIT_DATA].into_iter().any(|what| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a place for a limit.
        let known = unsafe { libc::getrlimit(what, &raw mut limit) } == 0;
        known && limit.rlim_cur != libc::RLIM_INFINITY
    })
}

/// Keeps a workspace, unless there are as many as threads can use at once.
fn keep(mut kept: Box<Kept>) {
    let users = USERS.load(Ordering::Relaxed).min(KEPT.len());
    // One thread needs no system call, which it may have forbidden itself.
    let most = if users > 1 { users.min(processors().unwrap_or(1)) } else { users };
    for place in &KEPT[..most] {
        match put(place, kept) {
            Ok(()) => return,
            Err(back) => kept = back,
        }
    }
}

/// Puts a workspace into a place that is empty.
fn put(place: &AtomicPtr<Kept>, kept: Box<Kept>) -> Result<(), Box<Kept>> {
    let (none, new) = (ptr::null_mut(), Box::into_raw(kept));
    let put = place.compare_exchange(none, new, Ordering::Release, Ordering::Relaxed);
    // SAFETY: it has not gone anywhere.
    put.map(drop).map_err(|_| unsafe { Box::from_raw(new) })
}

/// Called when a thread that has hashed ends: frees what is kept for more hashes than there are
/// threads.
extern "C" fn thread_ends(_: *mut c_void) {
    crate::boundary::guard((), || {
        let mut left = USERS.fetch_sub(1, Ordering::Relaxed).saturating_sub(1);
        for place in &KEPT {
            let Some(kept) = empty(place) else { continue };
            if let Some(rest) = left.checked_sub(kept.size.0) {
                left = rest;
                // Freed if another one has taken its place.
                let _ = put(place, kept);
            }
        }
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
