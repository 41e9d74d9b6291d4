//! Hashing under a policy: that of a file, or one that options describe.

use std::cell::OnceCell;
use std::sync::Arc;

use anyhow::Context;
use saltern::{Error, Passwords, Policy, Prepared};
use saltern_pool::{Error as PoolError, Pool};
use saltern_yescrypt::hazmat::Level;

use crate::limits::explain;
use crate::output::warn;

/// Where a policy comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file: what is outdated under it is told.
    File,
    /// The options of the command line: errors name them.
    Options,
}

impl Origin {
    /// An error in words, with the option that changes the limit if there is one.
    pub(crate) fn words(self, error: &Error) -> String {
        match (self, error) {
            (Origin::Options, Error::Pool(PoolError::Hash(error))) => explain(*error).to_string(),
            (Origin::Options, Error::Pool(PoolError::OverBudget { needed, limit })) => {
                let (need, limit) = (needed.div_ceil(1 << 20), limit >> 20);
                format!("this takes {need} MiB of memory, more than --memory {limit} allows")
            }
            (Origin::File, Error::Malformed { what: "account", .. }) => {
                format!("{error}; give it with --account, or as `account` in a line of JSON")
            }
            (_, error) => error.to_string(),
        }
    }
}

/// Hashing under a policy. Its keys are read and its ROMs attached, so that nobody types a password
/// into a program that cannot use it.
pub(crate) struct Site {
    prepared: Prepared,
    pub(crate) origin: Origin,
    /// Set once the threads run.
    passwords: OnceCell<Passwords>,
}

impl Site {
    /// For one password after the other. The thread starts when there is one: while the program
    /// asks for it there is no second thread to which signals could be delivered, in a different
    /// order than they were sent.
    pub(crate) fn one(
        mut policy: Policy,
        origin: Origin,
        level: Option<Level>,
    ) -> anyhow::Result<Self> {
        let pool = &mut policy.pool;
        (pool.threads, pool.in_flight, pool.prepare) = (1, 1, None);
        if origin == Origin::Options {
            // The limits bound the memory of the single hash.
            pool.memory = u64::MAX;
        }
        Self::open(policy, origin, level)
    }

    /// For many passwords, up to `waiting` at once. The threads run.
    pub(crate) fn many(
        mut policy: Policy,
        origin: Origin,
        level: Option<Level>,
        waiting: usize,
    ) -> anyhow::Result<Self> {
        // The policy's queue length is meant for logins.
        policy.pool.max_waiting = policy.pool.max_waiting.max(waiting);
        let site = Self::open(policy, origin, level)?;
        warn(site.passwords()?.pool().note());
        Ok(site)
    }

    fn open(mut policy: Policy, origin: Origin, level: Option<Level>) -> anyhow::Result<Self> {
        policy.pool.level = level.unwrap_or(policy.pool.level);
        let prepared = Prepared::new(policy)?;
        warn(prepared.table().notes());
        Ok(Site { prepared, origin, passwords: OnceCell::new() })
    }

    /// What computes. No login waits for its calls.
    pub(crate) fn passwords(&self) -> anyhow::Result<&Passwords> {
        if self.passwords.get().is_none() {
            let pool = Pool::new(self.prepared.pool_config()).map_err(Error::from)?;
            let passwords = Passwords::in_pool(&self.prepared, Arc::new(pool)).bulk();
            let _ = self.passwords.set(passwords);
        }
        self.passwords.get().context("the threads could not be started")
    }

    pub(crate) fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}
