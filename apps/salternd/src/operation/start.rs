//! Building the state for requests from files: at the start, and at each reload.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use saltern::table::Census;
use saltern::{Passwords, Policy};

use super::config::Config;
use super::memory;
use crate::site::{Client, Clients, Current, Places, Rights, UserFile, Who};

/// The files that everything is read from.
#[derive(Clone, Default)]
pub(super) struct Sources {
    /// `salternd.toml`, if there is one.
    pub(super) config: Option<PathBuf>,
    /// The policy to use without a `salternd.toml`.
    pub(super) policy: Option<PathBuf>,
}

impl Sources {
    /// Reads the file of the service.
    pub(super) fn config(&self) -> anyhow::Result<Config> {
        Ok(self.config.as_deref().map(Config::read).transpose()?.unwrap_or_default())
    }

    /// Reads the policy, its keys and its ROMs, and starts the threads; reuses what has not
    /// changed.
    pub(super) fn current(
        &self,
        config: &Config,
        before: Option<&Current>,
    ) -> anyhow::Result<Current> {
        let file: Option<&Path> = config.policy.as_deref().or(self.policy.as_deref());
        let policy = file.map(Policy::read).transpose()?.unwrap_or_default();
        if let Some(before) = before {
            keeps_what_protects(before.passwords.table().policy(), &policy)?;
        }
        memory::check(&policy, config)?;
        let passwords = match before {
            Some(before) => before.passwords.renew(policy)?,
            None => Passwords::new(policy)?,
        };
        let clients = match (&self.config, before) {
            (Some(_), _) => config.clients(before.map(|before| &before.clients))?,
            (None, Some(before)) => before.clients.clone(),
            (None, None) => own(),
        };
        let accounts = config.accounts(before.and_then(|before| before.accounts.as_ref()))?;
        let lines = Places::beside(passwords.pool().config(), before.map(|before| &before.lines));
        let users = config.users()?;
        let (timeout, log_requests) = (config.timeout.0, config.log_requests);
        Ok(Current { passwords, clients, accounts, lines, users, timeout, log_requests })
    }
}

/// Remarks about users who cannot log in, whatever they type.
pub(super) fn users_notes(current: &Current) -> Vec<String> {
    let table = current.passwords.table();
    let note = |file: &Arc<UserFile>| {
        let (mut census, users) = (Census::default(), file.as_read());
        let bad = |(_, stored): &(&str, &str)| {
            !stored.is_empty() && table.count(stored, &mut census).is_err()
        };
        let bad = users.iter().filter(bad).count() as u64;
        let count = bad + census.refused + census.unsupported.values().sum::<u64>();
        let name = &file.name;
        (count > 0).then(|| {
            format!(
                "{count} users of [[users]] {name:?} cannot log in: their strings are damaged, or \
                 the policy refuses them (`saltern census` says which)"
            )
        })
    };
    current.users.0.iter().filter_map(note).collect()
}

/// Refuses a policy without a key or a ROM for new hashes if the current one has it: a truncated
/// file may look like that.
fn keeps_what_protects(before: &Policy, new: &Policy) -> anyhow::Result<()> {
    let key = |policy: &Policy| {
        policy.keys.iter().find(|key| key.active).map(|key| format!("key {}", key.name.as_str()))
    };
    let rom = |policy: &Policy| {
        policy.roms.iter().find(|rom| rom.active).map(|rom| format!("ROM {}", rom.id))
    };
    let lost = |of: &dyn Fn(&Policy) -> Option<String>| of(before).filter(|_| of(new).is_none());
    match lost(&key).or_else(|| lost(&rom)) {
        Some(lost) => bail!(
            "the {lost} is active but missing from the new policy: only a restart allows that"
        ),
        None => Ok(()),
    }
}

/// The name of the only client without a `salternd.toml`.
pub(super) const OWN: &str = "own";

/// The user who has started the service, and root: without a `salternd.toml`, nobody else may do
/// anything.
fn own() -> Clients {
    let user = rustix::process::geteuid().as_raw();
    let who = Who { users: vec![user, 0], ..Who::default() };
    Clients(vec![Arc::new(Client::new(OWN, who, Rights::ALL))])
}
