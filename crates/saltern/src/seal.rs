//! Seals, which bind stored strings to their accounts. docs/strings.md has the exact form.

use std::fmt;

use saltern_yescrypt::keys::KeyId;

use crate::error::Error;
use crate::formats;

/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

/// For a string that begins like a sealed one and is not.
const MALFORMED: Error = Error::malformed(
    "{seal=…}",
    "the name of a key, + and its fingerprint, a comma, 32 digits of the tag, } and a string that \
     is not sealed again",
);

/// The seal of a string.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Seal {
    /// With its fingerprint.
    pub(crate) key: KeyId,
    pub(crate) tag: [u8; TAG],
}

/// A stored string in three parts.
pub(crate) struct Sealed<'t> {
    /// Marks of a locked account before the seal.
    pub(crate) marks: &'t str,
    pub(crate) seal: Option<Seal>,
    /// What the seal covers; without a seal the whole string.
    pub(crate) text: &'t str,
}

impl<'t> Sealed<'t> {
    /// Takes the seal off a string, if it has one. The rest is not looked at.
    pub(crate) fn parse(stored: &'t str) -> Result<Self, Error> {
        if !formats::begins_sealed(stored) {
            return Ok(Sealed { marks: "", seal: None, text: stored });
        }
        let (marks, seal, text) = formats::split_seal(stored).ok_or(MALFORMED)?;
        let seal = Seal::parse(seal).filter(|_| !formats::begins_sealed(text));
        Ok(Sealed { marks, seal: Some(seal.ok_or(MALFORMED)?), text })
    }
}

impl Seal {
    /// What stands between `{seal=` and `}`.
    fn parse(text: &str) -> Option<Self> {
        let (name, digits) = text.split_once(',')?;
        let key: KeyId = name.parse().ok()?;
        key.fingerprint().filter(|_| digits.len() == 2 * TAG)?;
        let mut tag = [0; TAG];
        base16ct::lower::decode(digits, &mut tag).ok()?;
        Some(Seal { key, tag })
    }
}

/// With the braces.
impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seal { key, tag } = self;
        // Whoever sees how a tag is written must not learn it.
        let mut digits = [0; 2 * TAG];
        let digits = base16ct::lower::encode_str(tag, &mut digits).map_err(|_| fmt::Error)?;
        write!(f, "{}{key},{digits}}}", formats::SEAL)
    }
}
