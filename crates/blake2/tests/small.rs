//! One message in pieces, and several at once, on every level, each against the reference: short
//! enough for Miri (`scripts/test miri`), which looks at loads, stores and the kernels' tables.

use saltern_blake2::{Level, blake2b, blake2bp, blake2s, blake2sp, many};
use saltern_reference::blake2::{self as reference, BLAKE2B, BLAKE2S, Family, hash_parallel};

/// Lengths that end within a block, at its end, and after the first of a tree's stripes; for Miri,
/// which takes minutes for all, only the last.
const LENGTHS: &[usize] = if cfg!(miri) { &[515] } else { &[0, 3, 128, 515] };

/// Keys, of which an empty one is none.
const KEYS: [&[u8]; 2] = [b"", b"key"];

fn input(length: usize) -> Vec<u8> {
    (0..length).map(|i| i as u8 ^ 0x5a).collect()
}

/// What each level makes of every message with every key, by `hashes`, is what `expected` says.
fn check(
    expected: impl Fn(&[u8], &[u8]) -> Vec<u8>,
    hashes: impl Fn(Level, &[u8], &[Vec<u8>]) -> Vec<Vec<u8>>,
) {
    let messages: Vec<_> = LENGTHS.iter().copied().map(input).collect();
    for key in KEYS {
        let expected: Vec<_> = messages.iter().map(|message| expected(key, message)).collect();
        for level in Level::available() {
            assert_eq!(hashes(level, key, &messages), expected, "{level}");
        }
    }
}

macro_rules! in_pieces {
    ($name:ident, $module:ident, $expected:expr) => {
        #[test]
        fn $name() {
            check($expected, |level, key, messages| {
                let params = $module::Params::new().key(key).unwrap().level(level).unwrap();
                let hash = |message: &Vec<u8>| {
                    let (head, tail) = message.split_at(message.len() * 2 / 3);
                    params.to_hasher().update(head).update(tail).finalize().as_bytes().to_vec()
                };
                messages.iter().map(hash).collect()
            });
        }
    };
}

macro_rules! at_once {
    ($name:ident, $module:ident, $expected:expr) => {
        #[test]
        fn $name() {
            check($expected, |level, key, messages| {
                let params = $module::Params::new().key(key).unwrap().level(level).unwrap();
                let mut jobs: Vec<_> =
                    messages.iter().map(|message| many::Job::new(&params, message)).collect();
                many::hash_many(&mut jobs);
                jobs.iter().map(|job| job.hash().as_bytes().to_vec()).collect()
            });
        }
    };
}

fn one(family: &'static Family, key: &[u8], data: &[u8]) -> Vec<u8> {
    let params = reference::Params { key: key.to_vec(), ..reference::Params::new(family) };
    reference::hash(family, &params, data)
}

in_pieces!(blake2b_in_pieces, blake2b, |key, data| one(&BLAKE2B, key, data));
in_pieces!(blake2s_in_pieces, blake2s, |key, data| one(&BLAKE2S, key, data));
in_pieces!(blake2bp_in_pieces, blake2bp, |key, data| hash_parallel(&BLAKE2B, 64, key, data));
in_pieces!(blake2sp_in_pieces, blake2sp, |key, data| hash_parallel(&BLAKE2S, 32, key, data));
at_once!(blake2b_at_once, blake2b, |key, data| one(&BLAKE2B, key, data));
at_once!(blake2s_at_once, blake2s, |key, data| one(&BLAKE2S, key, data));
