//! Statuses and messages.
#![allow(unsafe_code, reason = "functions for C, and what they write to")]

use std::ffi::{c_char, c_int};
use std::fmt::{self, Write};

use saltern::ErrorKind;

use crate::boundary::{guard, text};
use crate::reserve;

pub(super) const OK: c_int = 0;
pub(super) const MISMATCH: c_int = 1;
pub(super) const LOCKED: c_int = 2;
pub(super) const PENDING: c_int = 3;
const BAD_INPUT: c_int = -1;
const OVER_LIMIT: c_int = -2;
const UNAVAILABLE: c_int = -3;
const OVERLOADED: c_int = -4;
const INTERNAL: c_int = -5;
const TAMPERED: c_int = -6;

/// `SALTERN_STRING_SIZE`
pub(super) const STRING: usize = 512;

/// The longest text that is read: a stored string or a file name.
pub(super) const MOST_TEXT: usize = 1 << 16;

/// `saltern_message`
#[repr(C)]
pub struct Message {
    text: [u8; 256],
}

/// Why there is no answer.
pub(super) enum Failure {
    Saltern(saltern::Error),
    Rom(saltern_rom::Error),
    Plain(ErrorKind, &'static str),
}

impl Failure {
    pub(super) const fn bad(what: &'static str) -> Self {
        Failure::Plain(ErrorKind::BadInput, what)
    }

    pub(super) const NO_MEMORY: Failure = Failure::Plain(ErrorKind::Internal, "out of memory");

    const PANICKED: Failure =
        Failure::Plain(ErrorKind::Internal, "the call panicked: please report this");

    pub(super) fn status(&self) -> c_int {
        let kind = match self {
            Failure::Saltern(error) => error.kind(),
            Failure::Rom(saltern_rom::Error::NoMemory { .. }) => ErrorKind::Internal,
            Failure::Rom(saltern_rom::Error::Yescrypt(error)) => error.kind(),
            Failure::Rom(_) => ErrorKind::Unavailable,
            Failure::Plain(kind, _) => *kind,
        };
        match kind {
            ErrorKind::BadInput => BAD_INPUT,
            ErrorKind::OverLimit => OVER_LIMIT,
            ErrorKind::Unavailable => UNAVAILABLE,
            ErrorKind::Tampered => TAMPERED,
            ErrorKind::Overloaded => OVERLOADED,
            ErrorKind::Internal => INTERNAL,
        }
    }
}

impl From<saltern::Error> for Failure {
    fn from(error: saltern::Error) -> Self {
        Failure::Saltern(error)
    }
}

impl From<saltern_yescrypt::Error> for Failure {
    fn from(error: saltern_yescrypt::Error) -> Self {
        Failure::Saltern(error.into())
    }
}

impl From<saltern::policy::Invalid> for Failure {
    fn from(invalid: saltern::policy::Invalid) -> Self {
        Failure::Saltern(invalid.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Saltern(error) => error.fmt(f),
            Failure::Rom(error) => error.fmt(f),
            Failure::Plain(_, what) => f.write_str(what),
        }
    }
}

impl Message {
    pub(super) const fn empty() -> Self {
        Message { text: [0; 256] }
    }

    /// Writes the message of a failure, as much of it as there is room for.
    pub(super) fn tell(&mut self, failure: &Failure) {
        /// Room for text up to the last byte, which stays zero.
        struct Room<'a>(&'a mut [u8], usize);
        impl Write for Room<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                let room = self.0.len() - 1 - self.1;
                let ends = 0..=room.min(text.len());
                let len = ends.rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
                self.0[self.1..self.1 + len].copy_from_slice(&text.as_bytes()[..len]);
                self.1 += len;
                if len < text.len() { Err(fmt::Error) } else { Ok(()) }
            }
        }
        self.text = [0; 256];
        let _ = write!(Room(&mut self.text, 0), "{failure}");
    }
}

/// Runs a call that returns a status, and writes the error message if the caller wants it.
///
/// # Safety
/// A message that is not null has room.
pub(super) unsafe fn call(
    message: *mut Message,
    body: impl FnOnce() -> Result<c_int, Failure>,
) -> c_int {
    let done = if reserve::is_ready() {
        guard(Err(Failure::PANICKED), body)
    } else {
        Err(Failure::NO_MEMORY)
    };
    let mut told = Message::empty();
    let status = done.unwrap_or_else(|failure| {
        guard((), || told.tell(&failure));
        failure.status()
    });
    if !message.is_null() {
        // SAFETY: by the contract above; bytes have no alignment.
        unsafe { message.write(told) };
    }
    status
}

/// The caller's text.
///
/// # Safety
/// A pointer that is not null is to a string.
pub(super) unsafe fn words<'a>(
    start: *const c_char,
    what: &'static str,
) -> Result<&'a str, Failure> {
    // SAFETY: by the contract above.
    let text = unsafe { text(start, MOST_TEXT) };
    text.and_then(|text| std::str::from_utf8(text).ok()).ok_or(Failure::bad(what))
}

/// The version of this library; static.
#[unsafe(no_mangle)]
pub extern "C" fn saltern_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a status; static.
#[unsafe(no_mangle)]
pub extern "C" fn saltern_status_name(status: c_int) -> *const c_char {
    let name = match status {
        OK => c"ok",
        MISMATCH => c"mismatch",
        LOCKED => c"locked",
        PENDING => c"pending",
        BAD_INPUT => c"bad input",
        OVER_LIMIT => c"over limit",
        UNAVAILABLE => c"unavailable",
        OVERLOADED => c"overloaded",
        INTERNAL => c"internal",
        TAMPERED => c"tampered",
        _ => c"no status",
    };
    name.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rom_that_is_not_there_is_not_memory_that_is_not_there() {
        let path = "site.rom".into();
        for (error, status) in [
            (saltern_rom::Error::NoManifest { path }, UNAVAILABLE),
            (saltern_rom::Error::NoMemory { needed: 1 << 40, available: None }, INTERNAL),
            (saltern_yescrypt::Error::OutOfMemory { bytes: 1 << 40 }.into(), INTERNAL),
            (saltern_yescrypt::Error::RomTag.into(), BAD_INPUT),
        ] {
            assert_eq!(Failure::Rom(error).status(), status);
        }
    }
}
