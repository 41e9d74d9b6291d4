//! The keys of a hasher: finding the one that a string needs, and moving strings from one key to
//! another.

use alloc::string::String;

use saltern_wipe::Zeroizing;

use super::Hasher;
use crate::error::Error;
use crate::site::encrypt::{HashKey, rekeyed};
use crate::text::encoding::{HashString, Setting};
use crate::text::scheme::Scheme;
use crate::text::{HASH, ascii};

impl Hasher {
    /// Moves a stored hash from the key that it names (if it names none, from the assumed key, if
    /// there is one) to the active key, which it then names. No password is needed, and nothing is
    /// hashed.
    ///
    /// ```
    /// use saltern_yescrypt::{Hasher, keys::{HashKey, KeySet}};
    /// let plain = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
    /// let mut keys = KeySet::new();
    /// keys.add("2026".parse()?, HashKey::new([7; 32]))?;
    /// keys.activate("2026".parse()?)?;
    /// let encrypted = Hasher::new().with_keys(keys).rekey(plain)?;
    /// assert!(encrypted.starts_with("{key=2026+") && encrypted.contains("}$y$jD5.7$"));
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] for anything but a complete hash, [`Error::KeyNotLoaded`] if its key is
    /// missing, [`Error::InvalidParameter`] if no key is active, [`Error::KeyNotApplicable`] for
    /// `$7$` and `$7X`.
    pub fn rekey(&self, hash: impl AsRef<[u8]>) -> Result<String, Error> {
        let stored = HashString::parse(hash)?;
        let expected = "1: activate one of those with names";
        let none = Error::invalid("number of active keys", 0, expected);
        let to = self.config.keys.active().ok_or(none)?;
        let renamed = stored.setting().with_key_id(Some(to))?;
        let (from, to) = (self.key_of(stored.setting())?, self.config.keys.key(&to)?);
        Ok(ascii(rekeyed(&stored, &renamed, from, Some(to))))
    }

    /// Decrypts a stored hash with the key that it names: the result is the string without hash
    /// encryption. A string that names no key is returned unchanged.
    ///
    /// # Errors
    /// [`Error::Malformed`] for anything but a complete hash, [`Error::KeyNotLoaded`] if its key is
    /// missing, [`Error::KeyNotApplicable`] for a `$y$` string if a key is assumed for strings that
    /// name none: the result would name no key, would be taken to be encrypted with the assumed
    /// one, and its password would no longer match. [`Hasher::rekey`] gives it a named key.
    pub fn without_key(&self, hash: impl AsRef<[u8]>) -> Result<String, Error> {
        let stored = HashString::parse(hash)?;
        let renamed = stored.setting().with_key_id(None)?;
        let from = self.key_of(stored.setting())?;
        let assumed = self.config.keys.unnamed().is_some();
        if assumed && stored.setting().scheme() == Scheme::Yescrypt {
            return Err(Error::KeyNotApplicable);
        }
        Ok(ascii(rekeyed(&stored, &renamed, from, None)))
    }

    /// The key that a setting needs.
    pub(super) fn key_of(&self, setting: &Setting) -> Result<Option<&HashKey>, Error> {
        match (setting.scheme(), setting.key_id()) {
            (_, Some(id)) => Ok(Some(self.config.keys.key(&id)?)),
            // Extended strings are encrypted only if they name a key.
            (Scheme::Extended, None) => Ok(None),
            (Scheme::Yescrypt, None) => Ok(self.config.keys.unnamed()),
            (_, None) if self.config.keys.unnamed().is_some() => Err(Error::KeyNotApplicable),
            (_, None) => Ok(None),
        }
    }

    /// Encrypts a hash that was computed under a setting, if that needs a key.
    pub(super) fn seal(
        &self,
        setting: &Setting,
        hash: &[u8; HASH],
    ) -> Result<Zeroizing<[u8; HASH]>, Error> {
        let mut hash = Zeroizing::new(*hash);
        if let Some(key) = self.key_of(setting)? {
            key.encrypt(&mut *hash);
        }
        Ok(hash)
    }
}
