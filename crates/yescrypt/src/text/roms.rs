//! The ROMs that a string names.

use crate::core::params::Params;
use crate::core::reading::{RomMasks, RomReading, check_list};
use crate::error::Error;
use crate::ids::RomId;

/// One ROM of a hash as a string gives it: its id, and how it is read.
/// [`RomUse`](crate::rom::RomUse) has the ROM itself instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NamedRom {
    /// The ROM's id.
    pub id: RomId,
    /// How it is read.
    pub reading: RomReading,
}

impl NamedRom {
    /// A ROM as yescrypt 1.1 reads it: in every odd step, without look-ahead.
    #[must_use]
    pub const fn new(id: RomId, nrom: u64) -> Self {
        NamedRom { id, reading: RomReading::new(nrom) }
    }
}

/// Refuses a list that no string can express: what the algorithm does not define, and ROMs that are
/// never read.
pub(crate) fn check(params: &Params, list: &[NamedRom]) -> Result<(), Error> {
    check_list(params, list.iter().map(|rom| &rom.reading))?;
    for NamedRom { reading, .. } in list {
        let RomMasks { fill, mix } = reading.masks;
        if mix != 0 && mix & 1 == 0 {
            return Err(Error::invalid("ROM mask of the second loop", mix.into(), "0 or odd"));
        }
        if fill == 0 && mix == 0 {
            let expected = "such that at least one loop reads the ROM";
            return Err(Error::invalid("ROM masks", 0, expected));
        }
    }
    if let Some(at) = never_read(list) {
        let expected = "where some step reads it: list the rarest first";
        return Err(Error::invalid("place of a ROM in the list", at as u64 + 1, expected));
    }
    Ok(())
}

/// The first ROM of a list that is never read, because another ROM before it is read in all of its
/// steps.
///
/// A mask's steps are those odd ones that have none of its other bits. The largest of them is a
/// step of another mask exactly if that mask has no further bits, and then all of them are.
fn never_read(list: &[NamedRom]) -> Option<usize> {
    let reads = |mask: u32, step: u32| mask & step == 1;
    let first = |at: usize, mask: fn(&NamedRom) -> u32| {
        let last_step = !mask(&list[at]) | 1;
        list.iter().position(|rom| reads(mask(rom), last_step)) == Some(at)
    };
    // Step 0 of the first loop reads the end of the first ROM with a mask for it.
    let opens = list.iter().position(|rom| rom.reading.masks.fill != 0);
    (0..list.len()).find(|&at| {
        opens != Some(at)
            && !first(at, |rom| rom.reading.masks.fill)
            && !first(at, |rom| rom.reading.masks.mix)
    })
}
