//! The interface of a block mix for the loops: a few blocks in, as many out, by a kernel chosen
//! once.
#![allow(unsafe_code, reason = "the only caller of the kernels, which take pointers")]

use core::marker::PhantomData;

use crate::core::flavor::Flavor;
use crate::core::memory::SubBlock;

/// The operation of a kernel on a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The output is the mix of `src`.
    Plain,
    /// The output is the mix of `src ^ other`.
    Xor,
    /// The output is the mix of `src ^ other`, which `other` becomes.
    Save,
}

/// The properties that the blocks of all lanes in a call share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Sub-blocks in a block: 2r.
    pub(crate) len: usize,
    pub(crate) step: Step,
}

/// The most instances of hashes that advance together in one thread: the size of the largest group,
/// and the most blocks of one [`BlocksNeeded`](crate::hazmat::BlocksNeeded).
pub const MAX_LANES: usize = 4;

/// The blocks of one instance in one step, borrowed for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Io<'a> {
    blocks: Pointers,
    shape: Shape,
    borrowed: PhantomData<&'a mut SubBlock>,
}

/// The pointers for a kernel.
///
/// It may assume that all pointers that its step uses are valid for 2r sub-blocks: `src` for
/// reading, `dst` for writing, `other` for reading and, in step [`Step::Save`], writing; that
/// `other` overlaps neither of the two; and that `src` equals `dst` only for kernels that work in
/// place.
#[derive(Clone, Copy)]
pub(crate) struct Pointers {
    pub(crate) src: *const SubBlock,
    pub(crate) other: *mut SubBlock,
    pub(crate) dst: *mut SubBlock,
}

impl<'a> Io<'a> {
    /// `dst <- BlockMix(src)`, or `BlockMix(src ^ other)`. All blocks have the same length.
    #[inline(always)]
    pub(crate) fn mix(
        src: &'a [SubBlock],
        other: Option<&'a [SubBlock]>,
        dst: &'a mut [SubBlock],
    ) -> Self {
        let len = src.len();
        assert!(dst.len() == len && other.is_none_or(|other| other.len() == len));
        let step = if other.is_some() { Step::Xor } else { Step::Plain };
        let other = other.unwrap_or(src).as_ptr().cast_mut();
        let blocks = Pointers { src: src.as_ptr(), other, dst: dst.as_mut_ptr() };
        Io { blocks, shape: Shape { len, step }, borrowed: PhantomData }
    }

    /// `x <- BlockMix(x ^ other)`; `spare` changes places with `x` where the kernel does not work
    /// in place.
    #[inline(always)]
    pub(crate) fn step(
        kernel: &Kernel,
        x: &'a mut [SubBlock],
        spare: &'a mut [SubBlock],
        other: &'a [SubBlock],
    ) -> Self {
        let shape = Shape { len: other.len(), step: Step::Xor };
        Self::update(kernel, [x, spare], other.as_ptr().cast_mut(), shape)
    }

    /// `v <- v ^ x`, then `x <- BlockMix(v)`; `spare` as above.
    #[inline(always)]
    pub(crate) fn step_save(
        kernel: &Kernel,
        x: &'a mut [SubBlock],
        spare: &'a mut [SubBlock],
        v: &'a mut [SubBlock],
    ) -> Self {
        let shape = Shape { len: v.len(), step: Step::Save };
        Self::update(kernel, [x, spare], v.as_mut_ptr(), shape)
    }

    #[inline(always)]
    fn update(
        kernel: &Kernel,
        [x, spare]: [&'a mut [SubBlock]; 2],
        other: *mut SubBlock,
        shape: Shape,
    ) -> Self {
        assert!(x.len() == shape.len && spare.len() == shape.len);
        let src = x.as_mut_ptr();
        let dst = if kernel.in_place { src } else { spare.as_mut_ptr() };
        Io { blocks: Pointers { src, other, dst }, shape, borrowed: PhantomData }
    }

    /// To be replaced before it is used.
    pub(crate) const NONE: Io<'static> = Io {
        blocks: Pointers {
            src: core::ptr::null(),
            other: core::ptr::null_mut(),
            dst: core::ptr::null_mut(),
        },
        shape: Shape { len: 0, step: Step::Plain },
        borrowed: PhantomData,
    };
}

