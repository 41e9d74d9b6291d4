//! crypt(3) and related functions, for `LD_PRELOAD`: `$y$` and `$7$` are computed here, everything
//! else by the next libcrypt. Failure tokens, errno and limits are libxcrypt's (4.4).
//!
//! The functions are called `saltern_crypt…` here; `link/crypt.c` exports them under the names and
//! versions that programs look for.
#![allow(unsafe_code, reason = "functions for C")]

mod gensalt;
mod next;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use saltern_yescrypt::Setting;
use saltern_yescrypt::hazmat::crypt3::{self, byte_refused_by_crypt};
use saltern_yescrypt::params::Syntax;

pub use self::gensalt::{
    saltern_crypt_gensalt, saltern_crypt_gensalt_ra, saltern_crypt_gensalt_rn,
};
use self::next::{Next, next};
use crate::arena::Memory;
use crate::boundary::{Place, entry, number_of, set_errno, text, write, write_text};
use crate::text::{Request, hash};

/// `CRYPT_OUTPUT_SIZE`
const OUTPUT: usize = crypt3::RESULT;
/// `CRYPT_MAX_PASSPHRASE_SIZE`, including the zero byte.
const PASSPHRASE: usize = crypt3::PASSWORD + 1;
/// `sizeof (struct crypt_data)`
const DATA: usize = 32768;
/// The offset of `initialized` in it.
const INITIALIZED: usize = OUTPUT + OUTPUT + PASSPHRASE + 767;

/// The longest text of any setting: longer ones would leave no room for the hash.
const SETTING: usize = OUTPUT - 1;

/// Whether a setting, or the prefix of one, is computed here.
///
/// # Safety
/// A pointer that is not null is to a string.
unsafe fn is_ours(setting: *const c_char) -> bool {
    // SAFETY: a string has this many bytes, or ends before; nothing after its end is read.
    let starts =
        |prefix: &[u8; 3]| unsafe { libc::strncmp(setting, prefix.as_ptr().cast(), 3) == 0 };
    !setting.is_null() && (starts(b"$y$") || starts(b"$7$"))
}

/// The library that computes a setting that is not ours; `None` if it is ours, or if there is none.
///
/// # Safety
/// A pointer that is not null is to a string.
unsafe fn elsewhere(setting: *const c_char) -> Option<&'static Next> {
    // SAFETY: by the contract above.
    if unsafe { is_ours(setting) } { None } else { next() }
}

/// Writes a failure token that differs from the setting.
///
/// # Safety
/// There is room for `room` bytes; the setting is null or a string.
unsafe fn write_token(setting: *const c_char, output: *mut u8, room: usize) {
    // SAFETY: the second byte of a string exists if the first is not zero.
    let clash = !setting.is_null()
        && unsafe { *setting == b'*' as c_char && *setting.add(1) == b'0' as c_char };
    let token: &[u8] = match room {
        0 => b"",
        1 => b"\0",
        2 => b"*\0",
        _ if clash => b"*1\0",
        _ => b"*0\0",
    };
    // SAFETY: by the contract above.
    unsafe { write(output, token) }
}

/// Computes a setting that is ours, into a buffer of [`OUTPUT`] bytes that holds a token.
///
/// # Safety
/// Strings or null pointers, and room.
unsafe fn compute(
    phrase: *const c_char,
    setting: *const c_char,
    output: *mut u8,
) -> Result<*mut c_char, c_int> {
    if phrase.is_null() || setting.is_null() {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's string.
    let password = unsafe { text(phrase, PASSPHRASE - 1) }.ok_or(libc::ERANGE)?;
    // SAFETY: as above; libxcrypt looks at the characters before the length.
    if unsafe { has_refused_characters(setting) } {
        return Err(libc::EINVAL);
    }
    // SAFETY: as above.
    let plain = unsafe { text(setting, SETTING) }.ok_or(libc::ERANGE)?;
    if plain.len() > crypt3::TEXT {
        return Err(libc::ERANGE);
    }
    Setting::checksalt(plain).map_err(|_| libc::EINVAL)?;
    let (key, rom, syntax) = (None, None, Syntax::Crypt3);
    let request = Request { password, setting: plain, key, rom, syntax };
    let made = hash(request, Memory::Kept).map_err(number_of)?;
    // SAFETY: the caller's room.
    unsafe { write_text(output, OUTPUT, &made) }.ok_or(libc::ERANGE)?;
    Ok(output.cast())
}

/// Whether a string of any length has characters that settings never have.
///
/// # Safety
/// A string.
unsafe fn has_refused_characters(setting: *const c_char) -> bool {
    let mut at = setting.cast::<u8>();
    loop {
        // SAFETY: the zero byte at the end has not come yet.
        match unsafe { *at } {
            0 => return false,
            byte if byte_refused_by_crypt(byte) => return true,
            // SAFETY: as above.
            _ => at = unsafe { at.add(1) },
        }
    }
}

/// `crypt_r` and `crypt_rn` once the room is known to suffice.
///
/// # Safety
/// Strings or null pointers, and [`DATA`] bytes, or [`OUTPUT`] where `initialized` is not written.
unsafe fn into_data(phrase: *const c_char, setting: *const c_char, data: *mut u8) -> *mut c_char {
    // SAFETY: by the contract above.
    unsafe { write_token(setting, data, OUTPUT) };
    // SAFETY: as above.
    entry(ptr::null_mut(), || unsafe { compute(phrase, setting, data) })
}

/// `crypt_r(3)`
///
/// # Safety
/// Strings or null pointers, and a `struct crypt_data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt_r(
    phrase: *const c_char,
    setting: *const c_char,
    data: *mut c_void,
) -> *mut c_char {
    if data.is_null() {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    // SAFETY: strings or null pointers.
    if let Some(next) = unsafe { elsewhere(setting) } {
        // SAFETY: the arguments of this call.
        return unsafe { (next.crypt_r)(phrase, setting, data) };
    }
    let output = data.cast::<u8>();
    // SAFETY: the room that the type has.
    unsafe {
        into_data(phrase, setting, output);
        write(output.add(INITIALIZED), &[0]);
    }
    output.cast()
}

/// `crypt_rn(3)`
///
/// # Safety
/// Strings or null pointers, and as many bytes as stated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt_rn(
    phrase: *const c_char,
    setting: *const c_char,
    data: *mut c_void,
    size: c_int,
) -> *mut c_char {
    // SAFETY: strings or null pointers.
    if let Some(next) = unsafe { elsewhere(setting) } {
        // SAFETY: the arguments of this call.
        return unsafe { (next.crypt_rn)(phrase, setting, data, size) };
    }
    let room = usize::try_from(size).unwrap_or_default();
    if data.is_null() || room < DATA {
        if !data.is_null() {
            // SAFETY: as much room as the caller says.
            unsafe { write_token(setting, data.cast(), room.min(OUTPUT)) };
        }
        set_errno(libc::ERANGE);
        return ptr::null_mut();
    }
    // SAFETY: the room was checked.
    unsafe {
        write(data.cast::<u8>().add(INITIALIZED), &[0]);
        into_data(phrase, setting, data.cast())
    }
}

