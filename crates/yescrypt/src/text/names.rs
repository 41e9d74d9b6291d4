//! The ids before a `$y$` string: `{rom=<id>,key=<id>}$y$…`, either or both of them. The string
//! itself, which does not say which ROM or key it needs, stays as every other program writes it.

use alloc::vec::Vec;
use core::str::FromStr;

use crate::Error;
use crate::ids::{KeyFingerprint, KeyId, MAX_KEY_ID, RomId};

/// The ids before a `$y$` string.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Ids {
    pub(crate) rom: Option<RomId>,
    pub(crate) key: Option<KeyId>,
}

impl Ids {
    /// Whether ids may precede this string.
    pub(crate) fn precede(text: &[u8]) -> bool {
        text.starts_with(b"{")
    }

    /// Splits off the ids, if any.
    pub(crate) fn split(text: &[u8]) -> Result<(Self, &[u8]), Error> {
        let Some(rest) = text.strip_prefix(b"{") else { return Ok((Ids::default(), text)) };
        let expected = Error::malformed("{rom=id}, {key=id} or {rom=id,key=id} before $y$");
        let end = rest.iter().take(MAX_NAMES).position(|c| *c == b'}').ok_or(expected)?;
        let (names, rest) = (&rest[..end], &rest[end + 1..]);
        let mut fields = names.split(|c| *c == b',').peekable();
        let mut take = |name: &[u8]| {
            let value = fields.peek().and_then(|field| field.strip_prefix(name));
            value.inspect(|_| _ = fields.next())
        };
        let (rom, key) = (take(b"rom="), take(b"key="));
        if fields.next().is_some() {
            return Err(expected);
        }
        let rom = rom.map(|id| str::from_utf8(id).map_err(|_| expected)?.parse()).transpose()?;
        let key = key.map(KeyId::parse).transpose()?;
        Ok((Ids { rom, key }, rest))
    }

    /// Appends the ids, if any.
    pub(crate) fn push(&self, text: &mut Vec<u8>) {
        let names = match (self.rom, self.key) {
            (None, None) => return,
            (Some(rom), None) => alloc::format!("{{rom={rom}}}"),
            (None, Some(key)) => alloc::format!("{{key={key}}}"),
            (Some(rom), Some(key)) => alloc::format!("{{rom={rom},key={key}}}"),
        };
        text.extend_from_slice(names.as_bytes());
    }
}

impl FromStr for RomId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let id = decode(text.as_bytes(), "length of the ROM id", "digit of the ROM id")?;
        Ok(RomId(id))
    }
}

/// The eight bytes of an id; `length` and `digit` describe the possible errors.
fn decode(text: &[u8], length: &'static str, digit: &'static str) -> Result<[u8; 8], Error> {
    let expected = "16 lower-case hexadecimal digits";
    if text.len() != 16 {
        return Err(Error::invalid(length, text.len() as u64, expected));
    }
    let mut id = 0_u64;
    for &c in text {
        let value = match c {
            b'0'..=b'9' => c - b'0',
            b'a'..=b'f' => c - b'a' + 10,
            _ => return Err(Error::invalid(digit, c.into(), expected)),
        };
        id = id << 4 | u64::from(value);
    }
    Ok(id.to_be_bytes())
}

impl KeyId {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Error> {
        let expected = "1 to 32 characters out of A-Z, a-z, 0-9, . and -";
        let plus = text.iter().position(|&c| c == b'+').unwrap_or(text.len());
        let (text, fingerprint) = text.split_at(plus);
        let fingerprint = match fingerprint {
            [] => None,
            [_, digits @ ..] => Some(KeyFingerprint(decode(
                digits,
                "length of the key's fingerprint",
                "digit of the key's fingerprint",
            )?)),
        };
        if text.is_empty() || text.len() > MAX_KEY_ID {
            return Err(Error::invalid("length of the name of a key", text.len() as u64, expected));
        }
        let allowed = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-');
        if let Some(place) = text.iter().position(|c| !allowed(c)) {
            let name = "name of a key at character";
            let place = place as u64 + 1;
            return Err(Error::invalid(name, place, "a letter, a digit, a dot or a hyphen"));
        }
        let mut id = KeyId { text: [0; MAX_KEY_ID], len: text.len() as u8, fingerprint };
        id.text[..text.len()].copy_from_slice(text);
        Ok(id)
    }
}

impl FromStr for KeyId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text.as_bytes())
    }
}

/// Longer than `rom=…,key=…}` can be.
const MAX_NAMES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling() {
        for good in [
            "",
            "{rom=0123456789abcdef}",
            "{key=2026.a-Z}",
            "{rom=0123456789abcdef,key=abcdefghijklmnopqrstuvwxyz012345}",
        ] {
            let text = format!("{good}$y$x");
            let (ids, rest) = Ids::split(text.as_bytes()).unwrap();
            assert_eq!(rest, b"$y$x");
            let mut again = Vec::new();
            ids.push(&mut again);
            assert_eq!(again, good.as_bytes());
        }
        for bad in [
            "{",
            "{}",
            "{rom=0123456789abcdef",
            "{rom=0123456789abcdeF}",
            "{rom=0123456789abcdef,}",
            "{,rom=0123456789abcdef}",
            "{rom=0123456789abcdef key=a}",
            "{rom=}",
            "{key=}",
            "{key=a,rom=0123456789abcdef}",
            "{key=a,key=a}",
            "{rom=0123456789abcdef,rom=0123456789abcdef}",
            "{ key=a}",
            "{KEY=a}",
            "{key=abcdefghijklmnopqrstuvwxyz0123456}",
        ] {
            assert!(Ids::split(format!("{bad}$y$x").as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_roms_are_strict() {
        for bad in
            ["", "00ff1122334455a", "00ff1122334455aaa", "00FF1122334455aa", "00ff1122334455ag"]
        {
            assert!(bad.parse::<RomId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_keys_are_strict() {
        let long = "a".repeat(MAX_KEY_ID);
        for good in ["a", "2026-01", "A.b-9", &long] {
            assert_eq!(good.parse::<KeyId>().map(|id| id.as_str().to_owned()), Ok(good.into()));
        }
        for bad in ["", "a b", "a,b", "a}", "a$", "ä", "a:b", "a\0", "a+b", &format!("{long}a")] {
            assert!(bad.parse::<KeyId>().is_err(), "{bad}");
        }
    }
}
