//! The boundary of every entry: nothing unwinds into C, pointers and lengths become slices or an
//! error, and failures are reported by errno.
#![allow(unsafe_code, reason = "pointers of C as references, and errno")]

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::thread::LocalKey;

use saltern_yescrypt::{Error, ErrorKind};

use crate::reserve;

/// Runs an entry; if it panics, which is a defect, the answer is `otherwise`. The thread cannot be
/// cancelled meanwhile (pthread_cancel(3)): cancellation unwinds, for which Rust aborts the
/// process.
pub(crate) fn guard<T>(otherwise: T, entry: impl FnOnce() -> T) -> T {
    let before = set_cancel_state(CANCEL_DISABLE);
    let done = catch_unwind(AssertUnwindSafe(entry)).unwrap_or_else(|panic| {
        // Its destructor could panic, too.
        mem::forget(panic);
        otherwise
    });
    set_cancel_state(before);
    done
}

/// `PTHREAD_CANCEL_DISABLE`
const CANCEL_DISABLE: c_int = 1;

/// Returns the previous state.
#[cfg(not(miri))]
fn set_cancel_state(state: c_int) -> c_int {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    }
    let mut old = 0;
    // SAFETY: a state of this thread, and a place for the previous one.
    unsafe { pthread_setcancelstate(state, &raw mut old) };
    old
}

/// Miri has no cancellation.
#[cfg(miri)]
fn set_cancel_state(state: c_int) -> c_int {
    state
}

/// An entry that reports failures by errno and the answer `failed`. It does not begin without some
/// memory for small allocations, and it does not change errno on success.
pub(crate) fn entry<T: Copy>(failed: T, body: impl FnOnce() -> Result<T, c_int>) -> T {
    last_entry(failed, || if reserve::is_ready() { body() } else { Err(libc::ENOMEM) })
}

/// An entry that frees memory, and needs none.
pub(crate) fn last_entry<T: Copy>(failed: T, body: impl FnOnce() -> Result<T, c_int>) -> T {
    let before = errno();
    let done = guard(Err(libc::EIO), body);
    let (answer, number) = done.map_or_else(|number| (failed, number), |answer| (answer, before));
    set_errno(number);
    answer
}

/// A per-thread buffer for an answer, valid until the thread's next call. Aligned as the words of
/// `yescrypt_binary_t`.
#[repr(C, align(8))]
pub(crate) struct Place<const LEN: usize>(UnsafeCell<[u8; LEN]>);

impl<const LEN: usize> Place<LEN> {
    pub(crate) const fn new() -> Self {
        Place(UnsafeCell::new([0; LEN]))
    }

    /// The buffer of the calling thread; `None` while the thread ends.
    pub(crate) fn of_thread(places: &'static LocalKey<Self>) -> Option<*mut u8> {
        guard(None, || Some(places.with(|place| place.0.get().cast())))
    }
}

/// The errno value for an error.
pub(crate) fn number_of(error: Error) -> c_int {
    match (error, error.kind()) {
        (Error::OutOfMemory { .. }, _) => libc::ENOMEM,
        (_, ErrorKind::Internal) => libc::EIO,
        _ => libc::EINVAL,
    }
}

pub(crate) fn errno() -> c_int {
    // SAFETY: the address of this thread's errno, which is always there.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(number: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = number }
}

/// The bytes at a pointer; `None` for a null pointer with a length, or a length that no object can
/// have.
///
/// # Safety
/// A pointer that is not null has as many readable bytes, which stay as they are for `'a`.
pub(crate) unsafe fn bytes<'a>(start: *const u8, len: usize) -> Option<&'a [u8]> {
    if len == 0 {
        return Some(&[]);
    }
    if start.is_null() || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: by the contract above.
    Some(unsafe { std::slice::from_raw_parts(start, len) })
}

