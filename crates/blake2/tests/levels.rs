//! Each level against the reference: all short lengths, random pieces, random parameters, mixes of
//! messages.

use proptest::prelude::*;
use saltern_blake2::{
    Error, Level, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs, many,
};
use saltern_reference::blake2::{self as reference, BLAKE2B, BLAKE2S};

/// Bytes without a period that a block could hide.
fn input(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8 ^ (i / 251) as u8).collect()
}

/// All lengths up to three blocks (or stripes of blocks) and a byte, without and with a key.
macro_rules! all_lengths {
    ($name:ident, $module:ident, $unit:expr, $reference:expr) => {
        #[test]
        fn $name() {
            let data = input(3 * $unit + 1);
            let mut checks = 0;
            for length in 0..=data.len() {
                let data = &data[..length];
                for key in [&b""[..], b"key"] {
                    let expected: Vec<u8> = $reference(key, data);
                    for level in Level::available() {
                        let params = $module::Params::new().key(key).unwrap().level(level).unwrap();
                        assert_eq!(params.hash(data), &expected[..], "{level} {length}");
                        let mut hasher = params.to_hasher();
                        let (head, tail) = data.split_at(length * 2 / 3);
                        hasher.update(head).update(tail);
                        assert_eq!(hasher.finalize(), &expected[..], "{level} {length} in two");
                        checks += 1;
                    }
                }
            }
            assert_eq!(checks, (3 * $unit + 2) * 2 * Level::available().count());
        }
    };
}

fn node(family: &'static reference::Family, key: &[u8]) -> reference::Params {
    reference::Params { key: key.to_vec(), ..reference::Params::new(family) }
}

all_lengths!(blake2b_of_all_lengths, blake2b, 128, |key, data: &[u8]| {
    reference::hash(&BLAKE2B, &node(&BLAKE2B, key), data)
});
all_lengths!(blake2s_of_all_lengths, blake2s, 64, |key, data: &[u8]| {
    reference::hash(&BLAKE2S, &node(&BLAKE2S, key), data)
});
all_lengths!(blake2bp_of_all_lengths, blake2bp, 512, |key, data: &[u8]| {
    reference::hash_parallel(&BLAKE2B, 64, key, data)
});
all_lengths!(blake2sp_of_all_lengths, blake2sp, 512, |key, data: &[u8]| {
    reference::hash_parallel(&BLAKE2S, 32, key, data)
});

/// Random parameters of BLAKE2b; BLAKE2s takes them cut to its limits.
#[derive(Clone, Debug)]
struct Block {
    lengths: [u8; 4],
    bytes: [u8; 96],
    tree: (u8, u8, u32, u64, u8, bool),
}

fn block() -> impl Strategy<Value = Block> {
    let tree = (any::<u8>(), any::<u8>(), any::<u32>(), any::<u64>(), any::<u8>(), any::<bool>());
    (any::<[u8; 4]>(), any::<[u8; 32]>(), any::<[u8; 32]>(), any::<[u8; 32]>(), tree).prop_map(
        |(lengths, a, b, c, tree)| {
            let bytes: Vec<u8> = [a, b, c].concat();
            Block { lengths, bytes: bytes.try_into().unwrap(), tree }
        },
    )
}