/// The S-boxes of a group of instances, one after the other, and the state that they share: all
/// have made the same number of calls.
pub(crate) struct Boxes<'a> {
    blocks: &'a mut [SubBlock],
    /// Which third is S2 now; S1 and S0 follow cyclically.
    rotation: usize,
    /// Lanes of S2 written so far, from its start.
    pub(crate) write: usize,
}

impl<'a> Boxes<'a> {
    /// S-boxes as the fill leaves them: S2 first, S0 last.
    pub(crate) fn new(blocks: &'a mut [SubBlock]) -> Self {
        Boxes { blocks, rotation: 0, write: 0 }
    }

    /// S-boxes in the state that [`Boxes::state`] returned.
    pub(crate) fn at(blocks: &'a mut [SubBlock], [rotation, write]: [usize; 2]) -> Self {
        Boxes { blocks, rotation, write }
    }

    /// The state that is not in the blocks.
    pub(crate) fn state(&self) -> [usize; 2] {
        [self.rotation, self.write]
    }

    /// For block mixes without S-boxes.
    pub(crate) fn none() -> Self {
        Self::new(&mut [])
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

    /// After `calls` of pwxform: as many rotations, and where S2 is written next.
    #[inline(always)]
    pub(crate) fn settle(&mut self, calls: usize, write: usize) {
        self.rotation = (self.rotation + calls) % 3;
        self.write = write;
    }
}

/// A block mix as compiled for one level and number of lanes. Unsafe to call: the processor must
/// have the level's features, there must be as many [`Io`]s as lanes, their pointers as
/// [`Pointers`] says, and the S-boxes of the flavour's size for each.
pub(crate) type BlockFn = unsafe fn(&Flavor, &mut Boxes<'_>, Shape, &[Pointers]);

/// The block mix of one mode and flavour at one level, for a number of lanes.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) block: BlockFn,
    /// How many instances it advances.
    pub(crate) lanes: usize,
    /// Whether `src` may be `dst`.
    pub(crate) in_place: bool,
    /// Sub-blocks of S-boxes that each instance must bring.
    pub(crate) sbox_len: usize,
    pub(crate) flavor: Flavor,
}

impl Kernel {
    /// Does the same step on the blocks of each lane.
    #[inline(always)]
    pub(crate) fn run<const K: usize>(&self, boxes: &mut Boxes<'_>, io: &[Io<'_>; K]) {
        let shape = io[0].shape;
        assert!(K == self.lanes && boxes.blocks.len() == K * self.sbox_len);
        assert!(io.iter().all(|io| io.shape == shape));
        let mut blocks = [io[0].blocks; K];
        for (blocks, io) in blocks.iter_mut().zip(io) {
            *blocks = io.blocks;
        }
        #[cfg(test)]
        self.count(shape);
        // SAFETY: a kernel is made by `dispatch` for a level that is available; an `Io` holds
        // pointers of live borrows of the same length, 2r sub-blocks; lanes and S-boxes were just
        // counted.
        unsafe { (self.block)(&self.flavor, boxes, shape, &blocks) }
    }

    /// For the tests of hash costs.
    #[cfg(test)]
    fn count(&self, shape: Shape) {
        crate::core::cost::counter::count(|done| {
            let kind = if self.sbox_len > 0 { &mut done.pwxform } else { &mut done.salsa20 };
            kind.0 += self.lanes as u128;
            kind.1 += (self.lanes * shape.len * SubBlock::BYTES) as u128;
        });
    }
}
