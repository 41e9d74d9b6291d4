//! Ctrl-C and SIGTERM during long operations: the work ends where it can be cancelled, and the exit
//! status shows the signal.

use std::fmt;
use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// How long to wait for input before checking for signals, and updating a progress line.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The number of the signal that arrived, or 0.
pub(crate) struct Interrupt(Arc<AtomicUsize>);

/// The signal that ended the work, and what the work left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    signal: usize,
    left: String,
}

impl Interrupt {
    /// From now on a signal is noted; a second one ends the program at once.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            let again = Arc::new(AtomicBool::new(false));
            // In this order: the first signal finds `again` false and sets it, the second one ends
            // the program.
            flag::register_conditional_default(number, again.clone())
                .and_then(|_| flag::register(number, again))
                .and_then(|_| {
                    flag::register_usize(number, signal.clone(), number.unsigned_abs() as usize)
                })
                .context("cannot handle signals")?;
        }
        Ok(Interrupt(signal))
    }

    /// Whether a signal has arrived.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The signal as an error, with what the work left behind.
    pub(crate) fn check(&self, left: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Ended { signal, left: left() }.into()),
        }
    }
}

/// Whether there is something to read, or an error to report, within [`LOOK`].
#[cfg(unix)]
pub(crate) fn readable(file: &File) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let time = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&time)) {
        Ok(ready) => ready > 0,
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

#[cfg(not(unix))]
pub(crate) fn readable(_: &File) -> bool {
    true
}

impl Ended {
    /// The exit status that shells show for a program ended by the signal.
    pub(crate) fn status(&self) -> ExitCode {
        ExitCode::from(u8::try_from(128 + self.signal).unwrap_or(u8::MAX))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted: {}", self.left)
    }
}

impl std::error::Error for Ended {}
