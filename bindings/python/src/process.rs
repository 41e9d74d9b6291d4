//! The single pool of this process: its threads, its memory and its queue.
//!
//! It is made by the first hash, never by an import or a constructor, so that a server can make its
//! hashers first and fork afterwards; a forked process makes its own.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use saltern::Prepared;
use saltern_pool::{Pool, PoolConfig};

use crate::errors;

/// Locked only while attached, and never across detaching: with a global interpreter lock, no
/// thread can hold this one while Python forks.
static POOL: Mutex<Option<Ours>> = Mutex::new(None);

/// The pool, and how many items of batches are in its queue.
struct Ours {
    pool: Arc<Pool>,
    batched: Arc<AtomicUsize>,
}

fn place() -> MutexGuard<'static, Option<Ours>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The existing pool, if it belongs to this process.
fn current(place: &Option<Ours>) -> Option<Arc<Pool>> {
    place.as_ref().map(|ours| Arc::clone(&ours.pool)).filter(|pool| !pool.is_forked())
}

/// The number of batch items in the pool's queue.
pub(crate) fn batched() -> Arc<AtomicUsize> {
    place().as_ref().map(|ours| Arc::clone(&ours.batched)).unwrap_or_default()
}

/// The pool, for hashes under this policy; `usual` is the pool of policies that do not configure
/// one. It is never dropped: the end of the process does not wait for it.
pub(crate) fn pool(py: Python<'_>, policy: &Prepared, usual: &PoolConfig) -> PyResult<Arc<Pool>> {
    let wish = policy.pool_config();
    let there = current(&place());
    if let Some(pool) = there {
        agree(py, &pool, &wish, usual)?;
        return Ok(pool);
    }
    let made = py.detach(|| Pool::new(wish.clone()));
    let made = Arc::new(made.map_err(|error| errors::of(py, &error.into()))?);
    // Another thread may have been faster.
    let other = {
        let mut place = place();
        let other = current(&place);
        if other.is_none() {
            *place = Some(Ours { pool: Arc::clone(&made), batched: Arc::default() });
        }
        other
    };
    let Some(other) = other else { return Ok(made) };
    py.detach(|| drop(made));
    agree(py, &other, &wish, usual)?;
    Ok(other)
}

/// Checks that the pool is what a policy asks for, if it asks for anything.
fn agree(py: Python<'_>, pool: &Pool, wish: &PoolConfig, usual: &PoolConfig) -> PyResult<()> {
    let has = pool.config();
    let fields = |config: &PoolConfig| {
        [
            ("threads", config.threads.to_string()),
            ("memory", config.memory.to_string()),
            ("queue", config.max_waiting.to_string()),
            ("patience", format!("{:?}", config.patience)),
            ("in_flight", config.in_flight.to_string()),
            ("wipe", format!("{:?}", config.wipe)),
            ("huge_pages", format!("{:?}", config.pages)),
            ("processors", format!("{:?}", config.processors)),
        ]
    };
    let different = fields(has).into_iter().zip(fields(wish)).zip(fields(usual));
    for (((name, has), (_, wish)), (_, usual)) in different {
        if wish != usual && wish != has {
            let message = format!(
                "the policy has pool.{name} = {wish}, and the pool of this process, which was made \
                 for the first hash, has {has}: use the same [pool] in all policies"
            );
            return Err(errors::named(py, "BadInputError", message));
        }
    }
    if wish.sources.is_some() && has.sources.is_none() {
        let message = "the policy has a ROM that is read from its file, and the pool of this process, \
                       which was made for the first hash, cannot read any: hash with this policy first";
        return Err(errors::named(py, "BadInputError", message));
    }
    Ok(())
}
