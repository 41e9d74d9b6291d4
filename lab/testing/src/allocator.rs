//! An allocator that watches: how much the current thread holds at most, and what is in memory that
//! is given back. A test program makes it its own:
//!
//! ```
//! # use saltern_testing::allocator::Watching;
//! #[global_allocator]
//! static ALLOCATOR: Watching = Watching;
//! ```
#![allow(unsafe_code, reason = "an allocator; freed memory is looked at")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

/// Allocations from this size on are looked at when they are freed.
const LARGE: usize = 4096;

/// Allocations from this size on are searched for numbers. Short lists are not: compilers copy a
/// `None` together with whatever was on the stack in its place.
const SEARCHED: usize = 512;

/// The system's allocator, watched.
pub struct Watching;

/// Numbers that no thread may leave in memory, each in the place that it determines.
static SECRET: [AtomicU64; 8192] = [const { AtomicU64::new(0) }; 8192];
/// How often one was found in memory.
static FOUND: AtomicUsize = AtomicUsize::new(0);

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

fn place(number: u64) -> &'static AtomicU64 {
    &SECRET[number as usize % SECRET.len()]
}

/// Before freeing: the memory is still there.
fn remove(bytes: &[u8]) {
    if bytes.len() >= SEARCHED {
        let numbers = bytes.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes));
        let is_secret = |number: &u64| *number != 0 && place(*number).load(SeqCst) == *number;
        FOUND.fetch_add(numbers.filter(is_secret).count(), SeqCst);
    }
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

/// From now on this number must not be in memory that is freed, by any thread. It should be a large
/// one, which nothing else happens to be. A few of many random numbers are forgotten.
pub fn forbid(number: u64) {
    place(number).store(number, SeqCst);
}

/// How many numbers there are that must not be in freed memory, and how many were found in it.
#[must_use]
pub fn forbidden() -> (usize, usize) {
    let numbers = SECRET.iter().filter(|number| number.load(SeqCst) != 0).count();
    (numbers, FOUND.load(SeqCst))
}

/// The most bytes that this thread held at once while `work` ran, beyond what it held before.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = WATCH.with(|watch| {
        watch.peak.set(watch.held.get());
        watch.held.get()
    });
    let outcome = work();
    (outcome, WATCH.with(|watch| watch.peak.get()) - before)
}

/// How many large allocations this thread freed while `work` ran, and how many of them were not all
/// zeros.
pub fn freed(work: impl FnOnce()) -> (usize, usize) {
    let now = || WATCH.with(|watch| (watch.freed.get(), watch.dirty.get()));
    let before = now();
    work();
    let after = now();
    (after.0 - before.0, after.1 - before.1)
}
