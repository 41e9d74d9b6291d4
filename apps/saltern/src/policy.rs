//! Site policies, and the library's remarks about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use saltern::table::Table;
use saltern::{Passwords, Policy, Prepared, Update};
use saltern_pool::Pool;
use saltern_yescrypt::hazmat::Level;

use crate::output::warn;

/// The option `--policy`, for subcommands that also work without one.
#[derive(clap::Args)]
pub(crate) struct PolicyArgs {
    /// Policy of the site, such as saltern.toml (default: that of `saltern policy show`)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

impl PolicyArgs {
    /// The policy, or the default one.
    pub(crate) fn read(&self) -> anyhow::Result<Policy> {
        Ok(self.policy.as_deref().map(read).transpose()?.unwrap_or_default())
    }
}

/// The policy in a file.
pub(crate) fn read(file: &Path) -> anyhow::Result<Policy> {
    Ok(Policy::read(file)?)
}

/// The operations that need no passwords, under a policy.
pub(crate) fn table(policy: &Policy) -> anyhow::Result<Table> {
    let table = Table::open(policy)?;
    warn(table.notes());
    Ok(table)
}

/// Hashing under a policy.
pub(crate) fn passwords(policy: Policy) -> anyhow::Result<Passwords> {
    let passwords = Passwords::new(policy)?;
    warn(passwords.notes());
    warn(passwords.pool().note());
    Ok(passwords)
}

/// Hashing one password after the other under the policy in a file.
///
/// Keys are read and ROMs attached first, so that nobody types a password into a program that
/// cannot use it; the thread starts when there is a password. While the program asks for one there
/// is no second thread to which signals could be delivered, in a different order than they were
/// sent.
pub(crate) struct One(Prepared);

impl One {
    pub(crate) fn read(file: &Path, level: Option<Level>) -> anyhow::Result<Self> {
        let mut policy = read(file)?;
        policy.pool.level = level.unwrap_or(policy.pool.level);
        Self::of(policy)
    }

    pub(crate) fn of(mut policy: Policy) -> anyhow::Result<Self> {
        let pool = &mut policy.pool;
        (pool.threads, pool.in_flight, pool.prepare) = (1, 1, None);
        let prepared = Prepared::new(policy)?;
        warn(prepared.table().notes());
        Ok(One(prepared))
    }

    /// Starts the thread.
    pub(crate) fn start(&self) -> anyhow::Result<Passwords> {
        let pool = Pool::new(self.0.pool_config())?;
        // No login waits for this call.
        Ok(Passwords::in_pool(&self.0, Arc::new(pool)).bulk())
    }
}

/// Hashing many passwords under the policy in a file, up to `waiting` at once.
pub(crate) fn many(file: &Path, level: Option<Level>, waiting: usize) -> anyhow::Result<Passwords> {
    let mut policy = read(file)?;
    let pool = &mut policy.pool;
    // The policy's queue length is meant for logins.
    pool.max_waiting = pool.max_waiting.max(waiting);
    pool.level = level.unwrap_or(pool.level);
    passwords(policy).map(|passwords| passwords.bulk())
}

/// The update of a string that matches and is outdated.
pub(crate) struct Due {
    /// The ways in which it is outdated.
    pub(crate) reasons: Vec<&'static str>,
    /// The replacement, if it was requested.
    pub(crate) new: Option<String>,
}

impl Due {
    /// `None` for a string that is up to date.
    pub(crate) fn of(reasons: Vec<&'static str>, update: Option<Update>) -> Option<Self> {
        let new = update.map(|update| update.new);
        (new.is_some() || !reasons.is_empty()).then_some(Due { reasons, new })
    }
}
