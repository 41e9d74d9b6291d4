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
//! * `K` independent hashes advance together, round by round, because one alone waits most of the
//!   time for the multiply, the extraction of the offsets and the loads; their S-boxes lie one
//!   after the other, so that one write position and one rotation serve all;
//! * the boxes are not swapped; a counter tracks which third is which;
//! * XOR with another block, and storing that sum back, happen in the same pass.
#![allow(unsafe_code, reason = "table lookups without bounds checks: the mask is the check")]
#![allow(clippy::needless_range_loop, reason = "indices k, j and i are the specification's")]

use saltern_simd::lanes::Diagonal;
use saltern_simd::{PortableWide, Split, Wide, prefetch_read, prefetch_write};

use crate::core::blockmix::{Boxes, Pointers, Shape, Step};
use crate::core::memory::SubBlock;
use crate::core::salsa20::{Diagonals, input};

#[cfg(target_arch = "x86_64")]
pub(crate) mod paired;
#[cfg(target_arch = "x86_64")]
mod x86;

/// The numbers of a flavour as the kernel needs them: constants for the compiler where the flavour
/// is known to it, computed from the flavour otherwise.
#[derive(Clone, Copy)]
pub(crate) struct Constants {
    /// PWXrounds.
    pub(crate) rounds: u32,
    /// Smask in both halves.
    pub(crate) mask: u64,
    /// 64-bit lanes in one box.
    pub(crate) box_lanes: usize,
    /// Salsa20 rounds at the end of a block.
    pub(crate) tail: u32,
    /// escrypt 0.5: two boxes, S0 and S1, which stay as they are, and a block of one group XORed
    /// with itself.
    pub(crate) stateless: bool,
    /// The default flavour or generation 0.5's, for which there may be a hand-written kernel.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is none"))]
    #[cfg_attr(miri, expect(dead_code, reason = "Miri has no assembly"))]
    pub(crate) usual: bool,
}

/// How many sub-blocks ahead of the mix the other block is fetched into the cache. The first
/// `AHEAD_READ` are requested together when the block begins, and its last one, which is needed
/// first; the others one by one, since a whole block at once delays the loads that are waited for.
const AHEAD_READ: usize = 4;
/// How many bytes ahead the cache lines of the output are requested.
const AHEAD_WRITE: usize = 8 * SubBlock::BYTES;

/// The lanes of one group in `K` hashes.
pub(crate) type State<W, const GATHER: usize, const K: usize> = [[W; GATHER]; K];

