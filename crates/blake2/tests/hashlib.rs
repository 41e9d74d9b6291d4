//! Python's `hashlib` as a live oracle for the whole parameter block. Skipped, with a line that
//! says so, without Python.

use std::io::Write;
use std::process::{Command, Stdio};

use saltern_blake2::{Level, blake2b, blake2s};
use saltern_testing::hex::hex;
use saltern_testing::{Random, skipped};

/// Reads lines "function in key salt person digest_size fanout depth leaf_size node_offset
/// node_depth inner_size last_node" and prints the digests.
const ORACLE: &str = r#"
import hashlib, sys
for line in sys.stdin:
    name, data, key, salt, person, *numbers = line.split(" ")
    names = "digest_size fanout depth leaf_size node_offset node_depth inner_size last_node".split()
    options = {n: int(v) for n, v in zip(names, numbers)}
    options["last_node"] = bool(options["last_node"])
    data, key, salt, person = (bytes.fromhex(x[1:]) for x in (data, key, salt, person))
    print(getattr(hashlib, name)(data, key=key, salt=salt, person=person, **options).hexdigest())
"#;

/// At most so many bytes.
fn any_bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let length = random.below(most as u64 + 1) as usize;
    random.bytes(length)
}

/// A case's line for the oracle, and our answer at a level.
macro_rules! case {
    ($random:expr, $module:ident, $offset_bits:literal, $level:expr) => {{
        let random: &mut Random = $random;
        let data = any_bytes(random, 5 * $module::BLOCK_BYTES);
        let key = any_bytes(random, $module::KEY_BYTES);
        let [salt, person] = [0; 2].map(|_| any_bytes(random, $module::SALT_BYTES));
        let digest_size = 1 + random.below($module::OUT_BYTES as u64);
        let [fanout, node_depth] = [0; 2].map(|_| random.below(256));
        let (depth, leaf_size) = (1 + random.below(255), random.below(1 << 32));
        let node_offset = random.below(1 << 56) >> (56 - $offset_bits);
        let (inner_size, last) = (random.below($module::OUT_BYTES as u64 + 1), random.below(2));
        let line = format!(
            "{} x{} x{} x{} x{} {digest_size} {fanout} {depth} {leaf_size} {node_offset} {node_depth} {inner_size} {last}",
            stringify!($module), hex(&data), hex(&key), hex(&salt), hex(&person),
        );
        let params = $module::Params::new()
            .hash_length(digest_size as usize)
            .and_then(|p| p.key(&key))
            .and_then(|p| p.salt(&salt))
            .and_then(|p| p.personal(&person))
            .map(|p| p.max_depth(depth as u8))
            .and_then(|p| p.node_offset(node_offset))
            .and_then(|p| p.inner_hash_length(inner_size as usize))
            .and_then(|p| p.level($level))
            .unwrap()
            .fanout(fanout as u8)
            .max_leaf_length(leaf_size as u32)
            .node_depth(node_depth as u8)
            .last_node(last == 1);
        (line, params.hash(&data).to_hex().to_string())
    }};
}

#[test]
fn hashlib_agrees_on_random_parameter_blocks() {
    let python = Command::new("python3")
        .args(["-c", ORACLE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut python) = python else {
        return skipped("python3 cannot be started");
    };
    let mut random = Random::new(0x5A17_E121);
    let levels: Vec<Level> = Level::available().collect();
    let cases: Vec<(String, String)> = (0..1000)
        .map(|i| match i % 2 {
            0 => case!(&mut random, blake2b, 56, levels[i / 2 % levels.len()]),
            _ => case!(&mut random, blake2s, 48, levels[i / 2 % levels.len()]),
        })
        .collect();
    // From another thread: the oracle stops reading once its own output is not read.
    let lines: String = cases.iter().map(|(line, _)| format!("{line}\n")).collect();
    let mut stdin = python.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), 1000);
    for (answer, (line, ours)) in answers.lines().zip(&cases) {
        assert_eq!(answer, ours, "{line}");
    }
}
