//! Strings whose hash bytes the caller computes: their inputs, and finishing them.

use alloc::vec::Vec;
use core::fmt;

use saltern_wipe::Zeroizing;
use subtle::ConstantTimeEq;

use super::Hasher;
use crate::core::params::CheckedParams;
use crate::core::reading::RomUse;
use crate::error::Error;
use crate::text::HASH;
use crate::text::encoding::{HashString, Setting};

/// The inputs of the 32 bytes of a hash, except the password.
#[derive(Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The parameters, with NROM 0: the ROMs of the list have their own.
    pub params: CheckedParams,
    /// The salt, as it goes into the KDF.
    pub salt: Zeroizing<Vec<u8>>,
    /// The ROMs, as for [`derive_with_roms`](crate::rom::derive_with_roms).
    pub roms: Vec<RomUse>,
}

impl Plan {
    /// Bytes of output.
    pub const LEN: usize = HASH;
}

/// Omits the salt, which a key may have encrypted.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan {{ {:?}, {:?} }}", self.params, self.roms)
    }
}

/// For callers that compute hashes by other means than a [`Workspace`](crate::Workspace), such as
/// [`Resumable`](crate::hazmat::Resumable) with ROMs that are not in memory.
impl Hasher {
    /// The inputs for computing the hash of a password under a setting. ROMs need not be in memory
    /// ([`Rom::stored`](crate::rom::Rom::stored)). A new string may be made of it only if
    /// [`Limits::admit_new_password`](crate::Limits::admit_new_password) allows that.
    ///
    /// ```
    /// use saltern_yescrypt::{HashString, Hasher, Workspace, derive};
    /// let stored = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
    /// let (hasher, stored) = (Hasher::new(), HashString::parse(stored)?);
    /// let plan = hasher.plan(b"pleaseletmein", stored.setting())?;
    /// let mut hash = [0; 32];
    /// let mut workspace = Workspace::new();
    /// derive(b"pleaseletmein", &plan.salt, &plan.params, None, &mut workspace, &mut hash)?;
    /// assert!(hasher.matches(&stored, &hash)?);
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Hasher::hash_with_setting`], except those of the computation.
    pub fn plan(&self, password: impl AsRef<[u8]>, setting: &Setting) -> Result<Plan, Error> {
        let limits = self.limits();
        limits.admit_password(password.as_ref())?;
        let params = setting.params().check(limits)?;
        limits.admit_crypt3(setting.refused_by_crypt())?;
        let mut salt = Zeroizing::new(setting.salt().to_vec());
        if let Some(key) = self.key_of(setting)? {
            key.encrypt(&mut salt);
        }
        let (params, roms) = (params.without_nrom(), self.roms_of(setting)?);
        limits.admit_roms(params.params(), &roms)?;
        Ok(Plan { params, salt, roms })
    }

    /// The complete string for a setting and the 32 bytes computed from its plan, which are
    /// encrypted if it needs a key.
    ///
    /// # Errors
    /// [`Error::KeyNotLoaded`], [`Error::KeyNotApplicable`].
    pub fn complete(&self, setting: &Setting, hash: &[u8; HASH]) -> Result<HashString, Error> {
        Ok(HashString::new(setting.clone(), *self.seal(setting, hash)?))
    }

    /// Whether these 32 bytes match a stored hash, compared in constant time.
    ///
    /// # Errors
    /// As [`Hasher::complete`].
    pub fn matches(&self, stored: &HashString, hash: &[u8; HASH]) -> Result<bool, Error> {
        Ok(self.seal(stored.setting(), hash)?.ct_eq(stored.hash()).into())
    }
}

#[cfg(test)]
mod tests {
    use saltern_testing::secrecy::{hide, leaks, reveal};

    use super::*;
    use crate::keys::{HashKey, KeySet};

    #[test]
    fn secrecy_of_a_hash_that_is_compared() {
        let (mut key, mut hash) = ([7; 32], [3; HASH]);
        hide(&mut key);
        let mut keys = KeySet::new();
        let name = "site".parse().unwrap();
        keys.add(name, HashKey::new(key)).unwrap();
        // Its fingerprint is in strings.
        let hasher = Hasher::new().with_keys(keys);
        hide(&mut hash);
        for hasher in [Hasher::new(), hasher] {
            let stored = hasher.complete(&hasher.setting("salt").unwrap(), &hash).unwrap();
            let mut matches = false;
            let leaks = leaks(|| matches = reveal(hasher.matches(&stored, &hash).unwrap()));
            assert_eq!((leaks, matches), (0, true));
        }
    }
}
