//! How a hash reads ROMs: which of them at which step of which loop.
//!
//! yescrypt 1.1 has one ROM that is read in every odd step of both loops. Here that is one case of
//! a list of ROMs, each with a mask for each loop, as escrypt 0.5 had them for one ROM: step `i`
//! reads the first ROM of the list with `i & mask == 1`.

use crate::core::memory::SubBlock;
use crate::core::params::{CheckedParams, Mode, Params, block_bytes, is_size};
use crate::core::rom::{Rom, RomView};
use crate::error::Error;

/// The most ROMs that one hash can read.
pub const MAX_ROMS: usize = 4;

/// The largest look-ahead of a ROM: see [`RomReading::look_ahead`].
pub const MAX_LOOK_AHEAD: u32 = 63;

/// When a hash reads a ROM: in the steps `i` of a loop with `i & mask == 1`, never for a mask of 0.
///
/// Useful masks are 2^k - 1 (one step in 2^k, beginning with step 1) and, for a loop that does not
/// read, 0. Rare reads are for ROMs that are slow to reach.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RomMasks {
    /// In the first loop, which fills memory.
    pub fill: u32,
    /// In the second loop, which mixes it.
    pub mix: u32,
}

impl RomMasks {
    /// Every odd step of both loops, as in yescrypt 1.1.
    pub const YESCRYPT: RomMasks = RomMasks { fill: 1, mix: 1 };

    /// The masks for `mask` of escrypt 0.5, whose second loop always reads: there bit 0 counts as
    /// set.
    #[must_use]
    pub const fn escrypt(mask: u32) -> Self {
        RomMasks { fill: mask, mix: mask | 1 }
    }
}

/// How many of the first `steps` steps of a loop read a ROM with this mask: the number of `i` below
/// `steps` with `i & mask == 1`.
pub(crate) fn due(mask: u32, steps: u128) -> u128 {
    if mask & 1 == 0 {
        return 0;
    }
    // They are the numbers 2j + 1 with j below `end` that share no bit with the rest of the mask.
    let (end, mask) = (steps >> 1, u128::from(mask >> 1));
    // The numbers of such j within the bits processed so far: those below the same bits of `end`,
    // and all.
    let (mut below, mut all) = (0, 1);
    for bit in 0..127 {
        let free = mask >> bit & 1 == 0;
        if end >> bit & 1 == 1 {
            below = if free { all + below } else { all };
        }
        all <<= u32::from(free);
    }
    below
}

/// How a hash reads one ROM. It affects the hash, and is the same for a ROM in memory, in a file or
/// named in a string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RomReading {
    /// NROM: the blocks of the hash's r that are used, a power of two above 1. The image may be
    /// larger.
    pub nrom: u64,
    /// The steps in which it is read.
    pub masks: RomMasks,
    /// How many steps before a read its block is chosen, at most [`MAX_LOOK_AHEAD`]; 0 in yescrypt.
    ///
    /// The read in step `i` of a loop takes Integerify(X) of X as it was at the beginning of step
    /// `i` minus this many, or of step 0 of the same loop if there are fewer steps before it. The
    /// look-ahead affects the hash. A slow ROM can then be read while the steps in between are
    /// computed; docs/rom.md discusses the consequences for security.
    pub look_ahead: u32,
}

impl RomReading {
    /// The first `nrom` blocks of a ROM as yescrypt 1.1 reads them: in every odd step, without
    /// look-ahead.
    #[must_use]
    pub const fn new(nrom: u64) -> Self {
        RomReading { nrom, masks: RomMasks::YESCRYPT, look_ahead: 0 }
    }

    /// All of a ROM of `size` bytes for hashes with this r, read as in [`RomReading::new`]; `None`
    /// unless the number of blocks is a power of two, at least 2.
    ///
    /// ```
    /// use saltern_yescrypt::rom::RomReading;
    /// assert_eq!(RomReading::whole(1 << 20, 8), Some(RomReading::new(1024)));
    /// assert_eq!(RomReading::whole(1 << 20, 7), None);
    /// ```
    #[must_use]
    pub const fn whole(size: u64, r: u32) -> Option<Self> {
        match size.checked_div(block_bytes(r)) {
            Some(nrom) if is_size(nrom) && nrom * block_bytes(r) == size => Some(Self::new(nrom)),
            _ => None,
        }
    }

    /// Refuses values that the algorithm does not define.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !is_size(self.nrom) {
            return Err(Error::invalid("NROM", self.nrom, "a power of two above 1"));
        }
        if self.look_ahead > MAX_LOOK_AHEAD {
            return Err(Error::invalid("look-ahead", self.look_ahead.into(), "at most 63 steps"));
        }
        Ok(())
    }
}

