//! Long operations: the progress line, and cancelling by a signal.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use saltern_rom::{Error, Stage};

use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// Checks for signals and shows progress.
pub(super) struct Work {
    interrupt: Interrupt,
    progress: Progress,
    stage: Mutex<Option<Stage>>,
}

impl Work {
    /// From now on Ctrl-C and SIGTERM cancel the work where it can be cancelled.
    pub(super) fn begin() -> anyhow::Result<Self> {
        let progress = Progress::new(None, false);
        Ok(Work { interrupt: Interrupt::begin()?, progress, stage: Mutex::new(None) })
    }

    /// The callback for the library.
    pub(super) fn watch(&self, now: saltern_rom::Progress) -> ControlFlow<()> {
        let before = self.stage.lock().unwrap_or_else(PoisonError::into_inner).replace(now.stage);
        let same = match (before, now.stage) {
            // The rate and the remaining time are those of all passes.
            (Some(Stage::Fill(_)), Stage::Fill(_)) => true,
            (old, new) => old == Some(new),
        };
        if !same {
            self.progress.restart(now.total);
        }
        self.progress.set(&now.stage.to_string(), now.done);
        match self.interrupt.came() {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(()),
        }
    }

    /// Removes the progress line; returns the result, with the signal as the error if it was the
    /// cause.
    pub(super) fn end<T>(&self, result: Result<T, Error>) -> anyhow::Result<T> {
        self.progress.finish();
        if matches!(result, Err(Error::Cancelled)) {
            self.check()?;
        }
        Ok(result?)
    }

    /// An error if a signal has arrived: for places without a library call.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.interrupt.check(|| "nothing incomplete is left behind".to_owned())
    }
}
