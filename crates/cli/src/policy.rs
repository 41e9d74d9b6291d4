//! Policies of sites, and what the library says about them.

use std::path::{Path, PathBuf};

use saltern::policy::{KeySource, Secret};
use saltern::table::{Reasons, Table};
use saltern::{Passwords, Policy};
use saltern_yescrypt::hazmat::Level;

use crate::output::tell;

/// The option `--policy`, for what has a meaning without one.
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

/// What needs no passwords, under a policy.
pub(crate) fn table(policy: &Policy) -> anyhow::Result<Table> {
    let table = Table::open(policy)?;
    warn(table.notes());
    Ok(table)
}

/// Hashing under a policy.
pub(crate) fn passwords(policy: Policy) -> anyhow::Result<Passwords> {
    let passwords = Passwords::new(policy)?;
    warn(passwords.notes());
    Ok(passwords)
}

/// Hashing one password after the other under the policy in a file.
///
/// The policy, its keys, and the manifests of its ROMs are read first; the thread starts when there
/// is a password. While the program asks for one there is no second thread that signals could come
/// to, in another order than the one in which they were sent.
pub(crate) struct One {
    policy: Policy,
    table: Table,
}

impl One {
    pub(crate) fn read(file: &Path, level: Option<Level>) -> anyhow::Result<Self> {
        let mut policy = read(file)?;
        let table = table(&policy)?;
        if let Some(KeySource::File(path)) = &policy.decoy.key {
            // Needed at the start of the thread only.
            Secret::read(path, &mut Vec::new())?;
        }
        let pool = &mut policy.pool;
        (pool.threads, pool.in_flight, pool.prepare) = (1, 1, None);
        pool.level = level.unwrap_or(pool.level);
        Ok(One { policy, table })
    }

    /// What needs no passwords.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Attaches the ROMs and starts the thread.
    pub(crate) fn start(&self) -> anyhow::Result<Passwords> {
        let passwords = Passwords::new(self.policy.clone())?;
        let is_new = |note: &&String| !self.table.notes().contains(note);
        warn(passwords.notes().iter().filter(is_new));
        // Nobody is kept waiting by whoever asks here.
        Ok(passwords.bulk())
    }
}

/// Hashing many passwords under the policy in a file, up to so many at once.
pub(crate) fn many(file: &Path, level: Option<Level>, waiting: usize) -> anyhow::Result<Passwords> {
    let mut policy = read(file)?;
    let pool = &mut policy.pool;
    // The queue of the policy is for logins.
    pool.max_waiting = pool.max_waiting.max(waiting);
    pool.level = level.unwrap_or(pool.level);
    passwords(policy).map(|passwords| passwords.bulk())
}

pub(crate) fn warn<'n>(notes: impl IntoIterator<Item = &'n String>) {
    for note in notes {
        tell(format_args!("warning: {note}"));
    }
}

/// In what a string is outdated, in single words.
pub(crate) fn words(reasons: &Reasons) -> Vec<&'static str> {
    let all = [
        (reasons.scheme, "scheme"),
        (reasons.cost, "cost"),
        (reasons.floor, "floor"),
        (reasons.salt, "salt"),
        (reasons.key, "key"),
        (reasons.rom, "rom"),
        (reasons.wrapped, "wrapped"),
    ];
    all.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect()
}