/// Section 8 on `K` blocks at once.
///
/// # Safety
/// [`Pointers`]'s contract for `shape`, `src` equal to `dst` or not overlapping it; `boxes` holds
/// `K` times three boxes (two if stateless) of `constants.box_lanes`, a power of two;
/// `constants.mask` in each half is `8 * box_lanes - 8 * W::LANES`; one call's writes divide a box.
#[inline(always)]
pub(crate) unsafe fn blockmix<W, D, const GATHER: usize, const K: usize>(
    tokens: (W::Token, D::Token),
    constants: Constants,
    boxes: &mut Boxes<'_>,
    shape: Shape,
    io: [Pointers; K],
) where
    W: Lane,
    D: Diagonal,
{
    let Shape { len, step } = shape;
    let lanes = GATHER * W::LANES;
    // Written so that the compiler sees that nothing is left over in a whole sub-block.
    let groups = if lanes <= 8 { len * (8 / lanes) } else { len / (lanes / 8) };
    if step != Step::Plain {
        for io in &io {
            prefetch_read(io.other.wrapping_add(len - 1));
            (0..AHEAD_READ).for_each(|i| prefetch_read(io.other.wrapping_add(i)));
        }
    }
    let last = (groups - 1) * lanes;
    // SAFETY: as everywhere below, group indices are below `groups`, so lane indices are below
    // `8 * len`.
    let any = unsafe { io[0].lanes::<W>(tokens.0, step, last) };
    let mut x: State<W, GATHER, K> = [[any; GATHER]; K];
    for k in 0..K {
        for j in 0..GATHER {
            // SAFETY: as above.
            let input = unsafe { io[k].lanes::<W>(tokens.0, step, last + j * W::LANES) };
            // A block of one group starts from itself: XOR would leave zeros, which only the old
            // format accepts.
            let own = lanes > 8 && groups == 1 && !constants.stateless;
            x[k][j] = if own { input.xor(input) } else { input };
        }
    }
    let mut tables = Tables::of(boxes, constants);
    for group in 0..groups {
        for io in &io {
            if step != Step::Plain {
                prefetch_read(io.other.cast::<u64>().wrapping_add(group * lanes + AHEAD_READ * 8));
            }
            if step != Step::Save {
                prefetch_write::<AHEAD_WRITE, _>(io.dst, group * lanes * 8);
            }
        }
        for k in 0..K {
            for j in 0..GATHER {
                let at = group * lanes + j * W::LANES;
                // SAFETY: as above.
                unsafe { take::<W, K>(tokens.0, step, &io[k], at, &mut x[k][j]) };
            }
        }
        // SAFETY: promised by the caller.
        unsafe { W::pwxform(tokens.0, constants, &tables, &mut x) };
        tables.advance(constants, lanes);
        for k in 0..K {
            for j in 0..GATHER {
                // SAFETY: as above.
                unsafe { x[k][j].store(io[k].dst.cast::<u64>().add(group * lanes + j * W::LANES)) };
            }
        }
    }
    boxes.settle(groups, tables.write / 8);
    for blocks in io.chunks_exact(D::STATES) {
        // SAFETY: promised by the caller; the last group starts below `len`.
        unsafe { tail::<D>(tokens.1, constants.tail, shape, (groups, lanes), blocks) };
    }
}

/// Brings the lanes from lane `at` of a block into the mix.
///
/// # Safety
/// [`Pointers`]'s contract, the lanes within the block.
#[inline(always)]
unsafe fn take<W: Lane, const K: usize>(
    token: W::Token,
    step: Step,
    io: &Pointers,
    at: usize,
    x: &mut W,
) {
    let (own, place) = (io.src.cast::<u64>(), io.other.cast::<u64>());
    // SAFETY: promised by the caller; sub-blocks are aligned to the widest entry.
    let own = unsafe { W::load(token, own.add(at)) };
    if step == Step::Plain {
        *x = x.xor(own);
        return;
    }
    // SAFETY: as above, for the steps that have another block.
    let other = unsafe { W::load(token, place.add(at)) };
    if step == Step::Xor && K > 1 {
        // With several hashes every cycle is used: two instructions instead of three, with operands
        // from memory.
        *x = x.xor(own).fixed().xor(other);
        return;
    }
    // A single hash waits for `x`, so that is XORed once.
    let sum = own.xor(other);
    if step == Step::Save {
        // SAFETY: as above; `other` is writable in this step.
        unsafe { sum.store(place.add(at)) };
    }
    *x = x.absorb(sum.fixed());
}

/// Where the S-boxes are during a call of pwxform.
pub(crate) struct Tables {
    /// S0, S1 and S2 of the first state.
    boxes: [*mut u64; 3],
    /// From one state's boxes to the next's, in lanes.
    size: usize,
    /// Bytes of S2 written so far, from its start.
    write: usize,
}

impl Tables {
    #[inline(always)]
    fn of(boxes: &mut Boxes<'_>, constants: Constants) -> Self {
        let third = constants.box_lanes;
        let (base, write) = (boxes.lanes(), boxes.write * 8);
        let (order, size) = match constants.stateless {
            true => ([0, third, 0], 2 * third),
            false => (boxes.order(third), 3 * third),
        };
        let [s0, s1, s2] = order;
        let boxes = [base.wrapping_add(s0), base.wrapping_add(s1), base.wrapping_add(s2)];
        Tables { boxes, size, write }
    }

