//! The standard streams. Using one that was closed when the program started is an error; the Rust
//! runtime would read it as empty, and discard what is written.

#[cfg(target_os = "linux")]
mod closed;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};

use anyhow::anyhow;

/// Standard input without the library's buffer, which would not be wiped.
///
/// # Errors
///
/// It was closed when the program started.
#[cfg(unix)]
pub(crate) fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    check(0)?;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard input without the library's buffer.
#[cfg(windows)]
pub(crate) fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// The error for an input without a single byte, which must not look like one that is in order.
pub(crate) fn is_empty(name: impl Display) -> anyhow::Error {
    anyhow!("{name} is empty: what should have written it may have failed")
}

/// Standard output without the library's buffer: what a call has accepted is written.
///
/// # Errors
///
/// It was closed when the program started.
#[cfg(unix)]
pub(crate) fn raw_stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    check(1)?;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output without the library's buffer.
#[cfg(windows)]
pub(crate) fn raw_stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

/// Standard output, not buffered beyond what the library does line by line.
pub(crate) struct Stdout(io::StdoutLock<'static>);

impl Stdout {
    /// Take standard output.
    pub(crate) fn new() -> Stdout {
        Stdout(io::stdout().lock())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check(1)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing was written to a closed one, so there is nothing to flush.
        self.0.flush()
    }
}

/// Whether standard output was closed when the program started.
pub(crate) fn stdout_is_closed() -> bool {
    check(1).is_err()
}

/// Whether one of the standard streams, 0 to 2, was closed when the program started. Nothing is
/// known about other descriptors.
#[cfg(unix)]
pub(crate) fn was_closed(number: i32) -> bool {
    (0..3).contains(&number) && check(number).is_err()
}

#[cfg(target_os = "linux")]
fn check(number: i32) -> io::Result<()> {
    match closed::at_start(number) {
        true => Err(rustix::io::Errno::BADF.into()),
        false => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn check(_number: i32) -> io::Result<()> {
    Ok(())
}