macro_rules! params_of {
    ($name:ident, $module:ident, $family:expr, $offset_bits:literal) => {
        fn $name(block: &Block, level: Level) -> ($module::Params, reference::Params) {
            let [hash, key, salt, personal] = block.lengths.map(usize::from);
            let (out, side) = ($module::OUT_BYTES, $module::SALT_BYTES);
            let (fanout, max_depth, leaf, offset, node_depth, last_node) = block.tree;
            let expected = reference::Params {
                hash_length: 1 + hash % out,
                key: block.bytes[..key % (out + 1)].to_vec(),
                salt: block.bytes[64..][..salt % (side + 1)].to_vec(),
                personal: block.bytes[80..][..personal % (side + 1)].to_vec(),
                fanout,
                max_depth,
                max_leaf_length: leaf,
                node_offset: offset >> (64 - $offset_bits),
                node_depth,
                inner_hash_length: ((hash + key) % (out + 1)) as u8,
                last_node,
                ..reference::Params::new($family)
            };
            let params = $module::Params::new()
                .hash_length(expected.hash_length)
                .and_then(|p| p.key(&expected.key))
                .and_then(|p| p.salt(&expected.salt))
                .and_then(|p| p.personal(&expected.personal))
                .map(|p| p.max_depth(max_depth))
                .and_then(|p| p.node_offset(expected.node_offset))
                .and_then(|p| p.inner_hash_length(usize::from(expected.inner_hash_length)))
                .and_then(|p| p.level(level))
                .unwrap()
                .fanout(fanout)
                .max_leaf_length(leaf)
                .node_depth(node_depth)
                .last_node(last_node);
            (params, expected)
        }
    };
}

params_of!(params_b, blake2b, &BLAKE2B, 64);
params_of!(params_s, blake2s, &BLAKE2S, 48);

