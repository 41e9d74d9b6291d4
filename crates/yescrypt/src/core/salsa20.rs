//! Salsa20 with any number of rounds on one sub-block, and the block mix made of it (sections 4 and
//! 5).
//!
//! In the shuffled word order the four rows of a sub-block are the diagonals of the Salsa20 matrix,
//! so a column round works on whole rows as they are, and a row round after rotating three of them
//! within themselves.
#![allow(unsafe_code, reason = "blocks are passed as pointers: see `blockmix::Pointers`")]

use saltern_simd::{Row, prefetch_read};

use crate::core::blockmix::{Pointers, Shape, Step};
use crate::core::memory::SubBlock;

/// How many sub-blocks ahead of the mix the other block is fetched into the cache.
const AHEAD: usize = 4;

/// A sub-block in registers.
#[derive(Clone, Copy)]
pub(crate) struct Rows<R>([R; 4]);

impl<R: Row> Rows<R> {
    /// # Safety
    /// `from` is valid for reading.
    #[inline(always)]
    pub(crate) unsafe fn load(token: R::Token, from: *const SubBlock) -> Self {
        // SAFETY: promised by the caller.
        let (rows, _) = unsafe { &(*from).0 }.as_chunks::<2>();
        Rows(core::array::from_fn(|i| R::load(token, &rows[i])))
    }

    /// # Safety
    /// `to` is valid for writing.
    #[inline(always)]
    pub(crate) unsafe fn store(self, to: *mut SubBlock) {
        // SAFETY: promised by the caller.
        let (rows, _) = unsafe { &mut (*to).0 }.as_chunks_mut::<2>();
        for (row, value) in rows.iter_mut().zip(self.0) {
            value.store(row);
        }
    }

    #[inline(always)]
    pub(crate) fn xor(self, other: Self) -> Self {
        Rows(core::array::from_fn(|i| self.0[i].xor(other.0[i])))
    }

    /// Salsa20 with feed-forward; `rounds` of any parity.
    #[inline(always)]
    pub(crate) fn salsa20(self, rounds: u32) -> Self {
        let mut x = self.0;
        for _ in 0..rounds / 2 {
            x = Self::row_round(Self::quarter_rounds(x));
        }
        if rounds & 1 == 1 {
            x = Self::quarter_rounds(x);
        }
        Rows(core::array::from_fn(|i| x[i].add(self.0[i])))
    }

    #[inline(always)]
    fn row_round([a, b, c, d]: [R; 4]) -> [R; 4] {
        let turned = [a, d.lanes_left_1(), c.lanes_left_2(), b.lanes_left_3()];
        let [a, d, c, b] = Self::quarter_rounds(turned);
        [a, b.lanes_left_1(), c.lanes_left_2(), d.lanes_left_3()]
    }

    #[inline(always)]
    fn quarter_rounds([mut a, mut b, mut c, mut d]: [R; 4]) -> [R; 4] {
        b = b.xor(a.add(d).rotate_left::<7>());
        c = c.xor(b.add(a).rotate_left::<9>());
        d = d.xor(c.add(b).rotate_left::<13>());
        a = a.xor(d.add(c).rotate_left::<18>());
        [a, b, c, d]
    }
}

/// Section 5 on `K` blocks at once.
///
/// # Safety
/// [`Pointers`]'s contract for `shape`; `src` and `dst` do not overlap.
#[inline(always)]
pub(crate) unsafe fn blockmix<R: Row, const K: usize>(
    token: R::Token,
    rounds: u32,
    shape: Shape,
    io: [Pointers; K],
) {
    let Shape { len, step } = shape;
    let mut x: [Rows<R>; K] = core::array::from_fn(|k| {
        // SAFETY: as everywhere below, every index is below `len`.
        unsafe { io[k].input::<R>(token, step, len - 1) }
    });
    for i in 0..len {
        for k in 0..K {
            // Several blocks at once keep the memory busy by themselves.
            if K == 1 && step != Step::Plain {
                prefetch_read(io[k].other.wrapping_add(i + AHEAD));
            }
            // SAFETY: as above.
            let input = unsafe { io[k].input::<R>(token, step, i) };
            if step == Step::Save {
                // SAFETY: as above; `other` is writable in this step.
                unsafe { input.store(io[k].other.add(i)) };
            }
            x[k] = x[k].xor(input).salsa20(rounds);
            // Even sub-blocks go to the first half, odd ones to the second.
            // SAFETY: i / 2 + len / 2 < len.
            unsafe { x[k].store(io[k].dst.add(i / 2 + (i & 1) * (len / 2))) };
        }
    }
}

impl Pointers {
    /// Sub-block `i` of what goes into the mix.
    ///
    /// # Safety
    /// [`Pointers`]'s contract, `i` within the block.
    #[inline(always)]
    pub(crate) unsafe fn input<R: Row>(&self, token: R::Token, step: Step, i: usize) -> Rows<R> {
        // SAFETY: promised by the caller.
        let own = unsafe { Rows::load(token, self.src.add(i)) };
        if step == Step::Plain {
            return own;
        }
        // SAFETY: promised by the caller for the steps that have another block.
        own.xor(unsafe { Rows::load(token, self.other.add(i)) })
    }
}
