//! pwxform and the block mix made of it (sections 7 and 8), for every flavour.
//!
//! One lane of one round is
//!
//! ```text
//! (lo, hi) <- lane 0 of the group;  x <- hi(x) * lo(x) + S0[lo & Smask] ^ S1[hi & Smask];  inner rounds: S2[w++] <- x
//! ```
//!
//! Departures from the text of the specification, none of which changes a result:
//! * both table offsets come out of one 64-bit AND;
//! * `K` independent hashes advance together, round by round, because one alone waits most of the time for the
//!   multiply, the extraction of the offsets and the loads; their S-boxes lie one behind the other, so
//!   that one write position and one rotation serve all;
//! * the boxes are not swapped, a counter says which third is which;
//! * XOR with another block, and storing that sum back, happen in the same pass.
#![allow(unsafe_code, reason = "table lookups without bounds checks: the mask is the check")]
#![allow(clippy::needless_range_loop, reason = "indices k, j and i are the specification's")]

use saltern_simd::{Row, Wide};

use crate::blockmix::{Boxes, Io, PLAIN, SAVE};
use crate::salsa20::Rows;

/// The numbers of a flavour as the kernel needs them. Passed as literals for the default flavour, so that the compiler sees
/// constants; loaded from the flavour otherwise.
#[derive(Clone, Copy)]
pub(crate) struct Constants {
    /// PWXrounds.
    pub(crate) rounds: u32,
    /// Smask in both halves.
    pub(crate) mask: u64,
    /// 64-bit lanes in one box, a third of all.
    pub(crate) box_lanes: usize,
    /// Salsa20 rounds at the end of a block.
    pub(crate) tail: u32,
}

/// The lanes of one group in `K` hashes.
type State<W, const GATHER: usize, const K: usize> = [[W; GATHER]; K];

/// Section 8 on `K` blocks of `len` = 2r sub-blocks at once.
///
/// # Safety
/// [`Io`]'s contract for `len` sub-blocks and step `STEP`, `src` equal to `dst` or not overlapping it; `boxes` holds `K` times three boxes of
/// `constants.box_lanes`, a power of two; `constants.mask` in each half is `8 * box_lanes - 8 * W::LANES`; one call's writes divide a box.
#[inline(always)]
pub(crate) unsafe fn blockmix<W, R, const GATHER: usize, const K: usize, const STEP: u8>(
    tokens: (W::Token, R::Token),
    constants: Constants,
    boxes: &mut Boxes<'_>,
    len: usize,
    io: [Io; K],
) where
    W: Wide,
    R: Row,
{
    let lanes = GATHER * W::LANES;
    let groups = 8 * len / lanes;
    let mut x: State<W, GATHER, K> = core::array::from_fn(|k| {
        core::array::from_fn(|j| {
            let at = (groups - 1) * lanes + j * W::LANES;
            // SAFETY: as everywhere below, group indices are below `groups`, so lane indices are below `8 * len`.
            unsafe { io[k].lanes::<W, STEP>(tokens.0, at) }
        })
    });
    for group in 0..groups {
        for k in 0..K {
            for j in 0..GATHER {
                let at = group * lanes + j * W::LANES;
                // SAFETY: as above.
                let input = unsafe { io[k].lanes::<W, STEP>(tokens.0, at) };
                if STEP == SAVE {
                    // SAFETY: as above; `other` is writable in this step.
                    unsafe { input.store(io[k].other.cast::<u64>().add(at)) };
                }
                // A block of one group starts from itself: XOR would leave nothing.
                x[k][j] = if groups > 1 { x[k][j].xor(input) } else { input };
            }
        }
        // SAFETY: promised by the caller.
        unsafe { pwxform(tokens.0, constants, boxes, &mut x) };
        for k in 0..K {
            for j in 0..GATHER {
                // SAFETY: as above.
                unsafe { x[k][j].store(io[k].dst.cast::<u64>().add(group * lanes + j * W::LANES)) };
            }
        }
    }
    for block in io {
        // SAFETY: promised by the caller; the last group starts below `len`.
        unsafe { tail::<R, STEP>(tokens.1, constants.tail, len, groups * lanes, lanes, block) };
    }
}

