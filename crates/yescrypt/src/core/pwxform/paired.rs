//! Two groups of 128 bits in one 256-bit register, for the default flavour: half as many
//! multiplications and additions, but offsets must be moved out of the upper half, and entries into
//! it.
//!
//! This form was meant to make AVX2 useful here. It is kept as a kernel that can be selected
//! explicitly, so that any processor can be measured; docs/seeds.md has results.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm_load_si128, _mm256_blend_epi32, _mm256_broadcastsi128_si256,
    _mm256_castsi128_si256, _mm256_extracti128_si256,
};

use saltern_simd::Wide;
use saltern_simd::x86::{Avx2, Wide256};

use super::Lane;

/// Two neighbouring groups of two lanes each.
#[derive(Clone, Copy)]
pub(crate) struct Paired(Wide256);

impl Wide for Paired {
    type Token = Avx2;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn load(token: Avx2, memory: *const u64) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { Wide256::load(token, memory) })
    }

    #[inline(always)]
    unsafe fn store(self, memory: *mut u64) {
        // SAFETY: promised by the caller.
        unsafe { self.0.store(memory) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.add(other.0))
    }

    #[inline(always)]
    fn multiply_halves(self) -> Self {
        Self(self.0.multiply_halves())
    }

    #[inline(always)]
    fn first(self) -> u64 {
        self.0.first()
    }
}

impl Paired {
    /// The first lane of the second group.
    #[inline(always)]
    fn second_first(self) -> u64 {
        // SAFETY: a value proves AVX2.
        unsafe { _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(self.0.register())) as u64 }
    }
}

/// The entry at one offset in the lower half, the entry at another in the upper half.
///
/// # Safety
/// The processor has AVX2, and an entry of 16 bytes can be loaded at each offset behind `table`.
#[inline(always)]
unsafe fn entries(table: *const u64, low: u32, high: u32) -> __m256i {
    // SAFETY: promised by the caller.
    let (low, high) = unsafe {
        (
            _mm_load_si128(table.byte_add(low as usize).cast()),
            _mm_load_si128(table.byte_add(high as usize).cast()),
        )
    };
    // SAFETY: promised by the caller.
    unsafe {
        let both = _mm256_broadcastsi128_si256(high);
        _mm256_blend_epi32::<0x0f>(both, _mm256_castsi128_si256(low))
    }
}

impl Lane for Paired {
    #[inline(always)]
    unsafe fn round(self, _: Avx2, mask: u64, s0: *const u64, s1: *const u64) -> Self {
        let (low, high) = (self.first() & mask, self.second_first() & mask);
        // SAFETY: the token proves AVX2; masked offsets are those of entries, as the caller
        // promises.
        let (from_s0, from_s1) = unsafe {
            (
                entries(s0, low as u32, high as u32),
                entries(s1, (low >> 32) as u32, (high >> 32) as u32),
            )
        };
        let entries = |s| Self(self.0.with_register(s));
        let (s0, s1) = (entries(from_s0), entries(from_s1));
        self.multiply_halves().add(s0).xor(s1)
    }
}
