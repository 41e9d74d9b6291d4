//! The inner loop as entry points compiled for each level's features. No logic.
#![allow(
    unsafe_code,
    reason = "functions with target features may only be called where the processor has them"
)]

use saltern_yescrypt::hazmat::Level;

use super::hash::State;
use super::mix::{self, Blocks, Cost};
use super::params::Params;

type Kernel = unsafe fn(&mut State, &mut Blocks<'_>, Cost) -> u32;

/// A kernel and what it is to do. A value is a proof that the processor has the kernel's level.
#[derive(Debug)]
pub(super) struct Mixer {
    kernel: Kernel,
    cost: Cost,
}

impl Mixer {
    /// The kernel of a level for rows of 1, 2, 4, 8 or 16 words.
    pub(super) fn new(level: Level, params: &Params) -> Self {
        let kernel = native::kernel(level, params.lanes);
        let kernel = kernel.unwrap_or_else(|| portable(params.lanes));
        let cost = Cost { repetitions: 1 << params.time_cost, multiplies: params.multiplies };
        Self { kernel, cost }
    }

    #[inline]
    pub(super) fn mix(&self, state: &mut State, blocks: &mut Blocks<'_>) -> u32 {
        // SAFETY: a kernel is only handed out where the processor has its level.
        unsafe { (self.kernel)(state, blocks, self.cost) }
    }
}

/// Words one by one.
fn portable(lanes: u32) -> Kernel {
    match lanes {
        1 => |state, blocks, cost| mix::mix::<u32, 1>((), state, blocks, cost),
        2 => |state, blocks, cost| mix::mix::<u32, 2>((), state, blocks, cost),
        4 => |state, blocks, cost| mix::mix::<u32, 4>((), state, blocks, cost),
        8 => |state, blocks, cost| mix::mix::<u32, 8>((), state, blocks, cost),
        _ => |state, blocks, cost| mix::mix::<u32, 16>((), state, blocks, cost),
    }
}

/// Stamps the entry points of one level: the same body, compiled for the features.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! kernels {
    ($module:ident, $features:literal, $four:ty, $eight:ty, $by_eight:literal, $sixteen:ty, $by_sixteen:literal) => {
        mod $module {
            use super::*;

            #[target_feature(enable = $features)]
            fn four(state: &mut State, blocks: &mut Blocks<'_>, cost: Cost) -> u32 {
                mix::mix::<$four, 1>(<$four as Vector>::Token::here(), state, blocks, cost)
            }

            #[target_feature(enable = $features)]
            fn eight(state: &mut State, blocks: &mut Blocks<'_>, cost: Cost) -> u32 {
                mix::mix::<$eight, $by_eight>(
                    <$eight as Vector>::Token::here(),
                    state,
                    blocks,
                    cost,
                )
            }

            #[target_feature(enable = $features)]
            fn sixteen(state: &mut State, blocks: &mut Blocks<'_>, cost: Cost) -> u32 {
                let token = <$sixteen as Vector>::Token::here();
                mix::mix::<$sixteen, $by_sixteen>(token, state, blocks, cost)
            }

            pub(super) fn kernel(lanes: u32) -> Option<Kernel> {
                match lanes {
                    4 => Some(four),
                    8 => Some(eight),
                    16 => Some(sixteen),
                    _ => None,
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use saltern_simd::lanes::Vector;
    use saltern_simd::x86::avx2::U32x8;
    use saltern_simd::x86::avx512::U32x16;
    use saltern_simd::x86::sse41::U32x4;
    use saltern_simd::x86::{Avx2, Avx512, Sse41};

    kernels!(sse41, "ssse3,sse4.1", U32x4<Sse41>, U32x4<Sse41>, 2, U32x4<Sse41>, 4);
    kernels!(avx2, "avx2", U32x4<Sse41>, U32x8<Avx2>, 1, U32x8<Avx2>, 2);
    kernels!(
        avx512,
        "avx2,avx512f,avx512bw,avx512dq,avx512vl",
        U32x4<Avx512>,
        U32x8<Avx512>,
        1,
        U32x16<Avx512>,
        1
    );

    /// A level's kernel for rows of so many words, where it has one.
    pub(super) fn kernel(level: Level, lanes: u32) -> Option<Kernel> {
        match level {
            Level::Sse41 => Sse41::detect().and_then(|_| sse41::kernel(lanes)),
            Level::Avx2 => Avx2::detect().and_then(|_| avx2::kernel(lanes)),
            Level::Avx512 => Avx512::detect().and_then(|_| avx512::kernel(lanes)),
            Level::Portable | Level::Sse2 | Level::Neon => None,
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::*;
    use saltern_simd::aarch64::Neon;
    use saltern_simd::aarch64::neon::U32x4;
    use saltern_simd::lanes::Vector;

    kernels!(neon, "neon", U32x4, U32x4, 2, U32x4, 4);

    /// A level's kernel for rows of so many words, where it has one.
    pub(super) fn kernel(level: Level, lanes: u32) -> Option<Kernel> {
        match level {
            Level::Neon => Neon::detect().and_then(|_| neon::kernel(lanes)),
            Level::Portable | Level::Sse2 | Level::Sse41 | Level::Avx2 | Level::Avx512 => None,
        }
    }
}

/// Where there are no vectors that this workspace knows.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod scalar {
    use super::*;

    pub(super) fn kernel(_: Level, _: u32) -> Option<Kernel> {
        None
    }
}

#[cfg(target_arch = "aarch64")]
use aarch64 as native;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use scalar as native;
#[cfg(target_arch = "x86_64")]
use x86 as native;
