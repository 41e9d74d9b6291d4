//! The time cost of a hash with any parameters, in one unit: bytes mixed by the default flavour.
//!
//! Each step of the algorithm has a weight. The weights are fitted to measurements of a single hash
//! in one thread and rounded up, so that the result is an upper bound and not a forecast: the
//! example `costs` of saltern-rom shows how close it is.

#[cfg(test)]
pub(crate) mod counter;
#[cfg(test)]
mod tests;

use crate::core::flavor::Flavor;
use crate::core::params::{LoopCounts, Mode, Params, block_bytes, share};
use crate::core::reading::{RomMasks, RomUse, due};

/// Where the blocks of a ROM are when a hash reads them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Medium {
    /// In memory, shared or the program's own.
    Memory,
    /// In memory, and blocks that were read are checked afterwards.
    Checked {
        /// The most bytes that are hashed to check one block
        /// ([`RomCheck::bytes_for`](crate::rom::RomCheck::bytes_for)).
        bytes: usize,
    },
    /// In a file on an SSD; each block is read when it is needed.
    File,
}

/// The cost of finding a block, beside its bytes, in memory that is larger than the caches.
pub(crate) const BLOCK: u128 = 512;

/// A read from a file, of any size: about 150 microseconds.
pub(crate) const FILE_READ: u128 = 256 << 10;

/// The ends of a pass, for each byte of B: PBKDF2-HMAC-SHA256 produces it 32 bytes at a time and
/// absorbs it.
pub(crate) const END_BYTE: u128 = 44;

/// The ends of a pass, whatever the length of B, and the secrets around it.
pub(crate) const ENDS: u128 = 16 << 10;

/// Weights of a byte are in 48ths.
const ONE: u128 = 48;

impl Medium {
    /// The cost of reading this many bytes.
    pub(crate) fn read(self, bytes: u128) -> u128 {
        match self {
            Medium::Memory => BLOCK,
            // Noted, copied, hashed and compared: measured at about two thirds of that.
            Medium::Checked { bytes } => 2 * (BLOCK + bytes as u128),
            Medium::File => FILE_READ.saturating_add(bytes),
        }
    }
}

impl RomUse {
    /// The cost of its reads in blocks of this many bytes, including checks: for
    /// [`Params::work_with`].
    #[must_use]
    pub fn cost(&self, block: usize) -> (RomMasks, Medium) {
        let medium = match (self.rom.store(), self.rom.checker()) {
            (Some(_), _) => Medium::File,
            (None, Some(checker)) => Medium::Checked { bytes: checker.bytes_for(block) },
            (None, None) => Medium::Memory,
        };
        (self.reading.masks, medium)
    }
}

impl Params {
    /// Bytes that go through the block mixes.
    #[must_use]
    pub fn mixed(&self) -> u128 {
        let pass = Parts::of(self);
        pass.fill.saturating_add(pass.mix).saturating_mul(pass.block)
    }

    /// The time cost of one hash: that of mixing this many bytes with the default flavour, at about
    /// 2 GB a second in one thread. With NROM, for a ROM in memory.
    ///
    /// Everything is counted: the pass before the main one, the S-boxes, PBKDF2, the reads of
    /// memory and ROM; and every flavour by the cost of its steps.
    ///
    /// ```
    /// use saltern_yescrypt::Params;
    /// let (ours, scrypt) = (Params::yescrypt(4096, 32), Params::scrypt(4096, 32, 1));
    /// assert!(scrypt.work() > 5 * ours.work()); // for 1.5 times as many bytes
    /// ```
    #[must_use]
    pub fn work(&self) -> u128 {
        let plain = match self.mode {
            // The strings do not say whether there is a ROM.
            Mode::Escrypt(flags) if flags.rw => Some(RomMasks::escrypt(1)),
            _ => (self.nrom != 0).then_some(RomMasks::YESCRYPT),
        };
        self.work_with(plain.map(|masks| (masks, Medium::Memory)).as_slice())
    }

    /// [`Params::work`] of a hash that reads ROMs with these masks in these places.
    #[must_use]
    pub fn work_with(&self, roms: &[(RomMasks, Medium)]) -> u128 {
        let before = self.prehash();
        let passes = [Some(self), before.as_ref()].into_iter().flatten();
        let work = |pass: &Params| Parts::of(pass).work().saturating_add(pass.reading(roms));
        passes.map(work).fold(0, u128::saturating_add)
    }

    /// The cost of the reads of one pass.
    fn reading(&self, roms: &[(RomMasks, Medium)]) -> u128 {
        let block = block_bytes(self.r).into();
        let read = |(masks, medium): &(RomMasks, Medium)| {
            self.reads(*masks).saturating_mul(medium.read(block))
        };
        roms.iter().map(read).fold(0, u128::saturating_add)
    }

