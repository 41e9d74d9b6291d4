//! A login, from its password and its string to what the pool computes.

use std::sync::Arc;

use saltern_pool::{Password, Terms};

use super::any::{Admitted, Given};
use super::matched::Matched;
use super::{Outcome, Passwords};
use crate::error::Error;
use crate::foreign;
use crate::scheme::Scheme;
use crate::stored::{Hash, Parts};
use crate::ticket::Ticket;

impl Passwords {
    /// Begins a login. A password that the policy refuses is an error, whatever the account, unless
    /// there is something to stand in for it.
    pub(super) fn begin(
        &self,
        account: &[u8],
        given: Given<'_>,
        stored: Option<&str>,
    ) -> Result<Ticket<Outcome>, Error> {
        let opened = self.inner.prepared.opened();
        let given = given.admitted(&opened.policy.limits)?;
        opened.seals.admit(account)?;
        let Some(text) = stored else {
            return self.pretend(account, &given, Outcome::Mismatch);
        };
        // A string that is not the one sealed for the account, before anything else of it counts.
        let parts = Parts::of(opened.check_seal(Some(account), text)?);
        match parts.locked {
            true => self.pretend(account, &given, Outcome::Locked),
            false => self.check(account, given, text, &parts),
        }
    }

    /// Verifies a password against the string of an account that is not locked.
    fn check(
        &self,
        account: &[u8],
        given: Admitted<'_>,
        text: &str,
        parts: &Parts<'_>,
    ) -> Result<Ticket<Outcome>, Error> {
        let (password, hash) = match given {
            Admitted::Password(password) => (password, None),
            Admitted::Refused(refused) => {
                let hash = parts.hash()?;
                (refused.compared_with(&hash, false)?, Some(hash))
            }
        };
        let remembered = self.inner.prepared.remembered();
        let tag = remembered.map(|logins| logins.tag(account, text, password));
        if let Some(known) = remembered.zip(tag).and_then(|(logins, tag)| logins.find(tag))
            && !(known.update_due && self.updates)
        {
            let outdated = known.outdated;
            let outcome = Outcome::Match { outdated, update: None, remembered: true };
            return Ok(Ticket::done(Ok(outcome)));
        }
        let hash = hash.map_or_else(|| parts.hash(), Ok)?;
        let opened = self.inner.prepared.opened();
        opened.policy.admit(&hash)?;
        let hash = opened.unsigned(hash)?;
        let sealed = text.len() - parts.text.len();
        let (cost, terms, password) = (hash.cost(), self.terms(), Password::from(password));
        let matched = Matched {
            inner: Arc::clone(&self.inner),
            account: account.into(),
            password: password.clone(),
            old: text.to_owned(),
            kept: sealed..sealed + parts.before.len(),
            outdated: opened.reasons(parts.sealed_with, &hash),
            hash: hash.clone(),
            updates: self.updates,
            terms,
            tag,
        };
        let then = move |matches| matched.outcome(matches);
        Ok(self.compare(hash, password, terms, then).with_cost(cost))
    }

    /// Computes as much as a login to an account in the table would.
    fn pretend(
        &self,
        account: &[u8],
        given: &Admitted<'_>,
        outcome: Outcome,
    ) -> Result<Ticket<Outcome>, Error> {
        let hash = self.inner.prepared.decoys().of(account);
        let password = match given {
            Admitted::Password(password) => password,
            Admitted::Refused(refused) => refused.compared_with(hash, true)?,
        };
        self.table().policy().admit(hash)?;
        let then = move |matches: Result<bool, Error>| Ticket::done(matches.map(|_| outcome));
        Ok(self.compare(hash.clone(), password.into(), self.terms(), then))
    }

    /// Compares a password with a hash, and then does what follows.
    fn compare(
        &self,
        hash: Hash,
        password: Password,
        terms: Terms,
        then: impl FnOnce(Result<bool, Error>) -> Ticket<Outcome> + Send + 'static,
    ) -> Ticket<Outcome> {
        let inner = &self.inner;
        match hash {
            Hash::Ours(ours) => {
                Ticket::then(inner.pool.verify_one(inner.hasher(), password, ours, terms), then)
            }
            Hash::Foreign(foreign) => {
                let cost = foreign.setting.cost(password.len());
                let run = move || foreign.matches(&password);
                let item = inner.pool.run_one(cost, run, terms);
                Ticket::then(item, |computed| then(computed.and_then(|matches| matches)))
            }
            Hash::Wrapped(setting, outer) => {
                let inner = Arc::clone(inner);
                let cost = setting.cost(password.len());
                let run = move || foreign::digest(&*setting, &password);
                let item = self.inner.pool.run_one(cost, run, terms);
                Ticket::then(item, move |digest| match digest.and_then(|digest| digest) {
                    Ok(digest) => {
                        let hasher = &inner.prepared.opened().over_digests;
                        let item = inner.pool.verify_one(hasher, &*digest, outer, terms);
                        Ticket::then(item, then)
                    }
                    Err(error) => then(Err(error)),
                })
            }
        }
    }
}

impl Ticket<Outcome> {
    /// The scheme of the stored string that the password is compared with, and the bytes of memory
    /// that this takes, as [`table::cost`](crate::table::cost) says them; `None` where nothing has
    /// to be compared, as with a login that is remembered, a locked account or an unknown one.
    ///
    /// ```
    /// # use saltern::{Passwords, Policy, policy::Scheme};
    /// # let passwords = Passwords::new(Policy::default())?;
    /// # let stored = passwords.hash("secret").wait()?;
    /// let ticket = passwords.verify("alice", "secret", Some(&stored));
    /// assert_eq!(ticket.cost().map(|(scheme, _)| scheme), Some(Scheme::Yescrypt));
    /// assert_eq!(passwords.verify("mallory", "secret", None).cost(), None);
    /// # Ok::<(), saltern::Error>(())
    /// ```
    #[must_use]
    pub fn cost(&self) -> Option<(Scheme, u64)> {
        self.cost
    }
}
