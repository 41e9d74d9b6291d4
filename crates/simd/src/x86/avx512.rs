//! 512-bit vectors. The narrower ones at this level are those of [`sse41`](super::sse41) and
//! [`avx2`](super::avx2) with this level's token, which makes them rotate in one instruction.
#![allow(unsafe_code, reason = "intrinsics")]

use core::arch::x86_64::*;

use super::avx2::unknown;
use super::sse41::{Rotate128, U32x4};
use super::{Avx512, Zen4};
use crate::lanes::{BlockOf, Lanes, Row, Vector, Word};

rotate! {
    /// How a level rotates the words of 512-bit vectors.
    Rotate512, __m512i, _mm512_xor_si512
}

impl Rotate512 for Avx512 {
    #[inline(always)]
    fn rotate_64(self, v: __m512i, bits: u32) -> __m512i {
        proven!(match bits {
            32 => _mm512_shuffle_epi32::<0b10_11_00_01>(v), // never slower, and another port
            _ => _mm512_rorv_epi64(v, _mm512_set1_epi64(i64::from(bits))),
        })
    }

    #[inline(always)]
    fn rotate_32(self, v: __m512i, bits: u32) -> __m512i {
        proven!(_mm512_rorv_epi32(v, _mm512_set1_epi32(bits as i32)))
    }
}

/// The first 64 bytes of some words as a vector.
#[inline(always)]
fn load<W: Word>(words: &[W]) -> __m512i {
    let words = &words[..64 / W::BYTES];
    // SAFETY: `words` has 64 bytes; alignment is not required; the callers have a token.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline(always)]
fn store<W: Word>(vector: __m512i, words: &mut [W]) {
    let words = &mut words[..64 / W::BYTES];
    // SAFETY: `words` has 64 bytes; alignment is not required; the callers have a token.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
}

/// A vector's words; there are `N`.
#[inline(always)]
fn words<W: Word, const N: usize>(vector: __m512i) -> [W; N] {
    let mut words = [W::default(); N];
    store(vector, &mut words);
    words
}

/// Bytes `32 * index..` of two blocks, side by side.
#[inline(always)]
fn halves<const N: usize>(low: &[u8; N], high: &[u8; N], index: usize) -> __m512i {
    let (low, high): (&[u8; 32], &[u8; 32]) =
        (&low.as_chunks().0[index], &high.as_chunks().0[index]);
    // SAFETY: 32 bytes can be read from each; alignment is not required; the callers have a token.
    unsafe {
        let low = _mm512_castsi256_si512(_mm256_loadu_si256(low.as_ptr().cast()));
        _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(high.as_ptr().cast()))
    }
}

/// Quarters 0 and 2 of both vectors.
#[inline(always)]
fn even_quarters(a: __m512i, b: __m512i) -> __m512i {
    proven!(_mm512_shuffle_i64x2::<0b10_00_10_00>(a, b))
}

/// Quarters 1 and 3 of both vectors.
#[inline(always)]
fn odd_quarters(a: __m512i, b: __m512i) -> __m512i {
    proven!(_mm512_shuffle_i64x2::<0b11_01_11_01>(a, b))
}

lanes! {
    /// Eight 64-bit words.
    U64x8<Rotate512>, __m512i = [u64 as i64; 8];
    _mm512_add_epi64, _mm512_xor_si512, rotate_64, xor_rotate_64, _mm512_set1_epi64,
    |v| _mm_cvtsi128_si64(_mm512_castsi512_si128(v)); {
    #[inline(always)]
    fn message(token: T, blocks: &[&[u8; 128]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for four in 0..4 {
            // In quarters of two words: blocks 0 and 1, 2 and 3 in a; 4 and 5, 6 and 7 in b. Then
            // quarters 0 and 2 have the words of the first half of what was loaded.
            let (x, y) = (halves(blocks[0], blocks[2], four), halves(blocks[1], blocks[3], four));
            let (z, w) = (halves(blocks[4], blocks[6], four), halves(blocks[5], blocks[7], four));
            let low = proven!((_mm512_unpacklo_epi64(x, y), _mm512_unpacklo_epi64(z, w)));
            let high = proven!((_mm512_unpackhi_epi64(x, y), _mm512_unpackhi_epi64(z, w)));
            message[4 * four].0 = even_quarters(low.0, low.1);
            message[4 * four + 1].0 = even_quarters(high.0, high.1);
            message[4 * four + 2].0 = odd_quarters(low.0, low.1);
            message[4 * four + 3].0 = odd_quarters(high.0, high.1);
        }
        message
    }

    #[inline(always)]
    fn columns([a, b, c, d, e, f, g, h]: [Self; 8], mut put: impl FnMut(usize, [u64; 8])) {
        let [a, b, c, d, e, f, g, h] = [a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0];
        let pairs = proven!([
            [
                _mm512_unpacklo_epi64(a, b),
                _mm512_unpacklo_epi64(c, d),
                _mm512_unpacklo_epi64(e, f),
                _mm512_unpacklo_epi64(g, h),
            ],
            [
                _mm512_unpackhi_epi64(a, b),
                _mm512_unpackhi_epi64(c, d),
                _mm512_unpackhi_epi64(e, f),
                _mm512_unpackhi_epi64(g, h),
            ],
        ]);
        for (odd, [x, y, z, w]) in pairs.into_iter().enumerate() {
            let (xy, zw) = (even_quarters(x, y), even_quarters(z, w));
            put(odd, words(even_quarters(xy, zw)));
            put(4 + odd, words(odd_quarters(xy, zw)));
            let (xy, zw) = (odd_quarters(x, y), odd_quarters(z, w));
            put(2 + odd, words(even_quarters(xy, zw)));
            put(6 + odd, words(odd_quarters(xy, zw)));
        }
    }
}}

/// The transposition of each quarter as a matrix: quarter `q` of vector `i` has word `4 * q + i` of
/// the four.
#[inline(always)]
fn transpose([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let low = proven!((_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d)));
    let high = proven!((_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d)));
    proven!([
        _mm512_unpacklo_epi64(low.0, low.1),
        _mm512_unpackhi_epi64(low.0, low.1),
        _mm512_unpacklo_epi64(high.0, high.1),
        _mm512_unpackhi_epi64(high.0, high.1),
    ])
}

