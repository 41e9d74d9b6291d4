//! Memory that is wiped when it is freed, by any library: HTTP, TLS and JSON may leave passwords in
//! their buffers.

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;
use std::slice;

/// The system allocator, which overwrites freed memory with zeros.
pub(crate) struct Wiping;

// SAFETY: everything is the system allocator's, with the same layouts. Overwritten memory has just
// been freed by its owner, so nobody else has it. Growing, by default, allocates, copies and frees.
#[allow(unsafe_code, reason = "an allocator is one; docs/unsafe.md lists this file")]
unsafe impl GlobalAlloc for Wiping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let bytes = memory.cast::<MaybeUninit<u8>>();
        // SAFETY: it was allocated with this layout, and nobody uses it any more.
        saltern_wipe::overwrite(unsafe { slice::from_raw_parts_mut(bytes, layout.size()) });
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.dealloc(memory, layout) }
    }
}
