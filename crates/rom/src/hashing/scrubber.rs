//! Periodic complete checks of attached ROMs, for long-running processes.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use saltern_pool::hazmat::Process;

use crate::{Attached, Error};

/// A thread that checks all of each ROM again once its last check is older than some age. Dropping
/// this ends the thread, even in the middle of a check. A forked process does not have it.
///
/// No answer of a pool depends on it: what a hash has read is checked before a mismatch is
/// reported. It finds damage that no hash has read yet. A check reads the image at some gigabytes a
/// second on one processor.
pub struct RomScrubber {
    /// Dropped at the end.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

impl RomScrubber {
    /// Starts the thread. `tell` is called with each damaged ROM, once for each check.
    ///
    /// # Errors
    /// The system's error if no thread can be started.
    pub fn start(
        roms: Vec<Arc<Attached>>,
        age: Duration,
        tell: impl Fn(&Attached, &Error) + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = channel::<()>();
        let ended = Mutex::new(ended);
        let goes_on = move |wait: Duration| {
            // Nobody else has it, and nothing panics with it.
            let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
        };
        let check = move || {
            // With nothing to check it only waits for the end.
            while goes_on(age) {
                let due = |rom: &&Arc<Attached>| {
                    rom.last_checked().is_none_or(|checked| checked.elapsed() >= age)
                };
                for rom in roms.iter().filter(due) {
                    let watch = |_| match goes_on(Duration::ZERO) {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    };
                    match rom.verify(&watch) {
                        Ok(()) | Err(Error::Cancelled) => {}
                        Err(error) => tell(rom, &error),
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("rom-recheck".to_owned()).spawn(check)?;
        Ok(RomScrubber { end: Some(end), thread: Some(thread), process: Process::current() })
    }
}

impl Drop for RomScrubber {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // A forked process has neither the thread nor, perhaps, the locks of the channel.
            std::mem::forget((self.end.take(), self.thread.take()));
            return;
        }
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for RomScrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RomScrubber")
    }
}
