//! The words for values in a policy file.

use std::fmt::Write;

use saltern_pool::WipePolicy;
#[cfg(feature = "rom")]
use saltern_rom::Access;
use saltern_yescrypt::params::{FlavorPolicy, Syntax};

use crate::invalid::Invalid;

/// Words, each with the value that it stands for.
pub(super) type Words<T> = &'static [(&'static str, T)];

/// Of `limits.flavors`.
pub(super) const FLAVORS: Words<FlavorPolicy> = &[
    ("default", FlavorPolicy::DefaultOnly),
    ("encodable", FlavorPolicy::Encodable),
    ("any", FlavorPolicy::Any),
];

/// Of `limits.syntax`.
pub(super) const SYNTAXES: Words<Syntax> = &[("crypt", Syntax::Crypt3), ("wide", Syntax::Wide)];

/// Of `access` in `[[roms]]`.
#[cfg(feature = "rom")]
pub(super) const ACCESS: Words<Option<Access>> = &[
    ("auto", Some(Access::Auto)),
    ("copy", Some(Access::Copy)),
    ("map", Some(Access::Map)),
    ("direct", None),
];

/// Of `pool.wipe`.
pub(super) const WIPES: Words<WipePolicy> = &[
    ("on-drop", WipePolicy::OnDrop),
    ("when-idle", WipePolicy::WhenIdle),
    ("after-each", WipePolicy::AfterEach),
];

/// The word for a value, in quotes.
///
/// # Errors
/// For a value without a word, which no file can express.
pub(super) fn word<T: PartialEq>(key: &str, words: Words<T>, value: &T) -> Result<String, Invalid> {
    let found = words.iter().find(|(_, known)| known == value);
    found.map(|(word, _)| quoted(word)).ok_or_else(|| Invalid::new(key, "", allowed(words)))
}

/// A text as a string of TOML, in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// The value that a word stands for.
pub(super) fn value<T: Copy>(words: Words<T>, word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// The words that are allowed, for messages: `"a", "b" or "c"`.
pub(super) fn allowed<T>(words: Words<T>) -> String {
    let all: Vec<String> = words.iter().map(|(word, _)| quoted(word)).collect();
    match all.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_read_as_it_was() {
        let all: String = (0..0x250).filter_map(char::from_u32).chain(['\u{2028}', '𝄞']).collect();
        let text = format!("text = {}", quoted(&all));
        let table = toml::de::DeTable::parse(&text).unwrap();
        let value = table.get_ref().get("text").unwrap();
        assert_eq!(value.get_ref().as_str(), Some(&*all));
    }

    #[test]
    fn words_are_listed_as_people_do() {
        assert_eq!(allowed(FLAVORS), "\"default\", \"encodable\" or \"any\"");
        assert_eq!(allowed(SYNTAXES), "\"crypt\" or \"wide\"");
        assert_eq!(allowed(WIPES), "\"on-drop\", \"when-idle\" or \"after-each\"");
    }
}
