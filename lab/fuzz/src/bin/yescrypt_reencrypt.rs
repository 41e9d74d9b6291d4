//! Re-encryption of any bytes: never a panic, the reference's result, and back again to the start.
//!
//! Input: one byte of which bit 0 and bit 1 say whether there is a key to decrypt from and to
//! encrypt to; 32 bytes for each that there is; the hash string.
#![no_main]

use libfuzzer_sys::fuzz_target;
use saltern_fuzz::is_of_the_reference;
use saltern_reference::yescrypt as reference;
use saltern_yescrypt::{hazmat::reencrypt, keys::HashKey};

fn split_key(input: &[u8], wanted: bool) -> Option<(Option<[u8; 32]>, &[u8])> {
    if !wanted {
        return Some((None, input));
    }
    input.split_first_chunk().map(|(key, rest)| (Some(*key), rest))
}

fuzz_target!(|input: &[u8]| {
    let Some((&which, input)) = input.split_first() else { return };
    let Some((from, input)) = split_key(input, which & 1 != 0) else { return };
    let Some((to, text)) = split_key(input, which & 2 != 0) else { return };

    if !is_of_the_reference(text) {
        return;
    }

    let ours = |text: &[u8], from: Option<[u8; 32]>, to: Option<[u8; 32]>| {
        reencrypt(text, from.map(HashKey::new).as_ref(), to.map(HashKey::new).as_ref())
    };
    let changed = ours(text, from, to);
    let expected = reference::reencrypt(text, from.as_ref(), to.as_ref());
    assert_eq!(changed.is_ok(), expected.is_ok(), "{changed:?} {expected:?}");
    let (Ok(changed), Ok(expected)) = (changed, expected) else { return };
    assert_eq!(changed.as_bytes(), expected);
    assert_eq!(changed.len(), text.len());
    let back = ours(changed.as_bytes(), to, from).expect("a result is a hash");
    assert_eq!(back.as_bytes(), text);
});
