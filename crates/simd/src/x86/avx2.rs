//! 256-bit vectors. AVX-512VL has rotations and AVX2 does not, so the vectors are generic over the
//! token.
#![allow(unsafe_code, reason = "intrinsics")]

#[cfg(not(miri))]
use core::arch::asm;
use core::arch::x86_64::*;

use super::sse41::{Rotate128, XOR_OF_THREE, pair, pair_of, part};
use super::{Avx2, Avx512, Sse41, Zen4};
use crate::lanes::{BlockOf, Diagonal, Lanes, Quad, Row, Vector, Word};

rotate! {
    /// How a level rotates the words of 256-bit vectors.
    Rotate256, __m256i, _mm256_xor_si256
}

impl Rotate256 for Avx2 {
    #[inline(always)]
    fn rotate_64(self, v: __m256i, bits: u32) -> __m256i {
        proven!(match bits {
            32 => _mm256_shuffle_epi32::<0b10_11_00_01>(v),
            24 => _mm256_shuffle_epi8(v, bytes(0x0A09_080F_0E0D_0C0B, 0x0201_0007_0605_0403)),
            16 => rotate_64_by_16(v),
            63 => _mm256_or_si256(_mm256_srli_epi64::<63>(v), _mm256_add_epi64(v, v)),
            _ => {
                let (right, left) = distances(bits, 64 - bits);
                _mm256_or_si256(_mm256_srl_epi64(v, right), _mm256_sll_epi64(v, left))
            }
        })
    }

    #[inline(always)]
    fn rotate_32(self, v: __m256i, bits: u32) -> __m256i {
        proven!(match bits {
            16 => rotate_32_by_16(v),
            8 => _mm256_shuffle_epi8(v, bytes(0x0C0F_0E0D_080B_0A09, 0x0407_0605_0003_0201)),
            _ => {
                let (right, left) = distances(bits, 32 - bits);
                _mm256_or_si256(_mm256_srl_epi32(v, right), _mm256_sll_epi32(v, left))
            }
        })
    }
}

impl Rotate128 for Avx2 {
    #[inline(always)]
    fn rotate_64(self, v: __m128i, bits: u32) -> __m128i {
        Sse41::from(self).rotate_64(v, bits)
    }

    #[inline(always)]
    fn rotate_32(self, v: __m128i, bits: u32) -> __m128i {
        match bits {
            16 => proven!(rotate_4_words_by_16(v)),
            _ => Sse41::from(self).rotate_32(v, bits),
        }
    }
}

impl Rotate256 for Avx512 {
    #[inline(always)]
    fn rotate_64(self, v: __m256i, bits: u32) -> __m256i {
        proven!(match bits {
            32 => _mm256_shuffle_epi32::<0b10_11_00_01>(v), // never slower, and another port
            _ => _mm256_rorv_epi64(v, _mm256_set1_epi64x(i64::from(bits))),
        })
    }

    #[inline(always)]
    fn rotate_32(self, v: __m256i, bits: u32) -> __m256i {
        proven!(_mm256_rorv_epi32(v, _mm256_set1_epi32(bits as i32)))
    }
}

impl Rotate256 for Zen4 {
    #[inline(always)]
    fn rotate_64(self, v: __m256i, bits: u32) -> __m256i {
        Rotate256::rotate_64(Avx512::from(self), v, bits)
    }

    #[inline(always)]
    fn rotate_32(self, v: __m256i, bits: u32) -> __m256i {
        Rotate256::rotate_32(Avx512::from(self), v, bits)
    }

    /// Two cycles instead of three: `early` is rotated in advance, and both halves of `late` are
    /// xored in at once.
    #[inline(always)]
    fn xor_rotate_64(self, early: __m256i, late: __m256i, bits: u32) -> __m256i {
        if bits == 32 {
            return Rotate256::rotate_64(self, proven!(_mm256_xor_si256(early, late)), bits);
        }
        let early = Rotate256::rotate_64(self, early, bits);
        let (right, left) = distances(bits, 64 - bits);
        proven!({
            let (low, high) = (_mm256_srl_epi64(late, right), _mm256_sll_epi64(late, left));
            _mm256_ternarylogic_epi64::<XOR_OF_THREE>(early, low, high)
        })
    }
}

/// A constant for byte shuffles, the same in both halves, from upper and lower half of those.
#[inline(always)]
fn bytes(high: i64, low: i64) -> __m256i {
    proven!(_mm256_set_epi64x(high, low, high, low))
}

