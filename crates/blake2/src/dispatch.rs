//! For each level, the kernels as entry points compiled for its features, and one table. No logic.
#![allow(
    unsafe_code,
    reason = "functions with target features may only be called where the processor has them"
)]

#[cfg(test)]
use alloc::{vec, vec::Vec};

use core::hint::black_box;
use core::mem::MaybeUninit;

use saltern_simd::Level;

use crate::batch::{self, Batch};
use crate::compress::{self, Group, Inputs, Run};
use crate::function::{Blake2b, Blake2s, Block, Function, State};
use crate::whole;

type One<V> = unsafe fn(&mut State<V>, &Run<'_, V>);
type Many<V> = unsafe fn(&mut Group<V>, &Inputs<'_>, usize);
type BatchOf<V> = unsafe fn(&mut Batch<'_, V>);
type Message<V> = unsafe fn(&mut State<V>, bool, &[u8]);
type Tree<V> = unsafe fn(&mut [State<V>; 2], &[u8]);

/// The kernels of a level. A value proves that the processor has the level: see [`blake2b`] and
/// [`blake2s`].
#[doc(hidden)]
pub struct Kernels<V: Function> {
    pub(crate) level: Level,
    one: One<V>,
    /// Kernels for many states with their numbers of lanes, widest first. Empty if one at a time is
    /// best.
    many: &'static [(usize, Many<V>)],
    /// The kernel for batches, with as many lanes as the widest of those.
    batch: Option<BatchOf<V>>,
    message: Message<V>,
    /// The kernel for trees, if one has as many lanes as a tree has leaves.
    tree: Option<Tree<V>>,
}

impl<V: Function> Kernels<V> {
    /// The most lanes of any kernel; 1 if there is none for many states.
    pub(crate) fn widest(&self) -> usize {
        self.many.first().map_or(1, |&(lanes, _)| lanes)
    }

    /// The lanes of the narrowest kernel that has at least `states` of them.
    pub(crate) fn width_for(&self, states: usize) -> usize {
        let mut lanes = self.many.iter().rev().map(|&(lanes, _)| lanes);
        lanes.find(|&lanes| lanes >= states).unwrap_or(1)
    }

    /// Compresses a run into a state.
    #[inline]
    pub(crate) fn one(&self, h: &mut State<V>, run: &Run<'_, V>) {
        // SAFETY: the tables below are only handed out where the processor has their level.
        unsafe { (self.one)(h, run) }
    }

    /// Compresses whole blocks that are not the last; returns the count after them.
    pub(crate) fn absorb(&self, h: &mut State<V>, count: u128, input: &[u8]) -> u128 {
        let run = Run {
            input,
            stride: V::BLOCK_BYTES,
            blocks: input.len() / V::BLOCK_BYTES,
            count: count.wrapping_add(V::BLOCK_BYTES as u128),
            flags: [V::Word::default(); 2],
        };
        if run.blocks > 0 {
            self.one(h, &run);
        }
        count.wrapping_add(input.len() as u128)
    }

    /// Compresses the last block; `count` includes it, without padding.
    pub(crate) fn finish(&self, h: &mut State<V>, count: u128, block: &Block<V>, last_node: bool) {
        let flags = [V::ALL_ONES, if last_node { V::ALL_ONES } else { V::Word::default() }];
        let stride = V::BLOCK_BYTES;
        self.one(h, &Run { input: block.as_ref(), stride, blocks: 1, count, flags });
    }

    /// Brings an initial value to the final state for a whole message.
    #[inline]
    pub(crate) fn message(&self, h: &mut State<V>, last_node: bool, input: &[u8]) {
        // SAFETY: the tables below are only handed out where the processor has their level.
        unsafe { (self.message)(h, last_node, input) }
    }

    /// The root's final state for the whole message of a parallel tree, from the initial values of
    /// its first leaf and of its root. `None` where no kernel has as many lanes as there are
    /// leaves.
    #[inline]
    pub(crate) fn tree(&self, mut states: [State<V>; 2], input: &[u8]) -> Option<State<V>> {
        let kernel = self.tree?;
        // SAFETY: the tables below are only handed out where the processor has their level.
        unsafe { kernel(&mut states, input) };
        Some(states[1])
    }

    /// [`batch::hash`] with the widest kernel. Does nothing where there is none for many states.
    #[inline]
    pub(crate) fn batch(&self, batch: &mut Batch<'_, V>) {
        if let Some(kernel) = self.batch {
            // SAFETY: the tables below are only handed out where the processor has their level.
            unsafe { kernel(batch) }
        }
    }

    /// As [`compress::many`] with the kernel of exactly `lanes` lanes, without its condition on
    /// counters.
    pub(crate) fn many(
        &self,
        lanes: usize,
        group: &mut Group<V>,
        mut inputs: Inputs<'_>,
        mut blocks: usize,
    ) {
        let Some(&(_, kernel)) = self.many.iter().find(|&&(width, _)| width == lanes) else {
            return;
        };
        loop {
            let now = blocks.min(group.room(lanes));
            // SAFETY: the tables below are only handed out where the processor has their level.
            unsafe { kernel(group, &inputs, now) };
            blocks -= now;
            if blocks == 0 {
                return;
            }
            group.advance_count(lanes, now);
            for lane in &mut inputs.lanes[..lanes] {
                *lane = &lane[now * inputs.stride..];
            }
        }
    }
}

/// Scalar code, one message at a time.
mod portable {
    use super::*;

    fn one<V: Function>(h: &mut State<V>, run: &Run<'_, V>) {
        compress::one::<V, [V::Word; 4]>((), h, run);
    }

    fn message<V: Function>(h: &mut State<V>, last_node: bool, input: &[u8]) {
        whole::message::<V, [V::Word; 4]>((), h, last_node, input);
    }

    const fn table<V: Function>() -> Kernels<V> {
        Kernels {
            level: Level::Portable,
            one: one::<V>,
            many: &[],
            batch: None,
            message: message::<V>,
            tree: None,
        }
    }

    pub(super) static BLAKE2B: Kernels<Blake2b> = table();
    pub(super) static BLAKE2S: Kernels<Blake2s> = table();
}

/// As much memory as the widest vector takes, with its alignment.
#[repr(align(64))]
struct Widest {
    _bytes: [u8; 64],
}

/// Makes the compiler align the stack of the function that this is inlined into. Otherwise spilled
/// vectors may span cache lines, depending on where the stack happens to be: trees and batches took
/// up to half as long again.
#[inline(always)]
fn align_stack() {
    black_box(&MaybeUninit::<Widest>::uninit());
}

/// Generates the entry points of one level and variant: the same bodies, compiled for the features.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! kernels {
    ($module:ident, $level:ident, $features:literal, $variant:ty, $row:ty,
     $most:ident: $widest:ty $(, $many:ident: $lanes:ty)* $(; $leaves:ty)?) => {
        mod $module {
            use super::*;

            #[target_feature(enable = $features)]
            fn one(h: &mut State<$variant>, run: &Run<'_, $variant>) {
                compress::one::<$variant, $row>(<$row as Vector>::Token::here(), h, run);
            }

            #[target_feature(enable = $features)]
            fn batch(batch: &mut Batch<'_, $variant>) {
                align_stack();
                let token = <$widest as Vector>::Token::here();
                batch::hash::<$variant, $widest>(token, batch);
            }

            #[target_feature(enable = $features)]
            fn message(h: &mut State<$variant>, last_node: bool, input: &[u8]) {
                let token = <$row as Vector>::Token::here();
                whole::message::<$variant, $row>(token, h, last_node, input);
            }

            kernels!(@many $features, $variant, $most: $widest $(, $many: $lanes)*);
            kernels!(@tree $features, $variant, $row $(, $leaves)?);

            pub(super) static KERNELS: Kernels<$variant> = Kernels {
                level: Level::$level,
                one,
                many: &[(<$widest>::COUNT, $most) $(, (<$lanes>::COUNT, $many))*],
                batch: Some(batch),
                message,
                tree: TREE,
            };
        }
    };
    (@tree $features:literal, $variant:ty, $row:ty, $leaves:ty) => {
        #[target_feature(enable = $features)]
        fn tree(states: &mut [State<$variant>; 2], input: &[u8]) {
            align_stack();
            let tokens = (<$leaves as Vector>::Token::here(), <$row as Vector>::Token::here());
            whole::tree::<$variant, $leaves, $row>(tokens, states, input);
        }

        const TREE: Option<Tree<$variant>> = Some(tree);
    };
    (@tree $features:literal, $variant:ty, $row:ty) => {
        const TREE: Option<Tree<$variant>> = None;
    };
    (@many $features:literal, $variant:ty, $($many:ident: $lanes:ty),+) => {
        $(
            #[target_feature(enable = $features)]
            fn $many(group: &mut Group<$variant>, inputs: &Inputs<'_>, blocks: usize) {
                align_stack();
                let token = <$lanes as Vector>::Token::here();
                compress::many::<$variant, $lanes>(token, group, inputs, blocks);
            }
        )+
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use saltern_simd::lanes::{Lanes, Vector};
    use saltern_simd::x86::avx2::{U32x8, U64x4};
    use saltern_simd::x86::avx512::{U32x16, U64x8};
    use saltern_simd::x86::sse41::{U32x4, U64x2, U64x2x2};
    use saltern_simd::x86::{Avx2, Avx512, Sse41, Zen4};

    kernels!(b_sse41, Sse41, "ssse3,sse4.1", Blake2b, U64x2x2, many_2: U64x2<Sse41>);
    kernels!(s_sse41, Sse41, "ssse3,sse4.1", Blake2s, U32x4<Sse41>, many_4: U32x4<Sse41>);
    kernels!(b_avx2, Avx2, "avx2", Blake2b, U64x4<Avx2>, many_4: U64x4<Avx2>; U64x4<Avx2>);
    kernels!(s_avx2, Avx2, "avx2", Blake2s, U32x4<Avx2>, many_8: U32x8<Avx2>; U32x8<Avx2>);
    kernels!(
        b_avx512, Avx512, "avx2,avx512f,avx512bw,avx512dq,avx512vl", Blake2b, U64x4<Avx512>,
        many_8: U64x8<Avx512>, many_4: U64x4<Avx512>; U64x4<Avx512>
    );
    kernels!(
        s_avx512, Avx512, "avx2,avx512f,avx512bw,avx512dq,avx512vl", Blake2s, U32x4<Avx512>,
        many_16: U32x16<Avx512>, many_8: U32x8<Avx512>; U32x8<Avx512>
    );
    kernels!(
        b_zen4, Avx512, "avx2,avx512f,avx512bw,avx512dq,avx512vl", Blake2b, U64x4<Zen4>,
        many_8: U64x8<Avx512>, many_4: U64x4<Avx512>; U64x4<Avx512>
    );
    kernels!(
        s_zen4, Avx512, "avx2,avx512f,avx512bw,avx512dq,avx512vl", Blake2s, U32x4<Zen4>,
        many_16: U32x16<Avx512>, many_8: U32x8<Avx512>; U32x8<Avx512>
    );

    /// The tables of levels that have more than one.
    #[cfg(test)]
    pub(super) fn hidden() -> (Vec<&'static Kernels<Blake2b>>, Vec<&'static Kernels<Blake2s>>) {
        match Avx512::detect() {
            Some(_) => {
                let b = [&b_avx512::KERNELS, &b_zen4::KERNELS];
                (b.to_vec(), vec![&s_avx512::KERNELS, &s_zen4::KERNELS])
            }
            None => (vec![], vec![]),
        }
    }

    /// The tables, each with a proof that it may be used.
    pub(super) fn blake2b(level: Level) -> Option<&'static Kernels<Blake2b>> {
        match level {
            Level::Sse41 => Sse41::detect().map(|_| &b_sse41::KERNELS),
            Level::Avx2 => Avx2::detect().map(|_| &b_avx2::KERNELS),
            Level::Avx512 if Zen4::detect().is_some() => Some(&b_zen4::KERNELS),
            Level::Avx512 => Avx512::detect().map(|_| &b_avx512::KERNELS),
            Level::Portable | Level::Sse2 | Level::Neon => None,
        }
    }

    pub(super) fn blake2s(level: Level) -> Option<&'static Kernels<Blake2s>> {
        match level {
            Level::Sse41 => Sse41::detect().map(|_| &s_sse41::KERNELS),
            Level::Avx2 => Avx2::detect().map(|_| &s_avx2::KERNELS),
            Level::Avx512 if Zen4::detect().is_some() => Some(&s_zen4::KERNELS),
            Level::Avx512 => Avx512::detect().map(|_| &s_avx512::KERNELS),
            Level::Portable | Level::Sse2 | Level::Neon => None,
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::*;
    use saltern_simd::aarch64::Neon;
    use saltern_simd::aarch64::neon::{U32x4, U64x2, U64x2x2};
    use saltern_simd::lanes::{Lanes, Vector};

    kernels!(b_neon, Neon, "neon", Blake2b, U64x2x2, many_2: U64x2);
    kernels!(s_neon, Neon, "neon", Blake2s, U32x4, many_4: U32x4);

    /// The tables of levels that have more than one.
    #[cfg(test)]
    pub(super) fn hidden() -> (Vec<&'static Kernels<Blake2b>>, Vec<&'static Kernels<Blake2s>>) {
        (vec![], vec![])
    }

    pub(super) fn blake2b(level: Level) -> Option<&'static Kernels<Blake2b>> {
        Neon::detect().filter(|_| level == Level::Neon).map(|_| &b_neon::KERNELS)
    }

    pub(super) fn blake2s(level: Level) -> Option<&'static Kernels<Blake2s>> {
        Neon::detect().filter(|_| level == Level::Neon).map(|_| &s_neon::KERNELS)
    }
}

/// For architectures without vectors that this crate supports.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod scalar {
    use super::*;

    #[cfg(test)]
    pub(super) fn hidden() -> (Vec<&'static Kernels<Blake2b>>, Vec<&'static Kernels<Blake2s>>) {
        (vec![], vec![])
    }

    pub(super) fn blake2b(_: Level) -> Option<&'static Kernels<Blake2b>> {
        None
    }

    pub(super) fn blake2s(_: Level) -> Option<&'static Kernels<Blake2s>> {
        None
    }
}

#[cfg(target_arch = "aarch64")]
use aarch64 as native;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use scalar as native;
#[cfg(target_arch = "x86_64")]
use x86 as native;

/// All tables that this processor can use, including those it would not choose.
#[cfg(test)]
pub(crate) fn every() -> (Vec<&'static Kernels<Blake2b>>, Vec<&'static Kernels<Blake2s>>) {
    let (mut b, mut s) = native::hidden();
    b.extend(Level::available().map(blake2b));
    s.extend(Level::available().map(blake2s));
    (b, s)
}

/// BLAKE2b's kernels of a level, or of the next one below it that has any and that the processor
/// can run.
pub(crate) fn blake2b(level: Level) -> &'static Kernels<Blake2b> {
    level.and_below().find_map(native::blake2b).unwrap_or(&portable::BLAKE2B)
}

/// BLAKE2s's kernels of a level, or of the next one below it that has any and that the processor
/// can run.
pub(crate) fn blake2s(level: Level) -> &'static Kernels<Blake2s> {
    level.and_below().find_map(native::blake2s).unwrap_or(&portable::BLAKE2S)
}