/// `crypt_ra(3)`: the memory comes from malloc, and the caller frees it.
///
/// # Safety
/// Strings or null pointers, and places of a pointer and a size that belong together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt_ra(
    phrase: *const c_char,
    setting: *const c_char,
    data: *mut *mut c_void,
    size: *mut c_int,
) -> *mut c_char {
    // SAFETY: strings or null pointers.
    if let Some(next) = unsafe { elsewhere(setting) } {
        // SAFETY: the arguments of this call.
        return unsafe { (next.crypt_ra)(phrase, setting, data, size) };
    }
    if data.is_null() || size.is_null() {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    // SAFETY: places of a pointer and a size, by the caller's contract.
    let (old, room) = unsafe { (*data, usize::try_from(*size).unwrap_or_default()) };
    if old.is_null() || room < DATA {
        if !old.is_null() {
            // SAFETY: as many bytes as the caller says.
            unsafe { libc::explicit_bzero(old, room) };
        }
        // Not by malloc, which falls back to the reserve (`link/memory.c`). SAFETY: a size that is
        // a multiple of the alignment. On failure the old one stays.
        let new = unsafe { libc::aligned_alloc(64, DATA) };
        if new.is_null() {
            return new.cast();
        }
        // SAFETY: the memory that was allocated just now, and the caller's places and memory.
        unsafe {
            libc::memset(new, 0, DATA);
            (*data, *size) = (new, DATA as c_int);
            libc::free(old);
        }
    }
    // SAFETY: as much room as is required.
    unsafe { into_data(phrase, setting, (*data).cast()) }
}

/// `crypt(3)`: the answer is in a buffer of the calling thread.
///
/// # Safety
/// Strings or null pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt(
    phrase: *const c_char,
    setting: *const c_char,
) -> *mut c_char {
    thread_local! {
        static ANSWER: Place<OUTPUT> = const { Place::new() };
    }
    // SAFETY: strings or null pointers.
    if let Some(next) = unsafe { elsewhere(setting) } {
        // SAFETY: the arguments of this call.
        return unsafe { (next.crypt)(phrase, setting) };
    }
    let Some(place) = Place::of_thread(&ANSWER) else { return ptr::null_mut() };
    // SAFETY: this thread's place.
    unsafe { into_data(phrase, setting, place) };
    place.cast()
}

/// `crypt_checksalt(3)`: 0 for our settings, 1 for text with characters that settings never have.
///
/// # Safety
/// A string or a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_crypt_checksalt(setting: *const c_char) -> c_int {
    /// `CRYPT_SALT_INVALID`
    const INVALID: c_int = 1;
    // SAFETY: a string or a null pointer.
    if unsafe { is_ours(setting) } {
        // SAFETY: a string, as it has a prefix.
        return c_int::from(unsafe { has_refused_characters(setting) });
    }
    match next() {
        // SAFETY: the argument of this call.
        Some(next) => next.checksalt.map_or(INVALID, |check| unsafe { check(setting) }),
        None => INVALID,
    }
}

/// `crypt_preferred_method(3)`
#[unsafe(no_mangle)]
pub extern "C" fn saltern_crypt_preferred_method() -> *const c_char {
    c"$y$".as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As [`into_data`] does where there is no other libcrypt.
    #[test]
    fn null_pointers_are_errors_without_another_libcrypt() {
        let mut output = [0; OUTPUT];
        for (phrase, setting) in [
            (ptr::null(), c"$y$j75$".as_ptr()),
            (c"a".as_ptr(), ptr::null()),
            (ptr::null(), ptr::null()),
        ] {
            // SAFETY: strings or null pointers, and room.
            let made = unsafe { compute(phrase, setting, output.as_mut_ptr()) };
            assert_eq!(made, Err(libc::EINVAL));
        }
    }
}
