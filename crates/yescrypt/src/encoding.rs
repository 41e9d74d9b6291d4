//! `$y$` and `$7$` strings (sections 20, 21 and 23): parse and format, nothing is hashed here.

use alloc::string::String;
use alloc::vec::Vec;

use crate::base64::{self, Reader, push_bytes, push_fixed, push_number};
use crate::{Error, Params};

/// Bytes of salt that a `$y$` string may hold.
const MAX_SALT: usize = 64;
/// Bytes of hash in every string, and the digits that they take.
pub(crate) const HASH: usize = 32;
const HASH_DIGITS: usize = 43;

/// The kinds of string that are known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Scheme {
    /// `$y$`: yescrypt in all its modes.
    Yescrypt,
    /// `$7$`: classic scrypt.
    Scrypt,
}

impl Scheme {
    /// What strings of the scheme start with.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Scheme::Yescrypt => "$y$",
            Scheme::Scrypt => "$7$",
        }
    }

    /// The scheme of a string, by its prefix alone.
    #[must_use]
    pub fn of(text: &[u8]) -> Option<Self> {
        [Scheme::Yescrypt, Scheme::Scrypt]
            .into_iter()
            .find(|scheme| text.starts_with(scheme.prefix().as_bytes()))
    }
}

/// A setting: scheme, parameters and salt, as text and decoded.
///
/// ```
/// use saltern_yescrypt::{Params, Setting};
/// let setting = Setting::parse(b"$y$j9T$LdJMENpBABJJ3hIHjB1Bi.")?;
/// assert_eq!(*setting.params(), Params::yescrypt(4096, 32));
/// assert_eq!(setting.salt().len(), 16);
/// assert_eq!(Setting::new(setting.params(), setting.salt())?, setting);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    scheme: Scheme,
    params: Params,
    /// Up to the end of the salt's text.
    text: Vec<u8>,
    /// Where the salt's text starts.
    salt_start: usize,
    salt: Vec<u8>,
}

