//! Many messages at once, in threads, without the interpreter.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use arrow_array::FixedSizeBinaryArray;
use arrow_buffer::{Buffer, NullBuffer};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use saltern_blake2::{blake2b, blake2s, many};

use super::digests::Digests;
use super::rows::Rows;
use crate::wait::SLICE;

/// Bytes that a thread must have to do to be started.
const WORTH_A_THREAD: usize = 512 << 10;

/// Parameters that hash messages side by side.
pub(crate) trait Rowwise: Sync {
    /// The digests of messages, one after the other; of the empty message for none.
    fn hash_rows(&self, rows: &[Option<&[u8]>], digests: &mut [u8], digest_size: usize);
}

macro_rules! rowwise {
    ($module:ident) => {
        impl Rowwise for $module::Params {
            fn hash_rows(&self, rows: &[Option<&[u8]>], digests: &mut [u8], digest_size: usize) {
                let job = |row: &Option<_>| many::Job::new(self, row.unwrap_or_default());
                let mut jobs: Vec<_> = rows.iter().map(job).collect();
                many::hash_many(&mut jobs);
                for (job, digest) in jobs.iter().zip(digests.chunks_exact_mut(digest_size)) {
                    digest.copy_from_slice(job.hash().as_bytes());
                }
            }
        }
    };
}

rowwise!(blake2b);
rowwise!(blake2s);

pub(crate) fn hash_many(
    py: Python<'_>,
    params: &impl Rowwise,
    digest_size: usize,
    rows: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<Digests> {
    let rows = Rows::of(rows)?;
    let cells = rows.cells();
    let mut digests = Vec::new();
    let refused = digests.try_reserve_exact(cells.len() * digest_size);
    refused.map_err(|error| PyMemoryError::new_err(error.to_string()))?;
    digests.resize(cells.len() * digest_size, 0);
    let total: usize = cells.iter().flatten().map(|row| row.len()).sum();
    let threads = threads_for(threads, total + digests.len())?;
    let chunk = chunk_of(total, cells.len());
    let parts = cells.chunks(chunk).zip(digests.chunks_mut(chunk * digest_size));
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let hash = |until: Instant| {
        while Instant::now() < until {
            let Some((rows, digests)) = next() else { return true };
            params.hash_rows(rows, digests, digest_size);
        }
        false
    };
    while !py.detach(|| side_by_side(threads, &hash)) {
        py.check_signals()?;
    }
    let nulls = cells.iter().any(Option::is_none);
    let nulls = nulls.then(|| cells.iter().map(Option::is_some).collect::<NullBuffer>());
    let array = FixedSizeBinaryArray::try_new(digest_size as i32, Buffer::from_vec(digests), nulls);
    Ok(Digests::new(array.map_err(|error| PyValueError::new_err(error.to_string()))?))
}

/// Lets so many threads work for a slice of time; whether all is done.
fn side_by_side(threads: usize, hash: &(impl Fn(Instant) -> bool + Sync)) -> bool {
    let until = Instant::now() + SLICE;
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where there is no thread to be had, the others have more to do.
            let _ = thread::Builder::new().spawn_scoped(scope, || hash(until));
        }
        hash(until)
    })
}

/// How many threads to use for so many bytes.
fn threads_for(wish: Option<usize>, bytes: usize) -> PyResult<usize> {
    if wish == Some(0) {
        return Err(PyValueError::new_err("threads = 0: allowed is 1 or more, or None"));
    }
    let most = wish.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get));
    Ok(most.min(bytes / WORTH_A_THREAD).max(1))
}

/// Rows in a part: enough to fill all lanes, about a MiB if they are not long, and at most so many
/// that what is kept for them stays in a near cache.
fn chunk_of(bytes: usize, rows: usize) -> usize {
    ((1 << 20) / (bytes / rows.max(1) + 128)).clamp(32, 1024)
}
