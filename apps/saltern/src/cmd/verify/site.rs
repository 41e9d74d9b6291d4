//! Verifying under a site's policy.

use std::path::Path;

use saltern::table::{Kind, identify};
use saltern::{Error, Passwords};
use saltern_yescrypt::hazmat::Level;

use super::{Outcome, known};
use crate::entries::Entry;
use crate::policy::{Due, One};

/// The engine that computes strings under a policy.
pub(super) struct Site {
    one: One,
    /// Whether to compute updates.
    update: bool,
    /// Set once there is a password.
    passwords: Option<Passwords>,
}

/// The outcome, if it does not depend on the password.
pub(super) fn settled(stored: &str) -> Option<Outcome> {
    let kind = identify(stored).ok()?;
    let none = matches!(kind, Kind::Locked | Kind::Empty | Kind::Shadowed);
    if none { known(stored).err() } else { None }
}

impl Site {
    pub(super) fn new(policy: &Path, level: Option<Level>, update: bool) -> anyhow::Result<Self> {
        Ok(Site { one: One::read(policy, level)?, update, passwords: None })
    }

    pub(super) fn verify(
        &mut self,
        entry: &Entry,
        stored: &str,
        password: &[u8],
    ) -> anyhow::Result<Outcome> {
        let account = entry.user.as_deref().unwrap_or_default();
        let outcome = self.passwords()?.verify(account, password, Some(stored)).wait();
        Ok(match outcome {
            Ok(saltern::Outcome::Match { outdated, update, .. }) => {
                Outcome::Match(Due::of(outdated.words(), update))
            }
            Ok(saltern::Outcome::Mismatch) => Outcome::Mismatch,
            Ok(saltern::Outcome::Locked) => Outcome::Locked,
            Err(error @ (Error::NotAccepted { .. } | Error::NoVerifier { .. })) => {
                Outcome::Unsupported(error.to_string())
            }
            Err(error) => Outcome::Error(error.to_string()),
        })
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
