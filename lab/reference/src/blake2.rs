//! BLAKE2 after RFC 7693, with the tree parameters of the BLAKE2 paper (section 2.8) and BLAKE2X.
//!
//! One function serves BLAKE2b and BLAKE2s: words are kept in a `u64` and masked to the word size.
//! Nothing here is fast, streams, or hides a secret. Bad parameters panic: this is an oracle for
//! tests.

/// What distinguishes BLAKE2b from BLAKE2s (RFC 7693, section 2.1).
#[derive(Clone, Copy, Debug)]
pub struct Family {
    word_bits: u32,
    rounds: usize,
    rotations: [u32; 4],
    iv: [u64; 8],
}

impl Family {
    const fn word_bytes(&self) -> usize {
        self.word_bits as usize / 8
    }

    /// The longest output and key, in bytes: 64 or 32. A block is twice as long.
    #[must_use]
    pub const fn out_bytes(&self) -> usize {
        8 * self.word_bytes()
    }

    const fn block_bytes(&self) -> usize {
        16 * self.word_bytes()
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.word_bits)
    }

    fn add(&self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b) & self.mask()
    }

    fn rotate_right(&self, x: u64, n: u32) -> u64 {
        ((x >> n) | (x << (self.word_bits - n))) & self.mask()
    }

    fn words(&self, bytes: &[u8]) -> Vec<u64> {
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |w, &byte| w << 8 | u64::from(byte));
        bytes.chunks_exact(self.word_bytes()).map(word).collect()
    }
}

/// BLAKE2b: 64-bit words, 12 rounds.
pub const BLAKE2B: Family = Family {
    word_bits: 64,
    rounds: 12,
    rotations: [32, 24, 16, 63],
    iv: [
        0x6A09_E667_F3BC_C908,
        0xBB67_AE85_84CA_A73B,
        0x3C6E_F372_FE94_F82B,
        0xA54F_F53A_5F1D_36F1,
        0x510E_527F_ADE6_82D1,
        0x9B05_688C_2B3E_6C1F,
        0x1F83_D9AB_FB41_BD6B,
        0x5BE0_CD19_137E_2179,
    ],
};

/// BLAKE2s: 32-bit words, 10 rounds.
pub const BLAKE2S: Family = Family {
    word_bits: 32,
    rounds: 10,
    rotations: [16, 12, 8, 7],
    iv: [
        0x6A09_E667,
        0xBB67_AE85,
        0x3C6E_F372,
        0xA54F_F53A,
        0x510E_527F,
        0x9B05_688C,
        0x1F83_D9AB,
        0x5BE0_CD19,
    ],
};

/// The message schedule (RFC 7693, section 2.7).
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The parameter block, and the two things that are not in it: the key itself and the last-node
/// flag.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are those of the parameter block")]
pub struct Params {
    pub hash_length: usize,
    pub key: Vec<u8>,
    pub fanout: u8,
    pub max_depth: u8,
    pub max_leaf_length: u32,
    /// 64 bits for BLAKE2b, 48 for BLAKE2s.
    pub node_offset: u64,
    pub node_depth: u8,
    pub inner_hash_length: u8,
    pub salt: Vec<u8>,
    pub personal: Vec<u8>,
    pub last_node: bool,
    /// Bytes taken to have been hashed already; 0 but in tests of the counter.
    pub initial_count: u128,
    /// The key's length as the block states it, where that is not the length of `key` (roots of
    /// trees, BLAKE2X).
    pub stated_key_length: Option<u8>,
}

impl Params {
    /// Sequential hashing without a key, output of full length.
    #[must_use]
    pub fn new(family: &Family) -> Self {
        Self {
            hash_length: family.out_bytes(),
            key: Vec::new(),
            fanout: 1,
            max_depth: 1,
            max_leaf_length: 0,
            node_offset: 0,
            node_depth: 0,
            inner_hash_length: 0,
            salt: Vec::new(),
            personal: Vec::new(),
            last_node: false,
            initial_count: 0,
            stated_key_length: None,
        }
    }

    /// The block as bytes (RFC 7693, section 2.5; the tree fields after the BLAKE2 paper, tables 2
    /// and 3).
    fn block(&self, family: &Family) -> Vec<u8> {
        let out = family.out_bytes();
        assert!(self.hash_length <= out && self.key.len() <= out);
        let stated = self.stated_key_length.unwrap_or(self.key.len() as u8);
        let mut block = vec![self.hash_length as u8, stated, self.fanout, self.max_depth];
        block.extend(self.max_leaf_length.to_le_bytes());
        let offset_bytes = if family.word_bits == 64 { 8 } else { 6 };
        assert!(offset_bytes == 8 || self.node_offset < 1 << 48);
        block.extend(&self.node_offset.to_le_bytes()[..offset_bytes]);
        block.extend([self.node_depth, self.inner_hash_length]);
        block.resize(out / 2, 0); // reserved bytes, BLAKE2b only
        for field in [&self.salt, &self.personal] {
            assert!(field.len() <= out / 4);
            block.extend(field);
            block.resize(block.len() + out / 4 - field.len(), 0);
        }
        block
    }
}