    /// The end of a call, which wrote one group of `lanes` in each inner round: the boxes rotate.
    #[inline(always)]
    fn advance(&mut self, constants: Constants, lanes: usize) {
        if constants.stateless {
            return;
        }
        let [s0, s1, s2] = self.boxes;
        self.boxes = [s2, s0, s1];
        let inner = constants.rounds.saturating_sub(2) as usize;
        self.write = (self.write + 8 * inner * lanes) & (8 * constants.box_lanes - 1);
    }
}

/// Section 7 on `K` states, except for the rotation of the boxes.
///
/// # Safety
/// [`blockmix`]'s contract for `constants` and for the boxes of `tables`.
#[inline(always)]
pub(crate) unsafe fn pwxform<L: Lane, const GATHER: usize, const K: usize>(
    token: L::Token,
    constants: Constants,
    tables: &Tables,
    x: &mut State<L, GATHER, K>,
) {
    let step = GATHER * L::LANES;
    let inner = |i: usize| (!constants.stateless).then_some(tables.write / 8 + i * step);
    let long = step * K > 16;
    // The first and the last round write nothing. Written out for the usual numbers of rounds,
    // since the compiler does not unroll this much by itself; except for wide flavours, whose
    // single round is long enough, and would take long to compile six times. SAFETY: promised by
    // the caller, for every round.
    unsafe {
        round(token, constants.mask, tables, x, None);
        if constants.rounds == 6 && !long {
            round(token, constants.mask, tables, x, inner(0));
            round(token, constants.mask, tables, x, inner(1));
            round(token, constants.mask, tables, x, inner(2));
            round(token, constants.mask, tables, x, inner(3));
        } else if constants.rounds == 3 && !long {
            round(token, constants.mask, tables, x, inner(0));
        } else {
            for i in 2..constants.rounds as usize {
                round(token, constants.mask, tables, x, inner(i - 2));
            }
        }
        if constants.rounds > 1 {
            round(token, constants.mask, tables, x, None);
        }
    }
}

/// Steps 2 to 8 of section 7: one round of all groups in all states, written from lane `keep` of S2
/// on in an inner round.
///
/// # Safety
/// Masked offsets are those of entries within the boxes of `tables`, and there is room behind
/// `keep`.
#[inline(always)]
unsafe fn round<L: Lane, const GATHER: usize, const K: usize>(
    token: L::Token,
    mask: u64,
    tables: &Tables,
    x: &mut State<L, GATHER, K>,
    keep: Option<usize>,
) {
    for k in 0..K {
        // SAFETY: promised by the caller.
        let table = |i: usize| unsafe { tables.boxes[i].add(k * tables.size) };
        let (s0, s1, s2) = (table(0), table(1), table(2));
        for j in 0..GATHER {
            // SAFETY: promised by the caller.
            unsafe {
                x[k][j] = match K {
                    1 => x[k][j].round(token, mask, s0, s1),
                    _ => x[k][j].round_dense(token, mask, s0, s1),
                };
                if let Some(write) = keep {
                    x[k][j].store(s2.add(write + j * L::LANES));
                }
            }
        }
    }
}

/// A group's lanes in one round.
pub(crate) trait Lane: Wide {
    /// [`pwxform()`]; in assembly where that was worth it.
    ///
    /// # Safety
    /// That of [`pwxform()`].
    #[inline(always)]
    unsafe fn pwxform<const GATHER: usize, const K: usize>(
        token: Self::Token,
        constants: Constants,
        tables: &Tables,
        x: &mut State<Self, GATHER, K>,
    ) {
        // SAFETY: promised by the caller.
        unsafe { pwxform(token, constants, tables, x) }
    }

    /// [`Wide::xor`], the result in the register of `self`.
    #[inline(always)]
    fn absorb(self, input: Self) -> Self {
        self.xor(input)
    }

