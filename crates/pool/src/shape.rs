//! The properties that items computed together share, and the resources that computing them takes.

use std::hash::{Hash as AsKey, Hasher};

use saltern_yescrypt::{
    Error as Hash, Limit,
    hazmat::{Pages, Resumable},
    params::{CheckedParams, Medium, block_bytes},
    rom::{RomMasks, RomUse},
};

use crate::error::invalid;
use crate::source::{Grid, block_rom};
use crate::task::Task;

/// What to derive: the same for all items of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Derive {
    /// The parameters. Their NROM must be 0: each ROM of the list has its own.
    pub params: CheckedParams,
    /// The ROMs, as for [`derive_with_roms`](saltern_yescrypt::rom::derive_with_roms).
    pub roms: Vec<RomUse>,
    /// Bytes of output for each item.
    pub len: usize,
}

/// The properties that items computed together must share, and what follows from them.
///
/// ROMs are foreign code, which may panic or give inconsistent answers. Everything that must be
/// known of them before a group computes is asked once, here, by the submitting thread, without a
/// lock.
pub(crate) struct Shape {
    what: What,
    /// Units of work of one item, including the check of its reads.
    pub(crate) cost: u64,
    /// The part of it that is skipped for an item whose answer is not in doubt: checking its reads.
    pub(crate) check_cost: u64,
    /// Bytes of an arena for groups of one hash, two hashes and so on. None for a task.
    memory: Vec<u64>,
    /// For each ROM whose blocks are read, their layout.
    grids: Vec<Option<Grid>>,
}

/// The work of one item.
#[derive(PartialEq, Eq, Hash)]
enum What {
    Hash(Derive),
    Task(Task),
}

/// Two shapes are equal if they compute the same: the rest follows from that.
impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl Eq for Shape {}

impl AsKey for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.what.hash(state);
    }
}

impl Shape {
    /// Refuses what no pool, or none without a source of blocks, can compute.
    pub(crate) fn new(what: Derive, sources: bool, pages: Pages) -> Result<Self, Hash> {
        let Derive { params, roms, .. } = &what;
        params.check_roms(roms)?;
        let block = block_bytes(params.params().r) as usize;
        let grid = |used| grid(used, block, sources);
        let grids = roms.iter().map(grid).collect::<Result<_, _>>()?;
        let reads: Vec<_> = roms.iter().map(|used| used.cost(block)).collect();
        let cost = work(params, &reads);
        let without = work(params, &reads.into_iter().map(unchecked).collect::<Vec<_>>());
        let memory = |hashes| Resumable::memory_for(params, roms, hashes, pages);
        let memory = (1..=params.degree()).map(|hashes| memory(hashes).unwrap_or(u64::MAX));
        let (check_cost, memory) = (cost.saturating_sub(without), memory.collect());
        Ok(Shape { what: What::Hash(what), cost, check_cost, memory, grids })
    }

    /// The shape of a task, which a function computes.
    pub(crate) fn task(task: Task) -> Self {
        let (memory, grids) = (Vec::new(), Vec::new());
        Shape { what: What::Task(task), cost: task.work, check_cost: 0, memory, grids }
    }

    /// The derivation, unless it is a task.
    pub(crate) fn derive(&self) -> Option<&Derive> {
        match &self.what {
            What::Hash(what) => Some(what),
            What::Task(_) => None,
        }
    }

    pub(crate) fn roms(&self) -> &[RomUse] {
        self.derive().map_or(&[], |what| &what.roms)
    }

    /// The most items that advance together.
    pub(crate) fn degree(&self) -> usize {
        self.derive().map_or(1, |what| what.params.degree())
    }

    /// Bytes that a task itself takes from the system.
    pub(crate) fn beside(&self) -> u64 {
        match self.what {
            What::Hash(_) => 0,
            What::Task(task) => task.memory,
        }
    }

    /// The layout of the blocks of the ROM at this place, if they are read.
    pub(crate) fn grid(&self, rom: usize) -> Option<Grid> {
        self.grids.get(rom).copied().flatten()
    }

    /// The ROMs whose blocks are read: their places and layouts.
    pub(crate) fn read(&self) -> impl Iterator<Item = (usize, Grid)> {
        let grids = self.grids.iter().enumerate();
        grids.filter_map(|(index, grid)| Some((index, (*grid)?)))
    }

    /// Bytes of an arena for this many hashes at once, limited to the most that advance together.
    pub(crate) fn memory(&self, hashes: usize) -> u64 {
        if self.derive().is_none() {
            return 0;
        }
        self.memory.get(hashes.wrapping_sub(1)).copied().unwrap_or(u64::MAX)
    }

    /// The instances of this many hashes that advance together.
    pub(crate) fn lanes(&self, hashes: usize) -> usize {
        let p = self.derive().map_or(1, |what| what.params.params().p as usize);
        hashes.saturating_mul(p).min(self.degree())
    }

    /// Whether blocks of its ROMs must be read.
    pub(crate) fn reads(&self) -> bool {
        self.read().next().is_some()
    }

    /// Bytes of a block of its r.
    pub(crate) fn block(&self) -> usize {
        self.derive().map_or(0, |what| block_bytes(what.params.params().r) as usize)
    }
}

/// The layout of a ROM's blocks, if they are read; an error if they cannot be.
fn grid(used: &RomUse, block: usize, sources: bool) -> Result<Option<Grid>, Hash> {
    let RomUse { rom, reading } = used;
    let nrom = reading.nrom;
    if rom.store().is_none() {
        return Ok(None);
    }
    let Some(rom) = block_rom(rom).filter(|_| sources) else {
        return Err(Hash::RomUnavailable { nrom });
    };
    let grid = Grid { size: rom.size(), piece: rom.alignment() };
    if nrom.checked_mul(block as u64) != Some(grid.size) {
        return Err(invalid("NROM", nrom, "all blocks of a ROM that is not in memory"));
    }
    if !grid.piece.is_power_of_two() {
        return Err(invalid("alignment of reads", grid.piece as u64, "a power of two"));
    }
    let (r, limit) = (block as u64 / 128, rom.tail().len() as u64 / 128);
    if r > limit {
        return Err(Hash::OverLimit { what: Limit::StoredRomR, value: r, limit });
    }
    Ok(Some(grid))
}

/// Units of work of a hash that reads ROMs in these ways.
fn work(params: &CheckedParams, reads: &[(RomMasks, Medium)]) -> u64 {
    u64::try_from(params.params().work_with(reads)).unwrap_or(u64::MAX)
}

/// How a ROM is read when what was read is not checked.
fn unchecked((masks, medium): (RomMasks, Medium)) -> (RomMasks, Medium) {
    let checked = matches!(medium, Medium::Checked { .. });
    (masks, if checked { Medium::Memory } else { medium })
}
