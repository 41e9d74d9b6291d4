//! Hashing and verifying, each in one call.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_char, c_int, c_void};

use saltern::{Outcome, Passwords, Ticket};

use super::site::{Site, of};
use super::status::{Failure, LOCKED, MISMATCH, Message, OK, STRING, call, words};
use crate::boundary::{bytes, copied, write_text};

/// `saltern_login`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Login {
    account: *const c_void,
    account_length: usize,
    password: *const c_void,
    password_length: usize,
    stored: *const c_char,
}

/// The caller's password.
///
/// # Safety
/// As many bytes as stated.
pub(super) unsafe fn password<'a>(start: *const c_void, len: usize) -> Result<&'a [u8], Failure> {
    // SAFETY: by the contract above.
    unsafe { bytes(start.cast(), len) }.ok_or(Failure::bad("the password is NULL"))
}

/// Begins to verify.
///
/// # Safety
/// As `saltern.h` says about logins.
pub(super) unsafe fn begin(
    passwords: &Passwords,
    login: *const Login,
) -> Result<Ticket<Outcome>, Failure> {
    // SAFETY: the caller's struct, at any address.
    let login = unsafe { copied(login) }.ok_or(Failure::bad("the login is NULL"))?;
    // SAFETY: as many bytes as is said.
    let account = unsafe { bytes(login.account.cast(), login.account_length) };
    let account = account.ok_or(Failure::bad("the account's name is NULL"))?;
    // SAFETY: as above.
    let password = unsafe { password(login.password, login.password_length) }?;
    let stored = if login.stored.is_null() {
        None
    } else {
        // SAFETY: the caller's string.
        Some(unsafe { words(login.stored, "the stored string is not UTF-8 text") }?)
    };
    Ok(passwords.verify(account, password, stored))
}

/// An outcome for C: a status, and an update if there is one.
pub(super) fn told(outcome: Outcome) -> (c_int, String) {
    match outcome {
        Outcome::Match { update, .. } => (OK, update.map(|update| update.new).unwrap_or_default()),
        Outcome::Mismatch => (MISMATCH, String::new()),
        Outcome::Locked => (LOCKED, String::new()),
    }
}

/// Checks the room for a string, before anything is computed. It may still hold an input. If it is
/// too small, an empty string is written to it.
///
/// # Safety
/// As much room as is said.
pub(super) unsafe fn room(start: *mut c_char, size: usize) -> Result<(), Failure> {
    if start.is_null() || size < STRING {
        // SAFETY: by the contract above; null pointers and no room are refused.
        let _ = unsafe { write_text(start.cast(), size, b"") };
        return Err(Failure::bad("there is no room for SALTERN_STRING_SIZE bytes"));
    }
    Ok(())
}

/// Writes a string into room that was checked.
///
/// # Safety
/// As much room as is said.
pub(super) unsafe fn put(start: *mut c_char, size: usize, text: &str) -> Result<(), Failure> {
    // SAFETY: by the contract above.
    let put = unsafe { write_text(start.cast(), size, text.as_bytes()) };
    put.ok_or(Failure::bad("the string does not fit into the room for it"))
}

/// Hashes a new password: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_hash(
    site: *const Site,
    bytes: *const c_void,
    length: usize,
    stored: *mut c_char,
    size: usize,
    message: *mut Message,
) -> c_int {
    let hash = || {
        // SAFETY: the caller's room.
        unsafe { room(stored, size) }?;
        // SAFETY: the caller's handle and password.
        let parts = unsafe { (of(site), password(bytes, length)) };
        let begun = parts.0.and_then(|site| Ok(site.passwords.hash(parts.1?)));
        // The call in progress has a copy of the password, which may have been in that room.
        // SAFETY: the room that was checked.
        unsafe { put(stored, size, "") }?;
        let made = begun?.wait()?;
        // SAFETY: as above.
        unsafe { put(stored, size, &made) }.map(|()| OK)
    };
    // SAFETY: the caller's message.
    unsafe { call(message, hash) }
}

/// Verifies a login: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_verify(
    site: *const Site,
    login: *const Login,
    update: *mut c_char,
    size: usize,
    message: *mut Message,
) -> c_int {
    let verify = || {
        let wanted = !update.is_null() || size > 0;
        let begun = match wanted {
            // SAFETY: the caller's handle and login.
            true => unsafe {
                room(update, size)?;
                of(site).and_then(|site| begin(&site.passwords, login))
            },
            // SAFETY: as above.
            false => unsafe { begin(&of(site)?.passwords.without_updates(), login) },
        };
        if wanted {
            // The call in progress has a copy of the stored string, which may have been in that
            // room. SAFETY: the room that was checked.
            unsafe { put(update, size, "") }?;
        }
        let (status, new) = told(begun?.wait()?);
        if wanted {
            // SAFETY: as above. What does not fit is left for the next login.
            let _ = unsafe { put(update, size, &new) };
        }
        Ok(status)
    };
    // SAFETY: the caller's message.
    unsafe { call(message, verify) }
}
