//! `$y$` and `$7$` strings (sections 20, 21 and 23): parsing and formatting; nothing is hashed
//! here. Also what they share with the extended strings, whose text is in `extended.rs`.

use alloc::string::String;
use alloc::vec::Vec;

use super::base64::{self, Reader, push_bytes, push_number};
use super::extended::{self, Extended, Parsed};
use super::names::Ids;
use super::phc;
use super::scheme::Scheme;
use super::{HASH, HASH_DIGITS, MAX_SALT, ascii};
use super::{crypt, crypt3, escrypt};
use crate::core::params::{is_product, is_size};
use crate::ids::KeyId;
use crate::ids::RomId;
use crate::text::roms::NamedRom;
use crate::{Error, Params};

/// A setting: scheme, parameters and salt, as text and decoded, and the ids of the ROMs and the key
/// that it needs.
///
/// ```
/// use saltern_yescrypt::{Params, Setting};
/// let setting = Setting::parse(b"$y$j9T$LdJMENpBABJJ3hIHjB1Bi.")?;
/// assert_eq!(*setting.params(), Params::yescrypt(4096, 32));
/// assert_eq!(setting.salt().len(), 16);
/// assert_eq!(Setting::new(setting.params(), setting.salt())?, setting);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Setting {
    scheme: Scheme,
    params: Params,
    /// Up to the end of the salt's text.
    text: Vec<u8>,
    /// Where the salt's text starts.
    salt_start: usize,
    salt: Vec<u8>,
    /// For an extended string, the key only.
    ids: Ids,
    /// For an extended string.
    roms: Vec<NamedRom>,
    /// Why crypt(3) refuses the text that this was parsed from.
    refused: Option<&'static str>,
}

/// The contents of a PHC string: a setting, and the hash if there is one.
type WithHash = (Setting, Option<[u8; HASH]>);

