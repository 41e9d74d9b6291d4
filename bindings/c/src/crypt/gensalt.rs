//! Settings for new hashes.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_char, c_int, c_ulong};
use std::ptr;

use saltern_yescrypt::{Scheme, Setting};

use super::next::Next;
use super::{elsewhere, is_ours, write_token};
use crate::boundary::{Place, bytes, entry, write_text};

/// `CRYPT_GENSALT_OUTPUT_SIZE`
const OUTPUT: usize = 192;

/// The longest salt; further bytes are ignored.
const SALT: usize = 64;

/// The library that makes settings for a prefix that is neither ours nor null.
///
/// # Safety
/// A string or a null pointer.
unsafe fn written_elsewhere(prefix: *const c_char) -> Option<&'static Next> {
    // SAFETY: by the contract above.
    if prefix.is_null() { None } else { unsafe { elsewhere(prefix) } }
}

/// The setting, into a buffer that holds a token.
///
/// # Safety
/// A string or a null pointer; as many bytes as stated.
unsafe fn make(
    prefix: *const c_char,
    count: c_ulong,
    random: (*const c_char, c_int),
    output: *mut c_char,
    room: usize,
) -> Result<*mut c_char, c_int> {
    if room < 3 {
        return Err(libc::ERANGE);
    }
    // SAFETY: a prefix that is ours has three characters.
    let classic = !prefix.is_null() && unsafe { *prefix.add(1) == b'7' as c_char };
    let mut own = [0; 16];
    let salt = if random.0.is_null() {
        // SAFETY: as many bytes as there are.
        let got = unsafe { libc::getrandom(own.as_mut_ptr().cast(), own.len(), 0) };
        if got != own.len() as isize {
            return Err(crate::boundary::errno());
        }
        &own[..]
    } else {
        let len = usize::try_from(random.1).map_err(|_| libc::EINVAL)?.min(SALT);
        // SAFETY: as many bytes as the caller says.
        unsafe { bytes(random.0.cast(), len) }.ok_or(libc::EINVAL)?
    };
    let digits = (salt.len() * 8).div_ceil(6);
    // The size required, though most settings are shorter.
    let needed = if classic { 3 + 1 + 5 * 2 } else { 3 + 8 * 6 + 1 } + digits + 1;
    if room.min(OUTPUT) < needed {
        return Err(libc::ERANGE);
    }
    let scheme = if classic { Scheme::Scrypt } else { Scheme::Yescrypt };
    let cost = u32::try_from(count).map_err(|_| libc::EINVAL)?;
    let setting = Setting::from_cost(scheme, cost, salt).map_err(|_| libc::EINVAL)?;
    // SAFETY: as much room as the caller says.
    unsafe { write_text(output.cast(), room, setting.as_bytes()) }.ok_or(libc::ERANGE)?;
    Ok(output)
}

/// `crypt_gensalt_rn(3)`
///
/// # Safety
/// Strings or null pointers, and as many bytes as stated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt_gensalt_rn(
    prefix: *const c_char,
    count: c_ulong,
    rbytes: *const c_char,
    nrbytes: c_int,
    output: *mut c_char,
    output_size: c_int,
) -> *mut c_char {
    // SAFETY: a string or a null pointer.
    if let Some(next) = unsafe { written_elsewhere(prefix) } {
        // SAFETY: the arguments of this call.
        return unsafe { (next.gensalt_rn)(prefix, count, rbytes, nrbytes, output, output_size) };
    }
    let room = usize::try_from(output_size).unwrap_or_default();
    if !output.is_null() {
        // SAFETY: as much room as the caller says.
        unsafe { write_token(ptr::null(), output.cast(), room) };
    }
    entry(ptr::null_mut(), || {
        // SAFETY: a string or a null pointer.
        let ours = prefix.is_null() || unsafe { is_ours(prefix) };
        if !ours || output.is_null() {
            return Err(libc::EINVAL);
        }
        // SAFETY: what the caller guarantees is passed on.
        unsafe { make(prefix, count, (rbytes, nrbytes), output, room) }
    })
}

/// `crypt_gensalt_ra(3)`: the memory comes from malloc, and the caller frees it.
///
/// # Safety
/// As [`saltern_crypt_gensalt_rn`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt_gensalt_ra(
    prefix: *const c_char,
    count: c_ulong,
    rbytes: *const c_char,
    nrbytes: c_int,
) -> *mut c_char {
    // SAFETY: a string or a null pointer.
    if let Some(next) = unsafe { written_elsewhere(prefix) } {
        // SAFETY: the arguments of this call.
        return unsafe { (next.gensalt_ra)(prefix, count, rbytes, nrbytes) };
    }
    // Not by malloc, which falls back to the reserve (`link/memory.c`). SAFETY: a size that is a
    // multiple of the alignment.
    let output = unsafe { libc::aligned_alloc(64, OUTPUT) }.cast::<c_char>();
    if output.is_null() {
        return output;
    }
    let room = OUTPUT as c_int;
    // SAFETY: what the caller guarantees is passed on, with the room that there is.
    let made = unsafe { saltern_crypt_gensalt_rn(prefix, count, rbytes, nrbytes, output, room) };
    if made.is_null() {
        // SAFETY: it was allocated just now, and nobody has it.
        unsafe { libc::free(output.cast()) };
    }
    made
}

/// `crypt_gensalt(3)`: the answer is in a buffer of the calling thread.
///
/// # Safety
/// As [`saltern_crypt_gensalt_rn`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt_gensalt(
    prefix: *const c_char,
    count: c_ulong,
    rbytes: *const c_char,
    nrbytes: c_int,
) -> *mut c_char {
    thread_local! {
        static ANSWER: Place<OUTPUT> = const { Place::new() };
    }
    // SAFETY: a string or a null pointer.
    if let Some(next) = unsafe { written_elsewhere(prefix) } {
        // SAFETY: the arguments of this call.
        return unsafe { (next.gensalt)(prefix, count, rbytes, nrbytes) };
    }
    let Some(place) = Place::of_thread(&ANSWER) else { return ptr::null_mut() };
    // SAFETY: what the caller guarantees is passed on, with this thread's place.
    unsafe {
        saltern_crypt_gensalt_rn(prefix, count, rbytes, nrbytes, place.cast(), OUTPUT as c_int)
    }
}
