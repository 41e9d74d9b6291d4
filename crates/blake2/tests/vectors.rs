//! Every vector file on every level of this processor.

use saltern_blake2::{Level, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs};
use saltern_testing::vectors::{bytes, cases, number, text};
use serde_json::Value;

/// The answer of the case's function, in one call and, as a second opinion, byte by byte.
fn answers(case: &Value, level: Level) -> [Vec<u8>; 2] {
    let [data, key, out] = ["in", "key", "out"].map(|field| bytes(case, field));
    macro_rules! hash {
        ($module:ident) => {{
            let params = $module::Params::new().level(level).unwrap();
            let params = params.hash_length(out.len()).unwrap().key(&key).unwrap();
            let mut hasher = params.to_hasher();
            for byte in data.chunks(1) {
                hasher.update(byte);
            }
            assert_eq!(hasher.count(), data.len() as u128);
            [params.hash(&data), hasher.finalize()].map(|hash| hash.as_bytes().to_vec())
        }};
    }
    macro_rules! xof {
        ($module:ident) => {{
            let params = $module::Params::new().level(level).unwrap();
            let params = params.output_length(out.len() as u64).unwrap().key(&key).unwrap();
            let mut hasher = params.to_hasher();
            let [mut whole, mut pieces] = [vec![0; out.len()], vec![0; out.len()]];
            hasher.update(&data).finalize().fill(&mut whole).unwrap();
            let mut reader = hasher.finalize();
            for piece in pieces.chunks_mut(7) {
                reader.fill(piece).unwrap();
            }
            assert!(reader.fill(&mut [0]).is_err());
            [whole, pieces]
        }};
    }
    match text(case, "kind") {
        "blake2b" => hash!(blake2b),
        "blake2s" => hash!(blake2s),
        "blake2bp" => hash!(blake2bp),
        "blake2sp" => hash!(blake2sp),
        "blake2xb" => xof!(blake2xb),
        "blake2xs" => xof!(blake2xs),
        other => panic!("unknown kind {other}"),
    }
}

#[test]
fn known_answers() {
    let kat = [("blake2b", 512), ("blake2s", 512), ("blake2bp", 512), ("blake2sp", 512)];
    for (file, kinds) in [
        ("blake2_kat", &kat[..]),
        ("blake2_xof", &[("blake2xb", 256), ("blake2xs", 256)]),
        ("blake2_tree", &[("blake2bp", 60), ("blake2sp", 60)]),
    ] {
        let cases = cases(file, kinds);
        for level in Level::available() {
            for case in &cases {
                let out = bytes(case, "out");
                assert_eq!(answers(case, level), [out.clone(), out], "{level} {}", case["id"]);
            }
        }
    }
}

#[test]
fn parameter_blocks() {
    macro_rules! hash {
        ($module:ident, $case:expr, $level:expr) => {{
            let number = |field: &str| number($case, field);
            $module::Params::new()
                .level($level)
                .and_then(|p| p.hash_length(number("digest_size") as usize))
                .and_then(|p| p.key(&bytes($case, "key")))
                .and_then(|p| p.salt(&bytes($case, "salt")))
                .and_then(|p| p.personal(&bytes($case, "person")))
                .map(|p| p.max_depth(number("depth") as u8))
                .and_then(|p| p.node_offset(number("node_offset")))
                .and_then(|p| p.inner_hash_length(number("inner_size") as usize))
                .unwrap()
                .fanout(number("fanout") as u8)
                .max_leaf_length(number("leaf_size") as u32)
                .node_depth(number("node_depth") as u8)
                .last_node($case["last_node"].as_bool().unwrap())
                .hash(&bytes($case, "in"))
                .as_bytes()
                .to_vec()
        }};
    }
    let cases = cases("blake2_params", &[("blake2b", 450), ("blake2s", 370)]);
    for level in Level::available() {
        for case in &cases {
            let out = match text(case, "kind") {
                "blake2b" => hash!(blake2b, case, level),
                _ => hash!(blake2s, case, level),
            };
            assert_eq!(out, bytes(case, "out"), "{level} {}", case["id"]);
        }
    }
}
