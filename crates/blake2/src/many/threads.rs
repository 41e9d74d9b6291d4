//! Several threads for one piece of work: leaves of a tree, or parts of a batch.
//!
//! No pool is kept: each call starts its threads and waits for them, which takes some tens of
//! microseconds. So threads are only started if each of them has [`WORTH_A_THREAD`] bytes to hash.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::vec::Vec;

use super::{hash_many, run};
use crate::job::Job;
use crate::variant::Variant;

/// The least number of bytes for which a thread is started: some hundred microseconds of work.
const WORTH_A_THREAD: usize = 512 << 10;

/// Like [`hash_many`](crate::many::hash_many), with up to `threads` threads; `None` means as many
/// as there are processors.
///
/// The messages are distributed by length, so that each thread has about the same number of bytes.
///
/// ```
/// use saltern_blake2::{blake2b, many};
/// let (params, text) = (blake2b::Params::new(), vec![7; 2_000_000]);
/// let mut jobs: Vec<_> = text.chunks(100_000).map(|part| many::Job::new(&params, part)).collect();
/// many::hash_many_threaded(&mut jobs, None);
/// assert_eq!(jobs[19].hash(), blake2b::hash(&text[1_900_000..]));
/// ```
pub fn hash_many_threaded<V: Variant>(
    jobs: &mut [Job<'_, V>],
    threads: impl Into<Option<NonZero<usize>>>,
) {
    let total: usize = jobs.iter().map(|job| job.input.len()).sum();
    let threads = worthwhile_threads(threads, total).min(jobs.len());
    if threads < 2 {
        return hash_many(jobs);
    }
    let kernels = jobs[0].params.kernels();
    let mut order: Vec<&mut Job<'_, V>> = jobs.iter_mut().collect();
    order.sort_by_cached_key(|job| core::cmp::Reverse(job.input.len()));
    // Longest first, each to the thread with the least so far: close enough to the best partition.
    let mut parts: Vec<(usize, Vec<&mut Job<'_, V>>)> =
        (0..threads).map(|_| (0, Vec::new())).collect();
    for job in order {
        if let Some((bytes, part)) = parts.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            *bytes += job.input.len() + V::BLOCK_BYTES;
            part.push(job);
        }
    }
    let parts = Mutex::new(parts.into_iter());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((_, part)) = next() {
            run(kernels, part.into_iter());
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If a thread cannot be started, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

/// How many threads are worth starting to hash this many bytes: at most `threads`, or as many as
/// there are processors for `None`; at least 1.
///
/// ```
/// use saltern_blake2::many::worthwhile_threads;
/// let four = std::num::NonZero::new(4);
/// assert_eq!((worthwhile_threads(four, 1000), worthwhile_threads(four, 1 << 30)), (1, 4));
/// ```
#[must_use]
pub fn worthwhile_threads(threads: impl Into<Option<NonZero<usize>>>, bytes: usize) -> usize {
    let most = threads.into().or_else(|| thread::available_parallelism().ok());
    most.map_or(1, NonZero::get).min(bytes / WORTH_A_THREAD).max(1)
}
