//! Strings of other schemes: parsed, bounded, computed. Each scheme is a file and a feature.

#[cfg(feature = "digest")]
mod apr1;
#[cfg(feature = "argon2")]
mod argon2;
#[cfg(feature = "bcrypt")]
mod bcrypt;
#[cfg(feature = "sha-crypt")]
mod caching_sha2;
#[cfg(feature = "digest")]
mod digest;
#[cfg(feature = "firebase")]
mod firebase;
#[cfg(feature = "libcrypt")]
mod libcrypt;
#[cfg(feature = "pbkdf2")]
mod pbkdf2;
#[cfg(feature = "digest")]
mod phpass;
#[cfg(feature = "scram")]
mod scram;
#[cfg(feature = "sha-crypt")]
mod sha_crypt;
#[cfg(all(test, feature = "legacy", feature = "libcrypt"))]
mod tests;

use std::fmt;
use std::sync::Arc;

use saltern_pool::task::Task;
use saltern_wipe::Zeroizing;
use saltern_yescrypt::keys::KeyId;
use subtle::ConstantTimeEq;

use crate::error::Error;
use crate::scheme::Scheme;
use crate::signer_key::SignerKey;

/// A string without its digest: everything that a password is hashed with. Its text is the content
/// of `{over=…}`.
pub(crate) trait Setting: fmt::Display + Send + Sync {
    fn scheme(&self) -> Scheme;

    /// The cost of one computation for a password of this many bytes: an upper bound, fitted by the
    /// example `costs`.
    fn cost(&self, password: usize) -> Task;

    /// Bytes of the salt.
    fn salt(&self) -> usize;

    /// The text of the same setting with a neutral salt of the same length.
    fn unsalted(&self) -> String;

    /// Whether a zero byte ends a password, so that no password with one has been hashed.
    fn is_of_c_strings(&self) -> bool {
        matches!(self.scheme(), Scheme::Bcrypt | Scheme::ShaCrypt | Scheme::Libcrypt)
    }

    /// The digest, as strings of the scheme write it. The time depends only on lengths, except with
    /// bcrypt, whose cipher looks up secrets in tables, and with libcrypt.
    fn compute(&self, password: &[u8]) -> Result<Zeroizing<String>, Error>;
}

/// A complete string.
#[derive(Clone)]
pub(crate) struct Foreign {
    pub(crate) setting: Arc<dyn Setting>,
    pub(crate) digest: Zeroizing<String>,
    /// The signer key that the digest was encrypted with: it is compared, and wrapped, only
    /// without it.
    pub(crate) signed_with: Option<KeyId>,
}

impl Foreign {
    #[allow(dead_code, reason = "which features there are decides")]
    fn new(setting: impl Setting + 'static, digest: impl Into<String>) -> Self {
        let digest = Zeroizing::new(digest.into());
        Foreign { setting: Arc::new(setting), digest, signed_with: None }
    }

    /// The string of a scheme that is known here; `None` for all others.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, Error>> {
        SCHEMES.iter().find_map(|scheme| (scheme.parse)(text))
    }

    /// The same string without the signer key.
    #[cfg_attr(not(feature = "firebase"), allow(unused_variables))]
    pub(crate) fn without(self, key: &SignerKey) -> Option<Self> {
        #[cfg(feature = "firebase")]
        return Some(Foreign {
            digest: firebase::without(key, &self.digest)?,
            setting: self.setting,
            signed_with: None,
        });
        #[cfg(not(feature = "firebase"))]
        None
    }

    /// Whether the digest of a password is that of the string, compared in constant time.
    pub(crate) fn matches(&self, password: &[u8]) -> Result<bool, Error> {
        if self.signed_with.is_some() {
            let why = "a digest that is still encrypted";
            return Err(Error::Failed { scheme: self.setting.scheme(), why });
        }
        let computed = digest(&*self.setting, password)?;
        Ok(computed.as_bytes().ct_eq(self.digest.as_bytes()).into())
    }
}

