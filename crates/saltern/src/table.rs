//! Work on stored strings without passwords: counting them, finding outdated ones, and moving them
//! to another key.
//!
//! [`Table`] works on single strings, [`each_line`] on files of them: lines that are strings, lines
//! with fields such as those of `/etc/shadow`, and lines of JSON.
//!
//! # Moving to another key
//! 1. Add the new key to the policy and make it the active one. Keep the old key.
//! 2. Pass every string through [`Table::rekey`], and write the result if the old string is still
//!    stored. This may be done as often as you like: a second run changes nothing.
//! 3. When every server has the new policy, and the logins that began under the old one have ended,
//!    count the table again ([`Census`]): until then a login may still write a string with the old
//!    key.
//! 4. When [`Table::retire_key`] reports no error, remove the old key from the policy.
//!
//! Keys for seals are changed in the same way, with [`Table::seal`] and [`Table::retire_seal_key`];
//! [`Table::seal`] also seals a table for the first time.
//!
//! ROMs retire in the same way ([`Table::retire_rom`]), but only logins move strings from one ROM
//! to another.

mod bounded;
mod census;
mod lines;

use std::sync::Arc;

pub use self::bounded::{Lines, Piece};
pub use self::census::Census;
pub use self::lines::{Entry, Format, Located, Report, Row, each_line, locate, rows};
use crate::cost_class::example;
use crate::error::{Error, ErrorKind};
pub use crate::formats::{Kind, StringFormat, formats, identify};
use crate::opened::OpenedPolicy;
use crate::policy::Policy;
pub use crate::rehash::Reasons;
use crate::scheme::Scheme;
use crate::seal::Sealed;
use crate::seal_keys::NO_ACCOUNT;
pub use crate::seal_keys::account_digest;
use crate::stored::{Hash, Stored, locked};

/// A policy, for work on stored strings that needs no password and computes no hash. It starts no
/// thread, attaches no ROM, and takes little memory.
///
/// ```
/// use saltern::{Policy, table::Table};
/// let table = Table::open(&Policy::default())?;
/// let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
/// let reasons = table.needs_rehash(stored)?;
/// assert!(reasons.cost && !reasons.floor); // 1 MiB, where new hashes take 16
/// # Ok::<(), saltern::Error>(())
/// ```
#[derive(Clone)]
pub struct Table {
    pub(crate) opened: Arc<OpenedPolicy>,
    account: Option<Arc<[u8]>>,
}

impl Table {
    /// Reads the key files, and the manifests of ROMs.
    ///
    /// # Errors
    /// [`Error::Policy`] if the policy contradicts itself; [`Error::Unavailable`] if a key or a ROM
    /// is missing or is the wrong one.
    pub fn open(policy: &Policy) -> Result<Self, Error> {
        OpenedPolicy::open(policy).map(Self::of)
    }

    pub(crate) fn of(opened: OpenedPolicy) -> Self {
        Table { opened: Arc::new(opened), account: None }
    }

    /// A handle for the strings of one account, given by an id that never changes, for which they
    /// are sealed: see [`SealPolicy`](crate::policy::SealPolicy).
    #[must_use]
    pub fn for_account(&self, account: impl AsRef<[u8]>) -> Self {
        Table { account: Some(account.as_ref().into()), ..self.clone() }
    }

    pub(crate) fn account(&self) -> Option<&[u8]> {
        self.account.as_deref()
    }

