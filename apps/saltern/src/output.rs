//! Standard output, where every write failure is an error, and standard error, where it cannot be
//! reported. None is a panic.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use serde::Serialize;

use crate::streams::Stdout;

/// Standard output, buffered; [`Output::flush`] must be the last call.
pub(crate) struct Output(BufWriter<Stdout>);

impl Output {
    /// Take standard output.
    pub(crate) fn new() -> Output {
        Output(BufWriter::new(Stdout::new()))
    }

    /// Write bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.0.write_all(bytes).context("cannot write to standard output")
    }

    /// Write bytes and a newline.
    pub(crate) fn line(&mut self, line: impl AsRef<[u8]>) -> anyhow::Result<()> {
        self.bytes(line.as_ref())?;
        self.bytes(b"\n")
    }

    /// Write one JSON value on a separate line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        self.line(serde_json::to_vec(value).context("cannot write the result as JSON")?)
    }

    /// Write out what is buffered.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        self.0.flush().context("cannot write to standard output")
    }
}

/// Write everything to standard output and flush it.
pub(crate) fn print(all: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut output = Output::new();
    output.bytes(all.as_ref())?;
    output.flush()
}

/// Print a message on standard error, as a line that names the program.
///
/// Text that errors quote from files cannot control the terminal. Unlike with `eprintln!`, a closed
/// or full standard error does not end the program.
pub(crate) fn tell(message: impl Display) {
    let message = printable(message.to_string().as_bytes());
    let _ = writeln!(io::stderr().lock(), "saltern: {message}");
}

/// Print warnings: the libraries' remarks for the operator.
pub(crate) fn warn(notes: impl IntoIterator<Item = impl Display>) {
    notes.into_iter().for_each(|note| tell(format_args!("warning: {note}")));
}

/// Print notes about a string.
pub(crate) fn note(notes: &[String]) {
    notes.iter().for_each(|note| tell(format_args!("note: {note}")));
}

/// Text that cannot move the cursor of a terminal or rewrite what it shows.
pub(crate) fn printable(text: &[u8]) -> String {
    let mut shown = String::new();
    for c in String::from_utf8_lossy(text).chars() {
        if c.is_control() { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}
