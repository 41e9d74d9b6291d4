//! Memory that is wiped when it is given back, whichever library had it: what HTTP, TLS and JSON
//! leave in buffers of their own may be passwords.

use std::alloc::{GlobalAlloc, Layout, System};

/// The allocator of the system, with zeros written over what goes back.
pub(crate) struct Wiping;

// SAFETY: everything is the system allocator's, with the same layouts. What is written over has
// just been given back, so that nobody else has it. Growing, by default, allocates, copies and
// gives back.
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
        // SAFETY: it was allocated with this layout, and nobody uses it any more.
        unsafe { memory.write_bytes(0, layout.size()) };
        // The compiler must not see that nobody reads these zeros.
        zeroize::optimization_barrier(&memory);
        // SAFETY: the caller keeps to the same contract.
        unsafe { System.dealloc(memory, layout) }
    }
}
