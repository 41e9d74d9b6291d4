//! Verifying as a site does, under its policy.

use std::path::Path;

use saltern::{Error, Passwords};
use saltern_yescrypt::hazmat::Level;

use super::{Outcome, known};
use crate::entries::Entry;
use crate::policy;
use crate::scheme::{self, Stored};

/// What computes strings under a policy.
pub(super) struct Site(Passwords);

/// A string that is outdated.
pub(super) struct Due {
    /// In what.
    pub(super) reasons: Vec<&'static str>,
    /// What is to take its place.
    pub(super) new: String,
}

/// The outcome where it does not depend on the password.
pub(super) fn settled(field: &[u8]) -> Option<Outcome> {
    let none =
        matches!(scheme::identify(field), Stored::Locked | Stored::Empty | Stored::Elsewhere);
    if none { known(field).err() } else { None }
}

impl Site {
    pub(super) fn new(policy: &Path, level: Option<Level>) -> anyhow::Result<Self> {
        policy::one(policy, level).map(Site)
    }

    pub(super) fn verify(&self, entry: &Entry, password: &[u8]) -> Outcome {
        let stored = entry.whole().map(str::from_utf8);
        let Ok(Ok(stored)) = stored else {
            return Outcome::Error("the string is not UTF-8".to_owned());
        };
        let account = entry.user.as_deref().unwrap_or_default();
        match self.0.verify(account, password, Some(stored)).wait() {
            Ok(saltern::Outcome::Match { update }) => Outcome::Match(update.map(|update| {
                let reasons = self.0.table().needs_rehash(&update.old);
                let reasons = reasons.map(|reasons| policy::words(&reasons)).unwrap_or_default();
                Due { reasons, new: update.new }
            })),
            Ok(saltern::Outcome::Mismatch) => Outcome::Mismatch,
            Ok(saltern::Outcome::Locked) => Outcome::Locked,
            Err(error @ Error::NotAccepted { .. }) => Outcome::Unsupported(error.to_string()),
            Err(error) => Outcome::Error(error.to_string()),
        }
    }
}
