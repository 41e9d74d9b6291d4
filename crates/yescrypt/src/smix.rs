//! The two loops over memory (sections 9 to 11), for a group of instances that advance together.
//!
//! Everything here sees blocks as slices of `len` = 2r sub-blocks and knows nothing of what a kernel does inside. V of one
//! instance is one slice; block `i` is `V[i * len..][..len]`. Slices of slices have one entry for each lane of the group.

use crate::blockmix::{Boxes, Io, Kernel, MAX_LANES};
use crate::memory::SubBlock;
use crate::rom_use::Schedule;

/// Blocks or memories of a group's instances, empty ones behind the last.
pub(crate) type Lanes<'a> = [&'a mut [SubBlock]; MAX_LANES];

/// The same blocks for a shorter time.
pub(crate) fn reborrow<'a>(blocks: &'a mut [&mut [SubBlock]]) -> Lanes<'a> {
    let mut blocks = blocks.iter_mut();
    core::array::from_fn(|_| blocks.next().map_or(Default::default(), |block| &mut **block))
}

/// `memory` cut into pieces of `len`.
pub(crate) fn split(memory: &mut [SubBlock], len: usize) -> Lanes<'_> {
    let mut pieces = memory.chunks_exact_mut(len);
    core::array::from_fn(|_| pieces.next().unwrap_or_default())
}

/// What both loops need beside memory.
pub(crate) struct Mixer<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) roms: Schedule<'a>,
    /// Random reads in the first loop, writes in the second.
    pub(crate) rw: bool,
}

