//! Settings and complete strings.

use std::ffi::c_int;
use std::ptr;

use saltern_yescrypt::hazmat::{HASH_DIGITS, reencrypt};
use saltern_yescrypt::keys::HashKey;
use saltern_yescrypt::{Setting, params::Syntax};

use super::RawParams;
use super::region::{Region, free, with_workspace};
use super::shared::image;
use crate::arena::Memory;
use crate::boundary::{Place, bytes, copied, entry, number_of, text, write_text};
use crate::text::{MOST_SETTING, Request, hash};

/// The longest answers of `yescrypt` and `yescrypt_encode_params`: as upstream, with salts of up to
/// 32 bytes.
const HASH_ROOM: usize = SETTING_ROOM + 1 + HASH_DIGITS;
/// A salt of 32 bytes has as many digits as a hash.
const SETTING_ROOM: usize = 3 + 8 * 6 + 1 + HASH_DIGITS + 1;

// Where the functions without a buffer of the caller put their answers.
thread_local! {
    static HASH: Place<HASH_ROOM> = const { Place::new() };
    static SETTING: Place<SETTING_ROOM> = const { Place::new() };
}

/// `yescrypt_binary_t` as a key; `None` for a null pointer.
///
/// # Safety
/// A pointer that is not null has 32 readable bytes.
unsafe fn key_at(key: *const [u8; 32]) -> Option<HashKey> {
    // SAFETY: by the contract above.
    unsafe { copied(key) }.map(HashKey::new)
}

/// Hashes a password under a setting: see `yescrypt.h`.
///
/// # Safety
/// Every pointer that is not null is what `yescrypt.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_r(
    shared: *const Region,
    local: *mut Region,
    passwd: *const u8,
    passwdlen: usize,
    setting: *const u8,
    key: *const [u8; 32],
    buf: *mut u8,
    buflen: usize,
) -> *mut u8 {
    entry(ptr::null_mut(), || {
        // SAFETY: the password has its length, and the setting ends in a zero byte.
        let (password, setting) =
            unsafe { (bytes(passwd, passwdlen), text(setting.cast(), MOST_SETTING)) };
        let (Some(password), Some(setting)) = (password, setting) else { return Err(libc::EINVAL) };
        let parsed = Setting::parse(setting).map_err(number_of)?;
        super::within_upstream(parsed.params())?;
        // Refuses a string that will not fit before computing it.
        if parsed.as_bytes().len() + 1 + HASH_DIGITS >= buflen {
            return Err(libc::EINVAL);
        }
        // SAFETY: the caller's ROM is valid for the duration of the call.
        let rom = unsafe { image(shared, parsed.params()) }?;
        // SAFETY: 32 bytes, if there is a key.
        let key = unsafe { key_at(key) };
        let request = Request { password, setting, key, rom, syntax: Syntax::Wide };
        // SAFETY: the caller's `local` is this thread's alone.
        let made =
            unsafe { with_workspace(local, |workspace| hash(request, Memory::Own(workspace))) }?;
        // SAFETY: there is as much room as the caller says.
        unsafe { write_text(buf, buflen, &made) }.ok_or(libc::EINVAL)?;
        Ok(buf)
    })
}

/// Hashes a password under a setting, into a buffer of this thread: see `yescrypt.h`.
///
/// # Safety
/// Both pointers are null or to strings that end in zero bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt(passwd: *const u8, setting: *const u8) -> *mut u8 {
    let Some(buf) = Place::of_thread(&HASH) else { return ptr::null_mut() };
    if passwd.is_null() {
        crate::boundary::set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    let mut local = Region::EMPTY;
    // SAFETY: a string, by the caller's contract.
    let len = unsafe { libc::strlen(passwd.cast()) };
    let (none, key) = (ptr::null(), ptr::null());
    // SAFETY: the caller's strings, a region of this function, and this thread's place.
    let made =
        unsafe { yescrypt_r(none, &raw mut local, passwd, len, setting, key, buf, HASH_ROOM) };
    // SAFETY: as `yescrypt_r` has left it.
    let freed =
        crate::boundary::last_entry(-1, || unsafe { free(&mut local) }.map(|()| 0 as c_int));
    if freed == 0 { made } else { ptr::null_mut() }
}

/// Moves a string to another key, in place: see `yescrypt.h`.
///
/// # Safety
/// Every pointer that is not null is what `yescrypt.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_reencrypt(
    hash: *mut u8,
    from_key: *const [u8; 32],
    to_key: *const [u8; 32],
) -> *mut u8 {
    entry(ptr::null_mut(), || {
        // SAFETY: the string ends in a zero byte, and keys have 32 bytes.
        let (old, from, to) =
            unsafe { (text(hash.cast(), MOST_SETTING), key_at(from_key), key_at(to_key)) };
        let old = old.filter(|old| old.starts_with(b"$y$")).ok_or(libc::EINVAL)?;
        let new = reencrypt(old, from.as_ref(), to.as_ref()).map_err(number_of)?;
        let room = old.len() + 1;
        // SAFETY: the new one takes the place of the old one, of which nothing is read any more.
        unsafe { write_text(hash, room, new.as_bytes()) }.ok_or(libc::EINVAL)?;
        Ok(hash)
    })
}

/// Writes a setting: see `yescrypt.h`.
///
/// # Safety
/// Every pointer that is not null is what `yescrypt.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_encode_params_r(
    params: *const RawParams,
    src: *const u8,
    srclen: usize,
    buf: *mut u8,
    buflen: usize,
) -> *mut u8 {
    entry(ptr::null_mut(), || {
        // SAFETY: a pointer to parameters, wherever they lie, and a salt with its length.
        let (raw, salt) = unsafe { (copied(params), bytes(src, srclen)) };
        let (Some(raw), Some(salt)) = (raw, salt) else { return Err(libc::EINVAL) };
        // Checked before this much is written out.
        if salt.len() > buflen {
            return Err(libc::EINVAL);
        }
        let setting = Setting::encode(&raw.params().map_err(number_of)?, salt);
        let setting = setting.map_err(number_of)?;
        // SAFETY: there is as much room as the caller says.
        unsafe { write_text(buf, buflen, setting.as_bytes()) }.ok_or(libc::EINVAL)?;
        Ok(buf)
    })
}

/// Writes a setting into a buffer of this thread: see `yescrypt.h`.
///
/// # Safety
/// As [`yescrypt_encode_params_r`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_encode_params(
    params: *const RawParams,
    src: *const u8,
    srclen: usize,
) -> *mut u8 {
    let Some(buf) = Place::of_thread(&SETTING) else { return ptr::null_mut() };
    // SAFETY: the caller's contract, and this thread's place.
    unsafe { yescrypt_encode_params_r(params, src, srclen, buf, SETTING_ROOM) }
}
