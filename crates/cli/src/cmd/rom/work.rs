//! Long work: its progress line, and its end by a signal.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use saltern_rom::{Error, Progress, Stage};

use crate::interrupt::Interrupt;

/// Work that ends within this time shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Looks at signals and shows how far the work is.
pub(super) struct Work {
    interrupt: Interrupt,
    line: Mutex<Line>,
    wanted: bool,
}

struct Line {
    began: Instant,
    stage: Option<Stage>,
    bar: Option<ProgressBar>,
}

impl Work {
    /// From now on Ctrl-C and SIGTERM end the work where it can be ended.
    pub(super) fn begin() -> anyhow::Result<Self> {
        let line = Line { began: Instant::now(), stage: None, bar: None };
        let (interrupt, wanted) = (Interrupt::begin()?, io::stderr().is_terminal());
        Ok(Work { interrupt, line: Mutex::new(line), wanted })
    }

    /// What the library calls.
    pub(super) fn watch(&self, progress: Progress) -> ControlFlow<()> {
        if self.wanted {
            self.show(progress);
        }
        match self.interrupt.came() {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(()),
        }
    }

    fn show(&self, progress: Progress) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.began.elapsed() < PATIENCE {
            return;
        }
        let same = match (line.stage, progress.stage) {
            // The rate and the rest are those of all passes.
            (Some(Stage::Fill(_)), Stage::Fill(_)) => true,
            (old, new) => old == Some(new),
        };
        if !same {
            line.clear();
        }
        line.stage = Some(progress.stage);
        let bar = line.bar.get_or_insert_with(|| draw(progress.total));
        bar.set_message(progress.stage.to_string());
        bar.set_position(progress.done);
    }

    /// The result without the line, and with the signal as the error if it was that.
    pub(super) fn end<T>(&self, result: Result<T, Error>) -> anyhow::Result<T> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if matches!(result, Err(Error::Cancelled)) {
            self.check()?;
        }
        Ok(result?)
    }

    /// Whether a signal has come, as an error: for places without a library call.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.interrupt.check(|| "nothing half-made is left".to_owned())
    }
}

impl Line {
    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn draw(total: u64) -> ProgressBar {
    let template = "{msg}: {binary_bytes} of {binary_total_bytes} {wide_bar} {binary_bytes_per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
