//! Many messages at once, in threads, without the interpreter.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use arrow_array::FixedSizeBinaryArray;
use arrow_buffer::Buffer;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use saltern_blake2::Variant;
use saltern_blake2::generic::Params;
use saltern_blake2::many::worthwhile_threads;

use super::digests::Digests;
use super::rows::Rows;
use crate::buffer::zeros;
use crate::wait::SLICE;

pub(crate) fn hash_many<V: Variant>(
    py: Python<'_>,
    params: &Params<V>,
    digest_size: usize,
    rows: &Bound<'_, PyAny>,
    threads: Option<NonZero<usize>>,
) -> PyResult<Digests>
where
    Params<V>: Sync,
{
    let rows = Rows::of(rows)?;
    let table = rows.table();
    let (count, bytes) = (table.len(), table.bytes());
    let digests = count.checked_mul(digest_size).and_then(zeros);
    let mut digests = digests.ok_or_else(|| PyMemoryError::new_err(()))?;
    let threads = worthwhile_threads(threads, bytes + digests.len());
    let part = part_of(bytes, count);
    let parts = Mutex::new(digests.chunks_mut(part * digest_size).enumerate());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let hash = |until: Instant| {
        while Instant::now() < until {
            let Some((number, digests)) = next() else { return true };
            params.hash_many_into(&table.part(number * part, part), digests);
        }
        false
    };
    while !py.detach(|| side_by_side(threads, &hash)) {
        py.check_signals()?;
    }
    let (width, digests) = (digest_size as i32, Buffer::from_vec(digests));
    let array = FixedSizeBinaryArray::try_new(width, digests, table.nulls());
    Ok(Digests::new(array.map_err(|error| PyValueError::new_err(error.to_string()))?))
}

/// Lets this many threads work for a slice of time; returns whether everything is done.
fn side_by_side(threads: usize, hash: &(impl Fn(Instant) -> bool + Sync)) -> bool {
    let until = Instant::now() + SLICE;
    thread::scope(|scope| {
        for _ in 1..threads {
            // If a thread cannot be started, the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, || hash(until));
        }
        hash(until)
    })
}

/// Rows in a part: enough to fill all lanes, about a MiB if they are not long, and few enough that
/// their state stays in a near cache. Parts of slow rows are smaller, so that signals are checked
/// in time and every thread has work.
fn part_of(bytes: usize, rows: usize) -> usize {
    let row = bytes / rows.max(1) + 128;
    ((1 << 20) / row).clamp(32, 1024).min((64 << 20) / row).max(1)
}
