//! Output for the user: results on standard output, complaints on standard error, in order.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use super::quote::quote;
use crate::streams::Stdout;

/// The prefix of messages.
const PROGRAM: &str = "saltern sum";

/// Buffered standard output, and standard error behind it.
pub(super) struct Console {
    out: BufWriter<Stdout>,
}

impl Console {
    pub(super) fn new() -> Self {
        Self { out: BufWriter::with_capacity(64 << 10, Stdout::new()) }
    }

    /// Write to standard output, buffered.
    pub(super) fn print(&mut self, text: &[u8]) -> io::Result<()> {
        self.out.write_all(text)
    }

    /// Flush everything printed.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// One line on standard error, after everything printed before it.
    pub(super) fn complain(&mut self, text: &str) -> io::Result<()> {
        self.flush()?;
        complain(text.as_bytes());
        Ok(())
    }

    /// One line on standard error about a file, whose name is quoted if necessary.
    pub(super) fn complain_about(&mut self, name: &[u8], text: &str) -> io::Result<()> {
        self.flush()?;
        complain_about(name, text);
        Ok(())
    }
}

/// One line on standard error.
pub(super) fn complain(text: &[u8]) {
    let line = [PROGRAM.as_bytes(), b": ", text, b"\n"].concat();
    // If even this cannot be written, only the exit code shows the error.
    let _ = io::stderr().write_all(&line);
}

/// One line on standard error about a file.
pub(super) fn complain_about(name: &[u8], text: &str) {
    complain(&[&quote(name), b": ".as_slice(), text.as_bytes()].concat());
}

/// A wrong use of the flags: the reason, and where to read on.
pub(super) fn usage_error(text: &str) -> ExitCode {
    complain(text.as_bytes());
    let _ = writeln!(io::stderr(), "Try '{PROGRAM} --help' for more information.");
    ExitCode::FAILURE
}
