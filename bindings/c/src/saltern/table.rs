//! Stored strings without passwords.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_char, c_int, c_uint};

use saltern::table::{Reasons, Table};

use super::login::{put, room};
use super::site::{Site, of};
use super::status::{Failure, Message, OK, call, words};

/// The ways in which a stored string is outdated: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_needs_rehash(
    site: *const Site,
    stored: *const c_char,
    reasons: *mut c_uint,
    message: *mut Message,
) -> c_int {
    let look = || {
        if reasons.is_null() {
            return Err(Failure::bad("there is no place for the reasons"));
        }
        // SAFETY: the caller's handle and string.
        let (site, stored) =
            unsafe { (of(site)?, words(stored, "the stored string is not UTF-8 text")?) };
        let found = site.passwords.table().needs_rehash(stored)?;
        // SAFETY: the caller's place, at any address.
        unsafe { reasons.write_unaligned(number(&found)) };
        Ok(OK)
    };
    // SAFETY: the caller's message.
    unsafe { call(message, look) }
}

/// `SALTERN_OUTDATED_…`
fn number(reasons: &Reasons) -> c_uint {
    let Reasons { scheme, cost, floor, salt, key, rom, wrapped, seal, .. } = *reasons;
    let bits = [scheme, cost, floor, salt, key, rom, wrapped, seal];
    bits.iter().rev().fold(0, |number, bit| number << 1 | c_uint::from(*bit))
}

/// The same string under the active key: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_rekey(
    site: *const Site,
    stored: *const c_char,
    rekeyed: *mut c_char,
    size: usize,
    message: *mut Message,
) -> c_int {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { change(site, stored, (rekeyed, size), message, Table::rekey) }
}

/// The same string, sealed for the account of the handle: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_seal(
    site: *const Site,
    stored: *const c_char,
    sealed: *mut c_char,
    size: usize,
    message: *mut Message,
) -> c_int {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { change(site, stored, (sealed, size), message, Table::seal) }
}

/// Applies an operation to a stored string.
///
/// # Safety
/// As `saltern.h` says.
unsafe fn change(
    site: *const Site,
    stored: *const c_char,
    (new, size): (*mut c_char, usize),
    message: *mut Message,
    operation: fn(&Table, &str) -> Result<Option<String>, saltern::Error>,
) -> c_int {
    let change = || {
        // SAFETY: the caller's room.
        unsafe { room(new, size) }?;
        let made = || {
            // SAFETY: the caller's handle and string.
            let (site, old) =
                unsafe { (of(site)?, words(stored, "the stored string is not UTF-8 text")?) };
            Ok(operation(site.passwords.table(), old)?)
        };
        // The input string may be in that room until then.
        let made: Result<Option<String>, Failure> = made();
        let text = made.as_ref().ok().and_then(Option::as_deref).unwrap_or_default();
        // SAFETY: the room that was checked.
        unsafe { put(new, size, text) }?;
        made.map(|_| OK)
    };
    // SAFETY: the caller's message.
    unsafe { call(message, change) }
}
