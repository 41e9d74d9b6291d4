//! 128-bit vectors. AVX-512VL has rotations, SSE4.1 byte shuffles, and SSE2 neither, so the vectors
//! are generic over the token.
#![allow(unsafe_code, reason = "intrinsics")]

use core::arch::x86_64::*;

use super::{Avx2, Avx512, Sse2, Sse41, Zen4};
use crate::lanes::{BlockOf, Diagonal, Lanes, Quad, Row, Vector, Word};

rotate! {
    /// How a level rotates the words of 128-bit vectors.
    Rotate128, __m128i, _mm_xor_si128
}

impl Rotate128 for Sse2 {
    #[inline(always)]
    fn rotate_64(self, v: __m128i, bits: u32) -> __m128i {
        let (right, left) = (number(bits), number(64 - bits));
        proven!(_mm_or_si128(_mm_srl_epi64(v, right), _mm_sll_epi64(v, left)))
    }

    #[inline(always)]
    fn rotate_32(self, v: __m128i, bits: u32) -> __m128i {
        let (right, left) = (number(bits), number(32 - bits));
        proven!(_mm_or_si128(_mm_srl_epi32(v, right), _mm_sll_epi32(v, left)))
    }
}

impl Rotate128 for Sse41 {
    #[inline(always)]
    fn rotate_64(self, v: __m128i, bits: u32) -> __m128i {
        proven!(match bits {
            32 => _mm_shuffle_epi32::<0b10_11_00_01>(v),
            24 => _mm_shuffle_epi8(v, bytes(0x0A09_080F_0E0D_0C0B, 0x0201_0007_0605_0403)),
            16 => _mm_shuffle_epi8(v, bytes(0x0908_0F0E_0D0C_0B0A, 0x0100_0706_0504_0302)),
            63 => _mm_or_si128(_mm_srli_epi64::<63>(v), _mm_add_epi64(v, v)),
            _ => Sse2::from(self).rotate_64(v, bits),
        })
    }

    #[inline(always)]
    fn rotate_32(self, v: __m128i, bits: u32) -> __m128i {
        proven!(match bits {
            16 => _mm_shuffle_epi8(v, bytes(0x0D0C_0F0E_0908_0B0A, 0x0504_0706_0100_0302)),
            8 => _mm_shuffle_epi8(v, bytes(0x0C0F_0E0D_080B_0A09, 0x0407_0605_0003_0201)),
            _ => Sse2::from(self).rotate_32(v, bits),
        })
    }
}

impl Rotate128 for Avx512 {
    #[inline(always)]
    fn rotate_64(self, v: __m128i, bits: u32) -> __m128i {
        proven!(_mm_rorv_epi64(v, _mm_set1_epi64x(i64::from(bits))))
    }

    #[inline(always)]
    fn rotate_32(self, v: __m128i, bits: u32) -> __m128i {
        proven!(_mm_rorv_epi32(v, _mm_set1_epi32(bits as i32)))
    }
}

impl Rotate128 for Zen4 {
    #[inline(always)]
    fn rotate_64(self, v: __m128i, bits: u32) -> __m128i {
        Avx512::from(self).rotate_64(v, bits)
    }

    #[inline(always)]
    fn rotate_32(self, v: __m128i, bits: u32) -> __m128i {
        Avx512::from(self).rotate_32(v, bits)
    }

    /// Two cycles instead of three: `early` is rotated in advance, and both halves of `late` are
    /// xored in at once.
    #[inline(always)]
    fn xor_rotate_32(self, early: __m128i, late: __m128i, bits: u32) -> __m128i {
        let early = self.rotate_32(early, bits);
        let (right, left) = (number(bits), number(32 - bits));
        proven!({
            let (low, high) = (_mm_srl_epi32(late, right), _mm_sll_epi32(late, left));
            _mm_ternarylogic_epi32::<XOR_OF_THREE>(early, low, high)
        })
    }
}

/// The table of three-way exclusive or, for ternary logic.
pub(super) const XOR_OF_THREE: i32 = 0b1001_0110;

/// A constant for byte shuffles, from its upper and lower half.
#[inline(always)]
fn bytes(high: i64, low: i64) -> __m128i {
    proven!(_mm_set_epi64x(high, low))
}

/// A distance for shifts.
#[inline(always)]
fn number(bits: u32) -> __m128i {
    proven!(_mm_cvtsi32_si128(bits as i32))
}

/// The first sixteen bytes of some words as a vector.
#[inline(always)]
pub(super) fn load<W: Word>(words: &[W]) -> __m128i {
    let words = &words[..16 / W::BYTES];
    // SAFETY: `words` has sixteen bytes; alignment is not required.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn store<W: Word>(vector: __m128i, words: &mut [W]) {
    let words = &mut words[..16 / W::BYTES];
    // SAFETY: `words` has sixteen bytes; alignment is not required.
    unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), vector) }
}

