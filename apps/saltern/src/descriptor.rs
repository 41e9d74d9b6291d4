//! Inherited descriptors that the program is told to read by number.
#![cfg_attr(unix, allow(unsafe_code, reason = "a number of a descriptor, as the user gives it"))]

use std::fs::File;
use std::io;
use std::num::ParseIntError;
use std::str::FromStr;
use std::sync::Arc;

/// A copy of a descriptor, made while the command line is parsed: later the number could belong to
/// a file that the program has opened itself.
///
/// The copy shares its position with the original, so that a later reader continues where this
/// program stopped; and it needs no permission except reading, which the descriptor has.
#[derive(Clone)]
pub(crate) struct Descriptor {
    pub(crate) number: u32,
    file: Arc<io::Result<File>>,
}

impl FromStr for Descriptor {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let number = text.parse()?;
        Ok(Descriptor { number, file: Arc::new(copy(number)) })
    }
}

impl Descriptor {
    /// The file, at the descriptor's current position.
    ///
    /// # Errors
    ///
    /// There was no such descriptor when the program started.
    pub(crate) fn file(&self) -> anyhow::Result<&File> {
        self.file.as_ref().as_ref().map_err(|error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code).into(),
            None => anyhow::anyhow!("{error}"),
        })
    }
}

#[cfg(unix)]
fn copy(number: u32) -> io::Result<File> {
    use std::os::fd::FromRawFd;

    let closed = || io::Error::from(rustix::io::Errno::BADF);
    let number = i32::try_from(number).map_err(|_| closed())?;
    if crate::streams::was_closed(number) {
        return Err(closed());
    }
    // SAFETY: F_DUPFD_CLOEXEC takes any number; one that is not open is an error.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has just made this descriptor, which nobody else knows of.
    Ok(unsafe { File::from_raw_fd(copy) })
}

#[cfg(not(unix))]
fn copy(_number: u32) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no numbered descriptors"))
}
