//! Keys for hash encryption with names, so that a string can say which of them it needs.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::Error;
use crate::encrypt::HashKey;

/// The longest name of a key, in characters.
const MAX_ID: usize = 32;

/// A name for a [`HashKey`]: 1 to 32 characters out of `A`–`Z`, `a`–`z`, `0`–`9`, `.` and `-`.
///
/// It stands readably in the strings that need the key. Names are never used again for another key: a string that names one would
/// then be taken for a mismatch.
///
/// ```
/// use saltern_yescrypt::KeyId;
/// let id: KeyId = "2026-01".parse()?;
/// assert_eq!(id.to_string(), "2026-01");
/// assert!("a key".parse::<KeyId>().is_err());
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId {
    /// Zeros after the end.
    text: [u8; MAX_ID],
    len: u8,
}

impl KeyId {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Error> {
        let expected = "1 to 32 characters out of A-Z, a-z, 0-9, . and -";
        if text.is_empty() || text.len() > MAX_ID {
            return Err(Error::invalid("length of the key id", text.len() as u64, expected));
        }
        let allowed = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-');
        if let Some(&c) = text.iter().find(|c| !allowed(c)) {
            return Err(Error::invalid("character of the key id", c.into(), expected));
        }
        let mut id = KeyId { text: [0; MAX_ID], len: text.len() as u8 };
        id.text[..text.len()].copy_from_slice(text);
        Ok(id)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.text[..self.len.into()]).unwrap_or_default()
    }
}

impl FromStr for KeyId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text.as_bytes())
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// The keys of a site: any number with names, one of them active, and perhaps one without a name.
///
/// The active key encrypts new hashes, which then carry its name. A stored string that names a key is taken to be encrypted with that one, or is an
/// [`Error::KeyNotLoaded`]. Strings that name none belong to the key without a name where there is one (they do not say so
/// themselves), and are otherwise taken to be unencrypted.
///
/// ```
/// use saltern_yescrypt::{HashKey, Hasher, KeySet, Params, Workspace};
/// let mut keys = KeySet::new();
/// keys.add("2025".parse()?, HashKey::new([1; 32]))?;
/// keys.add("2026".parse()?, HashKey::new([2; 32]))?;
/// keys.activate("2026".parse()?)?;
/// let hasher = Hasher::new().with_params(Params::from_cost(1)?).with_keys(keys);
/// let stored = hasher.hash(&mut Workspace::new(), b"correct horse")?;
/// assert!(stored.starts_with("{key=2026}$y$"));
/// assert!(hasher.verify(&mut Workspace::new(), b"correct horse", stored.as_bytes())?);
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
    /// [`Error::InvalidParameter`] if there is a key of this name.
    pub fn add(&mut self, id: KeyId, key: HashKey) -> Result<(), Error> {
        if self.by_id(&id).is_ok() {
            return Err(Error::invalid(
                "number of keys with one id",
                2,
                "1: every key has its own",
            ));
        }
        self.named.push((id, key));
        Ok(())
    }

    /// Encrypts new hashes with this key from now on.
    ///
    /// # Errors
    /// [`Error::KeyNotLoaded`] if there is none of this name.
    pub fn activate(&mut self, id: KeyId) -> Result<(), Error> {
        self.by_id(&id)?;
        self.active = Some(id);
        Ok(())
    }

    /// The key for strings that name none, and for new ones as long as no key is active.
    pub fn set_unnamed(&mut self, key: HashKey) {
        self.unnamed = Some(key);
    }

    /// The name of the active key.
    #[must_use]
    pub const fn active(&self) -> Option<KeyId> {
        self.active
    }

    /// The names of all keys, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.named.iter().map(|(id, _)| *id)
    }

    pub(crate) fn by_id(&self, id: &KeyId) -> Result<&HashKey, Error> {
        let found = self.named.iter().find(|(known, _)| known == id);
        found.map(|(_, key)| key).ok_or(Error::KeyNotLoaded { id: *id })
    }

    pub(crate) const fn unnamed(&self) -> Option<&HashKey> {
        self.unnamed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_strict() {
        let long = "a".repeat(MAX_ID);
        for good in ["a", "2026-01", "A.b-9", &long] {
            assert_eq!(good.parse::<KeyId>().map(|id| id.as_str().to_owned()), Ok(good.into()));
        }
        for bad in ["", "a b", "a,b", "a}", "a$", "ä", "a:b", "a\0", "a+b", &format!("{long}a")] {
            assert!(bad.parse::<KeyId>().is_err(), "{bad}");
        }
    }
}
