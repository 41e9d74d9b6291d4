//! BLAKE2: parameter blocks of trees at the edges of their fields, and whole trees.

use saltern_reference::blake2::{
    BLAKE2B, BLAKE2S, Family, Params, hash, hash_extended, hash_parallel,
};
use saltern_testing::Random;
use serde_json::{Map, Value, json};

use super::form::{File, Group, Outcome, Test, hex};

const NOTES: &[(&str, &str)] = &[
    ("Edge", "one field of the parameter block at the edge of its range"),
    ("OutOfRange", "one field beyond its range"),
    ("ShortField", "a salt or personalisation that is shorter than its field: filled with zeros"),
    ("Length", "a message around the edges of blocks"),
    ("Tree", "a node of a tree; its message, above the leaves, is what the nodes below give"),
    ("Random", "all fields at random"),
    ("Stripe", "a message around the edges of the leaves' stripes"),
    ("Output", "an output of BLAKE2X around the edges of its blocks"),
    ("MaxDepth0", "a depth of 0 is stated only by the output nodes of BLAKE2X"),
];

/// A parameter block as a caller would give it, and so able to be wrong.
#[derive(Clone)]
struct Node {
    digest: u64,
    key: Vec<u8>,
    salt: Vec<u8>,
    personal: Vec<u8>,
    fanout: u64,
    depth: u64,
    leaf: u64,
    offset: u128,
    node_depth: u64,
    inner: u64,
    last: bool,
}

fn name(family: &Family) -> &'static str {
    if family.out_bytes() == 64 { "blake2b" } else { "blake2s" }
}

impl Node {
    fn new(family: &Family) -> Node {
        Node {
            digest: family.out_bytes() as u64,
            key: Vec::new(),
            salt: Vec::new(),
            personal: Vec::new(),
            fanout: 2,
            depth: 2,
            leaf: 0,
            offset: 0,
            node_depth: 0,
            inner: family.out_bytes() as u64,
            last: false,
        }
    }

    /// The reference's parameters; `None` if a field is beyond its range.
    fn params(&self, family: &Family) -> Option<Params> {
        let out = family.out_bytes();
        let offset_bits = if out == 64 { 64 } else { 48 };
        let lengths = self.key.len() <= out
            && self.salt.len() <= out / 4
            && self.personal.len() <= out / 4
            && (1..=out as u64).contains(&self.digest)
            && self.inner <= out as u64;
        (lengths && self.offset >> offset_bits == 0).then_some(())?;
        Some(Params {
            hash_length: self.digest as usize,
            key: self.key.clone(),
            fanout: self.fanout.try_into().ok()?,
            max_depth: self.depth.try_into().ok()?,
            max_leaf_length: self.leaf.try_into().ok()?,
            node_offset: self.offset as u64,
            node_depth: self.node_depth.try_into().ok()?,
            inner_hash_length: self.inner as u8,
            salt: self.salt.clone(),
            personal: self.personal.clone(),
            last_node: self.last,
            ..Params::new(family)
        })
    }

    fn test(&self, family: &Family, flag: &'static str, comment: &str, message: &[u8]) -> Test {
        let mut fields = Map::new();
        fields.insert("function".into(), json!(name(family)));
        for (name, bytes) in [
            ("message", message),
            ("key", &self.key),
            ("salt", &self.salt),
            ("personal", &self.personal),
        ] {
            fields.insert(name.into(), hex(bytes));
        }
        for (name, number) in [
            ("digestLength", self.digest),
            ("fanout", self.fanout),
            ("maxDepth", self.depth),
            ("leafLength", self.leaf),
            ("nodeDepth", self.node_depth),
            ("innerLength", self.inner),
        ] {
            fields.insert(name.into(), json!(number));
        }
        // As a text, since many readers of JSON lose digits above 2^53.
        fields.insert("nodeOffset".into(), json!(self.offset.to_string()));
        fields.insert("lastNode".into(), json!(self.last));
        let (mut flags, mut result) = (vec![flag], Outcome::Invalid);
        if let Some(params) = self.params(family) {
            fields.insert("digest".into(), hex(&hash(family, &params, message)));
            let full = |field: &[u8]| [0, family.out_bytes() / 4].contains(&field.len());
            if !(full(&self.salt) && full(&self.personal)) {
                flags.push("ShortField");
            }
            if self.depth == 0 {
                flags.push("MaxDepth0");
            }
            result = if flags.len() > 1 { Outcome::Acceptable } else { Outcome::Valid };
        }
        Test { comment: comment.to_owned(), flags, fields, result }
    }
}

