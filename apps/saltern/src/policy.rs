//! Policies in files.

use std::path::{Path, PathBuf};

use saltern::Policy;
use saltern::table::Table;

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
