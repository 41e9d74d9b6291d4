//! Which of the standard streams were closed when the program started.
//!
//! The Rust runtime opens /dev/null in place of those that are closed, before `main`: afterwards
//! this cannot be distinguished from an intended /dev/null. So they are checked before the runtime
//! starts.
#![allow(unsafe_code, reason = "a function that runs before the runtime, and fcntl(2) in it")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each stream.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The function that the system's loader calls before `main`.
// SAFETY: this section holds pointers to C functions that the loader calls, one after the other and
// in the only thread that there is. `look` is one that needs nothing of the runtime.
#[unsafe(link_section = ".init_array")]
#[used]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    for number in 0..3 {
        // SAFETY: F_GETFD takes any number, and only reads flags.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << number, Ordering::Relaxed);
        }
    }
}

/// Whether this stream (0 to 2) was closed.
pub(super) fn at_start(number: c_int) -> bool {
    CLOSED.load(Ordering::Relaxed) >> number & 1 == 1
}
