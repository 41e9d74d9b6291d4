//! How many calls can compute at once.
#![allow(unsafe_code, reason = "a query to the system")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The processors that threads of this process have been seen to have, a bit for each.
static SEEN: [AtomicU64; size_of::<libc::cpu_set_t>() / 8] =
    [const { AtomicU64::new(0) }; size_of::<libc::cpu_set_t>() / 8];

/// The number of processors available to the process; `None` if the system does not report it. No
/// file is read, since a sandboxed process may be killed for that.
///
/// A thread may be bound to a processor, the first one of a server included. So those of the first
/// and of this thread are added to all that have been seen.
pub(crate) fn processors() -> Option<usize> {
    // SAFETY: it takes nothing.
    let first = unsafe { libc::getpid() };
    let known = [first, 0].map(add_those_of).contains(&true);
    let count: u32 = SEEN.iter().map(|word| word.load(Relaxed).count_ones()).sum();
    usize::try_from(count).ok().filter(|count| known && *count > 0)
}

/// Adds the processors of a thread; returns whether they are known.
fn add_those_of(thread: libc::pid_t) -> bool {
    let mut words = [0_u64; SEEN.len()];
    // SAFETY: the words are as many bytes as a set of processors, which is plain bits.
    let got =
        unsafe { libc::sched_getaffinity(thread, size_of_val(&words), words.as_mut_ptr().cast()) };
    SEEN.iter().zip(words).for_each(|(seen, word)| {
        seen.fetch_or(word, Relaxed);
    });
    got == 0
}
