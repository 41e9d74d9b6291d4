//! The names before a `$y$` string: `{rom=<id>,key=<id>}$y$…`, either or both of them. The string itself says neither which ROM nor which
//! key it needs, and stays as every other program writes it.

use alloc::vec::Vec;

use crate::Error;
use crate::keys::KeyId;
use crate::rom_use::RomId;

/// What stands before a `$y$` string.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Ids {
    pub(crate) rom: Option<RomId>,
    pub(crate) key: Option<KeyId>,
}

impl Ids {
    /// Whether there may be names before this string.
    pub(crate) fn precede(text: &[u8]) -> bool {
        text.starts_with(b"{")
    }

    /// Splits names off; none if there are none.
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

    /// Appends the names; nothing if there are none.
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

/// More than `rom=…,key=…}` can have.
const MAX_NAMES: usize = 64;

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
}