impl Setting {
    /// Parses a setting. A complete hash is also a setting: what follows the last `$` after the
    /// parameters is ignored, except that an extended string must have a well-formed hash there or
    /// nothing.
    ///
    /// Before `$y$` there may be the id of a ROM and the name of a key, as in
    /// `{rom=00ff1122334455aa,key=2026}$y$…`: docs/strings.md. Parameters are not checked beyond
    /// what the text requires; [`Params::check`] does that.
    ///
    /// # Errors
    /// [`Error::Malformed`], with what was expected; [`Error::InvalidParameter`] for numbers in
    /// extended strings and in ids.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, Error> {
        let text = text.as_ref();
        if let Some(parsed) = Self::parse_phc(text) {
            return Ok(parsed?.0);
        }
        let (ids, rest) = Ids::split(text)?;
        let scheme = Scheme::of(rest).filter(|_| !Ids::precede(rest));
        let expected = Error::malformed(
            "a string starting with $y$, $7$, $7X, $scrypt$ or $saltern-yescrypt$",
        );
        let scheme = scheme.ok_or(expected)?;
        if rest.len() < text.len() && scheme != Scheme::Yescrypt {
            return Err(Error::malformed("$y$ after the names of a ROM and a key"));
        }
        let refused = crypt3::text_refused(rest);
        let mut reader = Reader::new(&rest[scheme.prefix().len()..]);
        let params = match scheme {
            Scheme::Yescrypt => crypt::yescrypt(&mut reader)?,
            Scheme::Escrypt => escrypt::params(&mut reader)?,
            Scheme::Scrypt => crypt::scrypt(&mut reader)?,
            Scheme::Extended | Scheme::ScryptPhc => return Err(expected),
        };
        if ids.rom.is_some() && params.nrom == 0 {
            return Err(Error::malformed("NROM in a string for which a ROM is named"));
        }
        let rest = reader.rest();
        let salt_text = match rest.iter().rposition(|c| *c == b'$') {
            Some(end) => &rest[..end],
            None => rest,
        };
        let salt = match scheme {
            Scheme::Yescrypt => base64::bytes(salt_text, MAX_SALT)?,
            _ => salt_text.to_vec(),
        };
        let salt_start = text.len() - rest.len();
        let text = text[..salt_start + salt_text.len()].to_vec();
        let roms = Vec::new();
        Ok(Setting { scheme, params, text, salt_start, salt, ids, roms, refused })
    }

    /// Parses a setting or complete string of a scheme in the PHC string format, with the hash of
    /// the latter; `None` for other schemes.
    fn parse_phc(text: &[u8]) -> Option<Result<WithHash, Error>> {
        let scheme = Scheme::of(text)?;
        let parsed = match scheme {
            Scheme::Extended => extended::parse(text),
            Scheme::ScryptPhc => phc::parse(text),
            _ => return None,
        };
        Some(parsed.map(|Parsed { says, salt, salt_text, hash }| {
            let Extended { params, roms, key } = says;
            let (salt_start, ids) = (salt_text.start, Ids { rom: None, key });
            let text = text[..salt_text.end].to_vec();
            (Setting { scheme, params, text, salt_start, salt, ids, roms, refused: None }, hash)
        }))
    }

    /// A `$y$` setting.
    ///
    /// # Errors
    /// Those of [`Setting::encode`], and [`Error::Malformed`] for a salt of more than 64 bytes.
    pub fn new(params: &Params, salt: impl AsRef<[u8]>) -> Result<Self, Error> {
        Self::parse(Self::encode(params, salt)?)
    }

    /// The text of a `$y$` setting, as the format's encoder makes it. Some of the settings it can
    /// write cannot be used for hashing (g ≠ 0, a salt of more than 64 bytes, N / p below 2).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for what cannot be encoded: a tuning without a flags value, N or
    /// NROM not a power of two above 1, r * p of 2^30 or more, fields that are 0 or too large.
    pub fn encode(params: &Params, salt: impl AsRef<[u8]>) -> Result<String, Error> {
        let flags = params.flags().ok_or(Error::FlavorNotAllowed)?;
        let flavor = if flags < 2 { flags } else { 2 + (flags >> 2) };
        if !is_product(params.r, params.p) {
            return Err(Error::invalid("r", params.r.into(), "such that r * p is below 2^30"));
        }
        let mut text = Scheme::Yescrypt.prefix().as_bytes().to_vec();
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
        push_bytes(&mut text, salt.as_ref());
        Ok(ascii(text))
    }

    /// A `$7$` setting for classic scrypt, whose salt is the *text* of these bytes in base 64.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for parameters that `$7$` cannot express.
    pub fn scrypt(params: &Params, salt: impl AsRef<[u8]>) -> Result<Self, Error> {
        if !params.is_plain_scrypt() {
            return Err(Error::invalid("mode", 0, "plain classic scrypt for $7$"));
        }
        let log2_n = log2("N", params.n)?;
        Self::parse(escrypt::encode_setting(0, log2_n, params.r, params.p, salt)?)
    }

    /// An extended setting, for any parameters (with NROM 0), any list of at most
    /// [`MAX_ROMS`](crate::rom::MAX_ROMS) ROMs in the RW mode, and a key. It is longer than a `$y$`
    /// setting, and only Saltern computes it: prefer [`Setting::new`] where that suffices.
    ///
    /// ```
    /// use saltern_yescrypt::{Params, Setting, rom::{NamedRom, RomMasks, RomReading}};
    /// let reading = RomReading { masks: RomMasks { fill: 0, mix: 63 }, ..RomReading::new(1 << 25) };
    /// let on_disk = NamedRom { id: "00ff1122334455aa".parse()?, reading };
    /// let setting = Setting::extended(&Params::yescrypt(4096, 32), &[on_disk], None, &[7; 16])?;
    /// let text = b"$saltern-yescrypt$v=1$ln=12,r=32,p=1,rom1=00ff1122334455aa.25.0.63.0$BwcHBwcHBwcHBwcHBwcHBw";
    /// assert_eq!(setting.as_bytes(), text);
    /// assert_eq!(Setting::parse(text)?, setting);
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for what the algorithm does not define, masks under which
    /// nothing is read, a ROM that is never read because one before it is read in all of its steps,
    /// too many ROMs, or a salt that does not have 8 to 64 bytes; [`Error::RomNotUsed`] for ROMs in
    /// another mode.
    pub fn extended(
        params: &Params,
        roms: &[NamedRom],
        key: Option<KeyId>,
        salt: impl AsRef<[u8]>,
    ) -> Result<Self, Error> {
        let extended = Extended { params: *params, roms: roms.to_vec(), key };
        Self::parse(extended.setting(salt.as_ref())?)
    }

    /// This `$y$` setting, preceded by the ids of its ROM and its key, or without them.
    ///
    /// # Errors
    /// [`Error::KeyNotApplicable`] for another scheme, [`Error::RomNotUsed`] for a ROM id without
    /// NROM.
    pub fn with_ids(&self, rom: Option<RomId>, key: Option<KeyId>) -> Result<Self, Error> {
        if self.scheme != Scheme::Yescrypt {
            return Err(Error::KeyNotApplicable);
        }
        if rom.is_some() && self.params.nrom == 0 {
            return Err(Error::RomNotUsed);
        }
        let (_, plain) = Ids::split(&self.text)?;
        let ids = Ids { rom, key };
        let mut text = Vec::new();
        ids.push(&mut text);
        let salt_start = text.len() + self.salt_start - (self.text.len() - plain.len());
        text.extend_from_slice(plain);
        Ok(Setting { text, salt_start, ids, ..self.clone() })
    }

    /// The setting that system crypt libraries make from a cost number (0 is their default) and
    /// random bytes: at least 16, of which the first 64 are used.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a cost that the scheme does not have,
    /// [`Error::BufferLength`] for fewer than 16 bytes.
    pub fn from_cost(scheme: Scheme, cost: u32, random: impl AsRef<[u8]>) -> Result<Self, Error> {
        let random = random.as_ref();
        if random.len() < 16 {
            return Err(Error::BufferLength { needed: 16, actual: random.len() as u64 });
        }
        let salt = &random[..random.len().min(MAX_SALT)];
        match scheme {
            Scheme::Yescrypt => Self::new(&Params::from_cost(cost)?, salt),
            Scheme::Scrypt => Self::scrypt(&Params::scrypt_from_cost(cost)?, salt),
            Scheme::Extended => Self::extended(&Params::from_cost(cost)?, &[], None, salt),
            Scheme::Escrypt | Scheme::ScryptPhc => {
                Err(Error::malformed("a scheme that new hashes are made with"))
            }
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

    /// The id of the ROM before a `$y$` string, if it has one.
    #[must_use]
    pub const fn rom_id(&self) -> Option<RomId> {
        self.ids.rom
    }

    /// The ROMs of an extended string, in the order of the list.
    #[must_use]
    pub fn roms(&self) -> &[NamedRom] {
        &self.roms
    }

    /// Whether hashes of this setting read a ROM. Strings of generation 0.5 do not show it.
    ///
    /// ```
    /// use saltern_yescrypt::Setting;
    /// assert!(!Setting::parse("$y$j75$salt")?.reads_rom());
    /// # Ok::<(), saltern_yescrypt::Error>(())
    /// ```
    #[must_use]
    pub fn reads_rom(&self) -> bool {
        self.params.nrom != 0 || self.names_rom()
    }

    /// Whether the setting says which ROM: one that only [reads](Setting::reads_rom) a ROM leaves
    /// it open.
    #[must_use]
    pub fn names_rom(&self) -> bool {
        self.ids.rom.is_some() || !self.roms.is_empty()
    }

    /// The name of the key, in an extended string or before a `$y$` string.
    #[must_use]
    pub const fn key_id(&self) -> Option<KeyId> {
        self.ids.key
    }

    /// The salt that goes into the KDF (before decryption, if the hash is encrypted). For `$7$` and
    /// `$7X`, the characters themselves.
    #[must_use]
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// The salt as written in the text.
    #[must_use]
    pub fn salt_text(&self) -> &[u8] {
        &self.text[self.salt_start..]
    }

    /// Why crypt(3) refuses this, apart from flavours and ROMs: characters or length of the text
    /// that it was parsed from, hash included, or ranges of parameters. Ids before a string are
    /// ignored; for strings that only Saltern computes, only characters and length are checked.
    #[must_use]
    pub fn refused_by_crypt(&self) -> Option<&'static str> {
        let params = || crypt3::params_refused(&self.params);
        match self.scheme {
            Scheme::Yescrypt | Scheme::Scrypt => self.refused.or_else(params),
            _ => self.refused,
        }
    }

    /// The text of the setting: up to the end of the salt, without a `$` after it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The complete string with this hash.
    pub(crate) fn with_hash(&self, hash: &[u8; HASH]) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.text.len() + 1 + HASH_DIGITS);
        text.extend_from_slice(&self.text);
        text.push(b'$');
        self.push(&mut text, hash);
        text
    }

    /// This setting (of any scheme but `$7$`) with another salt of the same length.
    pub(crate) fn with_salt(&self, salt: &[u8]) -> Self {
        let mut text = self.text[..self.salt_start].to_vec();
        self.push(&mut text, salt);
        Setting { text, salt: salt.to_vec(), ..self.clone() }
    }

    /// This setting for a hash that is encrypted with the key of this name, or with no named key.
    ///
    /// # Errors
    /// [`Error::KeyNotApplicable`] for `$7$`.
    pub(crate) fn with_key_id(&self, key: Option<KeyId>) -> Result<Self, Error> {
        match self.scheme {
            Scheme::Extended => Self::extended(&self.params, &self.roms, key, &self.salt),
            _ => self.with_ids(self.ids.rom, key),
        }
    }

    /// Appends bytes as the scheme writes them.
    fn push(&self, text: &mut Vec<u8>, bytes: &[u8]) {
        match self.scheme {
            Scheme::Extended | Scheme::ScryptPhc => extended::push(text, bytes),
            _ => push_bytes(text, bytes),
        }
    }
}

