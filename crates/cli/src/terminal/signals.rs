//! Signals that end or stop the program, held back while the terminal is silent.
//!
//! A handler only notes the signal and wakes whoever waits for the keyboard; the terminal is put in
//! order by ordinary code, and only then does the signal do what it does by default.

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

/// Those that stop the program or let it go on.
const STOPPING: [c_int; 3] = [SIGTSTP, SIGTTIN, SIGCONT];

/// Those whose default is the end of the program and that come from outside. What tells of a fault
/// in the program itself (SIGSEGV and its kind) cannot wait, and SIGKILL waits for nobody.
const ENDING: [c_int; 12] = [
    SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGABRT, SIGVTALRM, SIGPROF,
    SIGXCPU, SIGXFSZ,
];

/// Others that end the program by default on this system, which the library of handlers does not
/// know, or takes for harmless: the program ends with a status that tells the signal, as a shell
/// would tell it.
#[cfg(target_os = "linux")]
fn others() -> Vec<c_int> {
    // SIGSTKFLT, which not every processor has under this number: there it is one of the others.
    let named = [libc::SIGIO, libc::SIGPWR, 16];
    let known = |signal: c_int| signal != libc::SIGIO && low_level::signal_name(signal).is_some();
    let unknown = named.into_iter().filter(|signal| !known(*signal));
    unknown.chain(libc::SIGRTMIN()..=libc::SIGRTMAX()).collect()
}

#[cfg(not(target_os = "linux"))]
fn others() -> Vec<c_int> {
    Vec::new()
}

/// The status of a program that this signal has ended, as shells show it.
fn status(signal: c_int) -> c_int {
    128 + signal
}

/// The signals of the process, installed once.
pub(super) struct Signals {
    /// Nothing has to be put in order: a signal does at once what it does by default.
    idle: Arc<AtomicBool>,
    noted: Mutex<Noted>,
    /// Readable after a signal.
    wake: UnixStream,
}

/// What has come.
struct Noted {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// Not heeded yet.
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
        // `nohup saltern …` goes on ignoring it.
        let heeded = |signal: &c_int| *signal == SIGCONT || ignored >> (signal - 1) & 1 == 0;
        let known: Vec<c_int> = known.filter(heeded).collect();
        for &signal in &known {
            match others.contains(&signal) {
                false => flag::register_conditional_default(signal, idle.clone())?,
                true => flag::register_conditional_shutdown(signal, status(signal), idle.clone())?,
            };
        }
        // All of them wake by one descriptor: the program may not have many.
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, known)?;
        let noted = Mutex::new(Noted { delivery, came: BTreeSet::new() });
        Ok(Signals { idle, noted, wake })
    }

    /// What has come up to now. Nobody has to be woken for it any more.
    fn noted(&self) -> MutexGuard<'_, Noted> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let Noted { delivery, came } = &mut *noted;
        came.extend(delivery.pending());
        noted
    }

    /// Hold nothing back any more. A signal that came too late to be heeded has its effect here.
    pub(super) fn release(&self) {
        self.idle.store(true, Ordering::SeqCst);
        if let Some(signal) = self.take_ending() {
            end(signal);
        }
        if self.take(SIGTSTP) | self.take(SIGTTIN) {
            // Nothing can be said about it here, and nothing is lost: the program goes on.
            let _ = stop();
        }
        self.take(SIGCONT);
    }

    /// Whether this signal has come since it was asked last.
    pub(super) fn take(&self, signal: c_int) -> bool {
        self.noted().came.remove(&signal)
    }

    /// One that ends the program, if there was any.
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

/// Stop as SIGTSTP does by default: not at all where there is no shell that could let the program
/// go on. That signal has a handler by now; this one has the same default.
pub(super) fn stop() -> io::Result<()> {
    low_level::raise(SIGTTOU)
}

/// Let a signal that was held back end the program, so that its parent sees which one it was.
pub(super) fn end(signal: c_int) -> ! {
    let _ = low_level::emulate_default_handler(signal);
    // One of the others, or where the system would not have it.
    std::process::exit(status(signal))
}

/// The signals that the program was started to ignore, bit by bit; none on systems that do not
/// tell.
fn ignored() -> u128 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u128::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