impl Mixer<'_> {
    /// SMix1: fills all of each `v`, at least two blocks, from `x`; leaves the block after the last in `x`.
    ///
    /// The specification's X at step i is V_i, so each block is mixed from its place in `v` straight into the next.
    pub(crate) fn fill(
        &self,
        boxes: &mut Boxes<'_>,
        x: &mut [&mut [SubBlock]],
        v: &mut [&mut [SubBlock]],
    ) {
        let n = v[0].len() / x[0].len();
        Self::begin_fill(x, v);
        self.fill_steps(boxes, x, v, 0..n);
    }

    /// What comes before the first step of SMix1.
    pub(crate) fn begin_fill(x: &[&mut [SubBlock]], v: &mut [&mut [SubBlock]]) {
        for (v, x) in v.iter_mut().zip(x) {
            v[..x.len()].copy_from_slice(x);
        }
    }

    /// Some steps of SMix1, those before them having been done. All that they depend on is in `v`.
    pub(crate) fn fill_steps(
        &self,
        boxes: &mut Boxes<'_>,
        x: &mut [&mut [SubBlock]],
        v: &mut [&mut [SubBlock]],
        steps: core::ops::Range<usize>,
    ) {
        let (lanes, len) = (x.len(), x[0].len());
        let n = v[0].len() / len;
        for i in steps {
            let mut io = [Io::NONE; MAX_LANES];
            for ((io, x), v) in io.iter_mut().zip(&mut *x).zip(&mut *v) {
                let (done, next) = v.split_at_mut((i + 1) * len);
                let src = &done[i * len..];
                let dst = if i + 1 < n { &mut next[..len] } else { &mut **x };
                *io = Io::mix(src, self.fill_reads(i, src, done), dst);
            }
            self.kernel.run(boxes, &io[..lanes]);
        }
    }

    /// Steps 4 to 6 of SMix1: which block is XORed in at step `i`, `x` being V_i and `done` everything up to it.
    #[inline]
    fn fill_reads<'b>(
        &'b self,
        i: usize,
        x: &[SubBlock],
        done: &'b [SubBlock],
    ) -> Option<&'b [SubBlock]> {
        let len = x.len();
        let rom = self.roms.fill_block(i as u64, || integerify(x), len);
        let own = || block(done, wrap(integerify(x), i), len);
        rom.or_else(|| (self.rw && i > 1).then(own))
    }

    /// SMix2 with writes: `loops` steps (an even number) on the first `n` blocks of each `v`, a power of two. `spare` is scratch of one block each.
    pub(crate) fn mix_rw(
        &self,
        boxes: &mut Boxes<'_>,
        (x, spare): (&mut [&mut [SubBlock]], &mut [&mut [SubBlock]]),
        v: &mut [&mut [SubBlock]],
        n: usize,
        loops: u64,
    ) {
        let (lanes, len) = (x.len(), x[0].len());
        let (mut x, mut spare) = (reborrow(x), reborrow(spare));
        for i in 0..loops {
            let rom = self.roms.mix_rom(i);
            let mut io = [Io::NONE; MAX_LANES];
            let each = x.iter_mut().zip(&mut spare).zip(&mut *v);
            for (io, ((x, spare), v)) in io.iter_mut().zip(each) {
                let j = integerify(x);
                *io = match rom {
                    Some(rom) => Io::step(&self.kernel, x, spare, rom.block(j, len)),
                    None => {
                        let v = &mut v[(j as usize & (n - 1)) * len..][..len];
                        Io::step_save(&self.kernel, x, spare, v)
                    }
                };
            }
            self.kernel.run(boxes, &io[..lanes]);
            self.settle(&mut x, &mut spare);
        }
    }

    /// SMix2 without writes: `loops` steps (an even number) on all of each `v`.
    pub(crate) fn mix_ro(
        &self,
        boxes: &mut Boxes<'_>,
        (x, spare): (&mut [&mut [SubBlock]], &mut [&mut [SubBlock]]),
        v: &[&[SubBlock]],
        loops: u64,
    ) {
        let (lanes, len) = (x.len(), x[0].len());
        let n = v[0].len() / len;
        let (mut x, mut spare) = (reborrow(x), reborrow(spare));
        for i in 0..loops {
            let rom = self.roms.mix_rom(i);
            let mut io = [Io::NONE; MAX_LANES];
            let each = x.iter_mut().zip(&mut spare).zip(v);
            for (io, ((x, spare), v)) in io.iter_mut().zip(each) {
                let j = integerify(x);
                let other = match rom {
                    Some(rom) => rom.block(j, len),
                    None => block(v, j as usize & (n - 1), len),
                };
                *io = Io::step(&self.kernel, x, spare, other);
            }
            self.kernel.run(boxes, &io[..lanes]);
            self.settle(&mut x, &mut spare);
        }
    }

    /// Where the kernel wrote to `spare`, that is the new `x`. After an even number of steps both are where they were.
    #[inline]
    fn settle<'b>(&self, x: &mut Lanes<'b>, spare: &mut Lanes<'b>) {
        if !self.kernel.in_place {
            core::mem::swap(x, spare);
        }
    }
}

/// Block `i` of `v`.
#[inline]
fn block(v: &[SubBlock], i: usize, len: usize) -> &[SubBlock] {
    &v[i * len..][..len]
}

/// Section 9: the first eight bytes, in natural order, of the last sub-block.
#[inline]
fn integerify(x: &[SubBlock]) -> u64 {
    x.last().map_or(0, |last| (last.0[0] & 0xffff_ffff) | (last.0[6] >> 32 << 32))
}

/// Section 9: `x` reduced to one of the last p2floor(i) blocks before block `i`, which is at least 1.
#[inline]
fn wrap(x: u64, i: usize) -> usize {
    let n = p2floor(i);
    (x as usize & (n - 1)) + (i - n)
}

/// The largest power of two up to `x`, which is at least 1.
pub(crate) fn p2floor(x: usize) -> usize {
    1 << x.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrap_stays_behind_and_reaches_everything() {
        for i in 1..100 {
            let n = p2floor(i);
            assert!(n <= i && 2 * n > i);
            let reached: Vec<usize> = (0..n as u64).map(|x| wrap(x, i)).collect();
            assert_eq!(reached, (i - n..i).collect::<Vec<_>>());
            assert_eq!(wrap(u64::MAX, i), i - 1);
        }
    }
}
