//! [`Row`] in XMM and YMM registers.
#![allow(unsafe_code, reason = "intrinsics; a token proves that the processor has them")]

use core::arch::x86_64::*;

use super::{Avx2, Avx512, Sse2};
use crate::row::Row;

/// Generates a [`Row`] whose operations are one intrinsic each, except for its rotation, which is
/// two shifts and an OR. A value holds the token that it was made from. In order: token, register,
/// states; addition, exclusive or, OR, shifts to the left and to the right, shuffle. How a register
/// is loaded and stored stands by hand in the braces.
macro_rules! rows {
    (
        $(#[$doc:meta])*
        $name:ident, $token:ty, [$register:ty; $states:literal];
        $add:ident, $xor:ident, $or:ident, $left:ident, $right:ident, $shuffle:ident;
        { $($by_hand:item)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name($register, $token);

        impl Row for $name {
            type Token = $token;
            const STATES: usize = $states;

            $($by_hand)*

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(proven!($add(self.0, other.0)), self.1)
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Self(proven!($xor(self.0, other.0)), self.1)
            }

            #[inline(always)]
            fn rotate_left<const BITS: u32>(self) -> Self {
                let turned = proven!({
                    let up = $left(self.0, _mm_cvtsi32_si128(BITS as i32));
                    let down = $right(self.0, _mm_cvtsi32_si128(32 - BITS as i32));
                    $or(up, down)
                });
                Self(turned, self.1)
            }

            #[inline(always)]
            fn lanes_left_1(self) -> Self {
                Self(proven!($shuffle::<0b00_11_10_01>(self.0)), self.1)
            }

            #[inline(always)]
            fn lanes_left_2(self) -> Self {
                Self(proven!($shuffle::<0b01_00_11_10>(self.0)), self.1)
            }

            #[inline(always)]
            fn lanes_left_3(self) -> Self {
                Self(proven!($shuffle::<0b10_01_00_11>(self.0)), self.1)
            }
        }
    };
}

rows! {
    /// A [`Row`] with nothing but SSE2.
    RowSse2, Sse2, [__m128i; 1];
    _mm_add_epi32, _mm_xor_si128, _mm_or_si128, _mm_sll_epi32, _mm_srl_epi32, _mm_shuffle_epi32; {
    #[inline(always)]
    fn load(token: Sse2, memory: impl Fn(usize) -> [u64; 2]) -> Self {
        let memory = memory(0);
        Self(proven!(_mm_set_epi64x(memory[1] as i64, memory[0] as i64)), token)
    }

    #[inline(always)]
    fn store(self, mut put: impl FnMut(usize, [u64; 2])) {
        let words = proven!({
            let high = _mm_unpackhi_epi64(self.0, self.0);
            [_mm_cvtsi128_si64(self.0) as u64, _mm_cvtsi128_si64(high) as u64]
        });
        put(0, words);
    }
}}

rows! {
    /// Rows of two states in a YMM register.
    RowsAvx2, Avx2, [__m256i; 2];
    _mm256_add_epi32, _mm256_xor_si256, _mm256_or_si256, _mm256_sll_epi32, _mm256_srl_epi32,
    _mm256_shuffle_epi32; {
    #[inline(always)]
    fn load(token: Avx2, memory: impl Fn(usize) -> [u64; 2]) -> Self {
        let low = RowSse2::load(token.into(), |_| memory(0));
        let high = RowSse2::load(token.into(), |_| memory(1));
        Self(proven!(_mm256_set_m128i(high.0, low.0)), token)
    }

    #[inline(always)]
    fn store(self, mut put: impl FnMut(usize, [u64; 2])) {
        let (low, high) =
            proven!((_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0)));
        RowSse2(low, self.1.into()).store(|_, words| put(0, words));
        RowSse2(high, self.1.into()).store(|_, words| put(1, words));
    }
}}

/// Generates a [`Row`] that rotates in one instruction (AVX-512VL) and otherwise equals another
/// one.
macro_rules! rotating {
    ($(#[$doc:meta])* $name:ident, $other:ident, $rotate:ident, $set:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name($other, Avx512);

        impl Row for $name {
            type Token = Avx512;
            const STATES: usize = $other::STATES;

            #[inline(always)]
            fn load(token: Avx512, memory: impl Fn(usize) -> [u64; 2]) -> Self {
                Self($other::load(token.into(), memory), token)
            }

            #[inline(always)]
            fn store(self, put: impl FnMut(usize, [u64; 2])) {
                self.0.store(put);
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(self.0.add(other.0), self.1)
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Self(self.0.xor(other.0), self.1)
            }

            #[inline(always)]
            fn rotate_left<const BITS: u32>(mut self) -> Self {
                self.0.0 = proven!($rotate(self.0.0, $set(BITS as i32)));
                self
            }

            #[inline(always)]
            fn lanes_left_1(self) -> Self {
                Self(self.0.lanes_left_1(), self.1)
            }

            #[inline(always)]
            fn lanes_left_2(self) -> Self {
                Self(self.0.lanes_left_2(), self.1)
            }

            #[inline(always)]
            fn lanes_left_3(self) -> Self {
                Self(self.0.lanes_left_3(), self.1)
            }
        }
    };
}

rotating! {
    /// A [`RowSse2`] that rotates in one instruction.
    RowAvx512, RowSse2, _mm_rolv_epi32, _mm_set1_epi32
}

rotating! {
    /// A [`RowsAvx2`] that rotates in one instruction.
    RowsAvx512, RowsAvx2, _mm256_rolv_epi32, _mm256_set1_epi32
}
