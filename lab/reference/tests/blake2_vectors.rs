//! The BLAKE2 reference against every BLAKE2 vector file.

use saltern_reference::blake2::{self, BLAKE2B, BLAKE2S, Family, Params};
use saltern_testing::vectors::{bytes, cases, number, text};
use serde_json::Value;

fn family(case: &Value) -> &'static Family {
    if text(case, "kind")[6..].contains('b') { &BLAKE2B } else { &BLAKE2S }
}

fn answer(case: &Value) -> Vec<u8> {
    let [data, key, out] = ["in", "key", "out"].map(|field| bytes(case, field));
    let family = family(case);
    match text(case, "kind") {
        "blake2b" | "blake2s" => {
            let params = Params { hash_length: out.len(), key, ..Params::new(family) };
            blake2::hash(family, &params, &data)
        }
        "blake2bp" | "blake2sp" => blake2::hash_parallel(family, out.len(), &key, &data),
        "blake2xb" | "blake2xs" => blake2::hash_extended(family, out.len() as u32, &key, &data),
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
        for case in cases(file, kinds) {
            assert_eq!(answer(&case), bytes(&case, "out"), "{}", case["id"]);
        }
    }
}

#[test]
fn parameter_blocks() {
    for case in cases("blake2_params", &[("blake2b", 450), ("blake2s", 370)]) {
        let number = |field: &str| number(&case, field);
        let family = family(&case);
        let params = Params {
            hash_length: number("digest_size") as usize,
            key: bytes(&case, "key"),
            fanout: number("fanout") as u8,
            max_depth: number("depth") as u8,
            max_leaf_length: number("leaf_size") as u32,
            node_offset: number("node_offset"),
            node_depth: number("node_depth") as u8,
            inner_hash_length: number("inner_size") as u8,
            salt: bytes(&case, "salt"),
            personal: bytes(&case, "person"),
            last_node: case["last_node"].as_bool().unwrap(),
            ..Params::new(family)
        };
        let out = blake2::hash(family, &params, &bytes(&case, "in"));
        assert_eq!(out, bytes(&case, "out"), "{}", case["id"]);
    }
}