/// The string at a pointer, without its terminating zero byte; `None` for a null pointer, or if
/// there is no zero byte among the first `most` + 1. No byte after those is read.
///
/// # Safety
/// A pointer that is not null has readable bytes up to a zero byte or the limit, which stay as they
/// are for `'a`.
pub(crate) unsafe fn text<'a>(start: *const c_char, most: usize) -> Option<&'a [u8]> {
    if start.is_null() {
        return None;
    }
    #[cfg(not(miri))]
    // SAFETY: by the contract above.
    let len = unsafe { libc::strnlen(start, most + 1) };
    // Miri does not have it.
    #[cfg(miri)]
    // SAFETY: by the contract above.
    let len = (0..=most).find(|&at| unsafe { *start.add(at) } == 0).unwrap_or(most + 1);
    // SAFETY: strnlen has read this many bytes.
    if len > most { None } else { unsafe { bytes(start.cast(), len) } }
}

/// A copy of a plain value at any address; `None` for a null pointer.
///
/// # Safety
/// A pointer that is not null has a readable value.
pub(crate) unsafe fn copied<T: Copy>(place: *const T) -> Option<T> {
    if place.is_null() {
        return None;
    }
    // SAFETY: by the contract above; it need not be aligned.
    Some(unsafe { place.read_unaligned() })
}

/// A reference; `None` for a pointer that is null or not aligned.
///
/// # Safety
/// A pointer that is aligned and not null has a value that stays as it is for `'a`.
pub(crate) unsafe fn object<'a, T>(place: *const T) -> Option<&'a T> {
    // SAFETY: by the contract above.
    if place.is_aligned() { unsafe { place.as_ref() } } else { None }
}

/// [`object`], mutable, which nobody else accesses for `'a`.
///
/// # Safety
/// A pointer that is aligned and not null has a value that is the caller's alone.
pub(crate) unsafe fn object_mut<'a, T>(place: *mut T) -> Option<&'a mut T> {
    // SAFETY: by the contract above.
    if place.is_aligned() { unsafe { place.as_mut() } } else { None }
}

/// Writes a plain value to memory that may be uninitialised; `None` for a pointer that is null or
/// not aligned.
///
/// # Safety
/// A pointer that is aligned and not null has room for it.
pub(crate) unsafe fn put<T: Copy>(place: *mut T, value: &T) -> Option<()> {
    if place.is_null() || !place.is_aligned() {
        return None;
    }
    // SAFETY: by the contract above.
    unsafe { place.copy_from_nonoverlapping(value, 1) };
    Some(())
}

/// Writes bytes to a pointer that is not null.
///
/// # Safety
/// There is room for them; the memory may be uninitialised, and may have been the input.
pub(crate) unsafe fn write(place: *mut u8, from: &[u8]) {
    // SAFETY: by the contract above.
    unsafe { ptr::copy(from.as_ptr(), place, from.len()) }
}

/// Writes a string and its zero byte, if there is room for both.
///
/// # Safety
/// As [`write`], for `room` bytes.
pub(crate) unsafe fn write_text(place: *mut u8, room: usize, text: &[u8]) -> Option<()> {
    if place.is_null() || text.len() >= room {
        return None;
    }
    // SAFETY: by the contract above, with the zero byte.
    unsafe {
        write(place, text);
        write(place.add(text.len()), &[0]);
    }
    Some(())
}

/// A value on the heap; `None` if there is no memory for it.
pub(crate) fn boxed<T>(value: T) -> Option<Box<T>> {
    const { assert!(size_of::<T>() > 0) }
    // SAFETY: the layout has a size.
    let place = unsafe { std::alloc::alloc(Layout::new::<T>()) }.cast::<T>();
    if place.is_null() {
        return None;
    }
    // SAFETY: allocated with the layout that `Box` gives it back with, and written to.
    Some(unsafe {
        place.write(value);
        Box::from_raw(place)
    })
}

/// Zero bytes on the heap; `None` if there is no memory for them.
pub(crate) fn zeros(len: usize) -> Option<saltern_wipe::Zeroizing<Vec<u8>>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).ok()?;
    bytes.resize(len, 0);
    Some(saltern_wipe::Zeroizing::new(bytes))
}