    /// The same string, sealed with the active key for this account ([`Table::for_account`]), or
    /// without a seal if no key is active. `None` if nothing changes: it already is, or it has only
    /// the marks of a locked account. Strings of every scheme can be sealed, also those that the
    /// policy does not verify.
    ///
    /// A string whose seal is wrong is never sealed anew, and neither is one without a seal once
    /// the policy requires seals.
    ///
    /// ```
    /// use saltern::{Policy, policy::{Key, KeySource, Secret}, table::Table};
    /// let mut policy = Policy::default();
    /// let source = KeySource::Value(Secret::new([7; 32]));
    /// policy.seal.keys.push(Key { name: "2026".parse()?, source, active: true });
    /// let table = Table::open(&policy)?;
    /// let plain = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    /// let sealed = table.for_account("alice").seal(plain)?.unwrap();
    /// assert!(sealed.starts_with("{seal=2026+") && sealed.ends_with(plain));
    /// assert_eq!(table.for_account("alice").seal(&sealed)?, None);
    /// assert!(table.for_account("bob").seal(&sealed).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// *Tampered*, as above; *bad input* for text that is not a stored string, for a handle without
    /// an account, and for an id that does not have 1 to 4096 bytes; *unavailable* if the policy
    /// lacks the key of the seal, or has no keys for seals at all.
    pub fn seal(&self, stored: &str) -> Result<Option<String>, Error> {
        let (opened, account) = (&self.opened, self.account().ok_or(NO_ACCOUNT)?);
        if opened.seals.is_empty() {
            return Err(Error::unavailable("a seal key", "the policy has no [[seal.keys]]"));
        }
        opened.seals.admit(account)?;
        let sealed = opened.check_seal(self.account(), stored)?;
        let (marks, text) = (sealed.marks, sealed.text);
        let sealed_with = sealed.seal.as_ref().map(|seal| seal.key);
        match Stored::of(sealed) {
            Ok(stored) if stored.hash.is_none() => return Ok(None),
            Ok(_) | Err(Error::NoVerifier { .. } | Error::NotAccepted { .. }) => {}
            Err(error) => return Err(error),
        }
        if sealed_with == opened.seals.active() {
            return Ok(None);
        }
        opened.dressed(self.account(), marks, text).map(Some)
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.opened.policy
    }

