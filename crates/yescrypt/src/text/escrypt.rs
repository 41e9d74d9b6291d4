//! `$7X` strings: parse and format, nothing is hashed here.

use alloc::string::String;
use alloc::vec::Vec;

use super::encoding::{ascii, hash_of};
use super::{HASH, crypt3};
use crate::Error;
use crate::core::escrypt::{Flags, Params};
use crate::text::base64::{Reader, push_bytes, push_fixed};

/// What the strings begin with.
pub(crate) const PREFIX: &[u8] = b"$7X";

/// A setting: flags, parameters and salt.
///
/// ```
/// use saltern_yescrypt::escrypt::{Params, Setting};
/// let setting = Setting::parse(b"$7X3$86..../....NaCl")?;
/// assert_eq!((setting.params().n, setting.params().r, setting.params().flags.bits()), (1024, 8, 5));
/// assert_eq!(setting.salt(), b"NaCl");
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    params: Params,
    /// Up to the end of the salt.
    text: Vec<u8>,
    /// Where the salt starts.
    salt_start: usize,
    /// As for the newer generation: what does no good in a password file.
    refused: Option<&'static str>,
}

impl Setting {
    /// Parses a setting. A complete hash is one too: what follows the last `$` after the parameters is ignored.
    ///
    /// Numbers are not checked beyond what the text requires; [`Params::check`] does that.
    ///
    /// # Errors
    /// [`Error::Malformed`], which says what was expected, and [`Error::InvalidParameter`] for flags that do not exist.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let expected = Error::malformed("a string starting with $7X");
        let mut reader = Reader::new(text.strip_prefix(PREFIX).ok_or(expected)?);
        let mut bits = 1;
        if !reader.accept(b"$") {
            bits = reader.digit()?;
            if !reader.accept(b"$") {
                return Err(Error::malformed("a $ after $7X and at most one digit"));
            }
        }
        let n = 1 << reader.digit()?;
        let mut params = Params::new(Flags::from_bits(bits)?, n, reader.fixed30()?);
        params.p = reader.fixed30()?;
        let rest = reader.rest();
        let salt_start = text.len() - rest.len();
        let salt = rest.iter().rposition(|c| *c == b'$').unwrap_or(rest.len());
        let refused = crypt3::text_refused(text);
        let text = text[..salt_start + salt].to_vec();
        Ok(Setting { params, text, salt_start, refused })
    }

    /// The text of a setting, as the encoder of the format makes it: some of what it can write cannot be hashed with (flags above 7, an
    /// N of 1). Without flags that is a `$7$` setting, of classic scrypt. The salt is the *text* of these bytes in base 64.
    ///
    /// Only vectors and tests need it: new hashes are better made with `$y$`.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for flags or a log2 of N above 63, r or p of 2^30 or more, or r * p.
    pub fn encode(
        flags: u32,
        log2_n: u32,
        (r, p): (u32, u32),
        salt: &[u8],
    ) -> Result<String, Error> {
        for (name, value) in [("flags", flags), ("log2 of N", log2_n)] {
            if value > 63 {
                return Err(Error::invalid(name, value.into(), "at most 63"));
            }
        }
        if r >= 1 << 30 || p >= 1 << 30 || u64::from(r) * u64::from(p) >= 1 << 30 {
            let expected = "below 2^30, as p and r * p";
            return Err(Error::invalid("r", r.into(), expected));
        }
        let mut text = b"$7".to_vec();
        match if p == 1 { flags & !2 } else { flags } {
            0 => {}
            1 => text.push(b'X'),
            flags => {
                text.push(b'X');
                push_fixed(&mut text, flags, 6);
            }
        }
        text.push(b'$');
        push_fixed(&mut text, log2_n, 6);
        push_fixed(&mut text, r, 30);
        push_fixed(&mut text, p, 30);
        push_bytes(&mut text, salt);
        Ok(ascii(text))
    }

    /// The parameters, unchecked.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The salt: the characters themselves.
    #[must_use]
    pub fn salt(&self) -> &[u8] {
        &self.text[self.salt_start..]
    }

    /// Why crypt(3) would refuse the characters of the text that this was parsed from, hash included.
    pub(crate) const fn refused(&self) -> Option<&'static str> {
        self.refused
    }

    /// The text of the setting: up to the end of the salt, without a `$` behind it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The complete string with this hash.
    pub(crate) fn with_hash(&self, hash: &[u8; HASH]) -> Vec<u8> {
        let mut text = self.text.clone();
        text.push(b'$');
        push_bytes(&mut text, hash);
        text
    }
}

/// A complete hash: a setting and 32 bytes. As strict as that of `$y$`: exactly 43 digits after the salt.
#[derive(Clone, PartialEq, Eq)]
pub struct HashString {
    setting: Setting,
    hash: [u8; HASH],
}

impl HashString {
    /// Parses a complete hash.
    ///
    /// # Errors
    /// Those of [`Setting::parse`], and [`Error::Malformed`].
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let setting = Setting::parse(text)?;
        let hash = hash_of(&text[setting.text.len()..])?;
        Ok(HashString { setting, hash })
    }

    /// Parameters and salt.
    #[must_use]
    pub const fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The hash itself.
    #[must_use]
    pub const fn hash(&self) -> &[u8; HASH] {
        &self.hash
    }
}

impl core::fmt::Debug for HashString {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HashString").field("params", &self.setting.params).finish_non_exhaustive()
    }
}

/// Whether a string is of this generation, by its prefix alone.
#[must_use]
pub fn is_escrypt(text: &[u8]) -> bool {
    text.starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_or_extended_hash_is_malformed() {
        let whole =
            b"$7X3$36..../....gqlb273rh94H$b3.TzXiuSSWlP7n3Dqo4.uyIH1gyEQfCkx4vHcTJfLD".to_vec();
        assert!(HashString::parse(&whole).is_ok());
        for len in 0..whole.len() {
            assert!(HashString::parse(&whole[..len]).is_err(), "{len}");
        }
        assert!(HashString::parse(&[&whole[..], b"."].concat()).is_err());
    }

    #[test]
    fn flags_in_text() {
        use alloc::format;
        for (text, bits) in [("$7X$", 1), ("$7X.$", 0), ("$7X/$", 1), ("$7X0$", 2), ("$7X5$", 7)] {
            let setting = Setting::parse(format!("{text}36..../....a$b$c").as_bytes()).unwrap();
            assert_eq!((setting.params().flags.bits(), setting.salt()), (bits, &b"a$b"[..]));
        }
        for text in ["$7X6$", "$7Xz$", "$7X33$", "$7X", "$7X\0$", "$7$"] {
            assert!(Setting::parse(format!("{text}36..../....a").as_bytes()).is_err(), "{text}");
        }
    }
}
