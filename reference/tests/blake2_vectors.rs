//! The BLAKE2 reference against every BLAKE2 vector file.

use saltern_reference::blake2::{self, BLAKE2B, BLAKE2S, Family, Params};
use serde_json::Value;

fn cases(file: &str) -> impl Iterator<Item = Value> {
    let path = format!("{}/../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(lines[0]["kind"], "header");
    assert_eq!(lines[0]["cases"], lines.len() - 1);
    lines.into_iter().skip(1)
}

fn bytes(case: &Value, field: &str) -> Vec<u8> {
    let hex = case[field].as_str().expect("a hexadecimal field");
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

fn family(case: &Value) -> &'static Family {
    if case["kind"].as_str().unwrap()[6..].contains('b') { &BLAKE2B } else { &BLAKE2S }
}

fn answer(case: &Value) -> Vec<u8> {
    let [data, key, out] = ["in", "key", "out"].map(|field| bytes(case, field));
    let family = family(case);
    match case["kind"].as_str().unwrap() {
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
    for (file, expected) in
        [("blake2_kat.jsonl", 2048), ("blake2_xof.jsonl", 512), ("blake2_tree.jsonl", 120)]
    {
        let mut count = 0;
        for case in cases(file) {
            assert_eq!(answer(&case), bytes(&case, "out"), "{}", case["id"]);
            count += 1;
        }
        assert_eq!(count, expected, "{file}");
    }
}

#[test]
fn parameter_blocks() {
    let mut count = 0;
    for case in cases("blake2_params.jsonl") {
        let number = |field: &str| case[field].as_u64().expect("a number");
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
        count += 1;
    }
    assert_eq!(count, 820);
}
