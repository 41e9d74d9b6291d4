//! The text of `$7X` strings, between the prefix and the salt.

use alloc::string::String;

use super::ascii;
use super::base64::{Reader, push_bytes, push_fixed};
use crate::core::params::{Flags, Mode, Params, is_product};
use crate::error::Error;

/// Reads flags and numbers.
///
/// # Errors
/// [`Error::Malformed`], with what was expected, and [`Error::InvalidParameter`] for flags that do
/// not exist.
pub(super) fn params(reader: &mut Reader<'_>) -> Result<Params, Error> {
    let mut bits = 1;
    if !reader.accept(b"$") {
        bits = reader.digit()?;
        if !reader.accept(b"$") {
            return Err(Error::malformed("a $ after $7X and at most one digit"));
        }
    }
    let mode = Mode::Escrypt(Flags::from_bits(bits)?);
    let n = 1 << reader.digit()?;
    let mut params = Params::new(mode, n, reader.fixed30()?);
    params.p = reader.fixed30()?;
    Ok(params)
}

/// The text of a setting, as the format's encoder makes it. Some of the settings it can write
/// cannot be used for hashing (flags above 7, an N of 1). Without flags it is a `$7$` setting, of
/// classic scrypt. The salt is the *text* of these bytes in base 64.
///
/// Only vectors and tests need it: new hashes are better made with `$y$`.
///
/// # Errors
/// [`Error::InvalidParameter`] for flags or a log2 of N above 63, r or p of 2^30 or more, or r * p.
pub fn encode_setting(
    flags: u32,
    log2_n: u32,
    r: u32,
    p: u32,
    salt: impl AsRef<[u8]>,
) -> Result<String, Error> {
    for (name, value) in [("flags", flags), ("log2 of N", log2_n)] {
        if value > 63 {
            return Err(Error::invalid(name, value.into(), "at most 63"));
        }
    }
    if r >= 1 << 30 || p >= 1 << 30 || !is_product(r, p) {
        let (name, value) = if p > r { ("p", p) } else { ("r", r) };
        return Err(Error::invalid(name, value.into(), "below 2^30, as r * p"));
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
    push_bytes(&mut text, salt.as_ref());
    Ok(ascii(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HashString, Setting};

    #[test]
    fn a_truncated_or_extended_hash_is_malformed() {
        let whole =
            b"$7X3$36..../....gqlb273rh94H$b3.TzXiuSSWlP7n3Dqo4.uyIH1gyEQfCkx4vHcTJfLD".to_vec();
        assert!(HashString::parse(&whole).is_ok());
        for len in 0..whole.len() {
            assert!(HashString::parse(&whole[..len]).is_err(), "{len}");
        }
        assert!(HashString::parse([&whole[..], b"."].concat()).is_err());
    }

    #[test]
    fn flags_in_text() {
        use alloc::format;
        let mode = |bits| Mode::Escrypt(Flags::from_bits(bits).unwrap());
        for (text, bits) in [("$7X$", 1), ("$7X.$", 0), ("$7X/$", 1), ("$7X0$", 2), ("$7X5$", 7)] {
            let setting = Setting::parse(format!("{text}36..../....a$b$c").as_bytes()).unwrap();
            assert_eq!((setting.params().mode, setting.salt()), (mode(bits), &b"a$b"[..]));
        }
        for text in ["$7X6$", "$7Xz$", "$7X33$", "$7X", "$7X\0$"] {
            assert!(Setting::parse(format!("{text}36..../....a").as_bytes()).is_err(), "{text}");
        }
    }
}
