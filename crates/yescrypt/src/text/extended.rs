//! `$saltern-yescrypt$` strings: what `$y$` cannot express, in the PHC string format.
//! docs/strings.md has the grammar.
//!
//! Every setting has exactly one spelling: a parsed string is written again and must come out
//! unchanged.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use base64ct::{Base64Unpadded, Encoding};

use super::roms::{self, NamedRom};
use super::{HASH, MAX_SALT};
use crate::core::flavor::Flavor;
use crate::core::params::Mode;
use crate::core::reading::{MAX_ROMS, RomMasks, RomReading};
use crate::ids::KeyId;
use crate::{Error, Params};

/// The prefix of these strings.
pub(crate) const PREFIX: &str = "$saltern-yescrypt$";
const VERSION: &str = "v=1";
/// Longer than any of these strings.
const MAX_TEXT: usize = 512;
const MIN_SALT: usize = 8;

/// The contents of a string, except its salt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Extended {
    /// NROM is 0: `roms` has them.
    pub(crate) params: Params,
    pub(crate) roms: Vec<NamedRom>,
    pub(crate) key: Option<KeyId>,
}

/// A string taken apart.
pub(crate) struct Parsed {
    pub(crate) says: Extended,
    pub(crate) salt: Vec<u8>,
    /// Where the salt's text starts and ends.
    pub(crate) salt_text: core::ops::Range<usize>,
    /// If the string is complete.
    pub(crate) hash: Option<[u8; HASH]>,
}

/// Parses a setting or a complete string. Parameters are checked by [`Params::validate`].
pub(super) fn parse(text: &[u8]) -> Result<Parsed, Error> {
    if text.len() > MAX_TEXT {
        return Err(Error::malformed("an extended string of at most 512 characters"));
    }
    let text = str::from_utf8(text).ok().filter(|text| text.is_ascii());
    let text = text.ok_or(Error::malformed("an extended string of ASCII characters"))?;
    let expected = Error::malformed("$saltern-yescrypt$v=1$parameters$salt, optionally with $hash");
    let mut parts = text.strip_prefix(PREFIX).ok_or(expected)?.split('$');
    if parts.next() != Some(VERSION) {
        return Err(Error::malformed("v=1, the only version of extended strings"));
    }
    let params = parts.next().ok_or(expected)?;
    let salt_text = parts.next().ok_or(expected)?;
    let hash = parts.next();
    if parts.next().is_some() {
        return Err(Error::malformed("nothing after the hash of an extended string"));
    }
    let salt_start = PREFIX.len() + VERSION.len() + 1 + params.len() + 1;
    let says = parameters(params)?;
    let salt = decode::<MAX_SALT>(salt_text, MIN_SALT)
        .ok_or(Error::malformed("a salt of 8 to 64 bytes in base 64 without padding"))?;
    let hash = complete(hash)?;
    let salt_text = salt_start..salt_start + salt_text.len();
    if says.text()? != text[..salt_start - 1] {
        return Err(Error::malformed(
            "the canonical spelling of an extended string: defaults left out, numbers without leading zeros",
        ));
    }
    Ok(Parsed { says, salt, salt_text, hash })
}

impl Extended {
    /// The text of a setting.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for what has no meaning, or a salt that does not have 8 to 64
    /// bytes.
    pub(super) fn setting(&self, salt: &[u8]) -> Result<Vec<u8>, Error> {
        if !(MIN_SALT..=MAX_SALT).contains(&salt.len()) {
            let expected = "8 to 64 bytes in an extended string";
            return Err(Error::invalid("salt length", salt.len() as u64, expected));
        }
        let mut text = self.text()?.into_bytes();
        text.push(b'$');
        push(&mut text, salt);
        Ok(text)
    }

