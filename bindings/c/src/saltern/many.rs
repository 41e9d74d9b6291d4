//! Many answers at once: all calls are begun, then all are waited for.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_int, c_void};

use saltern::{ErrorKind, Ticket};

use super::login::{Login, begin, password, told};
use super::site::{Site, of};
use super::status::{Failure, Message, OK, STRING, call};
use crate::boundary::copied;

/// `saltern_password`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Password {
    bytes: *const c_void,
    length: usize,
}

/// `saltern_answer`
#[repr(C)]
pub struct Answer {
    status: c_int,
    string: [u8; STRING],
    message: Message,
}

impl Answer {
    fn new(result: Result<(c_int, String), Failure>) -> Self {
        let mut answer = Answer { status: OK, string: [0; STRING], message: Message::empty() };
        let put = result.and_then(|(status, text)| {
            let fits = Some(text.as_bytes()).filter(|text| text.len() < STRING);
            let text = fits.ok_or(Failure::bad("the string does not fit into the answer"))?;
            answer.string[..text.len()].copy_from_slice(text);
            Ok(status)
        });
        answer.status = put.unwrap_or_else(|failure| {
            answer.message.tell(&failure);
            failure.status()
        });
        answer
    }
}

/// How many items are begun before waiting for the first, if the pool's queue allows as many.
const AT_ONCE: usize = 1024;

/// The initial value of an answer.
const NOT_BEGUN: Failure = Failure::Plain(ErrorKind::Internal, "the item was not begun");

/// Begins items, in parts, and writes their results.
///
/// # Safety
/// As `saltern.h` says about items and answers.
unsafe fn each<I: Copy, T: Send + 'static>(
    site: &Site,
    items: *const I,
    (answers, count): (*mut Answer, usize),
    begin: impl Fn(*const I) -> Result<Ticket<T>, Failure>,
    tell: impl Fn(T) -> (c_int, String),
) -> Result<c_int, Failure> {
    if count > 0 && (items.is_null() || answers.is_null() || !answers.is_aligned()) {
        return Err(Failure::bad("items or answers are NULL"));
    }
    for at in 0..count {
        // SAFETY: the caller has room for as many answers.
        unsafe { answers.add(at).write(Answer::new(Err(NOT_BEGUN))) };
    }
    let at_once = site.passwords.pool().config().max_waiting.clamp(1, AT_ONCE);
    let mut tickets = Vec::new();
    tickets.try_reserve_exact(count.min(at_once)).map_err(|_| Failure::NO_MEMORY)?;
    for first in (0..count).step_by(at_once) {
        let part = first..count.min(first + at_once);
        tickets.extend(part.clone().map(|at| begin(items.wrapping_add(at))));
        for (at, ticket) in part.zip(tickets.drain(..)) {
            let result = ticket.and_then(|ticket| Ok(tell(ticket.wait()?)));
            // SAFETY: as above.
            unsafe { answers.add(at).write(Answer::new(result)) };
        }
    }
    Ok(OK)
}

/// Hashes many passwords: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_hash_many(
    site: *const Site,
    passwords: *const Password,
    answers: *mut Answer,
    count: usize,
    message: *mut Message,
) -> c_int {
    let hash = || {
        // SAFETY: the caller's handle.
        let site = unsafe { of(site) }?;
        let begin = |item: *const Password| {
            // SAFETY: an item of the caller's, and as many bytes as it says.
            let item = unsafe { copied(item) }.ok_or(Failure::bad("the password is NULL"))?;
            // SAFETY: as above.
            Ok(site.passwords.hash(unsafe { password(item.bytes, item.length) }?))
        };
        // SAFETY: what the caller guarantees is passed on.
        unsafe { each(site, passwords, (answers, count), begin, |made| (OK, made)) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, hash) }
}

/// Verifies many logins: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_verify_many(
    site: *const Site,
    logins: *const Login,
    answers: *mut Answer,
    count: usize,
    message: *mut Message,
) -> c_int {
    let verify = || {
        // SAFETY: the caller's handle.
        let site = unsafe { of(site) }?;
        // SAFETY: an item of the caller's.
        let begin = |item: *const Login| unsafe { begin(&site.passwords, item) };
        // SAFETY: what the caller guarantees is passed on.
        unsafe { each(site, logins, (answers, count), begin, told) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, verify) }
}
