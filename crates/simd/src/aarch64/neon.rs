//! 128-bit vectors of NEON.
#![allow(unsafe_code, reason = "intrinsics")]

use core::arch::aarch64::*;

use super::Neon;
use crate::lanes::{BlockOf, Diagonal, Lanes, Quad, Row, Vector};

/// Bytes `16 * index..` of a block.
#[inline(always)]
fn part<const N: usize>(block: &[u8; N], index: usize) -> uint8x16_t {
    let bytes: &[u8; 16] = &block.as_chunks().0[index];
    // SAFETY: sixteen bytes can be read.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// Two 64-bit words.
#[derive(Clone, Copy, Debug)]
pub struct U64x2(uint64x2_t);

impl Vector for U64x2 {
    type Token = Neon;
    type Word = u64;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(neon!(vaddq_u64(self.0, other.0)))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(neon!(veorq_u64(self.0, other.0)))
    }

    #[inline(always)]
    fn rotate_right(self, bits: u32) -> Self {
        let v = self.0;
        Self(neon!(match bits {
            32 => vreinterpretq_u64_u32(vrev64q_u32(vreinterpretq_u32_u64(v))),
            24 => vsriq_n_u64::<24>(vshlq_n_u64::<40>(v), v),
            16 => vsriq_n_u64::<16>(vshlq_n_u64::<48>(v), v),
            63 => vsriq_n_u64::<63>(vaddq_u64(v, v), v),
            _ => {
                let (left, right) = (64 - i64::from(bits), -i64::from(bits));
                vorrq_u64(vshlq_u64(v, vdupq_n_s64(left)), vshlq_u64(v, vdupq_n_s64(right)))
            }
        }))
    }
}

impl Lanes for U64x2 {
    const COUNT: usize = 2;

    #[inline(always)]
    fn splat(_: Neon, word: u64) -> Self {
        Self(neon!(vdupq_n_u64(word)))
    }

    #[inline(always)]
    fn load(_: Neon, words: &[u64]) -> Self {
        let words = &words[..2];
        // SAFETY: two words can be read.
        Self(unsafe { vld1q_u64(words.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let words = &mut words[..2];
        // SAFETY: two words can be written.
        unsafe { vst1q_u64(words.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn first(self) -> u64 {
        neon!(vgetq_lane_u64::<0>(self.0))
    }

    #[inline(always)]
    fn message(token: Neon, blocks: &[&[u8; 128]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for pair in 0..8 {
            let a = neon!(vreinterpretq_u64_u8(part(blocks[0], pair)));
            let b = neon!(vreinterpretq_u64_u8(part(blocks[1], pair)));
            message[2 * pair].0 = neon!(vtrn1q_u64(a, b));
            message[2 * pair + 1].0 = neon!(vtrn2q_u64(a, b));
        }
        message
    }
}

/// A row of four 64-bit words in two vectors.
#[derive(Clone, Copy, Debug)]
pub struct U64x2x2(U64x2, U64x2);

impl U64x2x2 {
    #[inline(always)]
    fn new(low: uint64x2_t, high: uint64x2_t) -> Self {
        Self(U64x2(low), U64x2(high))
    }
}

impl Vector for U64x2x2 {
    type Token = Neon;
    type Word = u64;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.add(other.0), self.1.add(other.1))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0), self.1.xor(other.1))
    }

    #[inline(always)]
    fn rotate_right(self, bits: u32) -> Self {
        Self(self.0.rotate_right(bits), self.1.rotate_right(bits))
    }
}

impl Quad for U64x2x2 {
    #[inline(always)]
    fn rotate_words(self, by: usize) -> Self {
        let (low, high) = (self.0.0, self.1.0);
        let across = neon!((vextq_u64::<1>(low, high), vextq_u64::<1>(high, low)));
        match by {
            1 => Self::new(across.0, across.1),
            2 => Self::new(high, low),
            _ => Self::new(across.1, across.0),
        }
    }
}

impl Row for U64x2x2 {
    /// The block's words in pairs.
    type Message = [uint64x2_t; 8];

    #[inline(always)]
    fn from_words(token: Neon, words: [u64; 4]) -> Self {
        Self(U64x2::load(token, &words), U64x2::load(token, &words[2..]))
    }

    #[inline(always)]
    fn to_words(self) -> [u64; 4] {
        let mut words = [0; 4];
        self.0.store(&mut words);
        self.1.store(&mut words[2..]);
        words
    }

    #[inline(always)]
    fn message(_: Neon, blocks: &[&BlockOf<Self>]) -> [uint64x2_t; 8] {
        let mut pairs = [neon!(vdupq_n_u64(0)); 8];
        for (i, pair) in pairs.iter_mut().enumerate() {
            *pair = neon!(vreinterpretq_u64_u8(part(blocks[0], i)));
        }
        pairs
    }

    #[inline(always)]
    fn schedule(_: Neon, pairs: &[uint64x2_t; 8], order: &[usize; 16]) -> [Self; 4] {
        [
            Self::new(pick_64(pairs, order, 0), pick_64(pairs, order, 2)),
            Self::new(pick_64(pairs, order, 4), pick_64(pairs, order, 6)),
            Self::new(pick_64(pairs, order, 8), pick_64(pairs, order, 10)),
            Self::new(pick_64(pairs, order, 12), pick_64(pairs, order, 14)),
        ]
    }
}

/// Words `order[at]` and `order[at + 1]`: one instruction, whichever halves of their pairs they
/// are.
#[inline(always)]
fn pick_64(pairs: &[uint64x2_t; 8], order: &[usize; 16], at: usize) -> uint64x2_t {
    let (a, b) = (order[at], order[at + 1]);
    let (x, y) = (pairs[a / 2], pairs[b / 2]);
    neon!(match (a % 2, b % 2) {
        (0, 0) => vtrn1q_u64(x, y),
        (0, _) => vcombine_u64(vget_low_u64(x), vget_high_u64(y)),
        (_, 0) => vextq_u64::<1>(x, y),
        _ => vtrn2q_u64(x, y),
    })
}

/// Four 32-bit words.
#[derive(Clone, Copy, Debug)]
pub struct U32x4(uint32x4_t);

impl Vector for U32x4 {
    type Token = Neon;
    type Word = u32;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(neon!(vaddq_u32(self.0, other.0)))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(neon!(veorq_u32(self.0, other.0)))
    }

    #[inline(always)]
    fn rotate_right(self, bits: u32) -> Self {
        let v = self.0;
        Self(neon!(match bits {
            16 => vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(v))),
            12 => vsriq_n_u32::<12>(vshlq_n_u32::<20>(v), v),
            8 => vsriq_n_u32::<8>(vshlq_n_u32::<24>(v), v),
            7 => vsriq_n_u32::<7>(vshlq_n_u32::<25>(v), v),
            _ => {
                let (left, right) = (32 - bits as i32, -(bits as i32));
                vorrq_u32(vshlq_u32(v, vdupq_n_s32(left)), vshlq_u32(v, vdupq_n_s32(right)))
            }
        }))
    }
}