/// Refuses a list of ROMs that no hash with these parameters reads.
pub(crate) fn check_list<'r>(
    params: &Params,
    mut list: impl ExactSizeIterator<Item = &'r RomReading>,
) -> Result<(), Error> {
    if list.len() > MAX_ROMS {
        return Err(Error::invalid("number of ROMs", list.len() as u64, "at most 4"));
    }
    if params.nrom != 0 {
        let expected = "0: each ROM of the list has its own";
        return Err(Error::invalid("NROM", params.nrom, expected));
    }
    match params.mode {
        _ if list.len() == 0 => {}
        Mode::Rw => {}
        Mode::Escrypt(flags) if !flags.rw => {
            let expected = "with RW (1), which a ROM needs: leave out the ROM";
            return Err(Error::invalid("flags", flags.bits().into(), expected));
        }
        Mode::Escrypt(_) if list.len() == 1 => {}
        Mode::Escrypt(_) => {
            return Err(Error::invalid("number of ROMs", list.len() as u64, "1 for escrypt"));
        }
        Mode::Classic | Mode::Worm => return Err(Error::RomNotUsed),
    }
    list.try_for_each(RomReading::check)
}

impl CheckedParams {
    /// Refuses a list of ROMs that no hash with these parameters can read. Ignores the images.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`], [`Error::RomNotUsed`].
    pub fn check_roms(&self, list: &[RomUse]) -> Result<(), Error> {
        check_list(self.params(), list.iter().map(|used| &used.reading))
    }
}

/// One ROM of a hash and how it is read: an owned [`Rom`], or a [`RomView`] for
/// [`derive_with_roms`](crate::rom::derive_with_roms).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RomUse<R = Rom> {
    /// The ROM.
    pub rom: R,
    /// How it is read.
    pub reading: RomReading,
}

impl RomUse {
    /// Borrows the ROM, for hashes of this r.
    ///
    /// # Errors
    /// Those of [`Rom::view`].
    pub fn view(&self, r: u32) -> Result<RomUse<RomView<'_>>, Error> {
        Ok(RomUse { rom: self.rom.view(r)?, reading: self.reading })
    }
}

/// The ROMs of one computation, checked.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reads<'a> {
    reads: [RomInUse<'a>; MAX_ROMS],
    count: usize,
    /// See [`Schedule::opening`].
    opening: bool,
}

impl<'a> Reads<'a> {
    pub(crate) fn new(params: &CheckedParams, list: &[RomUse<RomView<'a>>]) -> Result<Self, Error> {
        check_list(params.params(), list.iter().map(|used| &used.reading))?;
        Self::collect(params, list.iter().map(|used| Ok(*used)))
    }

    /// The reads of ROMs that are held.
    pub(crate) fn of(params: &CheckedParams, list: &'a [RomUse]) -> Result<Self, Error> {
        params.check_roms(list)?;
        let views = list.iter().map(|used| used.view(params.params().r));
        let mut reads = Self::collect(params, views)?;
        for (reads, used) in reads.reads.iter_mut().zip(list) {
            reads.checked = used.rom.checker().is_some();
        }
        Ok(reads)
    }

    fn collect(
        params: &CheckedParams,
        list: impl ExactSizeIterator<Item = Result<RomUse<RomView<'a>>, Error>>,
    ) -> Result<Self, Error> {
        let opening = params.mode() == Mode::Rw;
        let mut all = Reads { count: list.len(), opening, ..Reads::default() };
        for (index, (reads, used)) in all.reads.iter_mut().zip(list).enumerate() {
            let RomUse { rom, reading: RomReading { nrom, masks, look_ahead } } = used?;
            if rom.elsewhere() && !opening {
                // Only yescrypt 1.1 passes can stop at a read.
                return Err(Error::RomUnavailable { nrom });
            }
            if rom.is_tagged() != opening {
                return Err(Error::RomTag);
            }
            let blocks = rom.blocks(nrom, params.block_len())?;
            let elsewhere = rom.elsewhere();
            *reads =
                RomInUse { index, look_ahead, elsewhere, ..RomInUse::new(blocks, nrom, masks) };
        }
        Ok(all)
    }

    /// Refuses ROMs that are not in memory, for callers that cannot stop at their reads.
    pub(crate) fn in_memory(self) -> Result<Self, Error> {
        match self.reads[..self.count].iter().find(|rom| rom.elsewhere) {
            Some(rom) => Err(Error::RomUnavailable { nrom: rom.nrom }),
            None => Ok(self),
        }
    }

    pub(crate) fn schedule(&self) -> Schedule<'_> {
        Schedule::new(&self.reads[..self.count], self.opening)
    }

    /// For each ROM of the list, whether it is not in memory.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = bool> {
        self.reads[..self.count].iter().map(|rom| rom.elsewhere)
    }
}

/// Which of the two loops over memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loop {
    /// The first, which fills it.
    Fill,
    /// The second, which mixes it.
    Mix,
}

/// The blocks of one ROM and when they are read.
#[derive(Clone, Copy)]
pub(crate) struct RomInUse<'a> {
    /// A power of two of blocks, or only the last one of a ROM that is elsewhere.
    pub(crate) blocks: &'a [SubBlock],
    /// How many blocks the ROM has.
    pub(crate) nrom: u64,
    pub(crate) masks: RomMasks,
    pub(crate) look_ahead: u32,
    /// The blocks are not in memory: the loop stops until it is given them.
    pub(crate) elsewhere: bool,
    /// Its place in the list.
    pub(crate) index: usize,
    /// Its blocks can be checked.
    pub(crate) checked: bool,
}