    /// Remarks for the operator about the key files, such as permissions that let others read them.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.opened.notes
    }

    /// The ways in which a stored string differs from a new one; none for a locked account without
    /// a hash. If there is any, a login has an update
    /// ([`Passwords::verify`](crate::Passwords::verify)), except that a string of another scheme
    /// that is stronger than new hashes is kept even if its salt is short, and that one whose
    /// scheme the policy does not accept, which always counts as outdated, cannot log in.
    ///
    /// # Errors
    /// *Bad input* for text that is not a stored string.
    pub fn needs_rehash(&self, stored: &str) -> Result<Reasons, Error> {
        let stored = Stored::parse(stored)?;
        let reasons = |hash: &Hash| {
            let mut reasons = self.opened.reasons(stored.sealed_with, hash);
            reasons.scheme |= !self.policy().schemes.contains(&hash.scheme());
            reasons
        };
        Ok(stored.hash.as_ref().map(reasons).unwrap_or_default())
    }

    /// The same hash encrypted with the active key, or not encrypted if no key is active. `None` if
    /// nothing changes: it already is, or its scheme cannot be encrypted. The password remains the
    /// same, and the marks of locked accounts are kept. If the policy has
    /// [`Policy::assume_unnamed_key`] and no active key, nothing changes either: a string without a
    /// key name would be taken to be encrypted.
    ///
    /// A sealed string needs its account ([`Table::for_account`]): its seal is checked, and the
    /// result is sealed. One without a seal gets none: see [`Table::seal`].
    ///
    /// ```
    /// use saltern::{Policy, policy::{Key, KeySource, Secret}, table::Table};
    /// let secret = Secret::new([7; 32]);
    /// let mut policy = Policy::default();
    /// let source = KeySource::Value(secret);
    /// policy.keys.push(Key { name: "2026".parse()?, source, active: true });
    /// let table = Table::open(&policy)?;
    /// let plain = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
    /// let new = table.rekey(plain)?.unwrap();
    /// assert!(new.starts_with("{key=2026+"));
    /// assert_eq!(table.rekey(&new)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// *Bad input* for text that is not a stored string, and for a sealed one without its account;
    /// *unavailable* if the string names a key that the policy does not have; *tampered*.
    pub fn rekey(&self, stored: &str) -> Result<Option<String>, Error> {
        let sealed = self.opened.check_seal(self.account(), stored)?;
        let Stored { marks, sealed_with, before, hash, .. } = Stored::of(sealed)?;
        let rekeyed = hash.map(|hash| self.opened.rekeyed(&hash)).transpose()?.flatten();
        // What has no seal gets none here.
        let account = sealed_with.and(self.account());
        let dressed =
            |ours: String| self.opened.dressed(account, marks, &(before.to_owned() + &ours));
        rekeyed.map(dressed).transpose()
    }

    /// Counts a string in a census. If the policy has keys for seals, and the account is known
    /// ([`Table::for_account`]), its seal is checked. Without its account a sealed string is only
    /// counted; under a policy that requires seals it is bad input.
    ///
    /// # Errors
    /// *Bad input* for text that is not a stored string, which is counted in [`Census::bad`]. One
    /// of a scheme that is known only by name is counted in [`Census::unsupported`]. *Tampered* for
    /// a string that is not the one sealed for the account, which is counted in
    /// [`Census::tampered`]; *unavailable* for one with a seal of a key that the policy does not
    /// have, in [`Census::unknown_seals`]: report the accounts of these.
    pub fn count(&self, stored: &str, census: &mut Census) -> Result<(), Error> {
        if !self.opened.seals.is_empty() {
            match self.opened.check_seal(self.account(), stored) {
                Err(error @ (Error::Tampered { .. } | Error::Unavailable { .. })) => {
                    census.add_unsound(error.kind() == ErrorKind::Tampered, locked(stored));
                    return Err(error);
                }
                // Without its account a seal is only counted, unless all have to be right.
                Err(error) if self.account.is_some() || self.policy().seal.required => {
                    census.add_bad();
                    return Err(error);
                }
                _ => {}
            }
        }
        match Stored::parse(stored) {
            Ok(stored) => {
                let policy = self.policy();
                let refused = |hash| policy.admit(hash).is_err();
                let refused = stored.hash.as_ref().is_some_and(refused);
                census.add(&stored, &self.opened, refused);
                Ok(())
            }
            Err(Error::NoVerifier { name, .. }) => {
                census.add_unsupported(name, locked(stored));
                let seal = Sealed::parse(stored)?.seal;
                census.add_seal(seal.map(|seal| seal.key), &self.opened);
                Ok(())
            }
            Err(error) => {
                census.add_bad();
                Err(error)
            }
        }
    }

    /// Adds a census of another part of the same table, counted under this policy: parts of a table
    /// can be counted in parallel.
    pub fn merge(&self, census: &mut Census, part: Census) {
        census.merge(part, &self.opened);
    }

    /// Checks, by a census of the whole table, whether a key can be removed from the policy: it is
    /// not the active one, no string and no decoy needs it, and every string could be read.
    ///
    /// # Errors
    /// [`Error::InUse`], with what still needs it; [`Error::Unavailable`] if the policy has no key
    /// of this name.
    pub fn retire_key(&self, name: &str, census: &Census) -> Result<(), Error> {
        let what = format!("the key {name}");
        if !self.policy().has_key(name) {
            return Err(Error::unavailable(what, "the policy has no key of this name"));
        }
        let needs = |hash: &Hash| hash.key().is_some_and(|key| key.as_str() == name);
        let active = self.opened.target.key.is_some_and(|key| key.as_str() == name);
        let used = census.keys.get(name).copied().unwrap_or(0);
        retire(what, active, [used, self.decoys(needs)], census)
    }

    /// [`Table::retire_key`] for a key for seals.
    ///
    /// # Errors
    /// [`Error::InUse`], with what still needs it; [`Error::Unavailable`] if the policy has no key
    /// for seals of this name.
    pub fn retire_seal_key(&self, name: &str, census: &Census) -> Result<(), Error> {
        let what = format!("the seal key {name}");
        if self.policy().seal.keys.iter().all(|key| key.name.as_str() != name) {
            return Err(Error::unavailable(what, "the policy has no seal key of this name"));
        }
        let active = self.opened.seals.active().is_some_and(|key| key.as_str() == name);
        retire(what, active, [census.seals.get(name).copied().unwrap_or(0), 0], census)
    }

    /// [`Table::retire_key`] for a ROM, given by its id. Strings and decoys that need a ROM and
    /// name none are taken to need this one.
    ///
    /// # Errors
    /// [`Error::InUse`], with what still needs it; [`Error::Unavailable`] if the policy has no such
    /// ROM.
    pub fn retire_rom(&self, id: &str, census: &Census) -> Result<(), Error> {
        let what = format!("the ROM {id}");
        if !self.policy().has_rom(id) {
            return Err(Error::unavailable(what, "the policy has no ROM of this id"));
        }
        let named = |hash: &Hash| hash.roms().iter().any(|rom| rom.to_string() == id);
        let needs = |hash: &Hash| hash.needs_unnamed_rom() || named(hash);
        let active = self.opened.target.rom.is_some_and(|rom| rom.id.to_string() == id);
        let used = [id, census::UNNAMED].iter().filter_map(|id| census.roms.get(*id)).sum();
        retire(what, active, [used, self.decoys(needs)], census)
    }

    /// How many decoy costs need it.
    fn decoys(&self, needs: impl Fn(&Hash) -> bool) -> u64 {
        let costs = self.policy().decoy.costs.iter();
        costs.filter(|cost| example(&cost.like).is_ok_and(|hash| needs(&hash))).count() as u64
    }
}