impl Lanes for U32x4 {
    const COUNT: usize = 4;

    #[inline(always)]
    fn splat(_: Neon, word: u32) -> Self {
        Self(neon!(vdupq_n_u32(word)))
    }

    #[inline(always)]
    fn load(_: Neon, words: &[u32]) -> Self {
        let words = &words[..4];
        // SAFETY: four words can be read.
        Self(unsafe { vld1q_u32(words.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        let words = &mut words[..4];
        // SAFETY: four words can be written.
        unsafe { vst1q_u32(words.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn first(self) -> u32 {
        neon!(vgetq_lane_u32::<0>(self.0))
    }

    #[inline(always)]
    fn message(token: Neon, blocks: &[&[u8; 64]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for four in 0..4 {
            let a = neon!(vreinterpretq_u32_u8(part(blocks[0], four)));
            let b = neon!(vreinterpretq_u32_u8(part(blocks[1], four)));
            let c = neon!(vreinterpretq_u32_u8(part(blocks[2], four)));
            let d = neon!(vreinterpretq_u32_u8(part(blocks[3], four)));
            let (ac, bd) = neon!((vzip1q_u32(a, c), vzip1q_u32(b, d)));
            let (ac_high, bd_high) = neon!((vzip2q_u32(a, c), vzip2q_u32(b, d)));
            message[4 * four].0 = neon!(vzip1q_u32(ac, bd));
            message[4 * four + 1].0 = neon!(vzip2q_u32(ac, bd));
            message[4 * four + 2].0 = neon!(vzip1q_u32(ac_high, bd_high));
            message[4 * four + 3].0 = neon!(vzip2q_u32(ac_high, bd_high));
        }
        message
    }
}

impl Quad for U32x4 {
    #[inline(always)]
    fn rotate_words(self, by: usize) -> Self {
        Self(neon!(match by {
            1 => vextq_u32::<1>(self.0, self.0),
            2 => vextq_u32::<2>(self.0, self.0),
            _ => vextq_u32::<3>(self.0, self.0),
        }))
    }
}

impl Diagonal for U32x4 {
    const STATES: usize = 1;

    #[inline(always)]
    fn gather(_: Neon, memory: impl Fn(usize) -> [u64; 2]) -> Self {
        let [low, high] = memory(0);
        let pair = neon!(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
        Self(neon!(vreinterpretq_u32_u64(pair)))
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, [u64; 2])) {
        let pair = neon!(vreinterpretq_u64_u32(self.0));
        put(0, neon!([vgetq_lane_u64::<0>(pair), vgetq_lane_u64::<1>(pair)]));
    }
}

impl Row for U32x4 {
    /// The block as one table.
    type Message = uint8x16x4_t;

    #[inline(always)]
    fn from_words(token: Neon, words: [u32; 4]) -> Self {
        <Self as Lanes>::load(token, &words)
    }

    #[inline(always)]
    fn to_words(self) -> [u32; 4] {
        let mut words = [0; 4];
        self.store(&mut words);
        words
    }

    #[inline(always)]
    fn message(_: Neon, blocks: &[&BlockOf<Self>]) -> uint8x16x4_t {
        let block = blocks[0];
        uint8x16x4_t(part(block, 0), part(block, 1), part(block, 2), part(block, 3))
    }

    #[inline(always)]
    fn schedule(_: Neon, table: &uint8x16x4_t, order: &[usize; 16]) -> [Self; 4] {
        [
            pick_32(table, order, 0),
            pick_32(table, order, 4),
            pick_32(table, order, 8),
            pick_32(table, order, 12),
        ]
    }
}

/// Words `order[at..at + 4]`, by one look-up of their bytes.
#[inline(always)]
fn pick_32(table: &uint8x16x4_t, order: &[usize; 16], at: usize) -> U32x4 {
    let mut bytes = [0_u8; 16];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (4 * order[at + i / 4] + i % 4) as u8;
    }
    let index = part(&bytes, 0);
    U32x4(neon!(vreinterpretq_u32_u8(vqtbl4q_u8(*table, index))))
}