/// A complete hash: a setting and 32 bytes.
///
/// Functions that take a setting return it, since the salt may not be text (`$7$`); those that make
/// the setting themselves return a `String`.
///
/// Stricter than [`Setting::parse`]: the text after the salt must be exactly 43 digits that decode
/// to 32 bytes. A truncated hash is an error and never compares as a prefix.
#[derive(Clone, PartialEq, Eq)]
pub struct HashString {
    setting: Setting,
    hash: [u8; HASH],
    text: Vec<u8>,
}

impl HashString {
    /// Parses a complete hash.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, Error> {
        let text = text.as_ref();
        if let Some(parsed) = Setting::parse_phc(text) {
            let (setting, hash) = parsed?;
            let hash = hash.ok_or(Error::malformed("a hash of 43 digits after the salt"))?;
            return Ok(HashString { setting, hash, text: text.to_vec() });
        }
        let setting = Setting::parse(text)?;
        let expected = Error::malformed("a hash of exactly 43 digits after the salt");
        let digits = text[setting.text.len()..].strip_prefix(b"$").ok_or(expected)?;
        let hash = base64::bytes(digits, HASH).map_err(|_| expected)?;
        let hash = hash.try_into().map_err(|_| expected)?;
        Ok(HashString { setting, hash, text: text.to_vec() })
    }

    /// The string of a setting and the hash under it.
    pub(crate) fn new(setting: Setting, hash: [u8; HASH]) -> Self {
        let text = setting.with_hash(&hash);
        HashString { setting, hash, text }
    }

    /// The string. It is text unless the salt of a `$7$` or `$7X` setting is not.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The string, owned.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.text
    }

    /// The string as text.
    ///
    /// # Errors
    /// If the salt of a `$7$` or `$7X` setting is not text.
    pub fn to_str(&self) -> Result<&str, core::str::Utf8Error> {
        core::str::from_utf8(&self.text)
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

impl AsRef<[u8]> for HashString {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// Omits the salt, and the text, which holds it.
impl core::fmt::Debug for Setting {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Setting { scheme, params, ids, roms, .. } = self;
        let mut shown = f.debug_struct("Setting");
        shown.field("scheme", scheme).field("params", params).field("ids", ids);
        shown.field("roms", roms).finish_non_exhaustive()
    }
}

impl core::fmt::Debug for HashString {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HashString").field("params", &self.setting.params).finish_non_exhaustive()
    }
}

fn log2(name: &'static str, value: u64) -> Result<u32, Error> {
    if !is_size(value) {
        return Err(Error::invalid(name, value, "a power of two above 1"));
    }
    Ok(value.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::params::Mode;

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