/// An order of bytes, aligned for instructions that read it from memory.
#[repr(align(32))]
struct Order(#[cfg_attr(not(miri), expect(dead_code, reason = "instructions read it"))] [u8; 32]);

/// Orders that rotate by 16 bits.
static ROTATE_64_BY_16: Order = Order::of_words(8, 2);
static ROTATE_32_BY_16: Order = Order::of_words(4, 2);

impl Order {
    /// Every word of `word` bytes rotated right by `by` bytes.
    const fn of_words(word: usize, by: usize) -> Self {
        let mut order = [0; 32];
        let mut i = 0;
        while i < 32 {
            order[i] = (i % 16 / word * word + (i + by) % word) as u8;
            i += 1;
        }
        Self(order)
    }
}

/// Generates rotations by 16 bits, in one instruction. From the intrinsic with a known order the
/// compiler makes two shuffles of half words: one operation and one cycle more, 24 times for a
/// block of BLAKE2b (callgrind: 28 of 716).
macro_rules! rotate_by_16 {
    ($($name:ident, $register:ident, $class:ident, $order:ident, $load:ident, $shuffle:ident;)+) => {
        $(
            #[inline]
            #[target_feature(enable = "avx2")]
            fn $name(v: $register) -> $register {
                // Miri, which has no assembly, takes the intrinsic.
                #[cfg(miri)]
                // SAFETY: it loads from a static of this file, which is long enough.
                let rotated = $shuffle(v, unsafe { $load($order.0.as_ptr().cast()) });
                #[cfg(not(miri))]
                let rotated;
                #[cfg(not(miri))]
                // SAFETY: the instruction reads a static of this file and writes a register.
                unsafe {
                    asm!("vpshufb {r}, {v}, [rip + {order}]", r = lateout($class) rotated,
                        v = in($class) v, order = sym $order, options(pure, readonly, nostack, preserves_flags));
                }
                rotated
            }
        )+
    };
}

rotate_by_16! {
    rotate_64_by_16, __m256i, ymm_reg, ROTATE_64_BY_16, _mm256_loadu_si256, _mm256_shuffle_epi8;
    rotate_32_by_16, __m256i, ymm_reg, ROTATE_32_BY_16, _mm256_loadu_si256, _mm256_shuffle_epi8;
    rotate_4_words_by_16, __m128i, xmm_reg, ROTATE_32_BY_16, _mm_loadu_si128, _mm_shuffle_epi8;
}

/// The vector, with its contents hidden from the compiler. No instruction. Otherwise, where both
/// halves of a vector are the same, the compiler makes three instructions out of two that pick
/// message words.
#[inline]
#[target_feature(enable = "avx2")]
#[cfg_attr(miri, expect(unused_mut, reason = "no assembly under Miri"))]
pub(super) fn unknown(mut v: __m256i) -> __m256i {
    #[cfg(not(miri))]
    // SAFETY: there is no instruction, so nothing can go wrong.
    unsafe {
        asm!("/* {0} */", inout(ymm_reg) v, options(pure, nomem, nostack, preserves_flags))
    };
    v
}

/// The four vectors, all of which are known before any of them is used. No instruction. The
/// compiler would do one column of BLAKE2b after the other, to need fewer registers, and leave it
/// to the processor to find parallel work: with this, four blocks take 2 to 3 % less time, though 1
/// % more instructions. For BLAKE2s it was a loss of 1 %.
#[inline]
#[target_feature(enable = "avx2")]
#[cfg_attr(miri, expect(unused_mut, reason = "no assembly under Miri"))]
fn all_of([mut a, mut b, mut c, mut d]: [__m256i; 4]) -> [__m256i; 4] {
    #[cfg(not(miri))]
    // SAFETY: there is no instruction, so nothing can go wrong.
    unsafe {
        asm!("/* {0} {1} {2} {3} */", inout(ymm_reg) a, inout(ymm_reg) b, inout(ymm_reg) c,
            inout(ymm_reg) d, options(pure, nomem, nostack, preserves_flags));
    }
    [a, b, c, d]
}

/// Two distances for shifts.
#[inline(always)]
fn distances(right: u32, left: u32) -> (__m128i, __m128i) {
    proven!((_mm_cvtsi32_si128(right as i32), _mm_cvtsi32_si128(left as i32)))
}

/// The first 32 bytes of some words as a vector.
#[inline(always)]
fn load<W: Word>(words: &[W]) -> __m256i {
    let words = &words[..32 / W::BYTES];
    // SAFETY: `words` has 32 bytes; alignment is not required; the callers have a token.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline(always)]
fn store<W: Word>(vector: __m256i, words: &mut [W]) {
    let words = &mut words[..32 / W::BYTES];
    // SAFETY: `words` has 32 bytes; alignment is not required; the callers have a token.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
}

/// Bytes `16 * index..` of two blocks, side by side.
#[inline(always)]
fn parts<const N: usize>(low: &[u8; N], high: &[u8; N], index: usize) -> __m256i {
    // The upper half is inserted from memory, which needs no shuffle.
    proven!(_mm256_inserti128_si256::<1>(
        _mm256_castsi128_si256(part(low, index)),
        part(high, index)
    ))
}

/// The lower halves of both, and the upper halves.
#[inline(always)]
fn exchange(a: __m256i, b: __m256i) -> [__m256i; 2] {
    proven!([_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)])
}

/// The transposition of each half as a matrix: half `q` of vector `i` has word `4 * q + i` of the
/// four.
#[inline(always)]
fn transpose([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let low = proven!((_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d)));
    let high = proven!((_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d)));
    proven!([
        _mm256_unpacklo_epi64(low.0, low.1),
        _mm256_unpackhi_epi64(low.0, low.1),
        _mm256_unpacklo_epi64(high.0, high.1),
        _mm256_unpackhi_epi64(high.0, high.1),
    ])
}

