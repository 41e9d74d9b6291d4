//! Verifying as a site does, under its policy.

use std::path::Path;

use saltern::{Error, Passwords};
use saltern_yescrypt::hazmat::Level;

use super::{Outcome, known};
use crate::entries::Entry;
use crate::policy::{self, One};
use crate::scheme::{self, Stored};

/// What computes strings under a policy.
pub(super) struct Site {
    one: One,
    /// Whether updates are to be computed.
    update: bool,
    /// Once there is a password.
    passwords: Option<Passwords>,
}

/// A string that is outdated.
pub(super) struct Due {
    /// In what.
    pub(super) reasons: Vec<&'static str>,
    /// What is to take its place, if that was asked for.
    pub(super) new: Option<String>,
}

/// The outcome where it does not depend on the password.
pub(super) fn settled(field: &[u8]) -> Option<Outcome> {
    let none =
        matches!(scheme::identify(field), Stored::Locked | Stored::Empty | Stored::Elsewhere);
    if none { known(field).err() } else { None }
}

impl Site {
    pub(super) fn new(policy: &Path, level: Option<Level>, update: bool) -> anyhow::Result<Self> {
        Ok(Site { one: One::read(policy, level)?, update, passwords: None })
    }

    pub(super) fn verify(&mut self, entry: &Entry, password: &[u8]) -> anyhow::Result<Outcome> {
        let Some(stored) = text(entry) else {
            return Ok(Outcome::Error("the string is not UTF-8".to_owned()));
        };
        let account = entry.user.as_deref().unwrap_or_default();
        let outcome = self.passwords()?.verify(account, password, Some(stored)).wait();
        Ok(match outcome {
            Ok(saltern::Outcome::Match { update }) => {
                let reasons = self.one.table().needs_rehash(stored);
                let reasons = reasons.map(|reasons| policy::words(&reasons)).unwrap_or_default();
                let new = update.map(|update| update.new);
                let is_due = new.is_some() || !reasons.is_empty();
                Outcome::Match(is_due.then_some(Due { reasons, new }))
            }
            Ok(saltern::Outcome::Mismatch) => Outcome::Mismatch,
            Ok(saltern::Outcome::Locked) => Outcome::Locked,
            Err(error @ Error::NotAccepted { .. }) => Outcome::Unsupported(error.to_string()),
            Err(error) => Outcome::Error(error.to_string()),
        })
    }

    /// The scheme of a string, of a wrapped one that of the hash within.
    pub(super) fn scheme(&self, entry: &Entry) -> Option<&'static str> {
        let scheme = self.one.table().scheme(text(entry)?).ok().flatten();
        scheme.map(saltern::policy::Scheme::name)
    }

    fn passwords(&mut self) -> anyhow::Result<&Passwords> {
        let Site { one, update, passwords } = self;
        Ok(match passwords {
            Some(passwords) => passwords,
            None => {
                let new = one.start()?;
                passwords.insert(if *update { new } else { new.without_updates() })
            }
        })
    }
}

fn text(entry: &Entry) -> Option<&str> {
    str::from_utf8(entry.whole().ok()?).ok()
}