/// The file.
pub(super) fn file() -> File {
    let mut random = Random::new(3);
    let mut nodes = Vec::new();
    let mut parallel = Vec::new();
    let mut extended = Vec::new();
    for family in [&BLAKE2B, &BLAKE2S] {
        edges(family, &mut random, &mut nodes);
        lengths(family, &mut random, &mut nodes);
        tree(family, &mut random, &mut nodes);
        any(family, &mut random, &mut nodes);
        stripes(family, &mut random, &mut parallel);
        outputs(family, &mut random, &mut extended);
    }
    File {
        algorithm: "BLAKE2",
        schema: "blake2_schema.json",
        header: &[
            "BLAKE2Node: BLAKE2b or BLAKE2s of a message under a parameter block.",
            "BLAKE2Parallel: BLAKE2bp or BLAKE2sp.",
            "BLAKE2X: BLAKE2Xb or BLAKE2Xs; the length of the digest is part of the input.",
        ],
        notes: NOTES,
        groups: vec![
            Group { kind: "BLAKE2Node", tests: nodes },
            Group { kind: "BLAKE2Parallel", tests: parallel },
            Group { kind: "BLAKE2X", tests: extended },
        ],
    }
}

/// Each field alone at its edges and beyond.
fn edges(family: &Family, random: &mut Random, tests: &mut Vec<Test>) {
    let out = family.out_bytes() as u64;
    let mut add = |field: &str, values: &[u64], most: u64, set: &dyn Fn(&mut Node, u64)| {
        for &value in values {
            let mut node = Node::new(family);
            set(&mut node, value);
            let flag = if value > most { "OutOfRange" } else { "Edge" };
            tests.push(node.test(family, flag, &format!("{field} {value}"), b"message"));
        }
    };
    let byte = [0, 1, 2, 3, 127, 128, 254, 255, 256];
    add("fanout", &byte, 255, &|node, value| node.fanout = value);
    add("maxDepth", &byte, 255, &|node, value| node.depth = value);
    add("nodeDepth", &byte, 255, &|node, value| node.node_depth = value);
    let word = [1, 127, 128, 65535, 65536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32];
    add("leafLength", &word, (1 << 32) - 1, &|node, value| node.leaf = value);
    add("innerLength", &[0, 1, out / 2, out - 1, out, out + 1, 255], out, &|node, value| {
        node.inner = value;
    });
    add(
        "digestLength",
        &[1, 2, 16, 20, out / 2, out - 1, out, out + 1, 255],
        out,
        &|node, value| {
            node.digest = value;
        },
    );
    let most = if out == 64 { u64::MAX } else { (1 << 48) - 1 };
    let offsets = [1, 255, 256, (1 << 32) - 1, 1 << 32, (1 << 48) - 1, 1 << 48, 1 << 63, u64::MAX];
    add("nodeOffset", &offsets, most, &|node, value| node.offset = value.into());
    for length in [1, 2, out / 2, out - 1, out, out + 1] {
        let node = Node { key: random.bytes(length as usize), ..Node::new(family) };
        let flag = if length > out { "OutOfRange" } else { "Edge" };
        tests.push(node.test(family, flag, &format!("key of {length} bytes"), b"message"));
    }
    for length in [1, out / 8, out / 4 - 1, out / 4, out / 4 + 1] {
        let flag = if length > out / 4 { "OutOfRange" } else { "Edge" };
        let field = random.bytes(length as usize);
        let node = Node { salt: field.clone(), ..Node::new(family) };
        tests.push(node.test(family, flag, &format!("salt of {length} bytes"), b"message"));
        let node = Node { personal: field, ..Node::new(family) };
        tests.push(node.test(family, flag, &format!("personal of {length} bytes"), b"message"));
    }
    let beyond = Node { offset: 1 << 64, ..Node::new(family) };
    tests.push(beyond.test(family, "OutOfRange", "nodeOffset 2^64", b"message"));
    let none = Node { digest: 0, ..Node::new(family) };
    tests.push(none.test(family, "OutOfRange", "digestLength 0", b"message"));
}

