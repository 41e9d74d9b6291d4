//! [`Wide`] in XMM, YMM and ZMM registers.
#![allow(unsafe_code, reason = "vector loads and stores, and intrinsics above the baseline")]

use core::arch::x86_64::*;

use super::{Avx2, Avx512, Sse2};
use crate::wide::Wide;

/// Generates a [`Wide`] whose operations are one intrinsic each. Only a token makes a value: each
/// token proves the instructions of its level. In order: the token; register, and how many lanes it
/// has; load, store, exclusive or, addition; the product of halves; the first lane.
macro_rules! wide {
    (
        $(#[$doc:meta])*
        $name:ident, $token:ty, $register:ty = [u64; $lanes:literal];
        $load:ident, $store:ident, $xor:ident, $add:ident, |$v:ident| $multiply:expr, $first:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name($register);

        impl Wide for $name {
            type Token = $token;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(_: $token, memory: *const u64) -> Self {
                // SAFETY: the caller promises as many readable, aligned lanes; there is a token.
                Self(unsafe { $load(memory.cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, memory: *mut u64) {
                // SAFETY: the caller promises as many writable, aligned lanes.
                unsafe { $store(memory.cast(), self.0) }
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Self(proven!($xor(self.0, other.0)))
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(proven!($add(self.0, other.0)))
            }

            #[inline(always)]
            fn multiply_halves(self) -> Self {
                let $v = self.0;
                Self(proven!($multiply))
            }

            #[inline(always)]
            fn first(self) -> u64 {
                let $v = self.0;
                proven!($first) as u64
            }
        }

        impl $name {
            /// The register, for a few hand-written instructions.
            #[inline(always)]
            #[must_use]
            pub fn register(self) -> $register {
                self.0
            }

            /// The lanes of this register; an existing value proves the instructions.
            #[inline(always)]
            #[must_use]
            pub fn with_register(self, register: $register) -> Self {
                Self(register)
            }
        }
    };
}

wide! {
    /// Two lanes in an XMM register.
    Wide128, Sse2, __m128i = [u64; 2];
    _mm_load_si128, _mm_store_si128, _mm_xor_si128, _mm_add_epi64,
    // The shuffle leaves its source alone, which saves a move where a shift would need one.
    |v| _mm_mul_epu32(_mm_shuffle_epi32::<0b11_11_01_01>(v), v), _mm_cvtsi128_si64(v)
}

wide! {
    /// Four lanes in a YMM register.
    Wide256, Avx2, __m256i = [u64; 4];
    _mm256_load_si256, _mm256_store_si256, _mm256_xor_si256, _mm256_add_epi64,
    |v| _mm256_mul_epu32(_mm256_srli_epi64::<32>(v), v),
    _mm_cvtsi128_si64(_mm256_castsi256_si128(v))
}

wide! {
    /// Eight lanes in a ZMM register.
    Wide512, Avx512, __m512i = [u64; 8];
    _mm512_load_si512, _mm512_store_si512, _mm512_xor_si512, _mm512_add_epi64,
    |v| _mm512_mul_epu32(_mm512_srli_epi64::<32>(v), v),
    _mm_cvtsi128_si64(_mm512_castsi512_si128(v))
}
