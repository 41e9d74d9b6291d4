//! The two loops over memory (sections 9 to 11), generic over the kernel and over `K` hashes advanced together.
//!
//! Everything here sees blocks as slices of `len` = 2r sub-blocks and knows nothing of what a kernel does inside. `V` of one hash
//! is one slice; block `i` is `V[i * len..][..len]`.

use crate::blockmix::{Blocks, BlocksMut, Boxes, Kernel};
use crate::memory::SubBlock;

/// A ROM as one computation sees it: a power of two of blocks.
#[derive(Clone, Copy)]
pub(crate) struct RomBlocks<'a>(pub(crate) &'a [SubBlock]);

impl<'a> RomBlocks<'a> {
    /// Block `x` mod NROM.
    #[inline]
    fn block(&self, x: u64, len: usize) -> &'a [SubBlock] {
        let count = (self.0.len() / len) as u64;
        block(self.0, (x & (count - 1)) as usize, len)
    }

    fn last(&self, len: usize) -> &'a [SubBlock] {
        &self.0[self.0.len() - len..]
    }
}

/// What both loops need beside memory.
pub(crate) struct Mixer<'a, const K: usize> {
    pub(crate) kernel: Kernel<K>,
    pub(crate) rom: Option<RomBlocks<'a>>,
    /// Random reads in the first loop, writes in the second.
    pub(crate) rw: bool,
}

impl<const K: usize> Mixer<'_, K> {
    /// SMix1: fills all of `v`, at least two blocks, from `x`; leaves the block after the last in `x`.
    ///
    /// The specification's X at step i is V_i, so each block is mixed from its place in `v` straight into the next.
    pub(crate) fn fill(&self, boxes: &mut Boxes<'_>, x: BlocksMut<'_, K>, v: BlocksMut<'_, K>) {
        let (mut x, mut v) = (x, v);
        let len = x[0].len();
        let n = v[0].len() / len;
        for (v, x) in v.iter_mut().zip(&x) {
            v[..len].copy_from_slice(x);
        }
        for i in 0..n {
            let parts = v.each_mut().map(|v| v.split_at_mut((i + 1) * len));
            let (done, next) = unzip(parts);
            let done = done.map(|done| &*done);
            let src = done.map(|done| block(done, i, len));
            let other = self.fill_reads(i, src, done);
            let dst = if i + 1 < n { next } else { x.each_mut().map(|x| &mut **x) };
            let dst = dst.map(|blocks| &mut blocks[..len]);
            self.kernel.mix(boxes, src, other, dst);
        }
    }

    /// Steps 4 to 6 of SMix1: which blocks are XORed in at step `i`, `x` being V_i and `done` everything up to it.
    #[inline]
    fn fill_reads<'a>(
        &'a self,
        i: usize,
        x: Blocks<'a, K>,
        done: Blocks<'a, K>,
    ) -> Option<Blocks<'a, K>> {
        let len = x[0].len();
        match self.rom {
            Some(rom) if i == 0 => Some([rom.last(len); K]),
            Some(rom) if i & 1 == 1 => Some(x.map(|x| rom.block(integerify(x), len))),
            _ if self.rw && i > 1 => {
                Some(core::array::from_fn(|k| block(done[k], wrap(integerify(x[k]), i), len)))
            }
            _ => None,
        }
    }

    /// SMix2 with writes: `loops` steps on the first `n` blocks of `v`, a power of two. `spare` is scratch of one block each.
    pub(crate) fn mix_rw(
        &self,
        boxes: &mut Boxes<'_>,
        [x, spare]: [BlocksMut<'_, K>; 2],
        v: BlocksMut<'_, K>,
        n: usize,
        loops: u64,
    ) {
        let (mut x, mut spare, mut v) = (x, spare, v);
        let len = x[0].len();
        for i in 0..loops {
            if let Some(rom) = self.rom_at(i) {
                let other = x.each_ref().map(|x| rom.block(integerify(x), len));
                self.kernel.step(boxes, &mut x, &mut spare, other);
            } else {
                let mut hashes = x.iter();
                let blocks = v.each_mut().map(|v| {
                    let j = hashes.next().map_or(0, |x| integerify(x));
                    &mut v[(j as usize & (n - 1)) * len..][..len]
                });
                self.kernel.step_save(boxes, &mut x, &mut spare, blocks);
            }
        }
    }

    /// SMix2 without writes, on all of `v`.
    pub(crate) fn mix_ro(
        &self,
        boxes: &mut Boxes<'_>,
        [x, spare]: [BlocksMut<'_, K>; 2],
        v: Blocks<'_, K>,
        loops: u64,
    ) {
        let (mut x, mut spare) = (x, spare);
        let len = x[0].len();
        let n = v[0].len() / len;
        for i in 0..loops {
            let other = core::array::from_fn(|k| match self.rom_at(i) {
                Some(rom) => rom.block(integerify(x[k]), len),
                None => block(v[k], integerify(x[k]) as usize & (n - 1), len),
            });
            self.kernel.step(boxes, &mut x, &mut spare, other);
        }
    }

    /// The ROM, if step `i` of the second loop reads it.
    #[inline]
    fn rom_at(&self, i: u64) -> Option<RomBlocks<'_>> {
        self.rom.filter(|_| i & 1 == 1)
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

/// An array of pairs as a pair of arrays.
#[inline]
fn unzip<'a, const K: usize>(
    pairs: [(&'a mut [SubBlock], &'a mut [SubBlock]); K],
) -> (BlocksMut<'a, K>, BlocksMut<'a, K>) {
    let mut second = [const { None }; K];
    let mut k = 0;
    let first = pairs.map(|(a, b)| {
        second[k] = Some(b);
        k += 1;
        a
    });
    (first, second.map(Option::unwrap_or_default))
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
