//! What the loops see of a block mix: `K` blocks in, `K` blocks out, by a kernel chosen once.
#![allow(unsafe_code, reason = "the only callers of the kernels, which take pointers")]

use crate::memory::SubBlock;

/// The output is the mix of `src`.
pub(crate) const PLAIN: u8 = 0;
/// The output is the mix of `src ^ other`.
pub(crate) const XOR: u8 = 1;
/// The same, and `other` becomes `src ^ other`.
pub(crate) const SAVE: u8 = 2;

/// The blocks of one hash in one step.
///
/// A kernel may assume that all pointers that its step uses are valid for 2r sub-blocks: `src` for reading, `dst` for writing, `other` for
/// reading and, in step [`SAVE`], writing; that `other` overlaps neither of the two; and that `src` equals `dst` only for
/// kernels that work in place.
#[derive(Clone, Copy)]
pub(crate) struct Io {
    pub(crate) src: *const SubBlock,
    pub(crate) other: *mut SubBlock,
    pub(crate) dst: *mut SubBlock,
}

/// The S-boxes of `K` hashes, one after the other, and the state that they share: all hashes of a group have made the same number of calls.
pub(crate) struct Boxes<'a> {
    blocks: &'a mut [SubBlock],
    /// Which third is S2 now; S1 and S0 follow cyclically.
    rotation: usize,
    /// Lanes of S2 written so far, from its start.
    pub(crate) write: usize,
}

impl<'a> Boxes<'a> {
    /// S-boxes as the fill leaves them: S2 first, S0 last. Empty for block mixes that have none.
    pub(crate) fn new(blocks: &'a mut [SubBlock]) -> Self {
        Boxes { blocks, rotation: 0, write: 0 }
    }

    /// The memory, before the first call: for the fill.
    pub(crate) fn blocks_mut(&mut self) -> &mut [SubBlock] {
        self.blocks
    }

    #[inline(always)]
    pub(crate) fn lanes(&mut self) -> *mut u64 {
        self.blocks.as_mut_ptr().cast()
    }

    /// The starts of S0, S1 and S2 in lanes, a box having `third` lanes.
    #[inline(always)]
    pub(crate) fn order(&self, third: usize) -> [usize; 3] {
        match self.rotation {
            0 => [2 * third, third, 0],
            1 => [0, 2 * third, third],
            _ => [third, 0, 2 * third],
        }
    }

    /// The end of a pwxform call: the boxes rotate.
    #[inline(always)]
    pub(crate) fn advance(&mut self, write: usize) {
        self.rotation = if self.rotation == 2 { 0 } else { self.rotation + 1 };
        self.write = write;
    }
}

/// A block mix as compiled for one level. Unsafe to call: the processor must have the level's features, and the arguments
/// must be as the kernel's documentation says.
pub(crate) type BlockFn<const K: usize> =
    unsafe fn(&crate::flavor::Flavor, &mut Boxes<'_>, usize, [Io; K]);

/// The block mix of one mode and flavour at one level, for `K` hashes.
#[derive(Clone, Copy)]
pub(crate) struct Kernel<const K: usize> {
    /// One function for each of [`PLAIN`], [`XOR`], [`SAVE`].
    pub(crate) steps: [BlockFn<K>; 3],
    /// Whether `src` may be `dst`.
    pub(crate) in_place: bool,
    /// Sub-blocks of S-boxes that each hash must bring.
    pub(crate) sbox_len: usize,
    pub(crate) flavor: crate::flavor::Flavor,
}

/// `K` blocks to read.
pub(crate) type Blocks<'a, const K: usize> = [&'a [SubBlock]; K];
/// `K` blocks to change.
pub(crate) type BlocksMut<'a, const K: usize> = [&'a mut [SubBlock]; K];

impl<const K: usize> Kernel<K> {
    /// `dst <- BlockMix(src)`, or `BlockMix(src ^ other)`.
    #[inline]
    pub(crate) fn mix(
        &self,
        boxes: &mut Boxes<'_>,
        src: Blocks<'_, K>,
        other: Option<Blocks<'_, K>>,
        mut dst: BlocksMut<'_, K>,
    ) {
        let step = if other.is_some() { XOR } else { PLAIN };
        let other = other.unwrap_or(src);
        let io = core::array::from_fn(|k| {
            let len = src[k].len();
            assert!(len == src[0].len() && other[k].len() == len && dst[k].len() == len);
            Io {
                src: src[k].as_ptr(),
                other: other[k].as_ptr().cast_mut(),
                dst: dst[k].as_mut_ptr(),
            }
        });
        self.run(step, boxes, src[0].len(), io);
    }

    /// `x <- BlockMix(x ^ other)`. `spare` is as long as `x` and may change places with it.
    #[inline]
    pub(crate) fn step<'a>(
        &self,
        boxes: &mut Boxes<'_>,
        x: &mut BlocksMut<'a, K>,
        spare: &mut BlocksMut<'a, K>,
        other: Blocks<'_, K>,
    ) {
        let others = other.map(|block| (block.as_ptr().cast_mut(), block.len()));
        self.run_step(XOR, boxes, (x, spare), others);
    }

    /// `v <- v ^ x`, then `x <- BlockMix(v)`. `spare` is as long as `x` and may change places with it.
    #[inline]
    pub(crate) fn step_save<'a>(
        &self,
        boxes: &mut Boxes<'_>,
        x: &mut BlocksMut<'a, K>,
        spare: &mut BlocksMut<'a, K>,
        v: BlocksMut<'_, K>,
    ) {
        let others = v.map(|block| (block.as_mut_ptr(), block.len()));
        self.run_step(SAVE, boxes, (x, spare), others);
    }

    #[inline(always)]
    fn run_step<'a>(
        &self,
        step: u8,
        boxes: &mut Boxes<'_>,
        (x, spare): (&mut BlocksMut<'a, K>, &mut BlocksMut<'a, K>),
        others: [(*mut SubBlock, usize); K],
    ) {
        let len = x[0].len();
        let io = core::array::from_fn(|k| {
            assert!(x[k].len() == len && spare[k].len() == len && others[k].1 == len);
            let src = x[k].as_mut_ptr();
            let dst = if self.in_place { src } else { spare[k].as_mut_ptr() };
            Io { src, other: others[k].0, dst }
        });
        self.run(step, boxes, len, io);
        if !self.in_place {
            core::mem::swap(x, spare);
        }
    }

    #[inline(always)]
    fn run(&self, step: u8, boxes: &mut Boxes<'_>, len: usize, io: [Io; K]) {
        assert!(boxes.blocks.len() == K * self.sbox_len);
        // SAFETY: a kernel is made by `dispatch` for a level that is available; the callers above checked every length and took
        // every pointer from a live reference; the S-boxes have the size that the kernel's flavour needs.
        unsafe { self.steps[usize::from(step)](&self.flavor, boxes, len, io) }
    }
}
