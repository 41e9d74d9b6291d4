//! Word order, Salsa20, pwxform, the two block mixes and the index helpers (3 – 9).

use super::Tuning;

/// A block: `16 * r` lanes in the shuffled order of section 3.
pub type Block = Vec<u64>;

/// Where shuffled word `i` of a sub-block stands in natural order (3).
const fn natural(i: usize) -> usize {
    (5 * i) % 16
}

/// Bytes in natural order to shuffled lanes (3). The length must be a multiple of 64.
#[must_use]
pub fn lanes_from_bytes(bytes: &[u8]) -> Block {
    let mut lanes = Vec::with_capacity(bytes.len() / 8);
    for sub_block in bytes.chunks_exact(64) {
        let word = |i: usize| {
            let at = 4 * natural(i);
            u64::from(u32::from_le_bytes(sub_block[at..at + 4].try_into().expect("four bytes")))
        };
        lanes.extend((0..8).map(|k| word(2 * k) | word(2 * k + 1) << 32));
    }
    lanes
}

/// Shuffled lanes as they are, little-endian: the image of a ROM.
pub(super) fn image_of(blocks: &[Block]) -> Vec<u8> {
    blocks.iter().flatten().flat_map(|lane| lane.to_le_bytes()).collect()
}

/// Block `j` of an image, of `lanes` lanes.
pub(super) fn block_of(image: &[u8], j: u64, lanes: usize) -> Block {
    let at = j as usize * 8 * lanes;
    let bytes = &image[at..at + 8 * lanes];
    bytes.as_chunks().0.iter().map(|lane| u64::from_le_bytes(*lane)).collect()
}

/// Shuffled lanes back to bytes in natural order (3).
#[must_use]
pub fn bytes_from_lanes(lanes: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * lanes.len());
    for sub_block in lanes.chunks_exact(8) {
        for word in natural_words(sub_block) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    bytes
}

fn natural_words(sub_block: &[u64]) -> [u32; 16] {
    let mut words = [0; 16];
    for (k, &lane) in sub_block.iter().enumerate() {
        words[natural(2 * k)] = low(lane);
        words[natural(2 * k + 1)] = high(lane);
    }
    words
}

/// The low word of a lane.
fn low(lane: u64) -> u32 {
    (lane & 0xffff_ffff) as u32
}

/// The high word of a lane.
fn high(lane: u64) -> u32 {
    (lane >> 32) as u32
}

/// The quarter-rounds of a column round and of a row round (4 step 2).
const COLUMNS: [[usize; 4]; 4] = [[0, 4, 8, 12], [5, 9, 13, 1], [10, 14, 2, 6], [15, 3, 7, 11]];
const ROWS: [[usize; 4]; 4] = [[0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]];

/// Salsa20 with any number of rounds on one sub-block of 8 shuffled lanes (4). An odd number of
/// rounds ends after a column round.
#[must_use]
pub fn salsa20(sub_block: &[u64], rounds: u32) -> Block {
    // step 1
    let start = natural_words(sub_block);
    let mut x = start;
    // step 2
    for round in 0..rounds {
        for [a, b, c, d] in if round % 2 == 0 { COLUMNS } else { ROWS } {
            x[b] ^= x[a].wrapping_add(x[d]).rotate_left(7);
            x[c] ^= x[b].wrapping_add(x[a]).rotate_left(9);
            x[d] ^= x[c].wrapping_add(x[b]).rotate_left(13);
            x[a] ^= x[d].wrapping_add(x[c]).rotate_left(18);
        }
    }
    // step 3
    let word = |i: usize| u64::from(x[natural(i)].wrapping_add(start[natural(i)]));
    (0..8).map(|k| word(2 * k) | word(2 * k + 1) << 32).collect()
}

