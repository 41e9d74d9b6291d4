//! Per level, the kernels as entry points compiled for its features, and one table. No logic.
#![allow(
    unsafe_code,
    reason = "functions with target features may only be called where the processor has them"
)]

use saltern_simd::Level;

use crate::compress::{self, Group, Inputs, Run};
use crate::variant::{Blake2b, Blake2s, State, Variant};

type One<V> = unsafe fn(&mut State<V>, &Run<'_, V>);
type Many<V> = unsafe fn(&mut Group<V>, &Inputs<'_>, usize);

/// What a level offers. A value is a proof that the processor has the level: see [`blake2b`] and [`blake2s`].
#[doc(hidden)]
pub struct Kernels<V: Variant> {
    pub(crate) level: Level,
    one: One<V>,
    /// Kernels for many states with their numbers of lanes, widest first. Empty where one at a time is best.
    many: &'static [(usize, Many<V>)],
}

impl<V: Variant> Kernels<V> {
    /// The most lanes of any kernel; 1 where there is none for many states.
    pub(crate) fn widest(&self) -> usize {
        self.many.first().map_or(1, |&(lanes, _)| lanes)
    }

    /// The lanes of the narrowest kernel that has at least `states` of them.
    pub(crate) fn width_for(&self, states: usize) -> usize {
        self.many
            .iter()
            .map(|&(lanes, _)| lanes)
            .filter(|&lanes| lanes >= states)
            .last()
            .unwrap_or(1)
    }

    /// Compresses a run into a state.
    #[inline]
    pub(crate) fn one(&self, h: &mut State<V>, run: &Run<'_, V>) {
        // SAFETY: the tables below are only handed out where the processor has their level.
        unsafe { (self.one)(h, run) }
    }

    /// As [`compress::many`] with the kernel of exactly `lanes` lanes, without its condition on counters.
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

    fn one<V: Variant>(h: &mut State<V>, run: &Run<'_, V>) {
        compress::one::<V, [V::Word; 4]>((), h, run);
    }

    pub(super) static BLAKE2B: Kernels<Blake2b> =
        Kernels { level: Level::Portable, one: one::<Blake2b>, many: &[] };
    pub(super) static BLAKE2S: Kernels<Blake2s> =
        Kernels { level: Level::Portable, one: one::<Blake2s>, many: &[] };
}

/// BLAKE2b's kernels of a level, or of a smaller one where the processor lacks it.
pub(crate) fn blake2b(_level: Level) -> &'static Kernels<Blake2b> {
    &portable::BLAKE2B
}

/// BLAKE2s's kernels of a level, or of a smaller one where the processor lacks it.
pub(crate) fn blake2s(_level: Level) -> &'static Kernels<Blake2s> {
    &portable::BLAKE2S
}
