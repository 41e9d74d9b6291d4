//! The one pool of this process: its threads, its memory and its queue.
//!
//! It is made by the first hash, never by an import or a constructor, so that a server can make its
//! hashers first and fork afterwards; a forked process makes its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use saltern::Prepared;
use saltern_pool::{Pool, PoolConfig};

use crate::errors;

/// Locked only while attached, and never across detaching: no thread can hold it while Python
/// forks.
static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

fn place() -> MutexGuard<'static, Option<Arc<Pool>>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool, for hashes of this policy. It never ends: when the process does, nobody waits for it.
pub(crate) fn pool(py: Python<'_>, policy: &Prepared) -> PyResult<Arc<Pool>> {
    let wish = policy.pool_config();
    let current = place().clone().filter(|pool| !pool.is_forked());
    if let Some(pool) = current {
        agree(py, &pool, &wish)?;
        return Ok(pool);
    }
    let made = py.detach(|| Pool::new(wish.clone()));
    let made = Arc::new(made.map_err(|error| errors::of(py, &error.into()))?);
    // Another thread may have been faster.
    let other = {
        let mut place = place();
        let other = place.clone().filter(|pool| !pool.is_forked());
        if other.is_none() {
            *place = Some(Arc::clone(&made));
        }
        other
    };
    let Some(other) = other else { return Ok(made) };
    py.detach(|| drop(made));
    agree(py, &other, &wish)?;
    Ok(other)
}

/// Whether the pool is what a policy asks for, if it asks for anything.
fn agree(py: Python<'_>, pool: &Pool, wish: &PoolConfig) -> PyResult<()> {
    let (has, usual) = (pool.config(), PoolConfig::default());
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
    let different = fields(has).into_iter().zip(fields(wish)).zip(fields(&usual));
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