/// Bytes `16 * part..` of a block.
#[inline(always)]
pub(super) fn part<const N: usize>(block: &[u8; N], part: usize) -> __m128i {
    let bytes: &[u8; 16] = &block.as_chunks().0[part];
    // SAFETY: sixteen bytes can be read; alignment is not required.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

lanes! {
    /// Two 64-bit words.
    U64x2<Rotate128>, __m128i = [u64 as i64; 2];
    _mm_add_epi64, _mm_xor_si128, rotate_64, xor_rotate_64, _mm_set1_epi64x,
    |v| _mm_cvtsi128_si64(v); {
    #[inline(always)]
    fn message(token: T, blocks: &[&[u8; 128]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for pair in 0..8 {
            let (a, b) = (part(blocks[0], pair), part(blocks[1], pair));
            message[2 * pair].0 = proven!(_mm_unpacklo_epi64(a, b));
            message[2 * pair + 1].0 = proven!(_mm_unpackhi_epi64(a, b));
        }
        message
    }
}}

/// A row of four 64-bit words in two vectors.
#[derive(Clone, Copy, Debug)]
pub struct U64x2x2(U64x2<Sse41>, U64x2<Sse41>);

impl U64x2x2 {
    #[inline(always)]
    fn new(token: Sse41, low: __m128i, high: __m128i) -> Self {
        Self(U64x2(low, token), U64x2(high, token))
    }
}

impl Vector for U64x2x2 {
    type Token = Sse41;
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
        let across = proven!((_mm_alignr_epi8::<8>(high, low), _mm_alignr_epi8::<8>(low, high)));
        match by {
            1 => Self::new(self.0.1, across.0, across.1),
            2 => Self::new(self.0.1, high, low),
            _ => Self::new(self.0.1, across.1, across.0),
        }
    }
}

impl Row for U64x2x2 {
    /// The block's words in pairs.
    type Message = [__m128i; 8];

    #[inline(always)]
    fn from_words(token: Sse41, words: [u64; 4]) -> Self {
        Self::new(token, load(&words[..2]), load(&words[2..]))
    }

    #[inline(always)]
    fn to_words(self) -> [u64; 4] {
        let mut words = [0; 4];
        store(self.0.0, &mut words[..2]);
        store(self.1.0, &mut words[2..]);
        words
    }

    #[inline(always)]
    fn message(_: Sse41, blocks: &[&BlockOf<Self>]) -> [__m128i; 8] {
        let mut pairs = [part(blocks[0], 0); 8];
        for (i, pair) in pairs.iter_mut().enumerate() {
            *pair = part(blocks[0], i);
        }
        pairs
    }

    #[inline(always)]
    fn schedule(token: Sse41, pairs: &[__m128i; 8], order: &[usize; 16]) -> [Self; 4] {
        [
            Self::new(token, pick_64(pairs, order, 0), pick_64(pairs, order, 2)),
            Self::new(token, pick_64(pairs, order, 4), pick_64(pairs, order, 6)),
            Self::new(token, pick_64(pairs, order, 8), pick_64(pairs, order, 10)),
            Self::new(token, pick_64(pairs, order, 12), pick_64(pairs, order, 14)),
        ]
    }
}

/// Words `order[at]` and `order[at + 1]`: one instruction, whichever halves of their pairs they
/// are.
#[inline(always)]
fn pick_64(pairs: &[__m128i; 8], order: &[usize; 16], at: usize) -> __m128i {
    let (a, b) = (order[at], order[at + 1]);
    let (x, y) = (pairs[a / 2], pairs[b / 2]);
    proven!(match (a % 2, b % 2) {
        (0, 0) => _mm_unpacklo_epi64(x, y),
        (0, _) => _mm_blend_epi16::<0b1111_0000>(x, y),
        (_, 0) => _mm_alignr_epi8::<8>(y, x),
        _ => _mm_unpackhi_epi64(x, y),
    })
}

lanes! {
    /// Four 32-bit words.
    U32x4<Rotate128>, __m128i = [u32 as i32; 4];
    _mm_add_epi32, _mm_xor_si128, rotate_32, xor_rotate_32, _mm_set1_epi32,
    |v| _mm_cvtsi128_si32(v); {
    #[inline(always)]
    fn message(token: T, blocks: &[&[u8; 64]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for four in 0..4 {
            let (a, b) = (part(blocks[0], four), part(blocks[1], four));
            let (c, d) = (part(blocks[2], four), part(blocks[3], four));
            let low = proven!((_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d)));
            let high = proven!((_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d)));
            message[4 * four].0 = proven!(_mm_unpacklo_epi64(low.0, low.1));
            message[4 * four + 1].0 = proven!(_mm_unpackhi_epi64(low.0, low.1));
            message[4 * four + 2].0 = proven!(_mm_unpacklo_epi64(high.0, high.1));
            message[4 * four + 3].0 = proven!(_mm_unpackhi_epi64(high.0, high.1));
        }
        message
    }
}}

impl<T: Copy> U32x4<T> {
    #[inline(always)]
    pub(super) fn of_words(token: T, [a, b, c, d]: [u32; 4]) -> Self {
        Self(proven!(_mm_set_epi32(d as i32, c as i32, b as i32, a as i32)), token)
    }

