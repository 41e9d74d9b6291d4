//! Every vector file on every level of this processor.

use saltern_blake2::{Level, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs};
use serde_json::Value;

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let header = lines.remove(0);
    assert_eq!(header["kind"], "header");
    assert_eq!(header["cases"], lines.len());
    lines
}

fn bytes(case: &Value, field: &str) -> Vec<u8> {
    let hex = case[field].as_str().expect("a hexadecimal field");
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

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
    match case["kind"].as_str().unwrap() {
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
    for (file, expected) in
        [("blake2_kat.jsonl", 2048), ("blake2_xof.jsonl", 512), ("blake2_tree.jsonl", 120)]
    {
        let cases = cases(file);
        assert_eq!(cases.len(), expected, "{file}");
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
            let number = |field: &str| $case[field].as_u64().expect("a number");
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
    let cases = cases("blake2_params.jsonl");
    assert_eq!(cases.len(), 820);
    for level in Level::available() {
        for case in &cases {
            let out = match case["kind"].as_str().unwrap() {
                "blake2b" => hash!(blake2b, case, level),
                _ => hash!(blake2s, case, level),
            };
            assert_eq!(out, bytes(case, "out"), "{level} {}", case["id"]);
        }
    }
}
