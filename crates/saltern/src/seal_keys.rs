//! The keys for seals, and the tags that they make.

use saltern_blake2::{Error as Blake2, blake2b};
use saltern_wipe::Zeroizing;
use saltern_yescrypt::keys::KeyId;
use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::policy::{Key, Secret, read_named};
use crate::scheme::Scheme;
use crate::seal::{Seal, Sealed, TAG};

/// Personalisations that no other use of a key has.
const OF_KEY: &[u8] = b"saltern seal key";
const OF_TAG: &[u8] = b"saltern seal tag";
/// Bytes of the longest account id.
const MAX_ACCOUNT: usize = 4096;
const ACCOUNT: Error =
    Error::malformed("account", "an id of 1 to 4096 bytes: a string is sealed for one account");
/// For an operation that was not told the account.
pub(crate) const NO_ACCOUNT: Error =
    Error::malformed("account", "its id: a sealed string is checked, and made, only with it");

/// The keys for seals.
pub(crate) struct SealKeys {
    keys: Vec<(KeyId, blake2b::Params)>,
    active: Option<usize>,
}

impl SealKeys {
    /// Reads the keys of a policy.
    pub(crate) fn open(keys: &[Key], notes: &mut Vec<String>) -> Result<Self, Error> {
        let failed = |_| Error::Failed { scheme: Scheme::Yescrypt, why: "the key for seals" };
        let mut seals = SealKeys { keys: Vec::new(), active: None };
        for key in keys {
            let (name, secret) = read_named(key, notes)?;
            if key.active {
                seals.active = Some(seals.keys.len());
            }
            seals.keys.push((name, derived(&secret).map_err(failed)?));
        }
        Ok(seals)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The name of the key of new seals.
    pub(crate) fn active(&self) -> Option<KeyId> {
        self.active.map(|at| self.keys[at].0)
    }

    /// Refuses an account that no string can be sealed for, if there are keys.
    pub(crate) fn admit(&self, account: &[u8]) -> Result<(), Error> {
        let fits = (1..=MAX_ACCOUNT).contains(&account.len());
        if fits || self.is_empty() { Ok(()) } else { Err(ACCOUNT) }
    }

    /// Whether a string has a seal; an error if that is not one over this account and this string.
    pub(crate) fn check(&self, account: Option<&[u8]>, sealed: &Sealed<'_>) -> Result<bool, Error> {
        let Some(Seal { key, tag }) = &sealed.seal else { return Ok(false) };
        let unknown = || Error::unavailable(format!("the seal key {key}"), "the policy lacks it");
        let known = self.keys.iter().find(|(name, _)| name == key).ok_or_else(unknown)?;
        let account = account.ok_or(NO_ACCOUNT)?;
        self.admit(account)?;
        match is_tag(tag, &known.1, account, sealed.text) {
            true => Ok(true),
            false => Err(Error::Tampered { why: "the seal belongs to another account or string" }),
        }
    }

    /// A text, sealed for this account with the active key, with these marks before it; or without
    /// a seal if no key is active.
    pub(crate) fn dress(
        &self,
        account: Option<&[u8]>,
        marks: &str,
        text: &str,
    ) -> Result<String, Error> {
        let Some((key, params)) = self.active.map(|at| &self.keys[at]) else {
            return Ok(format!("{marks}{text}"));
        };
        let account = account.ok_or(NO_ACCOUNT)?;
        self.admit(account)?;
        let seal = Seal { key: *key, tag: tag(params, account, text) };
        Ok(format!("{marks}{seal}{text}"))
    }
}

/// A short hash of an account's id, for logs that are not to have the id itself: 32 digits of
/// BLAKE2b, as `b2sum -l 128` computes it. Whoever can guess ids can confirm a guess.
///
/// ```
/// assert_eq!(saltern::table::account_digest("alice").len(), 32);
/// ```
#[must_use]
pub fn account_digest(account: impl AsRef<[u8]>) -> String {
    let params = blake2b::Params::new().hash_length(16).unwrap_or_default();
    params.hash(account.as_ref()).to_hex().as_str().to_owned()
}

/// The hash that makes tags, with the key that a site key gives for it.
fn derived(secret: &Secret) -> Result<blake2b::Params, Blake2> {
    let of_key = blake2b::Params::new().hash_length(32)?.key(secret.bytes())?.personal(OF_KEY)?;
    let key = Zeroizing::new(<[u8; 32]>::try_from(of_key.hash(b"").as_bytes()).unwrap_or_default());
    blake2b::Params::new().hash_length(TAG)?.key(&key[..])?.personal(OF_TAG)
}

/// Compared in constant time.
fn is_tag(given: &[u8; TAG], params: &blake2b::Params, account: &[u8], text: &str) -> bool {
    tag(params, account, text).ct_eq(given).into()
}

fn tag(params: &blake2b::Params, account: &[u8], text: &str) -> [u8; TAG] {
    let mut hasher = params.to_hasher();
    hasher.update(&(account.len() as u64).to_le_bytes()).update(account).update(text.as_bytes());
    hasher.finalize().as_bytes().try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use saltern_testing::secrecy::{hide, leaks, reveal};

    use super::*;

    #[test]
    fn secrecy_of_keys_and_tags() {
        let mut key = [7; 32];
        hide(&mut key);
        let mut right = false;
        let leaks = leaks(|| {
            let params = derived(&Secret::new(key)).unwrap();
            let made = tag(&params, b"alice", "$y$j9T$salt$hash");
            right = reveal(is_tag(&made, &params, b"alice", "$y$j9T$salt$hash"));
            let _ = Seal { key: "site".parse().unwrap(), tag: made }.to_string();
        });
        assert_eq!((leaks, right), (0, true));
    }
}
