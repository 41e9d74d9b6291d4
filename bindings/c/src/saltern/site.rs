//! A site: opened, shared, closed.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::time::Duration;

use saltern::policy::Share;
use saltern::{Passwords, Policy};

use super::status::{Failure, Message, OK, call, words};
use crate::boundary::{boxed, bytes, guard, object, put, text, write};

/// `saltern`
pub struct Site {
    pub(super) passwords: Passwords,
}

/// Writes a new handle to the caller's place, without reading what was there.
///
/// # Safety
/// A pointer that is not null has room for a pointer.
pub(super) unsafe fn hand_out<T>(place: *mut *mut T, value: T) -> Result<c_int, Failure> {
    let value = boxed(value).ok_or(Failure::NO_MEMORY)?;
    // SAFETY: the caller of this function has checked it.
    unsafe { place.write(Box::into_raw(value)) };
    Ok(OK)
}

/// A place for a handle, which is null until there is one.
///
/// # Safety
/// A pointer that is not null has room for a pointer.
pub(super) unsafe fn place_for<T>(place: *mut *mut T) -> Result<*mut *mut T, Failure> {
    // SAFETY: by the contract above.
    let empty = unsafe { put(place, &null_mut()) };
    empty.map(|()| place).ok_or(Failure::bad("there is no place for the new handle"))
}

/// A handle.
///
/// # Safety
/// A pointer that is not null is one of this library's, and is not freed meanwhile.
pub(super) unsafe fn of<'a, T>(handle: *const T) -> Result<&'a T, Failure> {
    // SAFETY: by the contract above.
    unsafe { object(handle) }.ok_or(Failure::bad("the handle is NULL"))
}

/// Frees a handle.
///
/// # Safety
/// A pointer that is not null is one of this library's, and is not used any more.
pub(super) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: `hand_out` has made it.
        guard((), || drop(unsafe { Box::from_raw(handle) }));
    }
}

/// Starts threads with all signals blocked, so that the program's own threads handle them: threads
/// inherit the signal mask of the one that starts them.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    struct Before(libc::sigset_t);
    impl Drop for Before {
        fn drop(&mut self) {
            // SAFETY: a set, and no place for the old one.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, null_mut()) };
        }
    }
    /// Signals caused by a thread itself are left for crash reporters.
    const FAULTS: [c_int; 6] =
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
    // SAFETY: sets are plain numbers.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: two sets of this function.
    unsafe {
        libc::sigfillset(&raw mut all);
        for fault in FAULTS {
            libc::sigdelset(&raw mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    let _before = Before(before);
    start()
}

/// Opens a site: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_open(
    policy_file: *const c_char,
    site: *mut *mut Site,
    message: *mut Message,
) -> c_int {
    let open = || {
        // SAFETY: the caller's place.
        let place = unsafe { place_for(site) }?;
        let passwords = if policy_file.is_null() {
            without_signals(|| Passwords::new(Policy::default()))?
        } else {
            // SAFETY: the caller's string.
            let file = unsafe { words(policy_file, "the name of the policy is not UTF-8 text") }?;
            without_signals(|| Passwords::open(file))?
        };
        // SAFETY: as above.
        unsafe { hand_out(place, Site { passwords }) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, open) }
}

/// Opens a site with the text of a policy: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_open_text(
    policy: *const c_char,
    beside: *const c_char,
    site: *mut *mut Site,
    message: *mut Message,
) -> c_int {
    let open = || {
        // SAFETY: the caller's place and strings.
        let (place, text) =
            unsafe { (place_for(site)?, words(policy, "the policy is not UTF-8 text")?) };
        let beside = if beside.is_null() {
            ""
        } else {
            // SAFETY: as above.
            unsafe { words(beside, "the name of the folder is not UTF-8 text") }?
        };
        let policy = Policy::parse(text, Path::new(beside))?;
        let passwords = without_signals(|| Passwords::new(policy))?;
        // SAFETY: as above.
        unsafe { hand_out(place, Site { passwords }) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, open) }
}

/// Makes another handle of the same site.
///
/// # Safety
/// As `saltern.h` says.
unsafe fn again(
    site: *const Site,
    same: *mut *mut Site,
    message: *mut Message,
    change: impl FnOnce(&Passwords) -> Result<Passwords, Failure>,
) -> c_int {
    let copy = || {
        // SAFETY: the caller's place and handle.
        let (place, site) = unsafe { (place_for(same)?, of(site)?) };
        // SAFETY: as above.
        unsafe { hand_out(place, Site { passwords: change(&site.passwords)? }) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, copy) }
}

/// The same site with another deadline: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_within(
    site: *const Site,
    milliseconds: u64,
    same: *mut *mut Site,
    message: *mut Message,
) -> c_int {
    // A deadline that no clock can express is none.
    let time = if milliseconds == 0 { Duration::MAX } else { Duration::from_millis(milliseconds) };
    // SAFETY: what the caller guarantees is passed on.
    unsafe { again(site, same, message, |passwords| Ok(passwords.within(time))) }
}

/// The same site for work that nobody waits for: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_bulk(
    site: *const Site,
    same: *mut *mut Site,
    message: *mut Message,
) -> c_int {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { again(site, same, message, |passwords| Ok(passwords.bulk())) }
}

/// A handle for one of several clients that share the site's threads: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_share(
    site: *const Site,
    client: *const c_char,
    weight: u32,
    same: *mut *mut Site,
    message: *mut Message,
) -> c_int {
    let client = |passwords: &Passwords| {
        // SAFETY: the caller's string.
        let name = unsafe { text(client, isize::MAX as usize - 1) };
        let name = name.ok_or(Failure::bad("the client's name is NULL"))?;
        Ok(passwords.share(Share::of(name).weight(weight)))
    };
    // SAFETY: what the caller guarantees is passed on.
    unsafe { again(site, same, message, client) }
}

/// A handle for the strings of one account: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_for_account(
    site: *const Site,
    account: *const c_void,
    length: usize,
    same: *mut *mut Site,
    message: *mut Message,
) -> c_int {
    let of_account = |passwords: &Passwords| {
        // SAFETY: as many bytes as is said.
        let account = unsafe { bytes(account.cast(), length) };
        Ok(passwords.for_account(account.ok_or(Failure::bad("the account's id is NULL"))?))
    };
    // SAFETY: what the caller guarantees is passed on.
    unsafe { again(site, same, message, of_account) }
}

/// Frees a handle: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_close(site: *mut Site) {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { free(site) }
}

/// Remarks for the operator: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_notes(site: *const Site, text: *mut c_char, size: usize) -> usize {
    guard(0, || {
        // SAFETY: the caller's handle.
        let Ok(site) = (unsafe { of(site) }) else { return 0 };
        let mut length = 0;
        for piece in site.passwords.notes().iter().flat_map(|note| [note.as_str(), "\n"]) {
            let room = size.saturating_sub(1).saturating_sub(length).min(piece.len());
            if !text.is_null() {
                // SAFETY: as much of the caller's room as is left.
                unsafe {
                    write(text.cast::<u8>().add(length.min(size)), &piece.as_bytes()[..room])
                };
            }
            length += piece.len();
        }
        if !text.is_null() && size > 0 {
            // SAFETY: a byte of the caller's room.
            unsafe { write(text.cast::<u8>().add(length.min(size - 1)), &[0]) };
        }
        length
    })
}