    /// The value itself, of which the compiler no longer knows how it was made, so that it cannot
    /// rearrange a sum.
    #[inline(always)]
    fn fixed(self) -> Self {
        self
    }

    /// Steps 3 to 7 of section 7.
    ///
    /// # Safety
    /// `mask`, in each half, makes an offset from any word, in bytes, at which an entry can be
    /// loaded behind `s0` and `s1`.
    #[inline(always)]
    unsafe fn round(self, token: Self::Token, mask: u64, s0: *const u64, s1: *const u64) -> Self {
        let offsets = self.first() & mask;
        let (low, high) = (offsets as u32 as usize, (offsets >> 32) as usize);
        // SAFETY: promised by the caller.
        let (s0, s1) =
            unsafe { (Self::load(token, s0.byte_add(low)), Self::load(token, s1.byte_add(high))) };
        self.multiply_halves().add(s0).xor(s1)
    }

    /// A round in as few instructions as possible, for several states at once: there it is not the
    /// latency of one that counts.
    ///
    /// # Safety
    /// What [`round`](Self::round) requires.
    #[inline(always)]
    unsafe fn round_dense(
        self,
        token: Self::Token,
        mask: u64,
        s0: *const u64,
        s1: *const u64,
    ) -> Self {
        // SAFETY: promised by the caller.
        unsafe { self.round(token, mask, s0, s1) }
    }
}

impl<const LANES: usize> Lane for PortableWide<LANES> {}
impl<W: Wide, const PARTS: usize> Lane for Split<W, PARTS> {}
#[cfg(target_arch = "aarch64")]
impl Lane for saltern_simd::aarch64::WideNeon {}

/// Steps 5 and 6 of section 8: Salsa20 over what follows the start of the last of the `groups`,
/// each of `lanes`.
///
/// # Safety
/// As [`blockmix`].
#[inline(always)]
unsafe fn tail<D: Diagonal>(
    token: D::Token,
    rounds: u32,
    shape: Shape,
    (groups, lanes): (usize, usize),
    io: &[Pointers],
) {
    let Shape { len, step } = shape;
    // Groups of 256 bytes and more can leave whole sub-blocks behind the last of them, not copied
    // yet.
    let (first, mixed) = match lanes {
        ..=8 => (len - 1, len),
        _ => ((groups - 1) * (lanes / 8), groups * (lanes / 8)),
    };
    for i in mixed..len {
        // SAFETY: i is below `len`.
        unsafe {
            let input = input::<D>(token, step, io, i);
            if step == Step::Save {
                input.store(|state| io[state].other.add(i));
            }
            input.store(|state| io[state].dst.add(i));
        }
    }
    // SAFETY: `first` is below `len`.
    let mut x = unsafe { Diagonals::<D>::load(token, |k| io[k].dst.add(first)) }.salsa20(rounds);
    // SAFETY: as above.
    unsafe { x.store(|state| io[state].dst.add(first)) };
    for i in first + 1..len {
        // SAFETY: i is below `len`.
        unsafe {
            x = Diagonals::load(token, |state| io[state].dst.add(i)).xor(x).salsa20(rounds);
            x.store(|state| io[state].dst.add(i));
        }
    }
}

impl Pointers {
    /// The lanes from lane `at` of what goes into the mix.
    ///
    /// # Safety
    /// [`Pointers`]'s contract, the lanes within the block.
    #[inline(always)]
    unsafe fn lanes<W: Wide>(&self, token: W::Token, step: Step, at: usize) -> W {
        // SAFETY: promised by the caller; sub-blocks are aligned to the widest entry.
        let own = unsafe { W::load(token, self.src.cast::<u64>().add(at)) };
        if step == Step::Plain {
            return own;
        }
        // SAFETY: promised by the caller for the steps that have another block.
        own.xor(unsafe { W::load(token, self.other.cast::<u64>().add(at)) })
    }
}
