//! An allocator that watches: how much the current thread holds at most, and what is in memory that
//! it gives back.
#![allow(unsafe_code, reason = "an allocator; freed memory is looked at")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Allocations from this size on are looked at when they are freed.
const LARGE: usize = 4096;

pub(crate) struct Watching;

/// What the current thread has done.
struct Watch {
    held: Cell<usize>,
    peak: Cell<usize>,
    /// Large allocations freed, and how many of them held a byte other than 0.
    freed: Cell<usize>,
    dirty: Cell<usize>,
}

thread_local! {
    static WATCH: Watch = const {
        Watch { held: Cell::new(0), peak: Cell::new(0), freed: Cell::new(0), dirty: Cell::new(0) }
    };
}

fn add(bytes: usize) {
    // A thread that ends has no watch any more.
    let _ = WATCH.try_with(|watch| {
        watch.held.set(watch.held.get() + bytes);
        watch.peak.set(watch.peak.get().max(watch.held.get()));
    });
}

/// Before freeing: the memory is still there.
fn remove(bytes: &[u8]) {
    let _ = WATCH.try_with(|watch| {
        // What another thread allocated was not counted here.
        watch.held.set(watch.held.get().saturating_sub(bytes.len()));
        if bytes.len() >= LARGE {
            watch.freed.set(watch.freed.get() + 1);
            watch.dirty.set(watch.dirty.get() + usize::from(bytes.iter().any(|byte| *byte != 0)));
        }
    });
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: promised by the caller. Zeroed, so that looking at it when it is freed is sound.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        unsafe { self.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: a live allocation of that size, initialised when it was made.
        remove(unsafe { std::slice::from_raw_parts(start, layout.size()) });
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(start, layout) }
    }
}

/// The most bytes that this thread held at once while `work` ran, beyond what it held before.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = WATCH.with(|watch| {
        watch.peak.set(watch.held.get());
        watch.held.get()
    });
    let outcome = work();
    (outcome, WATCH.with(|watch| watch.peak.get()) - before)
}

/// How many large allocations this thread freed while `work` ran, and how many of them were not all
/// zeros.
pub(crate) fn freed(work: impl FnOnce()) -> (usize, usize) {
    let now = || WATCH.with(|watch| (watch.freed.get(), watch.dirty.get()));
    let before = now();
    work();
    let after = now();
    (after.0 - before.0, after.1 - before.1)
}