/// Feeds pieces of these lengths, in turn, until nothing is left.
fn pieces<'a>(data: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = data;
    let mut cuts = cuts.iter().cycle();
    std::iter::from_fn(move || {
        let cut = (*cuts.next()?).min(rest.len());
        let (head, tail) = rest.split_at(cut);
        (!rest.is_empty()).then(|| {
            rest = tail;
            head
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_parameters_and_pieces(
        block in block(),
        data in proptest::collection::vec(any::<u8>(), 0..3000),
        cuts in proptest::collection::vec(1_usize..700, 1..6),
    ) {
        for level in Level::available() {
            macro_rules! check {
                ($params_of:ident, $family:expr) => {{
                    let (params, expected) = $params_of(&block, level);
                    let expected = reference::hash($family, &expected, &data);
                    prop_assert!(params.hash(&data) == expected[..]);
                    let mut hasher = params.to_hasher();
                    for piece in pieces(&data, &cuts) {
                        hasher.update(piece);
                    }
                    prop_assert_eq!(hasher.count(), data.len() as u128);
                    prop_assert!(hasher.finalize() == expected[..]);
                    prop_assert!(hasher.clone().finalize() == expected[..]);
                }};
            }
            check!(params_b, &BLAKE2B);
            check!(params_s, &BLAKE2S);
        }
    }

    #[test]
    fn trees_in_random_pieces(
        keyed in any::<bool>(),
        data in proptest::collection::vec(any::<u8>(), 0..8000),
        cuts in proptest::collection::vec(1_usize..2500, 1..6),
    ) {
        let key = if keyed { &b"a key"[..] } else { b"" };
        for level in Level::available() {
            macro_rules! check {
                ($module:ident, $family:expr) => {{
                    let params = $module::Params::new().key(key).unwrap().level(level).unwrap();
                    let expected = reference::hash_parallel($family, $module::OUT_BYTES, key, &data);
                    let mut hasher = params.to_hasher();
                    for piece in pieces(&data, &cuts) {
                        hasher.update(piece);
                    }
                    prop_assert_eq!(hasher.count(), data.len() as u128);
                    prop_assert!(hasher.finalize() == expected[..]);
                    prop_assert!(params.hash(&data) == expected[..]);
                }};
            }
            check!(blake2bp, &BLAKE2B);
            check!(blake2sp, &BLAKE2S);
        }
    }

    #[test]
    fn mixes_of_messages(
        blocks in proptest::collection::vec(block(), 1..4),
        lengths in proptest::collection::vec(prop_oneof![0_usize..700, Just(0), Just(128), Just(64), 0_usize..6000], 0..60),
    ) {
        let data = input(6100);
        for level in Level::available() {
            macro_rules! check {
                ($params_of:ident) => {{
                    let params: Vec<_> = blocks.iter().map(|block| $params_of(block, level).0).collect();
                    let part = |i: usize| &data[i..i + lengths[i]];
                    let params_of = |i: usize| &params[i % params.len()];
                    let mut jobs: Vec<_> =
                        (0..lengths.len()).map(|i| many::Job::new(params_of(i), part(i))).collect();
                    many::hash_many(&mut jobs);
                    many::hash_many(&mut jobs); // does nothing
                    let mut hashers: Vec<_> = (0..lengths.len()).map(|i| params_of(i).to_hasher()).collect();
                    for _ in 0..2 {
                        let parts = hashers.iter_mut().enumerate().map(|(i, hasher)| (hasher, part(i)));
                        many::update_many(&mut parts.collect::<Vec<_>>());
                    }
                    let parts: Vec<_> = (0..lengths.len()).map(part).collect();
                    let hashes = params_of(0).hash_many(&parts);
                    prop_assert_eq!(hashes.len(), parts.len());
                    prop_assert!(hashes.iter().zip(&parts).all(|(&hash, part)| hash == params_of(0).hash(part)));
                    // Of any lengths, and of one: into a table.
                    let alike: Vec<_> = (0..lengths.len()).map(|i| &data[i..i + lengths[0]]).collect();
                    for messages in [parts, alike] {
                        let params = params_of(0);
                        let expected: Vec<u8> =
                            messages.iter().flat_map(|part| params.hash(part).as_bytes().to_vec()).collect();
                        let mut table = vec![0; expected.len()];
                        params.hash_many_into(&messages, &mut table);
                        prop_assert!(table == expected);
                    }
                    for (i, (job, hasher)) in jobs.iter().zip(&hashers).enumerate() {
                        prop_assert!(job.hash() == params_of(i).hash(part(i)));
                        let twice = [part(i), part(i)].concat();
                        prop_assert!(hasher.finalize() == params_of(i).hash(&twice));
                    }
                }};
            }
            check!(params_b);
            check!(params_s);
        }
    }

    #[test]
    fn extended_outputs(
        length in 1_u64..3000,
        data in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in proptest::collection::vec(1_usize..900, 1..5),
    ) {
        for level in Level::available() {
            macro_rules! check {
                ($module:ident, $family:expr) => {{
                    let expected = reference::hash_extended($family, length as u32, b"key", &data);
                    let params = $module::Params::new().output_length(length).unwrap();
                    let hasher = params.key(b"key").unwrap().level(level).unwrap().to_hasher();
                    let mut reader = hasher.clone().update(&data).finalize();
                    let mut out = vec![0; expected.len()];
                    let mut rest = &mut out[..];
                    for piece in pieces(&expected, &cuts) {
                        let (head, tail) = rest.split_at_mut(piece.len());
                        reader.fill(head).unwrap();
                        rest = tail;
                    }
                    prop_assert!(out == expected);
                    prop_assert_eq!(reader.remaining(), 0);
                    let end = Error::OutputEnd { wanted: 1, left: 0 };
                    prop_assert_eq!(reader.fill(&mut [0]), Err(end));
                }};
            }
            check!(blake2xb, &BLAKE2B);
            check!(blake2xs, &BLAKE2S);
        }
    }
}

#[test]
fn outputs_of_unknown_length_begin_like_the_longest() {
    let mut out = [0; 100];
    let mut reader = blake2xs::Params::new().to_hasher().update(b"abc").finalize();
    reader.fill(&mut out).unwrap();
    assert_eq!(out, reference::hash_extended(&BLAKE2S, 65535, b"", b"abc")[..100]);
    assert_eq!(reader.remaining(), 32 * (1 << 32) - 100);
}

/// As BLAKE2X has it; the peers take it too.
#[test]
fn a_depth_of_0_is_taken() {
    let expected = reference::Params { max_depth: 0, ..reference::Params::new(&BLAKE2S) };
    let hash = blake2s::Params::new().max_depth(0).hash(b"abc");
    assert_eq!(hash, &reference::hash(&BLAKE2S, &expected, b"abc")[..]);
    assert_ne!(hash, blake2s(b"abc"));
}

#[test]
fn hashes_from_elsewhere() {
    let hash = blake2s::hash(b"abc");
    let bytes: [u8; 32] = hash.as_bytes().try_into().unwrap();
    assert_eq!(blake2s::Hash::from(bytes), hash);
    assert_eq!(blake2b::Hash::from([7; 20]).as_bytes(), [7; 20]);
    assert_eq!(hash.to_hex().parse(), Ok(hash));
    assert_eq!(format!("{hash:X}").parse(), Ok(hash));
    assert_eq!(format!("{hash:x}"), hash.to_hex().as_str());
    for digits in ["", "0", "0g", "+1", &"00".repeat(33)] {
        let error = digits.parse::<blake2s::Hash>().unwrap_err();
        assert_eq!(error, Error::Hex { digits: digits.len(), max: 64 });
    }
}

#[cfg(feature = "std")]
#[test]
fn hashers_are_written_to_and_outputs_are_read() {
    let data: Vec<u8> = (0..100_000).map(|i| (i * 7 % 251) as u8).collect();
    let mut hasher = blake2sp::Hasher::new();
    assert_eq!(std::io::copy(&mut &data[..], &mut hasher).unwrap(), 100_000);
    assert_eq!(hasher.finalize(), blake2sp::hash(&data));
    let mut output = blake2xb::Params::new().output_length(1000).unwrap().to_hasher();
    std::io::copy(&mut &data[..], &mut output).unwrap();
    let mut read = Vec::new();
    std::io::copy(&mut output.finalize(), &mut read).unwrap();
    let mut filled = [0; 1000];
    output.finalize().fill(&mut filled).unwrap();
    assert_eq!(read, filled);
}

#[test]
fn limits_are_errors_that_name_value_and_limit() {
    let text = |error: Error| error.to_string();
    let b = blake2b::Params::new;
    assert_eq!(b().hash_length(0).unwrap_err(), Error::HashLength { length: 0, max: 64 });
    assert_eq!(b().key(&[0; 65]).unwrap_err(), Error::KeyLength { length: 65, max: 64 });
    assert_eq!(b().salt(&[0; 17]).unwrap_err(), Error::SaltLength { length: 17, max: 16 });
    assert_eq!(b().personal(&[0; 17]).unwrap_err(), Error::PersonalLength { length: 17, max: 16 });
    assert!(text(b().inner_hash_length(65).unwrap_err()).contains("65"));
    assert!(b().node_offset(u64::MAX).is_ok());
    let s = blake2s::Params::new;
    assert_eq!(s().hash_length(33).unwrap_err(), Error::HashLength { length: 33, max: 32 });
    assert!(text(s().key(&[0; 33]).unwrap_err()).contains("33 bytes"));
    assert!(s().salt(&[0; 9]).is_err() && s().personal(&[0; 9]).is_err());
    let offset = 1 << 48;
    assert_eq!(s().node_offset(offset).unwrap_err(), Error::NodeOffset { offset, max: offset - 1 });
    assert!(blake2bp::Params::new().key(&[0; 65]).is_err());
    assert!(blake2sp::Params::new().hash_length(33).is_err());
    assert!(blake2xs::Params::new().output_length(65535).is_err());
    assert!(blake2xb::Params::new().output_length((1 << 32) - 2).is_ok());
    for level in Level::ALL.into_iter().filter(|level| !level.is_available()) {
        assert!(text(b().level(level).unwrap_err()).contains(level.name()));
    }
}

#[test]
fn debug_output_shows_no_key_and_no_state() {
    let key = [0xA7; 32];
    let params = blake2s::Params::new().key(&key).unwrap();
    let mut hasher = params.to_hasher();
    hasher.update(&[0xB9; 40]);
    let shown = format!("{params:?} {hasher:?} {:?}", many::Job::new(&params, &[0xB9; 40]));
    assert!(!shown.contains("167") && !shown.contains("185"), "{shown}");
    assert!(shown.contains("key_length: 32"), "{shown}");
}
