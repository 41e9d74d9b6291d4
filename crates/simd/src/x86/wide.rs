//! [`Wide`] in XMM, YMM and ZMM registers.
#![allow(unsafe_code, reason = "vector loads and stores, and intrinsics above the baseline")]

use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi64, _mm_cvtsi128_si64, _mm_load_si128, _mm_mul_epu32,
    _mm_shuffle_epi32, _mm_store_si128, _mm_xor_si128, _mm256_add_epi64, _mm256_castsi256_si128,
    _mm256_load_si256, _mm256_mul_epu32, _mm256_srli_epi64, _mm256_store_si256, _mm256_xor_si256,
    _mm512_add_epi64, _mm512_castsi512_si128, _mm512_load_si512, _mm512_mul_epu32,
    _mm512_srli_epi64, _mm512_store_si512, _mm512_xor_si512,
};

use super::{Avx2, Avx512, Sse2};
use crate::wide::Wide;

/// Two lanes in an XMM register.
#[derive(Clone, Copy, Debug)]
pub struct Wide128(__m128i);

impl Wide for Wide128 {
    type Token = Sse2;
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(_: Sse2, memory: *const u64) -> Self {
        // SAFETY: the caller promises 16 readable, aligned bytes.
        Self(unsafe { _mm_load_si128(memory.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, memory: *mut u64) {
        // SAFETY: the caller promises 16 writable, aligned bytes.
        unsafe { _mm_store_si128(memory.cast(), self.0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_xor_si128(self.0, other.0) })
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn multiply_halves(self) -> Self {
        // The shuffle leaves its source alone, which saves a move where a shift would need one.
        // SAFETY: SSE2 is part of x86-64.
        Self(unsafe { _mm_mul_epu32(_mm_shuffle_epi32::<0b11_11_01_01>(self.0), self.0) })
    }

    #[inline(always)]
    fn first(self) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_cvtsi128_si64(self.0) as u64 }
    }
}

impl Wide128 {
    /// The register, for a few instructions written by hand.
    #[inline(always)]
    #[must_use]
    pub fn register(self) -> __m128i {
        self.0
    }

    /// The inverse of [`Wide128::register`].
    #[inline(always)]
    #[must_use]
    pub fn from_register(register: __m128i) -> Self {
        Self(register)
    }
}

/// Four lanes in a YMM register.
#[derive(Clone, Copy, Debug)]
pub struct Wide256(__m256i);

impl Wide for Wide256 {
    type Token = Avx2;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn load(_: Avx2, memory: *const u64) -> Self {
        // SAFETY: the caller promises 32 readable, aligned bytes; the token proves AVX.
        Self(unsafe { _mm256_load_si256(memory.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, memory: *mut u64) {
        // SAFETY: the caller promises 32 writable, aligned bytes; only a token makes a value.
        unsafe { _mm256_store_si256(memory.cast(), self.0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: only a token of AVX2 makes a value.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: only a token of AVX2 makes a value.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn multiply_halves(self) -> Self {
        // SAFETY: only a token of AVX2 makes a value.
        Self(unsafe { _mm256_mul_epu32(_mm256_srli_epi64::<32>(self.0), self.0) })
    }

    #[inline(always)]
    fn first(self) -> u64 {
        // SAFETY: only a token of AVX2 makes a value.
        unsafe { _mm_cvtsi128_si64(_mm256_castsi256_si128(self.0)) as u64 }
    }
}

impl Wide256 {
    /// The register, for a few instructions written by hand.
    #[inline(always)]
    #[must_use]
    pub fn register(self) -> __m256i {
        self.0
    }

    /// The inverse of [`Wide256::register`].
    #[inline(always)]
    #[must_use]
    pub fn from_register(_: Avx2, register: __m256i) -> Self {
        Self(register)
    }
}

/// Eight lanes in a ZMM register.
#[derive(Clone, Copy, Debug)]
pub struct Wide512(__m512i);

impl Wide for Wide512 {
    type Token = Avx512;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn load(_: Avx512, memory: *const u64) -> Self {
        // SAFETY: the caller promises 64 readable, aligned bytes; the token proves AVX-512F.
        Self(unsafe { _mm512_load_si512(memory.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, memory: *mut u64) {
        // SAFETY: the caller promises 64 writable, aligned bytes; only a token makes a value.
        unsafe { _mm512_store_si512(memory.cast(), self.0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: only a token of AVX-512F makes a value.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: only a token of AVX-512F makes a value.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn multiply_halves(self) -> Self {
        // SAFETY: only a token of AVX-512F makes a value.
        Self(unsafe { _mm512_mul_epu32(_mm512_srli_epi64::<32>(self.0), self.0) })
    }

    #[inline(always)]
    fn first(self) -> u64 {
        // SAFETY: only a token of AVX-512F makes a value.
        unsafe { _mm_cvtsi128_si64(_mm512_castsi512_si128(self.0)) as u64 }
    }
}
