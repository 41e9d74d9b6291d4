//! Keys for hash encryption with names, so that a string can say which of them it needs.

use alloc::vec::Vec;

use crate::Error;
use crate::ids::KeyId;
use crate::site::encrypt::HashKey;

/// The keys of a site: any number with names, one of them active, and perhaps one without a name.
///
/// The active key encrypts new hashes, which then carry its name and fingerprint. A stored string
/// that names a key is taken to be encrypted with that one, or is an [`Error::KeyNotLoaded`].
/// Strings that name none are taken to be unencrypted, unless [`KeySet::assume_unnamed`] says
/// otherwise.
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

    /// Adds a key, which does not make it the active one.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if there is a key of this name; [`Error::KeyNotLoaded`] if a
    /// fingerprint is given and this key has another.
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

    /// Assume that strings that name no key are encrypted with this one, and encrypt new ones with
    /// it as long as no key is active.
    ///
    /// Nothing can check that: if the assumption is wrong, or the string is plain, right passwords
    /// do not match, and who encrypts such a string encrypts it twice. Give keys names.
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

    pub(crate) fn by_id(&self, id: &KeyId) -> Result<&HashKey, Error> {
        Ok(&self.find(id)?.1)
    }

    /// The key of this name; one with another fingerprint is not it.
    fn find(&self, id: &KeyId) -> Result<&(KeyId, HashKey), Error> {
        let found = self.named.iter().find(|(known, _)| id.may_be(known));
        found.ok_or(Error::KeyNotLoaded { id: *id })
    }

    pub(crate) const fn unnamed(&self) -> Option<&HashKey> {
        self.unnamed.as_ref()
    }
}
