//! The progress line: on standard error, on a terminal, and only once the work has taken a while.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends within this time shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the line is renewed.
const TICK: Duration = Duration::from_millis(200);

/// Counts bytes from any thread; the thread that prints shows them.
pub(super) struct Progress {
    bytes: AtomicU64,
    total: Option<u64>,
    started: Instant,
    wanted: bool,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    /// `total` bytes are to come, where that is known. `quiet` shows nothing at all.
    pub(super) fn new(total: Option<u64>, quiet: bool) -> Self {
        Self {
            bytes: AtomicU64::new(0),
            total,
            started: Instant::now(),
            wanted: !quiet && io::stderr().is_terminal(),
            bar: OnceLock::new(),
        }
    }

    /// Count bytes that were hashed.
    pub(super) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How long the printing thread may sleep before it calls [`Self::show`]; `None` for ever.
    pub(super) fn tick(&self) -> Option<Duration> {
        self.wanted.then_some(TICK)
    }

    /// Renew the line, if it is time for one.
    pub(super) fn show(&self) {
        if self.wanted && self.started.elapsed() >= PATIENCE {
            let bar = self.bar.get_or_init(|| self.draw());
            bar.set_position(self.bytes.load(Ordering::Relaxed));
            bar.tick();
        }
    }

    /// Print something while the line is out of the way.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match self.bar.get() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Remove the line.
    pub(super) fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }

    fn draw(&self) -> ProgressBar {
        let target = ProgressDrawTarget::stderr();
        let template = match self.total {
            Some(_) => "{bytes} of {total_bytes} {wide_bar} {bytes_per_sec} {eta}",
            None => "{spinner} {bytes} {bytes_per_sec} {elapsed}",
        };
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::with_draw_target(self.total, target).with_elapsed(PATIENCE);
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }
}
