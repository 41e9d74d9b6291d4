//! Calls that wait at the same moment are computed together.
//!
//! The C interfaces compute one hash in each call, and one hash alone leaves most of a processor
//! unused. With at most as many calls at a time as there are processors, each runs as it comes.
//! With more, those that must wait anyway take a seat, and the next call that gets a processor
//! computes as many of one shape as advance together ([`CheckedParams::degree`]).
//!
//! A call that finds no others waiting and a processor free does not wait, unless calls had to wait
//! just before: then the next one lingers for a partner, for a sixteenth of the time of a hash and
//! 250 µs at most. If none comes, the crowd is assumed to be gone. In a process with one thread no
//! call waits.
#![allow(unsafe_code, reason = "the inputs of calls that wait in other threads")]

mod coalescer;

use std::cell::Cell;
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Instant;

use saltern_yescrypt::Error;
use saltern_yescrypt::hazmat::{Derivation, MAX_LANES, derive_many};
use saltern_yescrypt::params::CheckedParams;
use saltern_yescrypt::rom::RomView;

use self::coalescer::{Coalescer, Next, Partner};
use crate::arena::Memory;
use crate::boundary::guard;
use crate::processors::processors;

/// Larger hashes are computed alone: together they take as many times the memory.
const MOST_MEMORY: u64 = 64 << 20;

/// One derivation.
pub(crate) struct Job<'a> {
    pub(crate) params: CheckedParams,
    /// The image of the ROM that the parameters ask for.
    pub(crate) rom: Option<&'a [u8]>,
    pub(crate) password: &'a [u8],
    pub(crate) salt: &'a [u8],
    pub(crate) out: &'a mut [u8],
}

/// The properties that jobs computed together share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    params: CheckedParams,
    /// The ROM by its address and its size.
    rom: Option<(usize, usize)>,
    out: usize,
}

/// A job of a thread that waits until it is done. It stays with the thread, and others have its
/// address.
struct Seated {
    shape: Shape,
    password: *const [u8],
    salt: *const [u8],
    out: *mut [u8],
}

// SAFETY: the thread that the inputs belong to waits, and touches none of them, from when it takes
// its seat until the seat says that the job is done or has not been begun.
unsafe impl Send for Seated {}