/// Section 7 on `K` states.
///
/// # Safety
/// [`blockmix`]'s contract for `constants` and `boxes`.
#[inline(always)]
unsafe fn pwxform<W: Wide, const GATHER: usize, const K: usize>(
    token: W::Token,
    constants: Constants,
    boxes: &mut Boxes<'_>,
    x: &mut State<W, GATHER, K>,
) {
    let third = constants.box_lanes;
    let base = boxes.lanes();
    let [s0, s1, s2] = boxes.order(third);
    let mut write = boxes.write;
    for round in 0..constants.rounds {
        let keep = round != 0 && round != constants.rounds - 1;
        for k in 0..K {
            // SAFETY: `boxes` holds K times three boxes.
            let own = unsafe { base.add(k * 3 * third) };
            for j in 0..GATHER {
                let offsets = x[k][j].first() & constants.mask;
                let (low, high) = (offsets as u32 as usize, (offsets >> 32) as usize);
                // SAFETY: a masked offset is that of an entry within its box, in bytes.
                let (from_s0, from_s1) = unsafe {
                    (
                        W::load(token, own.add(s0).byte_add(low)),
                        W::load(token, own.add(s1).byte_add(high)),
                    )
                };
                x[k][j] = x[k][j].multiply_halves().add(from_s0).xor(from_s1);
                if keep {
                    // SAFETY: a call's writes divide the box and `write` starts at a multiple of them.
                    unsafe { x[k][j].store(own.add(s2 + write + j * W::LANES)) };
                }
            }
        }
        if keep {
            write += GATHER * W::LANES;
        }
    }
    boxes.advance(write & (third - 1));
}

/// Steps 5 and 6 of section 8: Salsa20 over what follows the start of the last group, `lanes` before the end of the `mixed` lanes.
///
/// # Safety
/// As [`blockmix`].
#[inline(always)]
unsafe fn tail<R: Row, const STEP: u8>(
    token: R::Token,
    rounds: u32,
    len: usize,
    mixed: usize,
    lanes: usize,
    io: Io,
) {
    // What is left after the last whole group has not been copied yet; only groups of 256 bytes and more leave
    // anything, and then whole sub-blocks.
    for i in mixed / 8..len {
        // SAFETY: i is below `len`.
        unsafe {
            let input = io.input::<R, STEP>(token, i);
            if STEP == SAVE {
                input.store(io.other.add(i));
            }
            input.store(io.dst.add(i));
        }
    }
    let first = (mixed - lanes) / 8;
    // SAFETY: `first` is below `len`.
    let mut x = unsafe { Rows::<R>::load(token, io.dst.add(first)) }.salsa20(rounds);
    // SAFETY: as above.
    unsafe { x.store(io.dst.add(first)) };
    for i in first + 1..len {
        // SAFETY: i is below `len`.
        unsafe {
            x = Rows::load(token, io.dst.add(i)).xor(x).salsa20(rounds);
            x.store(io.dst.add(i));
        }
    }
}

impl Io {
    /// The lanes from lane `at` of what goes into the mix.
    ///
    /// # Safety
    /// [`Io`]'s contract, the lanes within the block.
    #[inline(always)]
    unsafe fn lanes<W: Wide, const STEP: u8>(&self, token: W::Token, at: usize) -> W {
        // SAFETY: promised by the caller; sub-blocks are aligned to the widest entry.
        let own = unsafe { W::load(token, self.src.cast::<u64>().add(at)) };
        if STEP == PLAIN {
            return own;
        }
        // SAFETY: promised by the caller for the steps that have another block.
        own.xor(unsafe { W::load(token, self.other.cast::<u64>().add(at)) })
    }
}
