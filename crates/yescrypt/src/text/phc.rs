//! `$scrypt$ln=…,r=…,p=…$salt$hash`: classic scrypt in the PHC string format, as other libraries
//! write it. Only read.

use alloc::vec::Vec;

use super::MAX_SALT;
use super::extended::{Extended, Fields, Parsed, complete, decode, number, power};
use crate::core::params::Params;
use crate::error::Error;

pub(super) const PREFIX: &str = "$scrypt$";
/// Longer than any of these strings.
const MAX_TEXT: usize = 256;

/// Parses a setting or a complete string.
pub(super) fn parse(text: &[u8]) -> Result<Parsed, Error> {
    let expected = Error::malformed("$scrypt$ln=…,r=…,p=…$salt, optionally with $hash");
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
    let hash = complete(hash)?;
    let start = PREFIX.len() + params.len() + 1;
    let salt_text = start..start + salt_text.len();
    let says = Extended { params: Params::scrypt(n, r, p), roms: Vec::new(), key: None };
    Ok(Parsed { says, salt, salt_text, hash })
}