thread_local! {
    /// Whether this thread already has a call here, which a signal handler has interrupted: it must
    /// not wait for itself.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Computes a job, alone or with others, in the memory of the thread that computes it. No memory is
/// taken while it waits.
pub(crate) fn compute(mut job: Job<'_>, mut memory: Memory<'_>) -> Result<(), Error> {
    let light = job.params.degree() > 1 && job.params.memory() <= MOST_MEMORY;
    if !light || is_only_thread() || INSIDE.replace(true) {
        return alone(&mut job, &mut memory);
    }
    let together = coalescer().and_then(|coalescer| join(coalescer, &mut job, &mut memory));
    // Nor is there a group whose failure would be that of another call.
    let result = together.unwrap_or_else(|| alone(&mut job, &mut memory));
    INSIDE.set(false);
    result
}

/// Computes a job together with waiting ones, or waits itself. `None` if it has to be computed
/// alone: there is no seat, or its group has failed.
fn join(
    coalescer: &Coalescer,
    job: &mut Job<'_>,
    memory: &mut Memory<'_>,
) -> Option<Result<(), Error>> {
    let shape = Shape {
        params: job.params,
        rom: job.rom.map(|rom| (rom.as_ptr().addr(), rom.len())),
        out: job.out.len(),
    };
    let seated = Seated { shape, password: job.password, salt: job.salt, out: &raw mut *job.out };
    // If the number of processors is unknown, no call waits for one.
    let most = processors().unwrap_or(usize::MAX);
    match coalescer.join(&seated, job.params.degree(), most) {
        Next::Done => Some(Ok(())),
        Next::Alone => None,
        Next::Lead(partners) => {
            let begun = Instant::now();
            let result = guard(Err(Error::Panicked), || lead(job, &partners, memory));
            coalescer.finish(&partners, result.is_ok(), begun.elapsed(), most);
            let others = partners[0].is_some();
            if result.is_err() && others { None } else { Some(result) }
        }
    }
}

fn alone(job: &mut Job<'_>, memory: &mut Memory<'_>) -> Result<(), Error> {
    lead(job, &[], memory)
}

/// Computes a job and those of its partners. The memory is given back before the partners' calls
/// end.
fn lead(
    job: &mut Job<'_>,
    partners: &[Option<Partner>],
    memory: &mut Memory<'_>,
) -> Result<(), Error> {
    let Job { params, rom, password, salt, out } = job;
    let rom = rom.map(RomView::from_bytes).transpose()?;
    let mut jobs: [Derivation<'_>; MAX_LANES] = Default::default();
    jobs[0] = Derivation { password, salt, out };
    let mut count = 1;
    for (job, partner) in jobs[1..].iter_mut().zip(partners.iter().flatten()) {
        // SAFETY: the partner is taken, and waits until `finish` says that its job has ended.
        let Seated { password, salt, out, .. } = *unsafe { &*partner.seated };
        // SAFETY: as above.
        *job = unsafe { Derivation { password: &*password, salt: &*salt, out: &mut *out } };
        count += 1;
    }
    let jobs = &mut jobs[..count];
    memory.lend(count, params.memory(), |workspace| {
        derive_many(jobs, params, rom.as_ref(), workspace)
    })
}

/// The calls of this process.
fn coalescer() -> Option<&'static Coalescer> {
    static FIRST: Coalescer = Coalescer::new();
    static COALESCER: AtomicPtr<Coalescer> = AtomicPtr::new((&raw const FIRST).cast_mut());
    static WATCHED: AtomicBool = AtomicBool::new(false);
    /// A forked process has no other threads: calls that waited in the parent do not wait here.
    extern "C" fn forked() {
        COALESCER.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
    if !WATCHED.load(Ordering::Relaxed) {
        // SAFETY: the handler stores a pointer, and the library is never unloaded.
        let watched = unsafe { libc::pthread_atfork(None, None, Some(forked)) } == 0;
        WATCHED.store(watched, Ordering::Relaxed);
        if !watched {
            return None;
        }
    }
    let there = COALESCER.load(Ordering::Acquire);
    // SAFETY: it is the first one, or one of those below, and none of them is ever freed.
    if let Some(coalescer) = unsafe { there.as_ref() } {
        return Some(coalescer);
    }
    let new = Box::into_raw(forked_crew()?);
    let changed = COALESCER.compare_exchange(there, new, Ordering::AcqRel, Ordering::Acquire);
    if let Err(other) = changed {
        // SAFETY: no other thread has seen the new one; the other one is never freed.
        return unsafe {
            drop(Box::from_raw(new));
            other.as_ref()
        };
    }
    // SAFETY: it was leaked just now.
    unsafe { new.as_ref() }
}

/// New calls, apart from the frame of [`compute`], since they take kilobytes.
#[cold]
#[inline(never)]
fn forked_crew() -> Option<Box<Coalescer>> {
    crate::boundary::boxed(Coalescer::new())
}

/// Whether the C library (since glibc 2.32) knows that there is no other thread.
fn is_only_thread() -> bool {
    /// 0, or 1 where there is no such variable, or its address.
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    let mut place = PLACE.load(Ordering::Relaxed);
    if place == 0 {
        // SAFETY: a string, looked for in all libraries.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
        place = found.expose_provenance().max(1);
        PLACE.store(place, Ordering::Relaxed);
    }
    // SAFETY: a variable of the C library, which stays, and which another thread does not change
    // while there is none.
    place > 1 && unsafe { std::ptr::with_exposed_provenance::<c_char>(place).read_volatile() } != 0
}

#[cfg(test)]
mod tests;
