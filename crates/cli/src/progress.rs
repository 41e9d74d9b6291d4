//! The progress line: on standard error, on a terminal, and only once the work has taken a while.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends within this time shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the line is renewed.
const TICK: Duration = Duration::from_millis(200);

/// Counts bytes from any thread; the thread that prints shows them.
pub(crate) struct Progress {
    bytes: Mutex<u64>,
    total: Option<u64>,
    started: Instant,
    wanted: bool,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    /// `total` bytes are to come, where that is known. `quiet` shows nothing at all.
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Self {
        Self {
            bytes: Mutex::new(0),
            total,
            started: Instant::now(),
            wanted: !quiet && io::stderr().is_terminal(),
            bar: OnceLock::new(),
        }
    }

    /// Count bytes that were hashed.
    pub(crate) fn add(&self, bytes: u64) {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
    }

    /// How long the printing thread may sleep before it calls [`Self::show`]; `None` for ever.
    pub(crate) fn tick(&self) -> Option<Duration> {
        self.wanted.then_some(TICK)
    }

    /// Renew the line, if it is time for one.
    pub(crate) fn show(&self) {
        let elapsed = self.started.elapsed();
        if !self.wanted || elapsed < PATIENCE {
            return;
        }
        let bytes = *self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = bytes as f64 / elapsed.as_secs_f64();
        let mut text = format!("{}/s", HumanBytes(rate as u64));
        // Some files grow, so that there may be no rest.
        if let Some(rest) = self.total.and_then(|total| total.checked_sub(bytes)) {
            let left = Duration::try_from_secs_f64(rest as f64 / rate).unwrap_or(Duration::MAX);
            text = format!("{text}, {} left", HumanDuration(left));
        }
        let bar = self.bar.get_or_init(|| self.draw());
        bar.set_message(text);
        bar.set_position(bytes);
    }

    /// Print something while the line is out of the way.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match self.bar.get() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Remove the line.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }

    fn draw(&self) -> ProgressBar {
        let template = match self.total {
            Some(_) => "{bytes} of {total_bytes} {wide_bar} {msg}",
            None => "{bytes}, {msg}",
        };
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr());
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }
}
