//! An item on its way: what it is computed from, and whom its result goes to.

use std::sync::Arc;

use zeroize::Zeroizing;

use saltern_yescrypt::{
    Error as Hash, Limit,
    hazmat::{Pages, Resumable},
    params::{CheckedParams, Medium},
    rom::{MAX_LOOK_AHEAD, MAX_ROMS, RomUse},
};

use crate::error::Error;
use crate::queue::Taken;
use crate::source::block_rom;

/// What items must have in common to be computed together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shape {
    /// Their NROM is 0: each ROM of the list has its own.
    pub(crate) params: CheckedParams,
    pub(crate) roms: Vec<RomUse>,
    /// Bytes of output.
    pub(crate) len: usize,
}

impl Shape {
    /// Refuses what no pool, or none without a source of blocks, can compute.
    pub(crate) fn check(&self, sources: bool) -> Result<(), Hash> {
        if self.roms.len() > MAX_ROMS {
            return Err(invalid("number of ROMs", self.roms.len() as u64, "at most 4"));
        }
        let block = self.block() as u64;
        for RomUse { rom, reading } in &self.roms {
            let nrom = reading.nrom;
            if reading.look_ahead > MAX_LOOK_AHEAD {
                return Err(invalid("look-ahead", reading.look_ahead.into(), "at most 63 steps"));
            }
            if rom.store().is_none() {
                continue;
            }
            let Some(store) = block_rom(rom).filter(|_| sources) else {
                return Err(Hash::RomUnavailable { nrom });
            };
            if nrom.checked_mul(block) != Some(store.size()) || !nrom.is_power_of_two() {
                return Err(invalid("NROM", nrom, "all blocks of a ROM that is not in memory"));
            }
            let limit = store.tail().len() as u64 / 128;
            if block / 128 > limit {
                return Err(Hash::OverLimit { what: Limit::StoredRomR, value: block / 128, limit });
            }
        }
        Ok(())
    }

    /// Units of work of one item, with the check of what it has read.
    pub(crate) fn cost(&self) -> u64 {
        let reads: Vec<_> = self.roms.iter().map(|used| used.cost(self.block())).collect();
        u64::try_from(self.params.params().work_with(&reads)).unwrap_or(u64::MAX)
    }

    /// The part of it that is not done for an item whose answer is in no doubt: checking what it
    /// has read.
    pub(crate) fn check_cost(&self) -> u64 {
        let unchecked = |used: &RomUse| match used.cost(self.block()) {
            (masks, Medium::Checked { .. }) => (masks, Medium::Memory),
            other => other,
        };
        let reads: Vec<_> = self.roms.iter().map(unchecked).collect();
        let without = u64::try_from(self.params.params().work_with(&reads)).unwrap_or(u64::MAX);
        self.cost().saturating_sub(without)
    }

    /// Bytes of an arena for so many hashes at once.
    pub(crate) fn memory(&self, hashes: usize, pages: Pages) -> u64 {
        Resumable::memory_for(&self.params, &self.roms, hashes, pages).unwrap_or(u64::MAX)
    }

    /// Instances of so many hashes that advance together.
    pub(crate) fn lanes(&self, hashes: usize) -> usize {
        let p = self.params.params().p as usize;
        hashes.saturating_mul(p).min(self.params.degree())
    }

    /// Whether blocks of its ROMs have to be read.
    pub(crate) fn reads(&self) -> bool {
        self.roms.iter().any(|used| block_rom(&used.rom).is_some())
    }

    /// Bytes of a block of its r.
    pub(crate) fn block(&self) -> usize {
        128 * self.params.params().r as usize
    }
}

/// The bytes of an item, or why there are none.
pub(crate) type Outcome = Result<Zeroizing<Vec<u8>>, Error>;

/// An item that has been taken on. It ends exactly once: if it is dropped, it was cancelled.
pub(crate) struct Item {
    pub(crate) password: Zeroizing<Vec<u8>>,
    /// As it goes into the KDF.
    pub(crate) salt: Zeroizing<Vec<u8>>,
    doubt: Doubt,
    reply: Option<Reply>,
}

/// Whether nothing is to be said of these bytes before what was read of ROMs has been checked; none
/// for always.
pub(crate) type Doubt = Option<Box<dyn Fn(&[u8]) -> bool + Send>>;

/// An item out of the queue, and what it needs to be put back.
pub(crate) type Queued = Taken<Arc<Shape>, Item>;

/// Takes the outcome to whoever waits. It may run foreign code: never called with a lock held.
pub(crate) type Reply = Box<dyn FnOnce(Outcome) + Send>;

impl Item {
    pub(crate) fn new(
        password: Zeroizing<Vec<u8>>,
        salt: Zeroizing<Vec<u8>>,
        doubt: Doubt,
        reply: Reply,
    ) -> Self {
        Item { password, salt, doubt, reply: Some(reply) }
    }

    pub(crate) fn is_doubtful(&self, output: &[u8]) -> bool {
        self.doubt.as_ref().is_none_or(|doubt| doubt(output))
    }

    /// Ends it.
    pub(crate) fn end(mut self, outcome: Outcome) {
        if let Some(reply) = self.reply.take() {
            reply(outcome);
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            reply(Err(Error::Cancelled));
        }
    }
}

fn invalid(name: &'static str, value: u64, expected: &'static str) -> Hash {
    Hash::InvalidParameter { name, value, expected }
}

/// Ends all of them in the same way.
pub(crate) fn end_all(items: impl IntoIterator<Item = Item>, error: &Error) {
    for item in items {
        item.end(Err(error.clone()));
    }
}
