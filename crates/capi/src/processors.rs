//! How many calls can compute at once.
#![allow(unsafe_code, reason = "a query to the system")]

/// The number of processors available to the process; `None` if the system does not report it. No
/// file is read, since a sandboxed process may be killed for that.
pub(crate) fn processors() -> Option<usize> {
    // SAFETY: a set is plain numbers.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a set of this size. Those of the first thread, as this one may be bound to one.
    let got = unsafe { libc::sched_getaffinity(libc::getpid(), size_of_val(&set), &raw mut set) };
    // SAFETY: the set that was filled.
    let count = usize::try_from(unsafe { libc::CPU_COUNT(&set) }).ok();
    count.filter(|count| got == 0 && *count > 0)
}
