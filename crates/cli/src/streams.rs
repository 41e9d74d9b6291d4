//! The standard streams. One that was closed when the program started is an error to whoever uses
//! it; the Rust runtime would have it read as empty, and swallow what is written.

#[cfg(target_os = "linux")]
mod closed;

use std::fs::File;
use std::io::{self, Write};

/// Standard input without the buffer of the library, which nobody would wipe.
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

/// Standard input without the buffer of the library.
#[cfg(windows)]
pub(crate) fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// Standard output without the buffer of the library: what a call has taken is written.
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

/// Standard output without the buffer of the library.
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
        // Nothing was written to a closed one, which is all that its users ask for.
        self.0.flush()
    }
}

/// Whether standard output was closed when the program started.
pub(crate) fn stdout_is_closed() -> bool {
    check(1).is_err()
}

/// Whether one of the standard streams, 0 to 2, was closed when the program started. Of other
/// descriptors nothing is known.
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
