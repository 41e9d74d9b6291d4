//! Named keys for hash encryption, so that a string can say which key it needs.

use alloc::vec::Vec;

use crate::Error;
use crate::ids::KeyId;
use crate::site::encrypt::HashKey;

/// The keys of a site: any number with names, one of them active, and perhaps one without a name.
///
/// The active key encrypts new hashes, which then carry its name and fingerprint. A stored string
/// that names a key is taken to be encrypted with that key; if it is not loaded, the result is
/// [`Error::KeyNotLoaded`]. Strings that name no key are taken to be unencrypted, unless
/// [`KeySet::assume_unnamed`] was called.
///
/// ```
/// use saltern_yescrypt::{Hasher, Params, Workspace, keys::{HashKey, KeySet}};
/// let mut keys = KeySet::new();
/// keys.add("2025".parse()?, HashKey::new([1; 32]))?;
/// keys.add("2026".parse()?, HashKey::new([2; 32]))?;
/// keys.activate("2026".parse()?)?;
/// let hasher = Hasher::new().with_params(Params::from_cost(1)?).with_keys(keys);
/// let stored = hasher.hash(&mut Workspace::new(), b"correct horse")?;
/// assert!(stored.starts_with("{key=2026+"));
/// assert!(hasher.verify(&mut Workspace::new(), b"correct horse", &stored)?);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct KeySet {
    named: Vec<(KeyId, HashKey)>,
    active: Option<KeyId>,
    unnamed: Option<HashKey>,
}

impl KeySet {
    /// No keys.
    #[must_use]
    pub const fn new() -> Self {
        KeySet { named: Vec::new(), active: None, unnamed: None }
    }

    /// Adds a key without making it the active one.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if there already is a key of this name; [`Error::KeyNotLoaded`]
    /// if a fingerprint is given that is not this key's.
    pub fn add(&mut self, id: KeyId, key: HashKey) -> Result<(), Error> {
        let known = id.with_fingerprint(key.fingerprint());
        if !id.may_be(&known) {
            return Err(Error::KeyNotLoaded { id });
        }
        if self.named.iter().any(|(other, _)| other.as_str() == id.as_str()) {
            let expected = "1: every key has its own";
            return Err(Error::invalid("number of keys with one id", 2, expected));
        }
        self.named.push((known, key));
        Ok(())
    }

    /// Encrypts new hashes with this key from now on.
    ///
    /// # Errors
    /// [`Error::KeyNotLoaded`] if there is none of this name.
    pub fn activate(&mut self, id: KeyId) -> Result<(), Error> {
        self.active = Some(self.find(&id)?.0);
        Ok(())
    }

    /// Assumes that strings that name no key are encrypted with this one, and encrypts new ones
    /// with it as long as no key is active.
    ///
    /// Nothing can check the assumption: if it is wrong, or the string is not encrypted, right
    /// passwords do not match, and encrypting such a string encrypts it twice. Prefer named keys.
    pub fn assume_unnamed(&mut self, key: HashKey) {
        self.unnamed = Some(key);
    }

    /// The name of the active key.
    #[must_use]
    pub const fn active(&self) -> Option<KeyId> {
        self.active
    }

    /// The names of all keys with their fingerprints, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.named.iter().map(|(id, _)| *id)
    }

    /// The key of this name.
    ///
    /// ```
    /// use saltern_yescrypt::keys::{HashKey, KeySet};
    /// let mut keys = KeySet::new();
    /// keys.add("2026".parse()?, HashKey::new([7; 32]))?;
    /// assert!(keys.key(&"2026".parse()?).is_ok() && keys.key(&"2025".parse()?).is_err());
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyNotLoaded`] for a name without a key, or with another fingerprint.
    pub fn key(&self, id: &KeyId) -> Result<&HashKey, Error> {
        Ok(&self.find(id)?.1)
    }

    /// The key of this name; a key with another fingerprint does not count.
    fn find(&self, id: &KeyId) -> Result<&(KeyId, HashKey), Error> {
        let found = self.named.iter().find(|(known, _)| id.may_be(known));
        found.ok_or(Error::KeyNotLoaded { id: *id })
    }

    pub(crate) const fn unnamed(&self) -> Option<&HashKey> {
        self.unnamed.as_ref()
    }
}
