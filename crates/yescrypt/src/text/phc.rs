//! `$scrypt$ln=…,r=…,p=…$salt$hash`: classic scrypt in the PHC string format, as other libraries
//! write it. Only read.

use super::extended::{Fields, Parsed, decode, number, power};
use super::{HASH, MAX_SALT};
use crate::core::params::Params;
use crate::error::Error;

pub(super) const PREFIX: &str = "$scrypt$";
/// More than any of these strings has.
const MAX_TEXT: usize = 256;

/// Parses a setting or a complete string.
pub(super) fn parse(text: &[u8]) -> Result<Parsed<Params>, Error> {
    let expected = Error::malformed("$scrypt$ln=…,r=…,p=…$salt, and perhaps $hash");
    let text = str::from_utf8(text).ok().filter(|text| text.is_ascii() && text.len() <= MAX_TEXT);
    let mut parts = text.and_then(|text| text.strip_prefix(PREFIX)).ok_or(expected)?.split('$');
    let (params, salt_text) = parts.next().zip(parts.next()).ok_or(expected)?;
    let hash = parts.next();
    if parts.next().is_some() {
        return Err(Error::malformed("nothing after the hash of a $scrypt$ string"));
    }
    let mut fields = Fields { rest: Some(params) };
    let n = power(fields.take("ln").ok_or(expected)?)?;
    let r = number(fields.take("r").ok_or(expected)?)?;
    let p = number(fields.take("p").ok_or(expected)?)?;
    if fields.rest.is_some() {
        return Err(expected);
    }
    let expected = Error::malformed("a salt of at most 64 bytes in base 64 without padding");
    let salt = decode::<MAX_SALT>(salt_text, 0).ok_or(expected)?;
    let expected = Error::malformed("a hash of exactly 43 digits in base 64");
    let bytes = |hash| -> Result<[u8; HASH], Error> {
        let bytes = decode::<HASH>(hash, HASH).ok_or(expected)?;
        bytes.as_slice().try_into().map_err(|_| expected)
    };
    let hash = hash.map(bytes).transpose()?;
    let start = PREFIX.len() + params.len() + 1;
    let salt_text = start..start + salt_text.len();
    Ok(Parsed { says: Params::scrypt(n, r, p), salt, salt_text, hash })
}
