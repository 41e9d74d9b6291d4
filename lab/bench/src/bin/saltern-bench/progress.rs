//! Results as they come, and the progress bar on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use saltern_bench::record::{self, Build, Machine};
use saltern_bench::suite::Watch;
use saltern_bench::text;

/// Prints sections while the rest is still being measured.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Sections are not printed, because all comes at the end in another form.
    silent: bool,
    /// The first failure to write, which is told at the end.
    failure: Option<io::Error>,
}

impl Progress {
    pub(super) fn new(silent: bool) -> Progress {
        let bar = ProgressBar::hidden();
        if io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        }
        if let Ok(style) =
            ProgressStyle::with_template("{bar:24} {percent:>3} %, {eta} left  {wide_msg}")
        {
            bar.set_style(style);
        }
        Progress { bar, silent, failure: None }
    }

    fn print(&mut self, text: &str) {
        if self.silent || self.failure.is_some() {
            return;
        }
        let print = || {
            let mut output = io::stdout().lock();
            output.write_all(text.as_bytes())?;
            output.flush()
        };
        self.failure = self.bar.suspend(print).err();
    }

    /// Removes the bar; what could not be printed is an error.
    pub(super) fn finish(self) -> io::Result<()> {
        self.bar.finish_and_clear();
        self.failure.map_or(Ok(()), Err)
    }
}

impl Watch for Progress {
    fn begin(&mut self, total: Duration) {
        self.print(&format!("{}\n", text::header(&Machine::here(), &Build::here())));
        self.bar.set_length(total.as_millis() as u64);
    }

    fn step(&mut self, what: &str, done: Duration) {
        self.bar.set_message(what.to_owned());
        self.bar.set_position(done.as_millis() as u64);
    }

    fn section(&mut self, section: &record::Section) {
        self.print(&text::section(section));
    }
}