/// The digest of a password. No C string has a zero byte: what has one matches nothing that these
/// schemes have made, and takes as long as its beginning.
pub(crate) fn digest(setting: &dyn Setting, password: &[u8]) -> Result<Zeroizing<String>, Error> {
    let end = password.iter().position(|c| *c == 0).filter(|_| setting.is_of_c_strings());
    let digest = setting.compute(&password[..end.unwrap_or(password.len())])?;
    Ok(if end.is_some() { Zeroizing::new("*".repeat(digest.len())) } else { digest })
}

/// The setting with this text, as written between the braces of `{over=…}`.
pub(crate) fn setting(text: &str) -> Result<Arc<dyn Setting>, Error> {
    let setting = example(text)?.setting;
    // There is one spelling each: the text must equal what would be written. A brace, which some
    // schemes allow in salts, would end it too soon.
    let plain = !text.contains('}') && setting.to_string() == text;
    if plain { Ok(setting) } else { Err(UNKNOWN) }
}

/// A string with the setting of this text, and some digest, which needs no key.
pub(crate) fn example(text: &str) -> Result<Foreign, Error> {
    let complete = |scheme: &LegacyScheme| (scheme.parse)(&(scheme.complete)(text)?);
    let found = SCHEMES.iter().find_map(complete).unwrap_or(Err(UNKNOWN))?;
    Ok(Foreign { signed_with: None, ..found })
}

const UNKNOWN: Error =
    Error::malformed("{over=…}", "the setting of a scheme that this build knows");

struct LegacyScheme {
    /// A string; `None` for one of another scheme.
    parse: fn(&str) -> Option<Result<Foreign, Error>>,
    /// A string with this setting and some digest; `None` for settings of another scheme.
    complete: fn(&str) -> Option<String>,
}

const SCHEMES: &[LegacyScheme] = &[
    #[cfg(feature = "argon2")]
    LegacyScheme { parse: argon2::parse, complete: argon2::complete },
    #[cfg(feature = "bcrypt")]
    LegacyScheme { parse: bcrypt::parse, complete: bcrypt::complete },
    #[cfg(feature = "sha-crypt")]
    LegacyScheme { parse: sha_crypt::parse, complete: sha_crypt::complete },
    #[cfg(feature = "sha-crypt")]
    LegacyScheme { parse: caching_sha2::parse, complete: caching_sha2::complete },
    #[cfg(feature = "pbkdf2")]
    LegacyScheme { parse: pbkdf2::parse, complete: pbkdf2::complete },
    #[cfg(feature = "scram")]
    LegacyScheme { parse: scram::parse, complete: scram::complete },
    #[cfg(feature = "firebase")]
    LegacyScheme { parse: firebase::parse, complete: firebase::complete },
    #[cfg(feature = "digest")]
    LegacyScheme { parse: phpass::parse, complete: phpass::complete },
    #[cfg(feature = "digest")]
    LegacyScheme { parse: apr1::parse, complete: apr1::complete },
    #[cfg(feature = "digest")]
    LegacyScheme { parse: digest::parse, complete: digest::complete },
    #[cfg(feature = "libcrypt")]
    LegacyScheme { parse: libcrypt::parse, complete: libcrypt::complete },
];

/// Checks that what the schemes need is available: the machine's libcrypt, if it is accepted.
pub(crate) fn ready(schemes: &[Scheme]) -> Result<(), Error> {
    match schemes.contains(&Scheme::Libcrypt) {
        #[cfg(feature = "libcrypt")]
        true => libcrypt::ready(),
        _ => Ok(()),
    }
}

/// A number in decimal digits, without a sign or zeros before it.
pub(crate) fn decimal(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let plain = digits && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

/// Refuses a password with a zero byte: C strings end there, so no such password can have been
/// hashed.
#[allow(dead_code, reason = "which features there are decides")]
fn without_zeros(password: &[u8]) -> Result<&[u8], Error> {
    let why = "a zero byte in a password";
    let refused = || saltern_yescrypt::Error::RefusedByCrypt { why }.into();
    if password.contains(&0) { Err(refused()) } else { Ok(password) }
}
