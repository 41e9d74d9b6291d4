//! Any bytes as a setting or hash string: parsing never panics, agrees with the reference, and what
//! is written from the parsed parts parses to the same parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern_fuzz::is_of_the_reference;
use saltern_reference::yescrypt::{self as reference, parse_setting};
use saltern_yescrypt::{HashString, Scheme, Setting, params::Mode};

/// Strings of generation 0.5.
fn check_escrypt(text: &[u8]) {
    let hash = HashString::parse(text);
    // The reference leaves it to the KDF to refuse flags.
    let expected = reference::escrypt::parse_setting(text);
    let expected = expected.ok().filter(|setting| setting.params.flags < 8);
    let setting = Setting::parse(text);
    assert_eq!(setting.is_ok(), expected.is_some(), "{setting:?} {expected:?}");
    let (Ok(setting), Some(expected)) = (setting, expected) else {
        assert!(hash.is_err());
        return;
    };
    let (ours, theirs) = (setting.params(), &expected.params);
    let Mode::Escrypt(flags) = ours.mode else { panic!("{ours:?}") };
    assert_eq!((flags.bits(), ours.n), (theirs.flags, theirs.n));
    assert_eq!((ours.r, ours.p), (theirs.r, theirs.p));
    assert_eq!(setting.salt(), expected.salt);
    assert!(text.starts_with(setting.as_bytes()));
    if let Ok(hash) = hash {
        assert_eq!(text.len(), hash.setting().as_bytes().len() + 44);
    }
}

fuzz_target!(|text: &[u8]| {
    if !is_of_the_reference(text) {
        return;
    }
    if Scheme::of(text) == Some(Scheme::Escrypt) {
        return check_escrypt(text);
    }
    let setting = Setting::parse(text);
    let expected = parse_setting(text);
    assert_eq!(setting.is_ok(), expected.is_ok(), "{setting:?} {expected:?}");
    let hash = HashString::parse(text);
    let (Ok(setting), Ok(expected)) = (setting, expected) else {
        assert!(hash.is_err());
        return;
    };

    let params = *setting.params();
    let theirs = &expected.params;
    assert_eq!(params.flags(), Some(theirs.flags));
    assert_eq!((params.n, params.r, params.p), (theirs.n, theirs.r, theirs.p));
    assert_eq!((params.t, params.g, params.nrom), (theirs.t, theirs.g, theirs.nrom));
    assert_eq!(setting.salt(), expected.salt);
    let end = expected.prefix_length + expected.salt_text.len();
    assert_eq!(setting.as_bytes(), &text[..end]);

    // A complete hash is its setting, a `$`, and 43 digits that stand for its 32 bytes.
    if let Ok(hash) = hash {
        assert_eq!(hash.setting().as_bytes(), setting.as_bytes());
        assert_eq!(text.len(), end + 44);
        assert!(HashString::parse(&text[..text.len() - 1]).is_err());
    }

    // What encoders refuse although it parses (r * p, say) is an error and nothing else.
    let written = match setting.scheme() {
        Scheme::Yescrypt => Setting::new(&params, setting.salt()),
        _ => return,
    };
    if let Ok(written) = written {
        let again = Setting::parse(written.as_bytes()).expect("what was written parses");
        assert_eq!(again.params(), setting.params());
        assert_eq!(again.salt(), setting.salt());
    }
});
