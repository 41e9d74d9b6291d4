//! Properties of strings: this crate and the slow reference agree on what parses, and on hashes and
//! keys of any setting. Raw derivation is in `levels.rs`.

#[path = "strings/any.rs"]
mod any;
#[path = "levels/theirs.rs"]
mod theirs;

use any::params;
use proptest::collection::vec;
use proptest::prelude::*;
use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{
    HashString, Hasher, Limits, Setting, Workspace, hazmat::reencrypt, keys::HashKey,
};
use theirs::theirs;

/// Text that is often nearly a setting or a hash.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let nearly = prop_oneof![
        r"\$y\$[./0-9A-Za-z]{2,12}\$[./0-9A-Za-z]{0,90}(\$[./0-9A-Za-z]{42,44})?",
        r"\$7\$[./0-9A-Za-z]{10,12}[./0-9A-Za-z$]{0,30}(\$[./0-9A-Za-z]{42,44})?",
        r"\$y\$j[0-9A-C][0-9A-T]\$[./0-9A-Za-z]{0,86}\$[./0-9A-Za-z]{42}[./0-9A-D]",
        r"\$[y7]?\$?[./0-9A-Za-z$]{0,60}",
    ];
    let with_a_byte_changed =
        (nearly.prop_map(String::into_bytes), any::<prop::sample::Index>(), any::<u8>());
    prop_oneof![
        4 => with_a_byte_changed.clone().prop_map(|(text, ..)| text),
        1 => with_a_byte_changed.prop_map(|(mut text, at, byte)| {
            let at = at.index(text.len());
            text[at] = byte;
            text
        }),
        1 => vec(any::<u8>(), 0..80),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn parsing(text in text()) {
        let ours = Setting::parse(&text);
        let expected = reference::parse_setting(&text);
        prop_assert_eq!(ours.is_ok(), expected.is_ok());
        let (Ok(ours), Ok(expected)) = (ours, expected) else {
            prop_assert!(HashString::parse(&text).is_err());
            return Ok(());
        };
        prop_assert_eq!(theirs(ours.params()), expected.params);
        prop_assert_eq!(ours.salt(), expected.salt);
        let end = expected.prefix_length + expected.salt_text.len();
        prop_assert_eq!(ours.as_bytes(), &text[..end]);
    }

    #[test]
    fn reencryption(text in text(), from in any::<Option<[u8; 32]>>(), to in any::<Option<[u8; 32]>>()) {
        let key = |key: Option<[u8; 32]>| key.map(HashKey::new);
        let ours = reencrypt(&text, key(from).as_ref(), key(to).as_ref());
        let expected = reference::reencrypt(&text, from.as_ref(), to.as_ref());
        prop_assert_eq!(ours.is_ok(), expected.is_ok());
        let (Ok(ours), Ok(expected)) = (ours, expected) else { return Ok(()) };
        prop_assert_eq!(ours.as_bytes(), expected);
        let back = reencrypt(&ours, key(to).as_ref(), key(from).as_ref());
        prop_assert_eq!(back.map(String::into_bytes), Ok(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn strings_with_and_without_a_key(
        mut params in params(),
        password in vec(any::<u8>(), 0..100),
        salt in vec(any::<u8>(), 0..=64),
        key in any::<Option<[u8; 32]>>(),
    ) {
        params.nrom = 0;
        let Ok(setting) = Setting::new(&params, &salt) else {
            prop_assert_eq!(params.flags(), None);
            return Ok(());
        };
        prop_assert_eq!(setting.as_bytes(), reference::encode_setting(&theirs(&params), &salt)?);
        let mut hasher = Hasher::new().with_limits(Limits::unlimited());
        if let Some(key) = key {
            hasher = hasher.assuming_unnamed_key(HashKey::new(key));
        }
        let mut workspace = Workspace::new();
        let hash = hasher.hash_with_setting(&mut workspace, &password, setting.as_bytes());
        let expected = reference::crypt(&password, setting.as_bytes(), key.as_ref(), None);
        prop_assert_eq!(hash.is_ok(), expected.is_ok());
        let (Ok(hash), Ok(expected)) = (hash, expected) else { return Ok(()) };
        prop_assert_eq!(hash.as_bytes(), expected);
        prop_assert_eq!(hasher.verify(&mut workspace, &password, &hash), Ok(true));
    }
}