    /// Up to the end of the parameters.
    fn text(&self) -> Result<String, Error> {
        self.validate()?;
        let Params { mode, flavor, n, r, p, t, .. } = self.params;
        let mut text = alloc::format!("{PREFIX}{VERSION}$ln={},r={r},p={p}", n.ilog2());
        let mut add = |name: &str, value: core::fmt::Arguments<'_>| {
            // A `String` takes everything.
            let _ = write!(text, ",{name}={value}");
        };
        if t != 0 {
            add("t", format_args!("{t}"));
        }
        if let Some(name) = mode_name(mode) {
            add("mode", format_args!("{name}"));
        }
        if pwx(&flavor) != pwx(&Flavor::DEFAULT) {
            let [rounds, gather, simple, sbox_bytes] = pwx(&flavor);
            add("pwx", format_args!("{rounds}.{gather}.{simple}.{sbox_bytes}"));
        }
        if !flavor.has_default_salsa() {
            add("salsa", format_args!("{}.{}", flavor.salsa_mix(), flavor.salsa_tail()));
        }
        for (NamedRom { id, reading }, name) in self.roms.iter().zip(ROM_NAMES) {
            let &RomReading { nrom, masks: RomMasks { fill, mix }, look_ahead } = reading;
            let log2 = nrom.ilog2();
            add(name, format_args!("{id}.{log2}.{fill}.{mix}.{look_ahead}"));
        }
        if let Some(key) = self.key {
            add("key", format_args!("{key}"));
        }
        Ok(text)
    }

    /// Refuses what no string can express.
    fn validate(&self) -> Result<(), Error> {
        self.params.validate()?;
        roms::check(&self.params, &self.roms)?;
        if matches!(self.params.mode, Mode::Escrypt(_)) {
            return Err(Error::invalid("mode", 0, "one of yescrypt 1.1 or scrypt"));
        }
        let flavor = &self.params.flavor;
        if self.params.mode != Mode::Rw && pwx(flavor) != pwx(&Flavor::DEFAULT) {
            let rounds = flavor.rounds().into();
            return Err(Error::invalid("PWXrounds", rounds, "the default outside the RW mode"));
        }
        Ok(())
    }
}

/// The constants of pwxform, in the order of [`Flavor::new`].
fn pwx(flavor: &Flavor) -> [u32; 4] {
    [flavor.rounds(), flavor.gather(), flavor.simple(), flavor.sbox_bytes()]
}

const ROM_NAMES: [&str; MAX_ROMS] = ["rom1", "rom2", "rom3", "rom4"];

/// Left out for RW.
const fn mode_name(mode: Mode) -> Option<&'static str> {
    match mode {
        Mode::Classic => Some("classic"),
        Mode::Worm => Some("worm"),
        Mode::Rw | Mode::Escrypt(_) => None,
    }
}

/// Reads parameters in their order.
pub(super) struct Fields<'a> {
    pub(super) rest: Option<&'a str>,
}

impl<'a> Fields<'a> {
    /// The value of the next parameter, if that has this name.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a str> {
        let rest = self.rest?;
        let (field, rest) = match rest.split_once(',') {
            Some((field, rest)) => (field, Some(rest)),
            None => (rest, None),
        };
        let value = field.strip_prefix(name)?.strip_prefix('=')?;
        self.rest = rest;
        Some(value)
    }
}

fn parameters(text: &str) -> Result<Extended, Error> {
    let mut fields = Fields { rest: Some(text) };
    let required = Error::malformed("the parameters ln, r and p, in this order");
    let log2_n = fields.take("ln").ok_or(required)?;
    let mut params = Params::new(Mode::Rw, power(log2_n)?, 1);
    params.r = number(fields.take("r").ok_or(required)?)?;
    params.p = number(fields.take("p").ok_or(required)?)?;
    if let Some(t) = fields.take("t") {
        params.t = number(t)?;
    }
    if let Some(name) = fields.take("mode") {
        let of_name = |mode: &Mode| mode_name(*mode) == Some(name);
        let mode = [Mode::Classic, Mode::Worm].into_iter().find(of_name);
        params.mode = mode.ok_or(Error::malformed("mode=classic or mode=worm"))?;
    }
    if let Some(pwx) = fields.take("pwx") {
        let [rounds, gather, simple, sbox_bytes] =
            numbers(pwx, Error::malformed("pwx=rounds.gather.simple.bytes"))?;
        params.flavor = Flavor::new(rounds, gather, simple, sbox_bytes)?;
    }
    if let Some(salsa) = fields.take("salsa") {
        let [mix, tail] = numbers(salsa, Error::malformed("salsa=rounds.tail"))?;
        params.flavor = params.flavor.with_salsa(mix, tail)?;
    }
    let mut roms = Vec::new();
    for name in ROM_NAMES {
        let Some(rom) = fields.take(name) else { break };
        roms.push(named_rom(rom)?);
    }
    let key = fields.take("key").map(|id| KeyId::parse(id.as_bytes())).transpose()?;
    if fields.rest.is_some() {
        return Err(Error::malformed(
            "only parameters known here, in the order t, mode, pwx, salsa, rom1 to rom4, key",
        ));
    }
    Ok(Extended { params, roms, key })
}

