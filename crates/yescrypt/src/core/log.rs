//! What hashes have read of ROMs in memory: written down while they are computed, to be checked
//! when something depends on it.

use alloc::vec::Vec;
use core::cell::RefCell;

use zeroize::{Zeroize, Zeroizing};

use crate::core::check::{BlockRead, RomFault};
use crate::core::memory::SubBlock;
use crate::core::params::CheckedParams;
use crate::core::reading::{RomMasks, RomUse};
use crate::error::Error;
use crate::ids::RomId;

/// The reads of a group of hashes, within memory that was reserved for all of them. In the four
/// highest bits of a block's number are the hash and the ROM: there are at most four of each, and
/// blocks have 128 bytes or more.
#[derive(Default)]
pub(crate) struct Log {
    reads: Vec<BlockRead>,
    /// There was more than there can be.
    overflow: bool,
}

const TAG: u32 = 60;

impl Log {
    /// Bytes for this many hashes; 0 if none of their ROMs can be checked.
    pub(crate) fn bytes(params: &CheckedParams, roms: &[RomUse], hashes: usize) -> u64 {
        let mut most = 0;
        for pass in [Some(*params), params.prehash()].into_iter().flatten() {
            let (n, p, all) = (pass.n() as u128, pass.p() as u128, pass.loops(false).all);
            for used in roms.iter().filter(|used| used.rom.checker().is_some()) {
                let RomMasks { fill, mix } = match used.rom.store() {
                    // Only the last block is here.
                    Some(_) => RomMasks { fill: 0, mix: 0 },
                    None => used.reading.masks,
                };
                // Each instance begins its loops anew, and reads the last block before.
                let own = 3 + due(fill, n.div_ceil(p) + 1) + due(mix, all) + due(mix, all);
                most += own.saturating_mul(p);
            }
        }
        let bytes = most.saturating_mul((hashes * size_of::<BlockRead>()) as u128);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// None if there is nothing that can be checked.
    pub(crate) fn new(
        params: &CheckedParams,
        roms: &[RomUse],
        hashes: usize,
    ) -> Result<Option<Self>, Error> {
        let bytes = Self::bytes(params, roms, hashes);
        let count = usize::try_from(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
        let reads = room(count / size_of::<BlockRead>())?;
        Ok((bytes > 0).then_some(Log { reads, overflow: false }))
    }

    /// Checks all that one of the hashes has read, in blocks of `len` bytes.
    pub(crate) fn check(
        &self,
        hash: usize,
        roms: &[RomUse],
        len: usize,
    ) -> Result<(), (RomId, RomFault)> {
        for (index, used) in roms.iter().enumerate() {
            let Some(checker) = used.rom.checker() else { continue };
            let failed = |fault| (checker.id(), fault);
            if self.overflow {
                return Err(failed("it was read more often than expected".into()));
            }
            let tag = tag(hash, index);
            let own = self.reads.iter().filter(|read| read.block >> TAG == tag);
            let mut copies = Zeroizing::new(room(self.reads.len()).map_err(|e| failed(e.into()))?);
            copies.extend(own.copied());
            copies.iter_mut().for_each(|read| read.block &= !(15 << TAG));
            checker.check(len, &mut copies).map_err(failed)?;
        }
        Ok(())
    }
}

fn room(count: usize) -> Result<Vec<BlockRead>, Error> {
    let (mut reads, bytes) = (Vec::new(), (count * size_of::<BlockRead>()) as u64);
    reads.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(reads)
}

fn tag(hash: usize, rom: usize) -> u64 {
    (hash << 2 | rom) as u64
}

/// The most steps of `steps` that read a ROM with this mask.
fn due(mask: u32, steps: u128) -> u128 {
    let most = |mask: u32| (steps >> mask.count_ones()) + (1 << mask.ilog2());
    if mask & 1 == 0 { 0 } else { most(mask).min(steps) }
}

impl Drop for Log {
    /// Which blocks were read tells something about passwords.
    fn drop(&mut self) {
        self.reads.zeroize();
    }
}

/// Writes what the lanes of a group of instances read.
#[derive(Clone, Copy)]
pub(crate) struct Pen<'a> {
    pub(crate) log: &'a RefCell<Log>,
    /// The first instance, and how many a hash has.
    pub(crate) first: usize,
    pub(crate) p: usize,
}

impl Pen<'_> {
    /// Notes that a lane reads a block of a ROM, which has these contents now.
    #[inline(never)]
    pub(crate) fn note(&self, lane: usize, rom: usize, block: u64, contents: &[SubBlock]) {
        let Log { reads, overflow } = &mut *self.log.borrow_mut();
        *overflow |= reads.len() == reads.capacity();
        if !*overflow {
            let tag = tag((self.first + lane) / self.p, rom);
            reads.push(BlockRead::new(tag << TAG | block, contents));
        }
    }
}