impl Setting {
    /// Parses a setting. A complete hash is one too: what follows the last `$` after the parameters is ignored.
    ///
    /// Parameters are not checked beyond what the text requires; [`Params::check`] does that.
    ///
    /// # Errors
    /// [`Error::Malformed`], which says what was expected.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let scheme =
            Scheme::of(text).ok_or(Error::malformed("a string starting with $y$ or $7$"))?;
        let mut reader = Reader::new(&text[scheme.prefix().len()..]);
        let params = match scheme {
            Scheme::Yescrypt => yescrypt_params(&mut reader)?,
            Scheme::Scrypt => scrypt_params(&mut reader)?,
        };
        let rest = reader.rest();
        let salt_text = match rest.iter().rposition(|c| *c == b'$') {
            Some(end) => &rest[..end],
            None => rest,
        };
        let salt = match scheme {
            Scheme::Yescrypt => base64::bytes(salt_text, MAX_SALT)?,
            Scheme::Scrypt => salt_text.to_vec(),
        };
        let salt_start = text.len() - rest.len();
        let text = text[..salt_start + salt_text.len()].to_vec();
        Ok(Setting { scheme, params, text, salt_start, salt })
    }

    /// A `$y$` setting.
    ///
    /// # Errors
    /// Those of [`Setting::encode`], and [`Error::Malformed`] for a salt of more than 64 bytes.
    pub fn new(params: &Params, salt: &[u8]) -> Result<Self, Error> {
        Self::parse(Self::encode(params, salt)?.as_bytes())
    }

    /// The text of a `$y$` setting, as the encoder of the format makes it: some of what it can write cannot be hashed with (g ≠ 0, a salt of more
    /// than 64 bytes, N / p below 2).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for what has no text: a tuning without a flags value, N or NROM not a power of two above 1,
    /// r * p of 2^30 or more, fields that are 0 or too large.
    pub fn encode(params: &Params, salt: &[u8]) -> Result<String, Error> {
        let flags = params.flags().ok_or(Error::FlavorNotAllowed)?;
        let flavor = if flags < 2 { flags } else { 2 + (flags >> 2) };
        if u64::from(params.r) * u64::from(params.p) >= 1 << 30 {
            return Err(Error::invalid("r", params.r.into(), "such that r * p is below 2^30"));
        }
        let mut text = b"$y$".to_vec();
        push_number(&mut text, "flavour", flavor.into(), 0)?;
        push_number(&mut text, "N", log2("N", params.n)?.into(), 1)?;
        push_number(&mut text, "r", params.r.into(), 1)?;
        let log2_nrom = if params.nrom == 0 { 0 } else { log2("NROM", params.nrom)? };
        let optional = [
            ("p", params.p, 1, 2),
            ("t", params.t, 0, 1),
            ("g", params.g, 0, 1),
            ("NROM", log2_nrom, 0, 1),
        ];
        let present = |(_, value, absent, _): &(&str, u32, u32, u32)| value != absent;
        let have: u32 = optional.iter().zip(0..).map(|(o, bit)| u32::from(present(o)) << bit).sum();
        if have != 0 {
            push_number(&mut text, "have", have.into(), 1)?;
        }
        for (name, value, _, least) in optional.iter().filter(|o| present(o)) {
            push_number(&mut text, name, u64::from(*value), *least)?;
        }
        text.push(b'$');
        push_bytes(&mut text, salt);
        Ok(ascii(text))
    }

    /// A `$7$` setting for classic scrypt, whose salt is the *text* of these bytes in base 64.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for parameters that `$7$` cannot say.
    pub fn scrypt(params: &Params, salt: &[u8]) -> Result<Self, Error> {
        if *params != Params::scrypt(params.n, params.r, params.p) {
            return Err(Error::invalid("mode", 0, "plain classic scrypt for $7$"));
        }
        for (name, value) in [("r", params.r), ("p", params.p)] {
            if value >= 1 << 30 {
                return Err(Error::invalid(name, value.into(), "below 2^30"));
            }
        }
        let mut text = b"$7$".to_vec();
        push_fixed(&mut text, log2("N", params.n)?, 6);
        push_fixed(&mut text, params.r, 30);
        push_fixed(&mut text, params.p, 30);
        push_bytes(&mut text, salt);
        Self::parse(&text)
    }

    /// The setting that system crypt libraries make from a cost number (0 is their default) and random bytes: at least 16,
    /// of which the first 64 are used.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a cost that the scheme does not have, [`Error::BufferLength`] for fewer than 16 bytes.
    pub fn from_cost(scheme: Scheme, cost: u32, random: &[u8]) -> Result<Self, Error> {
        if random.len() < 16 {
            return Err(Error::BufferLength { needed: 16, actual: random.len() as u64 });
        }
        let salt = &random[..random.len().min(MAX_SALT)];
        match scheme {
            Scheme::Yescrypt => Self::new(&Params::from_cost(cost)?, salt),
            Scheme::Scrypt => Self::scrypt(&Params::scrypt_from_cost(cost)?, salt),
        }
    }

    /// Which kind of string it is.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The parameters, unchecked.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The salt that goes into the KDF (before decryption, if the hash is encrypted). For `$7$` the characters themselves.
    #[must_use]
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// The salt as it stands in the text.
    #[must_use]
    pub fn salt_text(&self) -> &[u8] {
        &self.text[self.salt_start..]
    }

    /// The text of the setting: up to the end of the salt, without a `$` behind it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The complete string with this hash.
    pub(crate) fn with_hash(&self, hash: &[u8; HASH]) -> Vec<u8> {
        join(&self.text, hash)
    }

    /// The complete string with another salt (of the same scheme `$y$`) and hash.
    pub(crate) fn with_salt_and_hash(&self, salt: &[u8], hash: &[u8; HASH]) -> Vec<u8> {
        let mut text = self.text[..self.salt_start].to_vec();
        push_bytes(&mut text, salt);
        join(&text, hash)
    }
}

/// A complete hash: a setting and 32 bytes.
///
/// Strict where [`Setting::parse`] is not: the text after the salt has to be exactly 43 digits that decode to 32 bytes. A truncated
/// hash is an error and never compares as a prefix.
#[derive(Clone, PartialEq, Eq)]
pub struct HashString {
    setting: Setting,
    hash: [u8; HASH],
}

