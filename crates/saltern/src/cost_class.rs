//! A common form for strings of one cost: such a string without its individual parts.

use saltern_yescrypt::Scheme as Ours;
use saltern_yescrypt::Setting;

use crate::error::Error;
use crate::foreign::{self, Foreign};
use crate::formats::{self, Kind};
use crate::stored::{Hash, Stored, wrapped};

/// Digits of a digest of 32 bytes.
const DIGEST: usize = 43;

/// The setting of a hash with a neutral salt of the same length: the same for all hashes of one
/// cost.
pub(crate) fn key(hash: &Hash) -> String {
    match hash {
        Hash::Ours(ours) => unsalted(ours.setting()),
        Hash::Foreign(foreign) => foreign.setting.unsalted(),
        Hash::Wrapped(inner, outer) => {
            let outer = unsalted(outer.setting());
            // The output of `unsalted` can be parsed again.
            let inner = foreign::example(&inner.unsalted()).map(|inner| inner.setting);
            inner.map_or_else(|_| outer.clone(), |inner| wrapped(&*inner, &outer))
        }
    }
}

fn unsalted(setting: &Setting) -> String {
    let text = String::from_utf8_lossy(setting.as_bytes());
    let salt = setting.salt_text().len();
    let head = text.get(..text.len().saturating_sub(salt)).unwrap_or_default();
    head.to_owned() + &zero(setting.scheme()).repeat(salt)
}

/// The digit that is 0.
const fn zero(scheme: Ours) -> &'static str {
    match scheme {
        Ours::ScryptPhc | Ours::Extended => "A",
        _ => ".",
    }
}

/// A hash with the cost of this string, whether the string has a digest or not.
pub(crate) fn example(text: &str) -> Result<Hash, Error> {
    if let Ok(Stored { hash: Some(hash), locked: false, .. }) = Stored::parse(text) {
        return Ok(match hash {
            // Its digest does not matter.
            Hash::Foreign(foreign) => Hash::Foreign(Foreign { signed_with: None, ..foreign }),
            hash => hash,
        });
    }
    let text = match formats::split(text) {
        (before, rest) if !formats::is_locked(before) => rest,
        _ => text,
    };
    let ours = match formats::kind(text) {
        Ok(Kind::Ours(_, ours) | Kind::Wrapped { outer: ours, .. }) => Ours::of(ours),
        _ => None,
    };
    if let Some(scheme) = ours {
        let complete = format!("{text}${}", zero(scheme).repeat(DIGEST));
        let parsed = Stored::parse(&complete)?.hash;
        return parsed.ok_or(Error::malformed("cost", "a setting or a stored string"));
    }
    foreign::example(text).map(Hash::Foreign)
}
