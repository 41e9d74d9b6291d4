//! Answers to wait for later.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

use saltern::{Outcome, Ticket};

use super::login::{Login, begin, password, put, room, told};
use super::site::{Site, free, hand_out, of, place_for};
use super::status::{Failure, Message, OK, PENDING, call};
use crate::boundary::object_mut;

/// `saltern_ticket`; empty once it has given its answer.
pub struct Waiting(Option<Kind>);

enum Kind {
    Hash(Ticket<String>),
    Verify(Ticket<Outcome>),
}

/// A status and a string, or the ticket to wait for again.
type Waited = Result<Result<(c_int, String), saltern::Error>, Kind>;

/// Waits for at most this long, or without limit for `None`.
fn wait<T: Send + 'static>(
    ticket: Ticket<T>,
    timeout: Option<Duration>,
    tell: impl FnOnce(T) -> (c_int, String),
    again: impl FnOnce(Ticket<T>) -> Kind,
) -> Waited {
    match timeout {
        None => Ok(ticket.wait().map(tell)),
        Some(timeout) => match ticket.wait_timeout(timeout) {
            Ok(result) => Ok(result.map(tell)),
            Err(ticket) => Err(again(ticket)),
        },
    }
}

impl Kind {
    fn wait(self, timeout: Option<Duration>) -> Waited {
        match self {
            Kind::Hash(ticket) => wait(ticket, timeout, |made| (OK, made), Kind::Hash),
            Kind::Verify(ticket) => wait(ticket, timeout, told, Kind::Verify),
        }
    }
}

/// Begins to hash: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_hash_start(
    site: *const Site,
    bytes: *const c_void,
    length: usize,
    ticket: *mut *mut Waiting,
    message: *mut Message,
) -> c_int {
    let start = || {
        // SAFETY: the caller's place, handle and password.
        let (place, site, password) =
            unsafe { (place_for(ticket)?, of(site)?, password(bytes, length)?) };
        let kind = Kind::Hash(site.passwords.hash(password));
        // SAFETY: as above.
        unsafe { hand_out(place, Waiting(Some(kind))) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, start) }
}

/// Begins to verify: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_verify_start(
    site: *const Site,
    login: *const Login,
    ticket: *mut *mut Waiting,
    message: *mut Message,
) -> c_int {
    let start = || {
        // SAFETY: the caller's place, handle and login.
        let (place, begun) = unsafe { (place_for(ticket)?, begin(&of(site)?.passwords, login)?) };
        // SAFETY: as above.
        unsafe { hand_out(place, Waiting(Some(Kind::Verify(begun)))) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, start) }
}

/// Waits for an answer: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_wait(
    ticket: *mut Waiting,
    milliseconds: i64,
    string: *mut c_char,
    size: usize,
    message: *mut Message,
) -> c_int {
    let wait = || {
        // SAFETY: the caller's room.
        unsafe { room(string, size) }?;
        // SAFETY: the room that was checked, and the caller's ticket.
        let (_, ticket) = unsafe { (put(string, size, "")?, object_mut(ticket)) };
        let ticket = ticket.ok_or(Failure::bad("the ticket is NULL"))?;
        let kind = ticket.0.take().ok_or(Failure::bad("the ticket has given its answer"))?;
        let timeout = u64::try_from(milliseconds).ok().map(Duration::from_millis);
        match kind.wait(timeout) {
            Err(kind) => {
                ticket.0 = Some(kind);
                Ok(PENDING)
            }
            Ok(answer) => {
                let (status, text) = answer?;
                // SAFETY: as above.
                unsafe { put(string, size, &text) }.map(|()| status)
            }
        }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, wait) }
}

/// Frees a ticket: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_ticket_free(ticket: *mut Waiting) {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { free(ticket) }
}