/// Four blocks' words `8 * eight..`, and those of the four blocks after them: of each of the eight
/// words a pair of quarters, of which the even ones hold the first four words and the odd ones the
/// others.
#[inline(always)]
fn quarters(blocks: &[&[u8; 64]], eight: usize) -> [__m512i; 4] {
    let (a, b) = (halves(blocks[0], blocks[4], eight), halves(blocks[1], blocks[5], eight));
    let (c, d) = (halves(blocks[2], blocks[6], eight), halves(blocks[3], blocks[7], eight));
    transpose([a, b, c, d])
}

lanes! {
    /// Sixteen 32-bit words.
    U32x16<Rotate512>, __m512i = [u32 as i32; 16];
    _mm512_add_epi32, _mm512_xor_si512, rotate_32, xor_rotate_32, _mm512_set1_epi32,
    |v| _mm512_cvtsi512_si32(v); {
    #[inline(always)]
    fn message(token: T, blocks: &[&[u8; 64]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for eight in 0..2 {
            let (low, high) = (quarters(blocks, eight), quarters(&blocks[8..], eight));
            for word in 0..4 {
                message[8 * eight + word].0 = even_quarters(low[word], high[word]);
                message[8 * eight + 4 + word].0 = odd_quarters(low[word], high[word]);
            }
        }
        message
    }

    #[inline(always)]
    fn columns([a, b, c, d, e, f, g, h]: [Self; 8], mut put: impl FnMut(usize, [u32; 8])) {
        let [a, b, c, d, e, f, g, h] = [a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0];
        let (low, high) = (transpose([a, b, c, d]), transpose([e, f, g, h]));
        for (lane, (low, high)) in low.into_iter().zip(high).enumerate() {
            let indices = proven!([
                _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15),
            ]);
            for (half, index) in indices.into_iter().enumerate() {
                let pair: [u32; 16] = words(proven!(_mm512_permutex2var_epi64(low, index, high)));
                let (states, _) = pair.as_chunks();
                put(8 * half + lane, states[0]);
                put(8 * half + 4 + lane, states[1]);
            }
        }
    }
}}

/// Levels whose permutations take two sources.
pub(crate) trait Permute2: Rotate128 {}

impl Permute2 for Avx512 {}

impl Permute2 for Zen4 {}

impl<T: Permute2> Row for U32x4<T> {
    /// The block's words in eights.
    type Message = [__m256i; 2];

    #[inline(always)]
    fn from_words(token: T, words: [u32; 4]) -> Self {
        Self::of_words(token, words)
    }

    #[inline(always)]
    fn to_words(self) -> [u32; 4] {
        self.words()
    }

    #[inline(always)]
    fn message(_: T, blocks: &[&BlockOf<Self>]) -> [__m256i; 2] {
        let (low, high) = blocks[0].split_at(32);
        // SAFETY: there are 32 bytes in each half; alignment is not required; there is a token.
        let (low, high) = unsafe {
            (_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast()))
        };
        // If the compiler knew both, it would combine them in one 512-bit register, and while one
        // is in flight the processor has one vector unit less.
        proven!([unknown(low), unknown(high)])
    }

    #[inline(always)]
    fn schedule(token: T, message: &[__m256i; 2], order: &[usize; 16]) -> [Self; 4] {
        let (xy, zw) = (pick(message, order, 0), pick(message, order, 8));
        let (x, z) = proven!((_mm256_castsi256_si128(xy), _mm256_castsi256_si128(zw)));
        let (y, w) =
            proven!((_mm256_extracti128_si256::<1>(xy), _mm256_extracti128_si256::<1>(zw)));
        [Self(x, token), Self(y, token), Self(z, token), Self(w, token)]
    }
}

/// Words `order[at..at + 8]`.
#[inline(always)]
fn pick([low, high]: &[__m256i; 2], order: &[usize; 16], at: usize) -> __m256i {
    let mut index = [0; 8];
    for (i, index) in index.iter_mut().enumerate() {
        *index = order[at + i] as i32;
    }
    let [a, b, c, d, e, f, g, h] = index;
    proven!(_mm256_permutex2var_epi32(*low, _mm256_setr_epi32(a, b, c, d, e, f, g, h), *high))
}