/// The XOR of two blocks or sub-blocks of one length.
pub(super) fn xor(a: &[u64], b: &[u64]) -> Block {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// The Salsa20 block mix (5).
#[must_use]
pub fn blockmix_salsa(block: &[u64], rounds: u32) -> Block {
    // step 1
    let mut x = block[block.len() - 8..].to_vec();
    // steps 2 and 3
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for (i, sub_block) in block.chunks_exact(8).enumerate() {
        x = salsa20(&xor(&x, sub_block), rounds);
        if i % 2 == 0 { &mut even } else { &mut odd }.extend_from_slice(&x);
    }
    even.extend_from_slice(&odd);
    even
}

/// The state of pwxform that lives from call to call: three S-boxes and a write position (7).
#[derive(Clone)]
pub struct Boxes {
    /// The box added from.
    pub s0: Vec<u64>,
    /// The box XORed from.
    pub s1: Vec<u64>,
    /// The box written to.
    pub s2: Vec<u64>,
    /// Where the next lane is written, in lanes.
    pub w: usize,
}

impl Boxes {
    /// Takes the S-box memory apart (13 step 6): its *first* third is S2.
    #[must_use]
    pub fn new(memory: &[u64]) -> Boxes {
        let third = memory.len() / 3;
        let part = |i: usize| memory[i * third..(i + 1) * third].to_vec();
        Boxes { s2: part(0), s1: part(1), s0: part(2), w: 0 }
    }
}

/// pwxform on `gather * simple` lanes (7).
pub fn pwxform(x: &mut [u64], boxes: &mut Boxes, tuning: &Tuning) {
    let (simple, mask) = (tuning.simple as usize, tuning.smask());
    // step 1
    for i in 0..tuning.rounds {
        // steps 2 to 4: both indices come from lane 0 of the group, before it changes
        for group in x.chunks_exact_mut(simple) {
            let p0 = (low(group[0]) & mask) as usize / 8;
            let p1 = (high(group[0]) & mask) as usize / 8;
            // steps 5 to 7
            for (k, lane) in group.iter_mut().enumerate() {
                let product = u64::from(high(*lane)) * u64::from(low(*lane));
                *lane = product.wrapping_add(boxes.s0[p0 + k]) ^ boxes.s1[p1 + k];
                // step 8
                if i != 0 && i != tuning.rounds - 1 {
                    boxes.s2[boxes.w] = *lane;
                    boxes.w += 1;
                }
            }
        }
    }
    // step 9: (S0, S1, S2) become the old (S2, S0, S1)
    std::mem::swap(&mut boxes.s0, &mut boxes.s1);
    std::mem::swap(&mut boxes.s0, &mut boxes.s2);
    // step 10
    boxes.w %= tuning.box_lanes();
}

/// The pwxform block mix (8).
#[must_use]
pub fn blockmix_pwxform(block: &[u64], boxes: &mut Boxes, tuning: &Tuning) -> Block {
    let lanes = tuning.pwx_lanes();
    let groups = block.len() / lanes;
    let mut out = block.to_vec();
    // step 1
    let mut x = out[(groups - 1) * lanes..groups * lanes].to_vec();
    // steps 2 to 4
    for i in 0..groups {
        let group = i * lanes..(i + 1) * lanes;
        if groups > 1 {
            x = xor(&x, &out[group.clone()]);
        }
        pwxform(&mut x, boxes, tuning);
        out[group].copy_from_slice(&x);
    }
    // steps 5 and 6
    salsa_from(&mut out, (groups - 1) * lanes / 8, tuning.salsa_pwx);
    out
}

/// Salsa20 on sub-block `first`, and on each after it with the one before (8 steps 5 and 6).
pub(super) fn salsa_from(block: &mut [u64], first: usize, rounds: u32) {
    let mut x = vec![0; 8];
    for sub_block in block.chunks_exact_mut(8).skip(first) {
        x = salsa20(&xor(&x, sub_block), rounds);
        sub_block.copy_from_slice(&x);
    }
}

/// The first eight bytes, in natural order, of the last sub-block, as a number (9).
#[must_use]
pub fn integerify(block: &[u64]) -> u64 {
    let last = &block[block.len() - 8..];
    u64::from(low(last[0])) | u64::from(high(last[6])) << 32
}

/// The largest power of two that is at most `x`, for `x >= 1` (9).
pub(super) fn p2floor(x: usize) -> usize {
    1 << x.ilog2()
}

/// A block number in `[i - p2floor(i), i)` for `i >= 1` (9).
#[must_use]
pub fn wrap(x: u64, i: usize) -> usize {
    let n = p2floor(i);
    (x & (n as u64 - 1)) as usize + (i - n)
}
