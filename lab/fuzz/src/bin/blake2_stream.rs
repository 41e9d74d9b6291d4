//! Any bytes, cut into any pieces, with any parameters: streamed, whole, on any level and in the
//! reference the same.
//!
//! Each input is for one function and one level, so that there are many thousands of them a second.
#![no_main]

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use saltern_blake2::{Level, blake2b, blake2bp, blake2s, blake2sp};
use saltern_reference::blake2::{self as reference, BLAKE2B, BLAKE2S};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    function: u8,
    level: u8,
    key: &'a [u8],
    salt: &'a [u8],
    hash_length: u8,
    node_offset: u64,
    last_node: bool,
    cuts: Vec<u16>,
    data: &'a [u8],
}

static LEVELS: LazyLock<Vec<Level>> = LazyLock::new(|| Level::available().collect());

impl Input<'_> {
    fn level(&self) -> Level {
        LEVELS[usize::from(self.level) % LEVELS.len()]
    }
}

macro_rules! streamed {
    ($params:expr, $input:expr) => {{
        let mut hasher = $params.to_hasher();
        let mut rest = $input.data;
        for &cut in &$input.cuts {
            let (head, tail) = rest.split_at(rest.len().min(usize::from(cut)));
            hasher.update(head);
            rest = tail;
        }
        hasher.update(rest);
        hasher.finalize()
    }};
}

macro_rules! sequential {
    ($module:ident, $family:expr, $input:expr) => {{
        let input: &Input = $input;
        let expected = reference::Params {
            hash_length: usize::from(input.hash_length) % $module::OUT_BYTES + 1,
            key: input.key[..input.key.len().min($module::KEY_BYTES)].to_vec(),
            salt: input.salt[..input.salt.len().min($module::SALT_BYTES)].to_vec(),
            node_offset: input.node_offset >> 16,
            last_node: input.last_node,
            ..reference::Params::new($family)
        };
        let answer = reference::hash($family, &expected, input.data);
        let params = $module::Params::new()
            .level(input.level())
            .and_then(|p| p.hash_length(expected.hash_length))
            .and_then(|p| p.key(&expected.key))
            .and_then(|p| p.salt(&expected.salt))
            .and_then(|p| p.node_offset(expected.node_offset))
            .expect("within the limits")
            .last_node(input.last_node);
        assert!(params.hash(input.data) == answer[..]);
        assert!(streamed!(params, input) == answer[..]);
    }};
}

macro_rules! parallel {
    ($module:ident, $family:expr, $input:expr) => {{
        let input: &Input = $input;
        let key = &input.key[..input.key.len().min($module::KEY_BYTES)];
        let length = usize::from(input.hash_length) % $module::OUT_BYTES + 1;
        let answer = reference::hash_parallel($family, length, key, input.data);
        let params = $module::Params::new().level(input.level());
        let params = params.and_then(|p| p.hash_length(length)).and_then(|p| p.key(key));
        assert!(streamed!(params.expect("within the limits"), input) == answer[..]);
    }};
}

fuzz_target!(|input: Input| match input.function % 4 {
    0 => sequential!(blake2b, &BLAKE2B, &input),
    1 => sequential!(blake2s, &BLAKE2S, &input),
    2 => parallel!(blake2bp, &BLAKE2B, &input),
    _ => parallel!(blake2sp, &BLAKE2S, &input),
});