fn named_rom(text: &str) -> Result<NamedRom, Error> {
    let expected = Error::malformed("a ROM as id.log2(NROM).fill-mask.mix-mask.look-ahead");
    let (id, rest) = text.split_once('.').ok_or(expected)?;
    let (log2_nrom, rest) = rest.split_once('.').ok_or(expected)?;
    let [fill, mix, look_ahead] = numbers(rest, expected)?;
    let (id, nrom) = (id.parse()?, power(log2_nrom)?);
    let reading = RomReading { nrom, masks: RomMasks { fill, mix }, look_ahead };
    Ok(NamedRom { id, reading })
}

/// Exactly `COUNT` numbers with dots between them.
fn numbers<const COUNT: usize>(text: &str, expected: Error) -> Result<[u32; COUNT], Error> {
    let mut values = [0; COUNT];
    let mut texts = text.split('.');
    for value in &mut values {
        *value = number(texts.next().ok_or(expected)?)?;
    }
    if texts.next().is_some() { Err(expected) } else { Ok(values) }
}

pub(super) fn number(text: &str) -> Result<u32, Error> {
    let expected = Error::malformed("a decimal number below 2^32 without sign or leading zeros");
    if text.is_empty() || !text.bytes().all(|c| c.is_ascii_digit()) {
        return Err(expected);
    }
    text.parse().map_err(|_| expected)
}

/// Two to the power of a number from 1 to 63.
pub(super) fn power(text: &str) -> Result<u64, Error> {
    match number(text)? {
        log2 @ 1..=63 => Ok(1 << log2),
        _ => Err(Error::malformed("a log2 from 1 to 63")),
    }
}

/// The hash of a string, if it is complete.
pub(super) fn complete(hash: Option<&str>) -> Result<Option<[u8; HASH]>, Error> {
    let expected = Error::malformed("a hash of exactly 43 digits in base 64");
    let bytes = |hash| decode::<HASH>(hash, HASH)?.try_into().ok();
    hash.map(|hash| bytes(hash).ok_or(expected)).transpose()
}

/// Appends bytes in base 64.
pub(super) fn push(text: &mut Vec<u8>, bytes: &[u8]) {
    text.extend_from_slice(Base64Unpadded::encode_string(bytes).as_bytes());
}

/// Decodes at least `least` and at most `MOST` bytes; each byte string has exactly one encoding.
pub(super) fn decode<const MOST: usize>(text: &str, least: usize) -> Option<Vec<u8>> {
    let mut bytes = [0; MOST];
    let bytes = Base64Unpadded::decode(text, &mut bytes).ok()?;
    (bytes.len() >= least).then(|| bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_strict() {
        assert_eq!(decode::<4>("////", 0), Some(vec![255; 3]));
        let mut decodable = 0;
        for last in (0..128).map(char::from) {
            if let Some(bytes) = decode::<4>(&format!("A{last}"), 0) {
                let mut text = Vec::new();
                push(&mut text, &bytes);
                assert_eq!(text, format!("A{last}").into_bytes());
                decodable += 1;
            }
        }
        assert_eq!(decodable, 4, "the last digit of one byte has two bits");
        for wrong in ["A", "AAAAA", "AA==", "AA=", "A A", "AA\n", "_-AA", "AAAAAAA"] {
            assert_eq!(decode::<4>(wrong, 0), None, "{wrong}");
        }
    }
}