/// The mixing function G (RFC 7693, section 3.1).
fn mix(family: &Family, v: &mut [u64; 16], [a, b, c, d]: [usize; 4], [x, y]: [u64; 2]) {
    let [r1, r2, r3, r4] = family.rotations;
    v[a] = family.add(family.add(v[a], v[b]), x);
    v[d] = family.rotate_right(v[d] ^ v[a], r1);
    v[c] = family.add(v[c], v[d]);
    v[b] = family.rotate_right(v[b] ^ v[c], r2);
    v[a] = family.add(family.add(v[a], v[b]), y);
    v[d] = family.rotate_right(v[d] ^ v[a], r3);
    v[c] = family.add(v[c], v[d]);
    v[b] = family.rotate_right(v[b] ^ v[c], r4);
}

/// The compression function F (RFC 7693, section 3.2); `flags` are f0 and f1.
fn compress(family: &Family, h: &mut [u64; 8], block: &[u8], count: u128, flags: [bool; 2]) {
    let m = family.words(block);
    let mut v = [0; 16];
    v[..8].copy_from_slice(h);
    v[8..].copy_from_slice(&family.iv);
    v[12] ^= count as u64 & family.mask();
    v[13] ^= (count >> family.word_bits) as u64 & family.mask();
    for (word, flag) in v[14..].iter_mut().zip(flags) {
        *word ^= if flag { family.mask() } else { 0 };
    }
    for round in 0..family.rounds {
        let s = &SIGMA[round % 10];
        for column in 0..4 {
            let xy = [m[s[2 * column]], m[s[2 * column + 1]]];
            mix(family, &mut v, [0, 4, 8, 12].map(|row| row + column), xy);
        }
        for diagonal in 0..4 {
            let xy = [m[s[8 + 2 * diagonal]], m[s[9 + 2 * diagonal]]];
            let index = |row: usize| 4 * row + (diagonal + row) % 4;
            mix(family, &mut v, [0, 1, 2, 3].map(index), xy);
        }
    }
    for i in 0..8 {
        h[i] ^= v[i] ^ v[i + 8];
    }
}

/// One node: BLAKE2b or BLAKE2s of `data` under a parameter block (RFC 7693, section 3.3).
#[must_use]
pub fn hash(family: &Family, params: &Params, data: &[u8]) -> Vec<u8> {
    let mut out = final_state(family, params, data);
    out.truncate(params.hash_length);
    out
}

/// The eight words left after the last block, as bytes: what an output is cut from.
fn final_state(family: &Family, params: &Params, data: &[u8]) -> Vec<u8> {
    let block_bytes = family.block_bytes();
    let parameters = family.words(&params.block(family));
    let mut h: [u64; 8] = core::array::from_fn(|i| family.iv[i] ^ parameters[i]);

    let mut input = params.key.clone();
    if !input.is_empty() {
        input.resize(block_bytes, 0);
    }
    input.extend(data);
    let blocks = input.len().div_ceil(block_bytes).max(1);
    let end = params.initial_count.wrapping_add(input.len() as u128);
    input.resize(blocks * block_bytes, 0);
    for (i, block) in input.chunks_exact(block_bytes).enumerate() {
        let last = i + 1 == blocks;
        let full = params.initial_count.wrapping_add(((i + 1) * block_bytes) as u128);
        let count = if last { end } else { full };
        compress(family, &mut h, block, count, [last, last && params.last_node]);
    }
    let word_bytes = family.word_bytes();
    h.iter().flat_map(|word| word.to_le_bytes()[..word_bytes].to_vec()).collect()
}

/// BLAKE2bp (4 leaves) or BLAKE2sp (8): leaf `i` takes every block whose number is `i` modulo the
/// number of leaves.
#[must_use]
pub fn hash_parallel(family: &Family, hash_length: usize, key: &[u8], data: &[u8]) -> Vec<u8> {
    let leaves = if family.word_bits == 64 { 4 } else { 8 };
    let node = Params {
        hash_length,
        key: key.to_vec(),
        fanout: leaves as u8,
        max_depth: 2,
        inner_hash_length: family.out_bytes() as u8,
        ..Params::new(family)
    };
    let mut inner = Vec::new();
    for leaf in 0..leaves {
        let blocks = data.chunks(family.block_bytes()).skip(leaf).step_by(leaves);
        let input: Vec<u8> = blocks.flatten().copied().collect();
        let params =
            Params { node_offset: leaf as u64, last_node: leaf + 1 == leaves, ..node.clone() };
        inner.extend(final_state(family, &params, &input));
    }
    let root = Params {
        key: Vec::new(),
        stated_key_length: Some(key.len() as u8),
        node_depth: 1,
        last_node: true,
        ..node
    };
    hash(family, &root, &inner)
}

/// BLAKE2X: `length` bytes, which the parameter block states in the upper half of the node offset.
#[must_use]
pub fn hash_extended(family: &Family, length: u32, key: &[u8], data: &[u8]) -> Vec<u8> {
    let out_bytes = family.out_bytes();
    let stated_length = u64::from(length) << 32;
    let root = Params { key: key.to_vec(), node_offset: stated_length, ..Params::new(family) };
    let inner = hash(family, &root, data);
    let mut out = Vec::new();
    while out.len() < length as usize {
        let node = Params {
            hash_length: out_bytes.min(length as usize - out.len()),
            fanout: 0,
            max_depth: 0,
            max_leaf_length: out_bytes as u32,
            node_offset: stated_length | (out.len() / out_bytes) as u64,
            inner_hash_length: out_bytes as u8,
            ..Params::new(family)
        };
        out.extend(hash(family, &node, &inner));
    }
    out
}
