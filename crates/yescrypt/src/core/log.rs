//! The reads of hashes from ROMs in memory: recorded while the hashes are computed, and checked
//! when an answer depends on them.

use alloc::vec::Vec;
use core::cell::RefCell;

use saltern_wipe::Zeroizing;

use crate::core::check::{BlockRead, RomFault};
use crate::core::memory::SubBlock;
use crate::core::params::CheckedParams;
use crate::core::reading::RomUse;
use crate::ids::RomId;

/// The reads of a group of hashes, in workspace memory that is large enough for all of them, so
/// that it is counted, kept and wiped with the rest. The four highest bits of a block number hold
/// the hash and the ROM: there are at most four of each, and blocks have 128 bytes or more.
pub(crate) struct Log<'m> {
    pub(crate) memory: &'m mut [SubBlock],
    /// The number of reads noted: larger than the room for them if there were more than expected.
    pub(crate) noted: usize,
}

/// Reads in a sub-block, of two lanes each.
const READS: usize = 4;

/// How many reads are copied to be checked, 16 KiB of them.
const WINDOW: usize = 1024;

const TAG: u32 = 60;

/// Sub-blocks for this many hashes; 0 if none of their ROMs can be checked.
pub(crate) fn room(params: &CheckedParams, roms: &[RomUse], hashes: usize) -> usize {
    let mut most = 0_u128;
    for pass in [Some(*params), params.prehash()].into_iter().flatten() {
        for used in roms.iter().filter(|used| used.rom.checker().is_some()) {
            let reads = match used.rom.store() {
                // Only the last block is in memory; each instance reads it once.
                Some(_) => pass.p() as u128,
                None => pass.params().reads(used.reading.masks),
            };
            most = most.saturating_add(reads);
        }
    }
    let reads = most.saturating_mul(hashes as u128);
    usize::try_from(reads.div_ceil(READS as u128)).unwrap_or(usize::MAX)
}

/// Noted reads, for checking.
pub(crate) struct RecordedRead<'m> {
    pub(crate) memory: &'m [SubBlock],
    pub(crate) count: usize,
}

impl RecordedRead<'_> {
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
            if self.count > self.memory.len() * READS {
                return Err(failed("it was read more often than expected".into()));
            }
            let mut own = self.of(tag(hash, index)).peekable();
            let mut window = Zeroizing::new(Vec::new());
            window.try_reserve_exact(WINDOW).map_err(|error| failed(error.into()))?;
            while own.peek().is_some() {
                window.clear();
                window.extend(own.by_ref().take(WINDOW));
                checker.check(len, &mut window).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The reads with this tag, without it.
    fn of(&self, tag: u64) -> impl Iterator<Item = BlockRead> {
        let lanes = self.memory.iter().flat_map(|sub_block| sub_block.0.as_chunks::<2>().0);
        let own = lanes.take(self.count).filter(move |[block, _]| block >> TAG == tag);
        own.map(|[block, sum]| BlockRead { block: block & !(15 << TAG), sum: *sum })
    }
}

fn tag(hash: usize, rom: usize) -> u64 {
    (hash << 2 | rom) as u64
}

/// Notes what the lanes of a group of instances read.
#[derive(Clone, Copy)]
pub(crate) struct ReadRecorder<'a> {
    pub(crate) log: &'a RefCell<Log<'a>>,
    /// The first instance, and the number of instances in a hash.
    pub(crate) first: usize,
    pub(crate) p: usize,
}

