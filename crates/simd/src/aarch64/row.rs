//! [`Row`] in a NEON register.

use core::arch::aarch64::{
    uint32x4_t, vaddq_u32, vcombine_u64, vcreate_u64, vdupq_n_s32, veorq_u32, vextq_u32,
    vgetq_lane_u64, vorrq_u32, vreinterpretq_u32_u64, vreinterpretq_u64_u32, vshlq_u32,
};

use super::Neon;
use crate::row::Row;

/// A [`Row`] in a NEON register.
#[derive(Clone, Copy, Debug)]
pub struct RowNeon(uint32x4_t);

#[allow(unsafe_code, reason = "NEON intrinsics; NEON is part of aarch64")]
impl Row for RowNeon {
    type Token = Neon;
    const STATES: usize = 1;

    #[inline(always)]
    fn load(_: Neon, memory: impl Fn(usize) -> [u64; 2]) -> Self {
        let memory = memory(0);
        // SAFETY: NEON is part of aarch64.
        Self(unsafe {
            vreinterpretq_u32_u64(vcombine_u64(vcreate_u64(memory[0]), vcreate_u64(memory[1])))
        })
    }

    #[inline(always)]
    fn store(self, mut put: impl FnMut(usize, [u64; 2])) {
        // SAFETY: NEON is part of aarch64.
        let words = unsafe {
            let lanes = vreinterpretq_u64_u32(self.0);
            [vgetq_lane_u64::<0>(lanes), vgetq_lane_u64::<1>(lanes)]
        };
        put(0, words);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: NEON is part of aarch64.
        Self(unsafe { vaddq_u32(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: NEON is part of aarch64.
        Self(unsafe { veorq_u32(self.0, other.0) })
    }

    #[inline(always)]
    fn rotate_left<const BITS: u32>(self) -> Self {
        // SAFETY: NEON is part of aarch64. A negative shift count shifts right.
        Self(unsafe {
            let up = vshlq_u32(self.0, vdupq_n_s32(BITS as i32));
            vorrq_u32(up, vshlq_u32(self.0, vdupq_n_s32(BITS as i32 - 32)))
        })
    }

    #[inline(always)]
    fn lanes_left_1(self) -> Self {
        // SAFETY: NEON is part of aarch64.
        Self(unsafe { vextq_u32::<1>(self.0, self.0) })
    }

    #[inline(always)]
    fn lanes_left_2(self) -> Self {
        // SAFETY: NEON is part of aarch64.
        Self(unsafe { vextq_u32::<2>(self.0, self.0) })
    }

    #[inline(always)]
    fn lanes_left_3(self) -> Self {
        // SAFETY: NEON is part of aarch64.
        Self(unsafe { vextq_u32::<3>(self.0, self.0) })
    }
}
