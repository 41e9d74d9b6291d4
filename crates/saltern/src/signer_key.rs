//! The signer key of a Firebase project.

use std::fmt;

use base64ct::{Base64, Encoding};
use saltern_blake2::blake2b;
use saltern_wipe::Zeroizing;
use saltern_yescrypt::keys::{HashKey, KeyId};

use crate::error::Error;
use crate::scheme::Scheme;

/// Bytes of a signer key.
const LENGTH: usize = 64;

/// The signer key of a Firebase project, wiped on drop. `Debug` does not show it.
#[derive(Clone)]
pub struct SignerKey(Box<Zeroizing<[u8; LENGTH]>>);

impl SignerKey {
    /// The key in base 64, as Firebase shows it; `None` if it does not have 64 bytes.
    ///
    /// ```
    /// use saltern::policy::SignerKey;
    /// let key = SignerKey::of_text("A".repeat(86) + "==").unwrap();
    /// assert!(key.id()?.to_string().starts_with("firebase+"));
    /// # Ok::<(), saltern::Error>(())
    /// ```
    #[must_use]
    pub fn of_text(text: impl AsRef<[u8]>) -> Option<Self> {
        // Their lengths tell a key and a fingerprint apart.
        let mut key = Box::new(Zeroizing::new([0; LENGTH]));
        let length = Base64::decode(text.as_ref(), &mut key[..]).ok()?.len();
        (length == LENGTH).then_some(SignerKey(key))
    }

    /// The name `firebase` with the fingerprint of the key.
    ///
    /// # Errors
    /// *Internal*, which does not happen.
    pub fn id(&self) -> Result<KeyId, Error> {
        let failed = |_| Error::Failed { scheme: Scheme::Firebase, why: "the key's fingerprint" };
        let params = blake2b::Params::new().hash_length(32).map_err(failed)?;
        let params = params.personal(b"saltern firebase").map_err(failed)?;
        let key = HashKey::from_slice(params.hash(self.bytes()).as_bytes())?;
        let name: KeyId = "firebase".parse()?;
        Ok(name.with_fingerprint(key.fingerprint()))
    }

    pub(crate) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignerKey")
    }
}