impl HashString {
    /// Parses a complete hash.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let setting = Setting::parse(text)?;
        let hash = hash_of(&text[setting.text.len()..])?;
        Ok(HashString { setting, hash })
    }

    /// Scheme, parameters and salt.
    #[must_use]
    pub const fn setting(&self) -> &Setting {
        &self.setting
    }

    /// The hash itself (encrypted, if a key was used).
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

/// Section 20, between the prefix and the salt.
fn yescrypt_params(reader: &mut Reader<'_>) -> Result<Params, Error> {
    let flags = match reader.number(0)? {
        flags @ 0..=1 => flags,
        flavor @ 2..=257 => 2 + ((flavor - 2) << 2),
        _ => return Err(Error::malformed("a flavour of at most 257")),
    };
    let (mode, flavor) = Params::from_flags(flags)?;
    let n = power("a log2 of N of at most 63", reader.number(1)?)?;
    let mut params = Params::new(mode, n, reader.number(1)?);
    params.flavor = flavor;
    if !reader.accept(b"$") {
        let have = reader.number(1)?;
        for (bit, least) in [(0, 2), (1, 1), (2, 1), (3, 1)] {
            if have >> bit & 1 == 0 {
                continue;
            }
            let value = reader.number(least)?;
            match bit {
                0 => params.p = value,
                1 => params.t = value,
                2 => params.g = value,
                _ => params.nrom = power("a log2 of NROM of at most 63", value)?,
            }
        }
        if !reader.accept(b"$") {
            return Err(Error::malformed("a $ after the parameters"));
        }
    }
    Ok(params)
}

/// Section 21, between the prefix and the salt.
fn scrypt_params(reader: &mut Reader<'_>) -> Result<Params, Error> {
    let log2_n = reader.digit()?;
    if log2_n == 0 {
        return Err(Error::malformed("a log2 of N of at least 1"));
    }
    let n = power("a log2 of N of at most 63", log2_n)?;
    Ok(Params::scrypt(n, reader.fixed30()?, reader.fixed30()?))
}

fn power(expected: &'static str, log2: u32) -> Result<u64, Error> {
    1u64.checked_shl(log2).ok_or(Error::malformed(expected))
}

fn log2(name: &'static str, value: u64) -> Result<u32, Error> {
    if value < 2 || !value.is_power_of_two() {
        return Err(Error::invalid(name, value, "a power of two above 1"));
    }
    Ok(value.ilog2())
}

/// The hash in what follows a setting: a `$` and exactly 43 digits.
pub(crate) fn hash_of(rest: &[u8]) -> Result<[u8; HASH], Error> {
    let expected = Error::malformed("a hash of exactly 43 digits after the salt");
    let digits = rest.strip_prefix(b"$").ok_or(expected)?;
    let bytes = base64::bytes(digits, HASH).map_err(|_| expected)?;
    debug_assert!(bytes.len() != HASH || digits.len() == HASH_DIGITS);
    bytes.as_slice().try_into().map_err(|_| expected)
}

/// A setting and its hash.
pub(crate) fn join(setting: &[u8], hash: &[u8; HASH]) -> Vec<u8> {
    let mut text = Vec::with_capacity(setting.len() + 1 + HASH_DIGITS);
    text.extend_from_slice(setting);
    text.push(b'$');
    push_bytes(&mut text, hash);
    text
}

/// Text made of digits and `$` only.
pub(crate) fn ascii(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|_| unreachable!("digits are ASCII"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    #[test]
    fn a_truncated_or_extended_hash_is_malformed() {
        let whole = b"$y$j75$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
        assert!(HashString::parse(whole).is_ok());
        let setting = whole.len() - HASH_DIGITS - 1;
        for len in 0..whole.len() {
            assert!(HashString::parse(&whole[..len]).is_err(), "{len}");
        }
        assert!(Setting::parse(&whole[..setting]).is_ok());
        let mut longer = whole.to_vec();
        longer.push(b'.');
        assert!(HashString::parse(&longer).is_err());
    }

    #[test]
    fn the_salt_of_a_scrypt_string_is_its_characters() {
        let setting = Setting::parse(b"$7$3/..../....a$~b$c").unwrap();
        assert_eq!((setting.salt(), setting.salt_start), (&b"a$~b"[..], 14));
        assert_eq!(*setting.params(), Params::scrypt(32, 1, 1));
        assert_eq!(setting.params().mode, Mode::Classic);
    }
}
