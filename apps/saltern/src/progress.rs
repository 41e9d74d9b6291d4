//! The progress line: on standard error, on a terminal, and only once the work has taken a while.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends within this time shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the line is updated.
const TICK: Duration = Duration::from_millis(200);

/// Counts bytes from any thread; the thread that prints shows them.
pub(crate) struct Progress {
    began: Instant,
    wanted: bool,
    line: Mutex<Line>,
}

/// The contents of the line.
struct Line {
    /// The current stage, if there are several.
    stage: String,
    since: Instant,
    bytes: u64,
    total: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Expects `total` bytes, if that is known. `quiet` shows nothing at all.
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Self {
        let (began, wanted) = (Instant::now(), !quiet && io::stderr().is_terminal());
        let line = Line { stage: String::new(), since: began, bytes: 0, total, bar: None };
        Self { began, wanted, line: Mutex::new(line) }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Count bytes that were read.
    pub(crate) fn add(&self, bytes: u64) {
        self.line().bytes += bytes;
    }

    /// Begin another stage, which is counted separately.
    pub(crate) fn restart(&self, total: u64) {
        let mut line = self.line();
        line.clear();
        (line.since, line.total) = (Instant::now(), Some(total));
    }

    /// Set the number of bytes of this stage that are done.
    pub(crate) fn set(&self, stage: &str, bytes: u64) {
        let mut line = self.line();
        (line.stage, line.bytes) = (format!("{stage}: "), bytes);
        drop(line);
        self.show();
    }

    /// How long the printing thread may sleep before it calls [`Self::show`]; `None` for no limit.
    pub(crate) fn tick(&self) -> Option<Duration> {
        self.wanted.then_some(TICK)
    }

    /// Update the line, if it is time.
    pub(crate) fn show(&self) {
        if self.wanted && self.began.elapsed() >= PATIENCE {
            self.line().show();
        }
    }

    /// Print something with the line removed.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.line().bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Remove the line.
    pub(crate) fn finish(&self) {
        self.line().clear();
    }
}

impl Line {
    fn show(&mut self) {
        let rate = self.bytes as f64 / self.since.elapsed().as_secs_f64();
        let mut text = format!("{}/s", HumanBytes(rate as u64));
        // Some files grow, so there may be nothing left.
        if let Some(rest) = self.total.and_then(|total| total.checked_sub(self.bytes)) {
            let left = Duration::try_from_secs_f64(rest as f64 / rate).unwrap_or(Duration::MAX);
            text = format!("{text}, {} left", HumanDuration(left));
        }
        let bar = self.bar.get_or_insert_with(|| draw(self.total));
        bar.set_prefix(self.stage.clone());
        bar.set_message(text);
        bar.set_position(self.bytes);
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn draw(total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{prefix}{bytes} of {total_bytes} {wide_bar} {msg}",
        None => "{prefix}{bytes}, {msg}",
    };
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