lanes! {
    /// Four 64-bit words.
    U64x4<Rotate256>, __m256i = [u64 as i64; 4];
    _mm256_add_epi64, _mm256_xor_si256, rotate_64, xor_rotate_64, _mm256_set1_epi64x,
    |v| _mm_cvtsi128_si64(_mm256_castsi256_si128(v)); {
    #[inline(always)]
    fn schedule_barrier([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let [w, x, y, z] = proven!(all_of([a.0, b.0, c.0, d.0]));
        [Self(w, a.1), Self(x, b.1), Self(y, c.1), Self(z, d.1)]
    }

    #[inline(always)]
    fn message(token: T, blocks: &[&[u8; 128]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for pair in 0..8 {
            let even = parts(blocks[0], blocks[2], pair);
            let odd = parts(blocks[1], blocks[3], pair);
            message[2 * pair].0 = proven!(_mm256_unpacklo_epi64(even, odd));
            message[2 * pair + 1].0 = proven!(_mm256_unpackhi_epi64(even, odd));
        }
        message
    }

    #[inline(always)]
    fn columns([a, b, c, d, e, f, g, h]: [Self; 8], mut put: impl FnMut(usize, [u64; 8])) {
        let [a, b, c, d, e, f, g, h] = [a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0];
        let pairs = proven!([
            [
                _mm256_unpacklo_epi64(a, b),
                _mm256_unpacklo_epi64(c, d),
                _mm256_unpacklo_epi64(e, f),
                _mm256_unpacklo_epi64(g, h),
            ],
            [
                _mm256_unpackhi_epi64(a, b),
                _mm256_unpackhi_epi64(c, d),
                _mm256_unpackhi_epi64(e, f),
                _mm256_unpackhi_epi64(g, h),
            ],
        ]);
        for (odd, [x, y, z, w]) in pairs.into_iter().enumerate() {
            let (low, high) = (exchange(x, y), exchange(z, w));
            for half in 0..2 {
                let mut words = [0; 8];
                store(low[half], &mut words[..4]);
                store(high[half], &mut words[4..]);
                put(2 * half + odd, words);
            }
        }
    }
}}

impl<T: Rotate256> Quad for U64x4<T> {
    #[inline(always)]
    fn rotate_words(self, by: usize) -> Self {
        let turned = proven!(match by {
            1 => _mm256_permute4x64_epi64::<0b00_11_10_01>(self.0),
            2 => _mm256_permute4x64_epi64::<0b01_00_11_10>(self.0),
            _ => _mm256_permute4x64_epi64::<0b10_01_00_11>(self.0),
        });
        Self(turned, self.1)
    }
}

impl<T: Rotate256> Row for U64x4<T> {
    /// The block's words in pairs, each twice.
    type Message = [__m256i; 8];

    #[inline(always)]
    fn from_words(token: T, [a, b, c, d]: [u64; 4]) -> Self {
        Self(proven!(_mm256_set_epi64x(d as i64, c as i64, b as i64, a as i64)), token)
    }

    #[inline(always)]
    fn to_words(self) -> [u64; 4] {
        let mut words = [0; 4];
        store(self.0, &mut words);
        words
    }

    #[inline(always)]
    fn message(_: T, blocks: &[&BlockOf<Self>]) -> [__m256i; 8] {
        let mut pairs = [parts(blocks[0], blocks[0], 0); 8];
        for (i, pair) in pairs.iter_mut().enumerate() {
            *pair = proven!(unknown(_mm256_broadcastsi128_si256(part(blocks[0], i))));
        }
        pairs
    }

    #[inline(always)]
    fn schedule(token: T, pairs: &[__m256i; 8], order: &[usize; 16]) -> [Self; 4] {
        [
            Self(pick(pairs, order, 0), token),
            Self(pick(pairs, order, 4), token),
            Self(pick(pairs, order, 8), token),
            Self(pick(pairs, order, 12), token),
        ]
    }
}

/// Words `order[at..at + 4]`.
#[inline(always)]
fn pick(pairs: &[__m256i; 8], order: &[usize; 16], at: usize) -> __m256i {
    let (low, high) = (pick_two(pairs, order, at), pick_two(pairs, order, at + 2));
    proven!(_mm256_blend_epi32::<0b1111_0000>(low, high))
}

/// Words `order[at]` and `order[at + 1]`, twice: one instruction, whichever halves of their pairs
/// they are.
#[inline(always)]
fn pick_two(pairs: &[__m256i; 8], order: &[usize; 16], at: usize) -> __m256i {
    let (a, b) = (order[at], order[at + 1]);
    let (x, y) = (pairs[a / 2], pairs[b / 2]);
    proven!(match (a % 2, b % 2) {
        (0, 0) => _mm256_unpacklo_epi64(x, y),
        (0, _) => _mm256_blend_epi32::<0b1100_1100>(x, y),
        (_, 0) => _mm256_alignr_epi8::<8>(y, x),
        _ => _mm256_unpackhi_epi64(x, y),
    })
}

lanes! {
    /// Eight 32-bit words.
    U32x8<Rotate256>, __m256i = [u32 as i32; 8];
    _mm256_add_epi32, _mm256_xor_si256, rotate_32, xor_rotate_32, _mm256_set1_epi32,
    |v| _mm256_cvtsi256_si32(v); {
    #[inline(always)]
    fn message(token: T, blocks: &[&[u8; 64]]) -> [Self; 16] {
        let mut message = [Self::splat(token, 0); 16];
        for four in 0..4 {
            // Words of blocks 0 to 3 in the lower half and of 4 to 7 in the upper, transposed
            // there.
            let a = parts(blocks[0], blocks[4], four);
            let b = parts(blocks[1], blocks[5], four);
            let c = parts(blocks[2], blocks[6], four);
            let d = parts(blocks[3], blocks[7], four);
            let words = transpose([a, b, c, d]);
            for (i, word) in words.into_iter().enumerate() {
                message[4 * four + i].0 = word;
            }
        }
        message
    }

    #[inline(always)]
    fn columns([a, b, c, d, e, f, g, h]: [Self; 8], mut put: impl FnMut(usize, [u32; 8])) {
        let [a, b, c, d, e, f, g, h] = [a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0];
        let (low, high) = (transpose([a, b, c, d]), transpose([e, f, g, h]));
        for (lane, (low, high)) in low.into_iter().zip(high).enumerate() {
            for (half, vector) in exchange(low, high).into_iter().enumerate() {
                let mut words = [0; 8];
                store(vector, &mut words);
                put(4 * half + lane, words);
            }
        }
    }
}}

/// Four words of each of two states.
impl<T: Rotate256> Quad for U32x8<T> {
    #[inline(always)]
    fn rotate_words(self, by: usize) -> Self {
        let turned = proven!(match by {
            1 => _mm256_shuffle_epi32::<0b00_11_10_01>(self.0),
            2 => _mm256_shuffle_epi32::<0b01_00_11_10>(self.0),
            _ => _mm256_shuffle_epi32::<0b10_01_00_11>(self.0),
        });
        Self(turned, self.1)
    }
}

impl<T: Rotate256> Diagonal for U32x8<T> {
    const STATES: usize = 2;

    #[inline(always)]
    fn gather(token: T, memory: impl Fn(usize) -> [u64; 2]) -> Self {
        Self(proven!(_mm256_set_m128i(pair(memory(1)), pair(memory(0)))), token)
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, [u64; 2])) {
        let (low, high) =
            proven!((_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0)));
        put(0, pair_of(low));
        put(1, pair_of(high));
    }
}
