//! Whole checks of attached ROMs by age, for processes that run for long.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{Attached, Error};

/// A thread that checks all of each ROM again once its last check is older than some age. Ended, also in the middle of a check, when this is dropped.
///
/// No answer depends on it: what a hash has read is checked before a mismatch is said ([`CheckedRoms`](crate::CheckedRoms)). It finds
/// damage where no hash has been yet. A check reads the image, at some gigabytes a second of one processor.
pub struct Recheck {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ended: Mutex<bool>,
    end: Condvar,
}

impl Recheck {
    /// Starts the thread. `tell` is called with each ROM that is damaged, once for each check.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub fn start(
        roms: Vec<Arc<Attached>>,
        age: Duration,
        tell: impl Fn(&Attached, &Error) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its = shared.clone();
        let check = move || {
            // With nothing to check it waits for its end.
            while its.wait(age) {
                let due = |rom: &&Arc<Attached>| {
                    rom.last_checked().is_none_or(|checked| checked.elapsed() >= age)
                };
                for rom in roms.iter().filter(due) {
                    let watch = |_| match its.is_ended() {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    };
                    match rom.verify(&watch) {
                        Ok(()) | Err(Error::Cancelled) => {}
                        Err(error) => tell(rom, &error),
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("rom-recheck".to_owned()).spawn(check)?;
        Ok(Recheck { shared, thread: Some(thread) })
    }
}

impl Shared {
    fn is_ended(&self) -> bool {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether to go on after this time.
    fn wait(&self, time: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.end.wait_timeout_while(ended, time, |ended| !*ended);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Drop for Recheck {
    fn drop(&mut self) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.end.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Recheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recheck")
    }
}
