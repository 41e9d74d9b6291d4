//! [`Wide`] in a NEON register.
#![allow(unsafe_code, reason = "NEON intrinsics; NEON is part of aarch64")]

use core::arch::aarch64::{
    uint64x2_t, vaddq_u64, veorq_u64, vgetq_lane_u64, vld1q_u64, vmovn_u64, vmull_u32, vshrn_n_u64,
    vst1q_u64,
};

use super::Neon;
use crate::wide::Wide;

/// Two lanes in a NEON register.
#[derive(Clone, Copy, Debug)]
pub struct WideNeon(uint64x2_t);

impl Wide for WideNeon {
    type Token = Neon;
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(_: Neon, memory: *const u64) -> Self {
        // SAFETY: the caller promises two readable lanes.
        Self(unsafe { vld1q_u64(memory) })
    }

    #[inline(always)]
    unsafe fn store(self, memory: *mut u64) {
        // SAFETY: the caller promises two writable lanes.
        unsafe { vst1q_u64(memory, self.0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(neon!(veorq_u64(self.0, other.0)))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(neon!(vaddq_u64(self.0, other.0)))
    }

    #[inline(always)]
    fn multiply_halves(self) -> Self {
        Self(neon!(vmull_u32(vshrn_n_u64::<32>(self.0), vmovn_u64(self.0))))
    }

    #[inline(always)]
    fn first(self) -> u64 {
        neon!(vgetq_lane_u64::<0>(self.0))
    }
}
