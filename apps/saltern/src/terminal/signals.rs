//! Signals that end or stop the program, held back while the terminal is silent.
//!
//! A handler only records the signal and wakes the code that waits for the keyboard; ordinary code
//! restores the terminal, and only then does the signal have its default effect.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN,
    SIGTTOU, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use signal_hook::{flag, low_level};

/// Signals that stop the program or let it continue.
const STOPPING: [c_int; 3] = [SIGTSTP, SIGTTIN, SIGCONT];

/// Signals from outside that end the program by default. Those for a fault in the program itself
/// (such as SIGSEGV) cannot wait, and SIGKILL cannot be held back.
const ENDING: [c_int; 12] = [
    SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGABRT, SIGVTALRM, SIGPROF,
    SIGXCPU, SIGXFSZ,
];

/// Other signals that end the program by default on this system, which the signal library does not
/// know or considers harmless: the program ends with the status that a shell would show for the
/// signal.
#[cfg(target_os = "linux")]
fn others() -> Vec<c_int> {
    // 16 is SIGSTKFLT; on processors where it is another signal, that is one of the others.
    let named = [libc::SIGIO, libc::SIGPWR, 16];
    let known = |signal: c_int| signal != libc::SIGIO && low_level::signal_name(signal).is_some();
    let unknown = named.into_iter().filter(|signal| !known(*signal));
    unknown.chain(libc::SIGRTMIN()..=libc::SIGRTMAX()).collect()
}

#[cfg(not(target_os = "linux"))]
fn others() -> Vec<c_int> {
    Vec::new()
}

/// The status that shells show for a program ended by this signal.
fn status(signal: c_int) -> c_int {
    128 + signal
}

/// The signals of the process, installed once.
pub(super) struct Signals {
    /// The terminal need not be restored: a signal has its default effect at once.
    idle: Arc<AtomicBool>,
    noted: Mutex<Noted>,
    /// Readable after a signal.
    wake: UnixStream,
}

/// The signals that have arrived.
struct Noted {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// Not handled yet.
    came: BTreeSet<c_int>,
}

impl Signals {
    /// Hold them back from now on, until [`Signals::release`].
    pub(super) fn hold() -> io::Result<&'static Signals> {
        static SIGNALS: OnceLock<Signals> = OnceLock::new();
        let signals = match SIGNALS.get() {
            Some(signals) => signals,
            None => {
                let new = Signals::install()?;
                SIGNALS.get_or_init(|| new)
            }
        };
        signals.idle.store(false, Ordering::SeqCst);
        Ok(signals)
    }

    fn install() -> io::Result<Signals> {
        // First: reading it takes a descriptor.
        let (ignored, others) = (ignored(), others());
        let (read, write) = UnixStream::pair()?;
        let wake = read.try_clone()?;
        let idle = Arc::new(AtomicBool::new(true));
        let known = ENDING.into_iter().chain(STOPPING).chain(others.iter().copied());
        // `nohup saltern …` continues to ignore it.
        let heeded = |signal: &c_int| *signal == SIGCONT || ignored >> (signal - 1) & 1 == 0;
        let known: Vec<c_int> = known.filter(heeded).collect();
        for &signal in &known {
            match others.contains(&signal) {
                false => flag::register_conditional_default(signal, idle.clone())?,
                true => flag::register_conditional_shutdown(signal, status(signal), idle.clone())?,
            };
        }
        // All of them use one descriptor for waking: the program may have few left.
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, known)?;
        let noted = Mutex::new(Noted { delivery, came: BTreeSet::new() });
        Ok(Signals { idle, noted, wake })
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Note the signals that have arrived. Only this consumes wake-ups, so whoever waits for one
    /// must look at everything that was noted first: the other methods find only that, and a signal
    /// that arrives between two of them still wakes.
    pub(super) fn collect(&self) {
        let Noted { delivery, came } = &mut *self.noted();
        came.extend(delivery.pending());
    }

    /// Stop holding signals back. A signal that arrived too late to be handled takes effect here.
    pub(super) fn release(&self) {
        self.idle.store(true, Ordering::SeqCst);
        self.collect();
        if let Some(signal) = self.take_ending() {
            end(signal);
        }
        if self.take(SIGTSTP) | self.take(SIGTTIN) {
            // An error cannot be reported here and does no harm: the program continues.
            let _ = stop();
        }
        self.take(SIGCONT);
    }

    /// Whether this signal was noted since the last call.
    pub(super) fn take(&self, signal: c_int) -> bool {
        self.noted().came.remove(&signal)
    }

    /// A signal that ends the program, if one was noted.
    pub(super) fn take_ending(&self) -> Option<c_int> {
        let mut noted = self.noted();
        let signal = noted.came.iter().find(|signal| !STOPPING.contains(signal)).copied()?;
        noted.came.remove(&signal);
        Some(signal)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Stop as SIGTSTP does by default: not at all if there is no shell that could continue the
/// program. That signal has a handler now; this one has the same default.
pub(super) fn stop() -> io::Result<()> {
    low_level::raise(SIGTTOU)
}

/// Let a signal that was held back end the program, so that the parent process sees which one it
/// was.
pub(super) fn end(signal: c_int) -> ! {
    let _ = low_level::emulate_default_handler(signal);
    // Reached for one of the others, or if the system refused.
    std::process::exit(status(signal))
}

/// The signals that were ignored when the program started, as bits; 0 on systems that do not report
/// them.
fn ignored() -> u128 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u128::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn wakes(signals: &Signals) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(signals, PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn a_signal_that_arrives_while_others_are_handled_wakes_whoever_waits_afterwards() {
        let signals = Signals::hold().unwrap();
        signals.collect();
        assert_eq!(signals.take_ending(), None);
        low_level::raise(SIGUSR1).unwrap();
        assert!(!signals.take(SIGTSTP) && !signals.take(SIGTTIN) && !signals.take(SIGCONT));
        assert!(wakes(signals), "the wake-up of a signal that nobody has handled is gone");
        signals.collect();
        assert_eq!(signals.take_ending(), Some(SIGUSR1));
        assert!(!wakes(signals));
    }
}