/// The scheme of a stored string, whether a policy accepts it or not; for a wrapped string that of
/// the hash within, and `None` for a locked account without a hash.
///
/// # Errors
/// *Bad input* for text that is not a stored string.
pub fn scheme(stored: &str) -> Result<Option<Scheme>, Error> {
    Ok(Stored::parse(stored)?.hash.map(|hash| hash.scheme()))
}

/// The [`scheme`] of a stored string, and the bytes of memory that one verification takes; `None`
/// for a locked account without a hash.
///
/// ```
/// use saltern::{policy::Scheme, table::cost};
/// let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
/// let (scheme, memory) = cost(stored)?.unwrap();
/// assert_eq!((scheme, memory >> 20), (Scheme::Yescrypt, 1));
/// # Ok::<(), saltern::Error>(())
/// ```
///
/// # Errors
/// *Bad input* for text that is not a stored string.
pub fn cost(stored: &str) -> Result<Option<(Scheme, u64)>, Error> {
    Ok(Stored::parse(stored)?.hash.map(|hash| hash.cost()))
}

/// The name and fingerprint of the key that a stored string is sealed with; `None` for a string
/// without a seal. Whether the seal is right is not checked: that takes the key.
///
/// ```
/// use saltern::table::seal_key;
/// let seal = "{seal=2026+6bd26b5a8039a810,b9dbbfcc200e7d97bde51df4f097aca4}";
/// let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
/// assert_eq!(seal_key(&format!("{seal}{stored}"))?.unwrap(), "2026+6bd26b5a8039a810");
/// assert_eq!(seal_key(stored)?, None);
/// # Ok::<(), saltern::Error>(())
/// ```
///
/// # Errors
/// *Bad input* for a malformed seal.
pub fn seal_key(stored: &str) -> Result<Option<String>, Error> {
    Ok(Sealed::parse(stored)?.seal.map(|seal| seal.key.to_string()))
}

/// Refuses to retire something that the policy, stored strings, or decoys need.
fn retire(
    what: String,
    active: bool,
    [used, decoys]: [u64; 2],
    census: &Census,
) -> Result<(), Error> {
    let unsound = census.tampered + census.unknown_seals;
    let why = if active {
        "new hashes are made with it".to_owned()
    } else if used > 0 {
        format!("{used} stored strings need it")
    } else if census.bad > 0 {
        format!("{} stored strings could not be read, and may need it", census.bad)
    } else if unsound > 0 {
        format!("{unsound} stored strings are not those that were sealed: look at them first")
    } else if decoys > 0 {
        format!("{decoys} of [[decoy.costs]] need it: replace them with those from a new census")
    } else {
        return Ok(());
    };
    Err(Error::InUse { what, why })
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table {{ {:?} }}", self.opened.target)
    }
}