/// Messages around block edges, with and without a key, last node or not.
fn lengths(family: &Family, random: &mut Random, tests: &mut Vec<Test>) {
    let block = 2 * family.out_bytes();
    for length in [0, 1, block - 1, block, block + 1, 2 * block - 1, 2 * block, 2 * block + 1] {
        for turn in 0..4 {
            let key = random.bytes(if turn & 1 == 0 { 0 } else { family.out_bytes() });
            let node = Node { key, last: turn & 2 != 0, ..Node::new(family) };
            let comment = format!("{length} bytes, {} bytes of key", node.key.len());
            tests.push(node.test(family, "Length", &comment, &random.bytes(length)));
        }
    }
}

/// A tree of fanout 2 and depth 3 over four leaves, node by node.
fn tree(family: &Family, random: &mut Random, tests: &mut Vec<Test>) {
    for key in [Vec::new(), random.bytes(family.out_bytes())] {
        let (leaf, message) = (100, random.bytes(350));
        let inner = family.out_bytes() / 2;
        let mut below: Vec<Vec<u8>> = message.chunks(leaf).map(<[u8]>::to_vec).collect();
        for level in 0..3 {
            let mut here = Vec::new();
            for (at, data) in below.iter().enumerate() {
                let root = level == 2;
                let node = Node {
                    digest: if root { family.out_bytes() } else { inner } as u64,
                    key: key.clone(),
                    depth: 3,
                    leaf: leaf as u64,
                    offset: at as u128,
                    node_depth: level,
                    inner: inner as u64,
                    last: at + 1 == below.len(),
                    ..Node::new(family)
                };
                let comment = format!("level {level}, node {at}, {} bytes of key", key.len());
                tests.push(node.test(family, "Tree", &comment, data));
                here.push(hash(family, &node.params(family).expect("in range"), data));
            }
            below = here.chunks(2).map(<[_]>::concat).collect();
        }
    }
}

fn any(family: &Family, random: &mut Random, tests: &mut Vec<Test>) {
    let out = family.out_bytes();
    for _ in 0..40 {
        let length = random.below(300) as usize;
        let message = random.bytes(length);
        let key = random.below(out as u64 + 1) as usize;
        let node = Node {
            digest: 1 + random.below(out as u64),
            key: random.bytes(key),
            salt: random.bytes(out / 4),
            personal: random.bytes(out / 4),
            fanout: random.below(256),
            depth: 1 + random.below(255),
            leaf: random.below(1 << 32),
            offset: random.below(1 << 48).into(),
            node_depth: random.below(256),
            inner: random.below(out as u64 + 1),
            last: random.below(2) == 1,
        };
        tests.push(node.test(family, "Random", "all fields", &message));
    }
}

fn simple(name: String, flag: &'static str, message: &[u8], key: &[u8], digest: &[u8]) -> Test {
    let fields: Map<String, Value> = [
        ("function", json!(name)),
        ("message", hex(message)),
        ("key", hex(key)),
        ("digest", hex(digest)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    let comment = format!("{} bytes to {}", message.len(), digest.len());
    Test { comment, flags: vec![flag], fields, result: Outcome::Valid }
}

fn stripes(family: &Family, random: &mut Random, tests: &mut Vec<Test>) {
    let (block, out) = (2 * family.out_bytes(), family.out_bytes());
    let stripe = if out == 64 { 4 * block } else { 8 * block };
    for length in
        [0, 1, block - 1, block, block + 1, stripe - 1, stripe, stripe + 1, stripe + block]
    {
        for (key, digest) in [(0, out), (out, out), (1, out / 2)] {
            let (message, key) = (random.bytes(length), random.bytes(key));
            let answer = hash_parallel(family, digest, &key, &message);
            tests.push(simple(format!("{}p", name(family)), "Stripe", &message, &key, &answer));
        }
    }
}

fn outputs(family: &Family, random: &mut Random, tests: &mut Vec<Test>) {
    let out = family.out_bytes() as u32;
    let function = name(family).replace("blake2", "blake2x");
    for length in [1, out - 1, out, out + 1, 2 * out - 1, 2 * out, 2 * out + 1, 300] {
        for key in [0, out as usize] {
            let (message, key) = (random.bytes(40), random.bytes(key));
            let answer = hash_extended(family, length, &key, &message);
            tests.push(simple(function.clone(), "Output", &message, &key, &answer));
        }
    }
}