impl ReadRecorder<'_> {
    /// Notes that a lane reads a block of a ROM, which has these contents now.
    #[inline(never)]
    pub(crate) fn note(&self, lane: usize, rom: usize, block: u64, contents: &[SubBlock]) {
        let Log { memory, noted } = &mut *self.log.borrow_mut();
        let at = core::mem::replace(noted, noted.saturating_add(1));
        if let Some(place) = memory.get_mut(at / READS) {
            let tag = tag((self.first + lane) / self.p, rom);
            let BlockRead { block, sum } = BlockRead::new(tag << TAG | block, contents);
            place.0.as_chunks_mut::<2>().0[at % READS] = [block, sum];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use saltern_wipe::Zero;

    use super::*;
    use crate::core::memory::Pages;
    use crate::hazmat::{Advance, Resumable};
    use crate::rom::{Rom, RomCheck, RomImage, RomMasks, RomMemory, RomParams, RomReading};
    use crate::{Limits, Params, Workspace};

    /// A ROM that counts the reads that it is asked to check.
    struct Witness(Arc<(RomImage, AtomicUsize)>);

    impl RomMemory for Witness {
        fn bytes(&self) -> &[u8] {
            self.0.0.as_bytes()
        }

        fn checker(&self) -> Option<&dyn RomCheck> {
            Some(self)
        }
    }

    impl RomCheck for Witness {
        fn id(&self) -> RomId {
            "0123456789abcdef".parse().unwrap()
        }

        fn bytes_for(&self, len: usize) -> usize {
            len
        }

        fn check(&self, len: usize, reads: &mut [BlockRead]) -> Result<(), RomFault> {
            assert!((1..=WINDOW).contains(&reads.len()));
            for read in &*reads {
                assert!(read.was(&self.bytes()[read.block() as usize * len..][..len]));
            }
            self.0.1.fetch_add(reads.len(), Relaxed);
            Ok(())
        }
    }

    /// All reads are noted in memory that is counted, and checked in several windows.
    #[test]
    fn notes_are_part_of_the_memory_that_is_counted() {
        let image = RomImage::init(&RomParams::new(256, 8, 1), b"seed", &mut Workspace::new());
        let shared = Arc::new((image.unwrap(), AtomicUsize::new(0)));
        let mut reading = RomReading::new(256);
        reading.masks = RomMasks { fill: 1, mix: 1 };
        let roms = [RomUse { rom: Rom::new(Witness(shared.clone())).unwrap(), reading }];
        let params = Params { t: 2, ..Params::yescrypt(2048, 8) };
        let params = params.check(&Limits::server()).unwrap();
        let memory = |roms| Resumable::memory_for(&params, roms, 2, Pages::Standard).unwrap();
        let notes = memory(&roms) - memory(&[]);
        let mut hash = Resumable::new(Workspace::new().with_pages(Pages::Standard));
        hash.begin(&[(b"a", b"s"), (b"b", b"s")], &params, &roms, 32).unwrap();
        assert_eq!(hash.memory() as u64, memory(&roms));
        assert!(matches!(hash.advance(&[]), Ok(Advance::Done)));
        for index in 0..2 {
            assert!(hash.check(index).is_ok());
        }
        let seen = shared.1.load(Relaxed);
        let most = notes as usize / size_of::<BlockRead>();
        assert!(seen > 4 * WINDOW && (most - READS..=most).contains(&seen), "{seen} of {most}");
        assert_eq!(notes as usize, room(&params, &roms, 2) * SubBlock::BYTES);
    }

    #[test]
    fn more_reads_than_there_can_be_are_an_error() {
        let image = RomImage::init(&RomParams::new(256, 8, 1), b"seed", &mut Workspace::new());
        let shared = Arc::new((image.unwrap(), AtomicUsize::new(0)));
        let rom = Rom::new(Witness(shared.clone())).unwrap();
        let roms = [RomUse { rom, reading: RomReading::new(256) }];
        let mut memory = [SubBlock::ZERO; 2];
        let log = RefCell::new(Log { memory: &mut memory, noted: 0 });
        let pen = ReadRecorder { log: &log, first: 0, p: 1 };
        let block = &crate::core::memory::from_bytes(shared.0.as_bytes()).unwrap()[..16];
        let mut results = (0..9).map(|_| {
            pen.note(0, 0, 0, block);
            let Log { memory, noted } = &*log.borrow();
            RecordedRead { memory, count: *noted }.check(0, &roms, 1024).is_ok()
        });
        assert!(results.by_ref().take(8).all(|checked| checked));
        assert_eq!(results.next(), Some(false));
    }
}
