//! Long work: its progress line, and its end by a signal.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use saltern_rom::{Error, Progress, Stage};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::output::tell;

/// Work that ends within this time shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Looks at signals and shows how far the work is.
pub(super) struct Work {
    /// The number of the signal that came, or 0.
    signal: Arc<AtomicUsize>,
    line: Mutex<Line>,
    wanted: bool,
}

struct Line {
    began: Instant,
    stage: Option<Stage>,
    bar: Option<ProgressBar>,
}

/// The signal that ended the work.
#[derive(Debug)]
struct Ended(usize);

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted: nothing half-made is left")
    }
}

impl std::error::Error for Ended {}

impl Work {
    /// From now on Ctrl-C and SIGTERM end the work where it can be ended; a second one ends the
    /// program at once.
    pub(super) fn begin() -> anyhow::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            let context = "cannot handle signals";
            let again = Arc::new(AtomicBool::new(false));
            // In this order: the first signal finds `again` false and sets it, the second one ends
            // the program.
            signal_hook::flag::register_conditional_default(number, again.clone())
                .context(context)?;
            signal_hook::flag::register(number, again).context(context)?;
            signal_hook::flag::register_usize(
                number,
                signal.clone(),
                number.unsigned_abs() as usize,
            )
            .context(context)?;
        }
        let line = Line { began: Instant::now(), stage: None, bar: None };
        Ok(Work { signal, line: Mutex::new(line), wanted: io::stderr().is_terminal() })
    }

    /// What the library calls.
    pub(super) fn watch(&self, progress: Progress) -> ControlFlow<()> {
        if self.wanted {
            self.show(progress);
        }
        match self.signal.load(Ordering::Relaxed) {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
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
        match (result, self.signal.load(Ordering::Relaxed)) {
            (Err(Error::Cancelled), signal) if signal != 0 => Err(Ended(signal).into()),
            (result, _) => Ok(result?),
        }
    }

    /// Whether a signal has come, as an error: for places without a library call.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        match self.signal.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Ended(signal).into()),
        }
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

/// The exit status of a subcommand: that of the signal if one has ended it.
pub(super) fn status(result: anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    let error = match result {
        Ok(code) => return Ok(code),
        Err(error) => error,
    };
    match error.downcast_ref::<Ended>() {
        Some(&Ended(signal)) => {
            tell(format_args!("{error:#}"));
            Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)))
        }
        None => Err(error),
    }
}
