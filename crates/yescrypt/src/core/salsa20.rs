//! Salsa20 with any number of rounds on one sub-block, and the block mix made of it (sections 4 and
//! 5).
//!
//! In the shuffled word order the four rows of a sub-block are the diagonals of the Salsa20 matrix,
//! so a column round works on whole rows as they are, and a row round after rotating three of them
//! within themselves.
#![allow(unsafe_code, reason = "blocks are passed as pointers: see `blockmix::Pointers`")]
#![allow(clippy::needless_range_loop, reason = "as in pwxform.rs")]

use saltern_simd::lanes::Diagonal;
use saltern_simd::{prefetch_read, prefetch_write};

use crate::core::blockmix::{Pointers, Shape, Step};
use crate::core::memory::SubBlock;

/// How many sub-blocks ahead of the mix the other block is fetched into the cache, and the cache
/// lines of the output are requested. The first `AHEAD` of the other block are requested when the
/// block begins, with its last one, which is needed first.
const AHEAD: usize = 4;
const AHEAD_WRITE: usize = AHEAD * SubBlock::BYTES;

/// A sub-block in registers, or one for each state.
#[derive(Clone, Copy)]
pub(crate) struct Diagonals<D>([D; 4]);

impl<D: Diagonal> Diagonals<D> {
    /// # Safety
    /// `from` of each state is valid for reading.
    #[inline(always)]
    pub(crate) unsafe fn load(token: D::Token, from: impl Fn(usize) -> *const SubBlock) -> Self {
        let pair = |state, i: usize| {
            // SAFETY: promised by the caller.
            let words = unsafe { &(*from(state)).0 };
            [words[2 * i], words[2 * i + 1]]
        };
        // Written out, here and below: in a closure that is called in a loop, the compiler does not
        // inline the instructions of a level.
        let [a, b] = [D::gather(token, |k| pair(k, 0)), D::gather(token, |k| pair(k, 1))];
        let [c, d] = [D::gather(token, |k| pair(k, 2)), D::gather(token, |k| pair(k, 3))];
        Diagonals([a, b, c, d])
    }

    /// # Safety
    /// `to` of each state is valid for writing.
    #[inline(always)]
    pub(crate) unsafe fn store(self, to: impl Fn(usize) -> *mut SubBlock) {
        let put = |state, i: usize, pair| {
            // SAFETY: promised by the caller.
            let words = unsafe { &mut (*to(state)).0 };
            [words[2 * i], words[2 * i + 1]] = pair;
        };
        let [a, b, c, d] = self.0;
        a.scatter(|state, pair| put(state, 0, pair));
        b.scatter(|state, pair| put(state, 1, pair));
        c.scatter(|state, pair| put(state, 2, pair));
        d.scatter(|state, pair| put(state, 3, pair));
    }

    #[inline(always)]
    pub(crate) fn xor(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Diagonals([a.xor(e), b.xor(f), c.xor(g), d.xor(h)])
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
        let ([a, b, c, d], [e, f, g, h]) = (x, self.0);
        Diagonals([a.add(e), b.add(f), c.add(g), d.add(h)])
    }

    #[inline(always)]
    fn row_round([a, b, c, d]: [D; 4]) -> [D; 4] {
        let turned = [a, d.rotate_words(1), c.rotate_words(2), b.rotate_words(3)];
        let [a, d, c, b] = Self::quarter_rounds(turned);
        [a, b.rotate_words(1), c.rotate_words(2), d.rotate_words(3)]
    }

    #[inline(always)]
    fn quarter_rounds([mut a, mut b, mut c, mut d]: [D; 4]) -> [D; 4] {
        b = b.xor(a.add(d).rotate_right(32 - 7));
        c = c.xor(b.add(a).rotate_right(32 - 9));
        d = d.xor(c.add(b).rotate_right(32 - 13));
        a = a.xor(d.add(c).rotate_right(32 - 18));
        [a, b, c, d]
    }
}

/// Section 5 on as many blocks at once as `K` values of [`Diagonals`] hold.
///
/// # Safety
/// [`Pointers`]'s contract for `shape`; `src` and `dst` do not overlap.
#[inline(always)]
pub(crate) unsafe fn blockmix<D: Diagonal, const K: usize>(
    token: D::Token,
    rounds: u32,
    shape: Shape,
    io: &[Pointers],
) {
    let Shape { len, step } = shape;
    let states = |k: usize| &io[k * D::STATES..][..D::STATES];
    if step != Step::Plain {
        for io in &io[..K * D::STATES] {
            prefetch_read(io.other.wrapping_add(len - 1));
            (0..AHEAD).for_each(|i| prefetch_read(io.other.wrapping_add(i)));
        }
    }
    // SAFETY: as everywhere below, every index is below `len`.
    let mut x = [unsafe { input::<D>(token, step, states(0), len - 1) }; K];
    for k in 1..K {
        // SAFETY: as above.
        x[k] = unsafe { input::<D>(token, step, states(k), len - 1) };
    }
    for i in 0..len {
        for k in 0..K {
            let io = states(k);
            // Even sub-blocks go to the first half, odd ones to the second.
            let to = i / 2 + (i & 1) * (len / 2);
            for io in io {
                match step {
                    Step::Plain => prefetch_write::<AHEAD_WRITE, _>(io.dst, to * SubBlock::BYTES),
                    _ => prefetch_read(io.other.wrapping_add(i + AHEAD)),
                }
            }
            // SAFETY: as above.
            let input = unsafe { input::<D>(token, step, io, i) };
            if step == Step::Save {
                // SAFETY: as above; `other` is writable in this step.
                unsafe { input.store(|state| io[state].other.add(i)) };
            }
            x[k] = x[k].xor(input).salsa20(rounds);
            // SAFETY: i / 2 + len / 2 < len.
            unsafe { x[k].store(|state| io[state].dst.add(to)) };
        }
    }
}

/// Sub-block `i` of what goes into the mix, of each state.
///
/// # Safety
/// [`Pointers`]'s contract, `i` within the block.
#[inline(always)]
pub(crate) unsafe fn input<D: Diagonal>(
    token: D::Token,
    step: Step,
    io: &[Pointers],
    i: usize,
) -> Diagonals<D> {
    // SAFETY: promised by the caller.
    let own = unsafe { Diagonals::load(token, |state| io[state].src.add(i)) };
    if step == Step::Plain {
        return own;
    }
    // SAFETY: promised by the caller for the steps that have another block.
    own.xor(unsafe { Diagonals::load(token, |state| io[state].other.add(i)) })
}