    /// How many blocks of a ROM one pass reads with these masks, if it is the only ROM; of several,
    /// the most. Exact for any masks, and counted without running a loop.
    pub(crate) fn reads(&self, masks: RomMasks) -> u128 {
        let (n, p) = (u128::from(self.n), u128::from(self.p));
        let others = p.saturating_sub(1);
        // Every loop of every instance begins with step 0.
        let own = || u128::from(share(self.n, u64::from(self.p).max(1)));
        let chunk = if self.mode.divides() { own() } else { n };
        let last = if self.mode.divides() { n - others * chunk } else { n };
        let filling = due(masks.fill, chunk).saturating_mul(others) + due(masks.fill, last);
        let LoopCounts { all, rw } = LoopCounts::new(self, false);
        let mixing = due(masks.mix, rw) + due(masks.mix, all.saturating_sub(rw));
        let beside = match self.mode {
            // Where the first loop reads a ROM at all, its first step reads the last block.
            Mode::Rw => u128::from(masks.fill != 0),
            // S-boxes of this generation are filled with the ROM, as blocks of 128 bytes.
            Mode::Escrypt(flags) if flags.rw && flags.pwxform => {
                due(masks.fill, u128::from(self.flavor.sbox_bytes()) / 128)
            }
            _ => 0,
        };
        mixing.saturating_add(beside).saturating_mul(p).saturating_add(filling)
    }
}

/// The parts of one pass, of either generation.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// Bytes of a block.
    pub(crate) block: u128,
    /// Blocks that the first loops of all instances fill.
    pub(crate) fill: u128,
    /// Steps of their second loops.
    pub(crate) mix: u128,
    /// How many instances there are, each with its B.
    pub(crate) instances: u128,
    /// Bytes of S-boxes that are filled, 0 where Salsa20 mixes blocks.
    pub(crate) boxes: u128,
    pub(crate) flavor: &'a Flavor,
}

impl<'a> Parts<'a> {
    fn of(params: &'a Params) -> Self {
        let (n, p, all) =
            (u128::from(params.n), params.p.into(), LoopCounts::new(params, false).all);
        Parts {
            block: block_bytes(params.r).into(),
            fill: if params.mode.divides() { n } else { n.saturating_mul(p) },
            mix: all.saturating_mul(p),
            instances: p,
            boxes: p * u128::from(params.sbox_bytes()),
            flavor: &params.flavor,
        }
    }

    /// Everything but ROM reads.
    pub(crate) fn work(&self) -> u128 {
        let byte = if self.boxes == 0 { salsa20(self.flavor) } else { pwxform(self.flavor) };
        let step = (self.block.saturating_mul(byte) / ONE).saturating_add(BLOCK);
        let steps = self.fill.saturating_add(self.mix).saturating_mul(step);
        // These are filled in blocks of 128 bytes, all of them in a cache.
        let boxes = self.boxes.saturating_mul(salsa20(self.flavor) + ONE) / ONE;
        let bytes = self.block.saturating_mul(self.instances);
        let ends = bytes.saturating_mul(END_BYTE).saturating_add(ENDS);
        steps.saturating_add(boxes).saturating_add(ends)
    }
}

/// The cost of a byte in the Salsa20 block mix, in 48ths: its rounds depend on each other.
fn salsa20(flavor: &Flavor) -> u128 {
    45 * u128::from(flavor.salsa_mix())
}

/// The cost of a byte in the pwxform block mix, in 48ths: the largest of three.
pub(crate) fn pwxform(flavor: &Flavor) -> u128 {
    let [rounds, gather, simple] =
        [flavor.rounds(), flavor.gather(), flavor.simple()].map(u128::from);
    // Each round waits for a lookup, while the other groups wait for theirs.
    let waiting = ONE * 8 * rounds * lookup(flavor) / (simple * gather * 6 * 16);
    // Each lookup is a separate instruction, however narrow.
    let issuing = ONE * 2 * (rounds + 2) / (8 * simple);
    // Each byte is read and written, whatever happens to it.
    let moving = 36;
    let tail = u128::from(flavor.salsa_tail().saturating_sub(Flavor::DEFAULT.salsa_tail()));
    waiting.max(issuing).max(moving) + 2 * tail
}

/// How long a lookup takes, in 16ths of one in boxes that fit into the smallest cache.
fn lookup(flavor: &Flavor) -> u128 {
    match flavor.sbox_bytes() >> 13 {
        0 | 1 => 16,
        2 | 3 => 18,
        4..8 => 20,
        8..16 => 26,
        16..32 => 40,
        32..64 => 52,
        _ => 72,
    }
}