impl<'a> RomInUse<'a> {
    /// A ROM in memory, without look-ahead.
    pub(crate) fn new(blocks: &'a [SubBlock], nrom: u64, masks: RomMasks) -> Self {
        RomInUse { blocks, nrom, masks, look_ahead: 0, elsewhere: false, index: 0, checked: false }
    }

    /// Block `x` mod NROM.
    #[inline]
    pub(crate) fn block(&self, x: u64, len: usize) -> &'a [SubBlock] {
        #[cfg(test)]
        crate::core::cost::counter::count(|done| done.reads += 1);
        &self.blocks[(x & (self.nrom - 1)) as usize * len..][..len]
    }

    /// The last block, whatever is in memory.
    pub(crate) fn last(&self, len: usize) -> &'a [SubBlock] {
        #[cfg(test)]
        crate::core::cost::counter::count(|done| done.reads += 1);
        &self.blocks[self.blocks.len() - len..]
    }

    /// Whether step `i` reads it, unless an earlier one of the list is read there.
    #[inline]
    fn due(&self, which: Loop, i: u64) -> bool {
        let mask = match which {
            Loop::Fill => self.masks.fill,
            Loop::Mix => self.masks.mix,
        };
        i & u64::from(mask) == 1
    }
}

impl Default for RomInUse<'_> {
    fn default() -> Self {
        RomInUse::new(&[], 1, RomMasks { fill: 0, mix: 0 })
    }
}

/// All ROMs of one computation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Schedule<'a> {
    /// If several are due in one step, the first one is read.
    pub(crate) roms: &'a [RomInUse<'a>],
    /// Whether the first step of the first loop reads the last block of the first ROM that this
    /// loop reads at all. (A ROM's last block has its digest, so every bit of the ROM reaches every
    /// hash.)
    pub(crate) opening: bool,
    /// Whether any of them has a look-ahead.
    pub(crate) ahead: bool,
    /// Whether any of them is elsewhere.
    pub(crate) elsewhere: bool,
}

impl<'a> Schedule<'a> {
    pub(crate) fn new(roms: &'a [RomInUse<'a>], opening: bool) -> Self {
        let ahead = roms.iter().any(|rom| rom.look_ahead != 0);
        Schedule { roms, opening, ahead, elsewhere: roms.iter().any(|rom| rom.elsewhere) }
    }

    /// The ROM whose last block step 0 of the first loop reads. It reads no other.
    pub(crate) fn opening(&self) -> Option<&'a RomInUse<'a>> {
        self.roms.iter().find(|rom| self.opening && rom.masks.fill != 0)
    }

    /// The ROM that step `i`, not 0, of a loop reads.
    #[inline]
    pub(crate) fn at(&self, which: Loop, i: u64) -> Option<&'a RomInUse<'a>> {
        self.roms.iter().find(|rom| rom.due(which, i))
    }

    /// Its place in the list.
    pub(crate) fn index_at(&self, which: Loop, i: u64) -> Option<usize> {
        self.roms.iter().position(|rom| rom.due(which, i))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Mask bits above those of the step numbers exclude nothing.
        #[test]
        fn due_steps_are_counted_exactly(
            mask in prop_oneof![any::<u32>(), 0..8192_u32, (0..32_u32).prop_map(|k| u32::MAX << k | 1)],
            steps in 0..5000_u64,
        ) {
            let counted = (0..steps).filter(|i| i & u64::from(mask) == 1).count();
            prop_assert_eq!(due(mask, steps.into()), counted as u128);
        }
    }

    #[test]
    fn due_steps_of_the_longest_loops_are_counted() {
        assert_eq!(due(1, u128::MAX), u128::MAX >> 1);
        assert_eq!(due(0xffe0_0001, 1 << 21), 1 << 20);
        assert_eq!(due(0xffe0_0001, 1 << 40), 1 << 28);
        assert_eq!(due(u32::MAX, 1 << 63), 1 << 31);
        assert_eq!(due(u32::MAX - 1, 1 << 63), 0);
    }

    #[test]
    fn masks_of_escrypt_read_the_steps_of_its_table() {
        let steps = |mask: u32| (0..36).filter(|i| i & mask == 1).collect::<Vec<u32>>();
        for (mask, fill, mix) in [
            (0, vec![], (1..36).step_by(2).collect::<Vec<_>>()),
            (2, vec![], (1..36).step_by(4).collect()),
            (7, vec![1, 9, 17, 25, 33], vec![1, 9, 17, 25, 33]),
            (14, vec![], vec![1, 17, 33]),
            (
                5,
                vec![1, 3, 9, 11, 17, 19, 25, 27, 33, 35],
                vec![1, 3, 9, 11, 17, 19, 25, 27, 33, 35],
            ),
        ] {
            let masks = RomMasks::escrypt(mask);
            assert_eq!((steps(masks.fill), steps(masks.mix)), (fill, mix), "mask {mask}");
        }
    }
}
