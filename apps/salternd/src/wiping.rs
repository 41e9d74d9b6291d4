//! Memory that is wiped when it is freed, by any library: HTTP, TLS and JSON may leave passwords in
//! their buffers. It is given back to the system once clients have gone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The system allocator, which overwrites freed memory with zeros.
pub(crate) struct Wiping;

/// Blocks from this size on are counted: buffers and tasks, which are most of what a client takes.
const COUNTED: usize = 1024;

/// The bytes of such blocks, and the most that there have been since memory was given back.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// How much less has to be taken before the rest is given back, and how often that is looked at.
const LESS: usize = 4 << 20;
const LOOK: Duration = Duration::from_secs(1);

// SAFETY: everything is the system allocator's, with the same layouts. Overwritten memory has just
// been freed by its owner, so nobody else has it. Growing, by default, allocates, copies and frees.
#[allow(unsafe_code, reason = "an allocator is one; docs/unsafe.md lists this file")]
unsafe impl GlobalAlloc for Wiping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        counted(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        counted(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if layout.size() >= COUNTED {
            TAKEN.fetch_sub(layout.size(), Relaxed);
        }
        let bytes = memory.cast::<MaybeUninit<u8>>();
        // SAFETY: it was allocated with this layout, and nobody uses it any more.
        saltern_wipe::overwrite(unsafe { slice::from_raw_parts_mut(bytes, layout.size()) });
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Counts a new block, unless it is null.
fn counted(block: *mut u8, layout: Layout) -> *mut u8 {
    let size = layout.size();
    if size >= COUNTED && !block.is_null() {
        let taken = TAKEN.fetch_add(size, Relaxed) + size;
        if taken > MOST.load(Relaxed) {
            MOST.fetch_max(taken, Relaxed);
        }
    }
    block
}

/// Gives freed memory back to the system after connections have ended, bodies have been read, or
/// answers sent. By itself the C library keeps what lies between blocks that are still in use.
///
/// Without a thread for it, that memory is kept.
pub(crate) fn give_back_in_the_background() {
    if cfg!(not(all(target_os = "linux", target_env = "gnu"))) {
        return;
    }
    let look = || loop {
        std::thread::sleep(LOOK);
        let taken = TAKEN.load(Relaxed);
        if MOST.load(Relaxed).saturating_sub(taken) >= LESS {
            MOST.store(taken, Relaxed);
            give_back();
        }
    };
    let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(look);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    #[allow(unsafe_code, reason = "a function of the C library; docs/unsafe.md lists this file")]
    // SAFETY: it is declared as in <malloc.h>, and may be called at any time, in any thread.
    unsafe extern "C" {
        safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
    }
    malloc_trim(0);
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}
