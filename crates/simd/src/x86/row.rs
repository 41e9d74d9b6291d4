//! [`Row`] in an XMM register.
#![allow(unsafe_code, reason = "intrinsics; a token proves that the processor has them")]

use core::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_cvtsi32_si128, _mm_cvtsi128_si64, _mm_or_si128, _mm_rolv_epi32,
    _mm_set_epi64x, _mm_set1_epi32, _mm_shuffle_epi32, _mm_sll_epi32, _mm_srl_epi32,
    _mm_unpackhi_epi64, _mm_xor_si128,
};

use super::{Avx512, Sse2};
use crate::row::Row;

/// A [`Row`] with nothing but SSE2: a rotation is two shifts and an OR.
#[derive(Clone, Copy, Debug)]
pub struct RowSse2(__m128i);

impl Row for RowSse2 {
    type Token = Sse2;

    #[inline(always)]
    fn load(_: Sse2, memory: &[u64; 2]) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_set_epi64x(memory[1] as i64, memory[0] as i64) })
    }

    #[inline(always)]
    fn store(self, memory: &mut [u64; 2]) {
        // SAFETY: SSE2 is part of x86-64.
        *memory = unsafe {
            let high = _mm_unpackhi_epi64(self.0, self.0);
            [_mm_cvtsi128_si64(self.0) as u64, _mm_cvtsi128_si64(high) as u64]
        };
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_xor_si128(self.0, other.0) })
    }

    #[inline(always)]
    fn rotate_left<const BITS: u32>(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe {
            let up = _mm_sll_epi32(self.0, _mm_cvtsi32_si128(BITS as i32));
            let down = _mm_srl_epi32(self.0, _mm_cvtsi32_si128(32 - BITS as i32));
            _mm_or_si128(up, down)
        })
    }

    #[inline(always)]
    fn lanes_left_1(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_shuffle_epi32::<0b00_11_10_01>(self.0) })
    }

    #[inline(always)]
    fn lanes_left_2(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_shuffle_epi32::<0b01_00_11_10>(self.0) })
    }

    #[inline(always)]
    fn lanes_left_3(self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_shuffle_epi32::<0b10_01_00_11>(self.0) })
    }
}

/// A [`Row`] that rotates in one instruction (AVX-512VL).
#[derive(Clone, Copy, Debug)]
pub struct RowAvx512(RowSse2, Avx512);

impl Row for RowAvx512 {
    type Token = Avx512;

    #[inline(always)]
    fn load(token: Avx512, memory: &[u64; 2]) -> Self {
        Self(RowSse2::load(token.into(), memory), token)
    }

    #[inline(always)]
    fn store(self, memory: &mut [u64; 2]) {
        self.0.store(memory);
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
    fn rotate_left<const BITS: u32>(self) -> Self {
        // SAFETY: the token in the value proves AVX-512VL.
        let rotated = unsafe { _mm_rolv_epi32(self.0.0, _mm_set1_epi32(BITS as i32)) };
        Self(RowSse2(rotated), self.1)
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
