//! The parameters of a Firebase project.

use std::fmt;
use std::path::PathBuf;

use base64ct::{Base64, Encoding};
use saltern_yescrypt::keys::KeyId;

use super::key_file::{content, loose};
use crate::error::Error;
use crate::signer_key::SignerKey;

/// The longest content of its file: base 64 and an end of line.
const MAX: usize = 88 + 2;

/// The parameters of a Firebase project, which its console shows and `firebase auth:export` does
/// not: Authentication, Users, Password hash parameters.
///
/// ```
/// use saltern::policy::{Firebase, FirebaseParameters, Scheme, SignerKey, SignerKeySource};
/// use saltern::{Passwords, Policy};
/// let key = SignerKey::of_text(
///     "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
/// ).unwrap();
/// let parameters =
///     FirebaseParameters { key: key.id()?, separator: vec![7], rounds: 8, mem_cost: 14 };
/// let stored = parameters.string(
///     "42xEC+ixf3L2lw==",
///     "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
/// );
/// let mut policy = Policy::default();
/// policy.schemes.push(Scheme::Firebase);
/// policy.firebase = Some(Firebase { signer_key: SignerKeySource::Value(key), parameters });
/// let passwords = Passwords::new(policy)?;
/// assert!(passwords.verify("alice", "user1password", Some(&stored)).wait()?.is_match());
/// # Ok::<(), saltern::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Firebase {
    /// The `base64_signer_key`.
    pub signer_key: SignerKeySource,
    /// All others.
    pub parameters: FirebaseParameters,
}

/// The parameters of a Firebase project, but for its signer key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirebaseParameters {
    /// The name of the signer key, with its fingerprint: [`SignerKey::id`]. Stored strings have
    /// the fingerprint.
    pub key: KeyId,
    /// The `base64_salt_separator`, decoded; at most 64 bytes.
    pub separator: Vec<u8>,
    /// The `rounds`, which scrypt calls r.
    pub rounds: u32,
    /// The `mem_cost`: the logarithm of scrypt's N.
    pub mem_cost: u32,
}

/// Where a signer key is.
#[derive(Clone, Debug)]
pub enum SignerKeySource {
    /// In a regular file: its base 64 as Firebase shows it, with an optional end of line.
    File(PathBuf),
    /// In memory.
    Value(SignerKey),
}

impl SignerKey {
    /// Reads the file of a key. Remarks for the operator, such as permissions that let others read
    /// it, are added to the notes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the file cannot be read or does not hold a key. Errors never
    /// contain any of the content.
    pub fn read(path: impl Into<PathBuf>, notes: &mut Vec<String>) -> Result<Self, Error> {
        let path = path.into();
        let unavailable = |why: &dyn fmt::Display| {
            Error::unavailable(format!("the signer key in {}", path.display()), why)
        };
        let (file, content) = content(&path, MAX).map_err(|error| unavailable(&error))?;
        notes.extend(loose(&file, &path, "key", false));
        let text = content.strip_suffix(b"\n").unwrap_or(&content);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Self::of_text(text).ok_or_else(|| unavailable(&"it must hold base 64 of 64 bytes"))
    }
}

impl Firebase {
    /// The key, which has to have the fingerprint of the policy.
    pub(crate) fn open(&self, notes: &mut Vec<String>) -> Result<(KeyId, SignerKey), Error> {
        let key = match &self.signer_key {
            SignerKeySource::File(path) => SignerKey::read(path, notes)?,
            SignerKeySource::Value(key) => key.clone(),
        };
        let id = key.id()?;
        match self.parameters.key == id {
            true => Ok((id, key)),
            false => {
                let what = format!("the signer key {}", self.parameters.key);
                Err(Error::unavailable(what, format!("the given one is {id}")))
            }
        }
    }
}

impl FirebaseParameters {
    /// The stored string for the salt and the hash of an account, both in base 64, as
    /// `firebase auth:export` gives them.
    #[must_use]
    pub fn string(&self, salt: &str, hash: &str) -> String {
        let FirebaseParameters { key, separator, rounds, mem_cost } = self;
        let separator = Base64::encode_string(separator);
        let key = key.fingerprint().map(|key| key.to_string()).unwrap_or_default();
        format!("$firescrypt$ln={mem_cost},r={rounds},p=1${salt}${hash}${separator}${key}")
    }
}