    #[inline(always)]
    pub(super) fn words(self) -> [u32; 4] {
        let mut words = [0; 4];
        store(self.0, &mut words);
        words
    }
}

impl<T: Rotate128> Quad for U32x4<T> {
    #[inline(always)]
    fn rotate_words(self, by: usize) -> Self {
        let turned = proven!(match by {
            1 => _mm_shuffle_epi32::<0b00_11_10_01>(self.0),
            2 => _mm_shuffle_epi32::<0b01_00_11_10>(self.0),
            _ => _mm_shuffle_epi32::<0b10_01_00_11>(self.0),
        });
        Self(turned, self.1)
    }
}

impl<T: Rotate128> Diagonal for U32x4<T> {
    const STATES: usize = 1;

    #[inline(always)]
    fn gather(token: T, memory: impl Fn(usize) -> [u64; 2]) -> Self {
        Self(pair(memory(0)), token)
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, [u64; 2])) {
        put(0, pair_of(self.0));
    }
}

/// Two 64-bit numbers as a vector.
#[inline(always)]
pub(super) fn pair([low, high]: [u64; 2]) -> __m128i {
    proven!(_mm_set_epi64x(high as i64, low as i64))
}

/// The inverse of [`pair`].
#[inline(always)]
pub(super) fn pair_of(vector: __m128i) -> [u64; 2] {
    let high = proven!(_mm_unpackhi_epi64(vector, vector));
    proven!([_mm_cvtsi128_si64(vector) as u64, _mm_cvtsi128_si64(high) as u64])
}

/// Rows at the levels whose permutations take one source.
macro_rules! rows {
    ($($token:ty),+) => {
        $(
            impl Row for U32x4<$token> {
                /// The block's words in fours.
                type Message = [__m128i; 4];

                #[inline(always)]
                fn from_words(token: $token, words: [u32; 4]) -> Self {
                    Self::of_words(token, words)
                }

                #[inline(always)]
                fn to_words(self) -> [u32; 4] {
                    self.words()
                }

                #[inline(always)]
                fn message(_: $token, blocks: &[&BlockOf<Self>]) -> [__m128i; 4] {
                    let block = blocks[0];
                    [part(block, 0), part(block, 1), part(block, 2), part(block, 3)]
                }

                #[inline(always)]
                fn schedule(token: $token, fours: &[__m128i; 4], order: &[usize; 16]) -> [Self; 4] {
                    [
                        Self(pick_32(fours, order, 0), token),
                        Self(pick_32(fours, order, 4), token),
                        Self(pick_32(fours, order, 8), token),
                        Self(pick_32(fours, order, 12), token),
                    ]
                }
            }
        )+
    };
}

rows!(Sse41, Avx2);

/// Words `order[at..at + 4]`, in three shuffles wherever they are.
#[inline(always)]
fn pick_32(fours: &[__m128i; 4], order: &[usize; 16], at: usize) -> __m128i {
    let low = pick_two(fours, order[at], order[at + 1]);
    let high = pick_two(fours, order[at + 2], order[at + 3]);
    proven!(_mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(low, high)))
}

/// Words `a` and `b`, as lanes 0 and 2.
#[inline(always)]
fn pick_two(fours: &[__m128i; 4], a: usize, b: usize) -> __m128 {
    let (x, y) = proven!((_mm_castsi128_ps(fours[a / 4]), _mm_castsi128_ps(fours[b / 4])));
    proven!(match (a % 4, b % 4) {
        (0, 0) => _mm_shuffle_ps::<0b00_00_00_00>(x, y),
        (0, 1) => _mm_shuffle_ps::<0b01_01_00_00>(x, y),
        (0, 2) => _mm_shuffle_ps::<0b10_10_00_00>(x, y),
        (0, _) => _mm_shuffle_ps::<0b11_11_00_00>(x, y),
        (1, 0) => _mm_shuffle_ps::<0b00_00_01_01>(x, y),
        (1, 1) => _mm_shuffle_ps::<0b01_01_01_01>(x, y),
        (1, 2) => _mm_shuffle_ps::<0b10_10_01_01>(x, y),
        (1, _) => _mm_shuffle_ps::<0b11_11_01_01>(x, y),
        (2, 0) => _mm_shuffle_ps::<0b00_00_10_10>(x, y),
        (2, 1) => _mm_shuffle_ps::<0b01_01_10_10>(x, y),
        (2, 2) => _mm_shuffle_ps::<0b10_10_10_10>(x, y),
        (2, _) => _mm_shuffle_ps::<0b11_11_10_10>(x, y),
        (_, 0) => _mm_shuffle_ps::<0b00_00_11_11>(x, y),
        (_, 1) => _mm_shuffle_ps::<0b01_01_11_11>(x, y),
        (_, 2) => _mm_shuffle_ps::<0b10_10_11_11>(x, y),
        (_, _) => _mm_shuffle_ps::<0b11_11_11_11>(x, y),
    })
}
