//! The ROMs that a string names.

use crate::core::reading::{MAX_LOOK_AHEAD, RomMasks, RomUse};
use crate::{Error, RomId};

/// One ROM of a hash as a string names it: which ROM, how much of it, and when it is read. [`RomUse`] has the ROM itself instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NamedRom {
    /// The ROM's name, from its digest.
    pub id: RomId,
    /// NROM: the blocks of the hash's r that are used, a power of two above 1.
    pub nrom: u64,
    /// When it is read.
    pub masks: RomMasks,
    /// [`RomUse::look_ahead`]
    pub look_ahead: u32,
}

impl NamedRom {
    /// What yescrypt 1.1 does with a ROM: every odd step, no look-ahead.
    #[must_use]
    pub const fn new(id: RomId, nrom: u64) -> Self {
        NamedRom { id, nrom, masks: RomMasks::YESCRYPT, look_ahead: 0 }
    }

    /// Refuses what no string can say: values that the algorithm does not define, and masks under which nothing is read.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let RomMasks { fill, mix } = self.masks;
        if !self.nrom.is_power_of_two() || self.nrom < 2 {
            return Err(Error::invalid("NROM", self.nrom, "a power of two above 1"));
        }
        if mix != 0 && mix & 1 == 0 {
            return Err(Error::invalid("ROM mask of the second loop", mix.into(), "0 or odd"));
        }
        if fill == 0 && mix == 0 {
            return Err(Error::invalid(
                "ROM masks",
                0,
                "such that one loop at least reads the ROM",
            ));
        }
        if self.look_ahead > MAX_LOOK_AHEAD {
            return Err(Error::invalid("look-ahead", self.look_ahead.into(), "at most 63 steps"));
        }
        Ok(())
    }
}

/// The first ROM of a list that is read in no step of either loop, because one before it is read in all of its steps.
///
/// A mask's steps are those odd ones that have none of its other bits. The largest number of them is a step of another mask exactly if that has no
/// further bits, and then so are all of them.
pub(crate) fn never_read(list: &[NamedRom]) -> Option<usize> {
    let reads = |mask: u32, step: u32| mask & step == 1;
    let first = |at: usize, mask: fn(&NamedRom) -> u32| {
        let last_step = !mask(&list[at]) | 1;
        list.iter().position(|rom| reads(mask(rom), last_step)) == Some(at)
    };
    // Step 0 of the first loop reads the end of the first ROM with a mask for it.
    let opens = list.iter().position(|rom| rom.masks.fill != 0);
    (0..list.len()).find(|&at| {
        opens != Some(at) && !first(at, |rom| rom.masks.fill) && !first(at, |rom| rom.masks.mix)
    })
}

impl From<&RomUse<'_>> for NamedRom {
    fn from(used: &RomUse<'_>) -> Self {
        let &RomUse { rom, nrom, masks, look_ahead } = used;
        NamedRom { id: rom.id(), nrom, masks, look_ahead }
    }
}
