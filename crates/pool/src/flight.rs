//! A group of hashes in flight, with its memory and the reads that it waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use saltern_wipe::{Zeroize, Zeroizing};
use saltern_yescrypt::{
    Error as Hash,
    hazmat::{Advance, BlocksNeeded, MAX_LANES, Resumable, WaitingReads},
    rom::MAX_ROMS,
};

use crate::error::{Error, Fault};
use crate::item::{Outcome, Queued, end_all};
use crate::ledger::Arena;
use crate::reader::Reader;
use crate::shape::{Derive, Shape};
use crate::source::{BlockBuffer, BlockRom, Completion, Grid, Request, Window, block_rom};

/// The most reads of one place that are under way at once, over all of its ROMs.
const MAX_SETS: usize = 8;
/// Tags of one place.
pub(crate) const TAGS: usize = MAX_SETS * MAX_LANES;

/// Buffers for one read, and its state.
#[derive(Default)]
struct ReadBuffers {
    /// The ROM's place in the shape's list.
    rom: usize,
    buffers: [Option<BlockBuffer>; MAX_LANES],
    /// The ids of these, including those that are away.
    ids: [u64; MAX_LANES],
    /// Which are away, being filled by the source.
    under_way: [bool; MAX_LANES],
    /// The announced read, until it has been supplied.
    read: Option<BlocksNeeded>,
    /// Blocks that have not come yet.
    missing: usize,
    failed: Option<Error>,
    /// For each block, whether enough bytes were read.
    came: [bool; MAX_LANES],
}

/// The number and sizes of a group's buffers: one size for each ROM that is read.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// For each set, its ROM and the length of its buffers.
    sets: Vec<(usize, usize)>,
    /// Buffers of a set.
    lanes: usize,
}

impl Layout {
    /// For a group of `count` hashes.
    pub(crate) fn new(shape: &Shape, count: usize) -> Self {
        let lanes = shape.lanes(count);
        let mut sets = Vec::new();
        for (index, grid) in shape.read() {
            let len = grid.longest(shape.block());
            sets.extend((0..sets_of(shape, index)).map(|_| (index, len)));
        }
        Layout { lanes: if sets.is_empty() { 0 } else { lanes }, sets }
    }

    /// Bytes of all buffers.
    pub(crate) fn bytes(&self) -> u64 {
        let page = |len: usize| (len as u64).checked_next_multiple_of(4096).unwrap_or(u64::MAX);
        let set = |(_, len): &(usize, usize)| page(*len).saturating_mul(self.lanes as u64);
        self.sets.iter().map(set).fold(0, u64::saturating_add)
    }

    /// Whether a group with the other layout can use these buffers, or needs none.
    pub(crate) fn holds(&self, other: &Layout) -> bool {
        other.sets.is_empty() || (self.sets == other.sets && self.lanes >= other.lanes)
    }
}

/// How many sets a ROM gets: the most reads that may be between announcement and use, at least 1.
fn sets_of(shape: &Shape, rom: usize) -> usize {
    let (read, reading) = (shape.read().count(), &shape.roms()[rom].reading);
    let within = |mask: u32| (1..=reading.look_ahead + 1).filter(|i| i & mask == 1).count();
    let useful = within(reading.masks.fill).max(within(reading.masks.mix));
    useful.clamp(1, (MAX_SETS / read.max(1)).max(1))
}

/// A place for a group in flight.
pub(crate) struct Slot {
    group: Option<Group>,
    sets: Vec<ReadBuffers>,
    /// The buffers that it has; empty for none.
    pub(crate) layout: Layout,
    /// Reads under way.
    under_way: usize,
    /// The first of its tags.
    tag: usize,
    dirty: bool,
}

/// Hashes that are being computed.
struct Group {
    hash: Resumable,
    /// The bytes reserved for its memory.
    bytes: u64,
    shape: Arc<Shape>,
    items: Vec<Queued>,
    /// Reads that were announced while no set was free, in order.
    deferred: WaitingReads,
    needed: Option<BlocksNeeded>,
    began: Instant,
    age: u64,
    /// For each item that must not be answered, the reason.
    faults: Vec<Option<Error>>,
    /// How many items had their reads checked.
    checked: usize,
}

/// A group that has ended.
pub(crate) struct Ended {
    pub(crate) shape: Arc<Shape>,
    pub(crate) began: Instant,
    pub(crate) items: Vec<Queued>,
    pub(crate) outcome: Result<Vec<Zeroizing<Vec<u8>>>, Error>,
    faults: Vec<Option<Error>>,
    checked: usize,
}

impl Slot {
    pub(crate) fn new(index: usize) -> Self {
        let (sets, layout) = (Vec::new(), Layout::default());
        Slot { group: None, sets, layout, under_way: 0, tag: index * TAGS, dirty: false }
    }

    /// Hashes in it.
    pub(crate) fn len(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.items.len())
    }

    /// Whether a group can begin in it.
    pub(crate) fn is_free(&self) -> bool {
        self.group.is_none() && self.under_way == 0
    }

    /// The age of its group, if there is something to compute.
    pub(crate) fn ready(&self) -> Option<u64> {
        let group = self.group.as_ref()?;
        let ready = group.needed.is_none_or(|read| self.supply(read).is_some());
        ready.then_some(group.age)
    }

    /// The set with the blocks of this read, if all of them have arrived or failed.
    fn supply(&self, read: BlocksNeeded) -> Option<usize> {
        self.sets.iter().position(|set| set.read == Some(read) && set.missing == 0)
    }

    /// Returns its buffers to the system; returns how many bytes they had.
    pub(crate) fn release(&mut self, reader: &mut Reader) -> u64 {
        let bytes = self.layout.bytes();
        if bytes > 0 {
            // A source that fails is replaced, with all of its buffers.
            let _ = reader.keep(self.tag, &[0; TAGS]);
            self.abandon();
        }
        bytes
    }

    /// Forgets its buffers and the reads under way, wherever those are.
    pub(crate) fn abandon(&mut self) {
        self.clear_sets();
        (self.layout, self.under_way) = (Layout::default(), 0);
    }

    /// Wipes and drops its buffers, into which nothing is being read any more.
    fn clear_sets(&mut self) {
        self.wipe();
        let sets = std::mem::take(&mut self.sets);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(sets)));
    }

    /// The numbers of the blocks read reveal something about passwords.
    pub(crate) fn wipe(&mut self) {
        if std::mem::take(&mut self.dirty) {
            for buffer in self.sets.iter_mut().flat_map(|set| set.buffers.iter_mut().flatten()) {
                // The memory is a source's.
                let _ = catch_unwind(AssertUnwindSafe(|| buffer.memory.zeroize()));
            }
        }
    }

    /// Wipes the numbers of blocks, which reveal as much, in their places: what is taken from there
    /// is a copy.
    fn forget(&mut self) {
        self.sets.iter_mut().for_each(|set| set.read.zeroize());
        if let Some(group) = &mut self.group {
            group.needed.zeroize();
        }
    }

    /// Accepts a group, for which memory is reserved. Nothing is computed yet.
    pub(crate) fn begin(
        &mut self,
        (shape, items): (Arc<Shape>, Vec<Queued>),
        arena: Arena,
        (now, age): (Instant, u64),
    ) {
        self.group = Some(Group {
            hash: Resumable::new(arena.workspace),
            bytes: arena.bytes,
            shape,
            items,
            deferred: WaitingReads::default(),
            needed: None,
            began: now,
            age,
            faults: Vec::new(),
            checked: 0,
        });
    }

    /// Prepares buffers and hashes of the group that was begun. Hashes for which the system has no
    /// memory beside the others are taken out of it.
    pub(crate) fn prepare(&mut self, reader: &mut Reader) -> Result<Vec<Queued>, Error> {
        let Some(group) = &mut self.group else { return Ok(Vec::new()) };
        let layout = Layout::new(&group.shape, group.items.len());
        let reads = !layout.sets.is_empty();
        if !self.layout.holds(&layout) {
            self.clear_sets();
            // Reserved for this place from here on, even if it cannot be allocated.
            self.layout = layout;
        }
        let Some(group) = &mut self.group else { return Ok(Vec::new()) };
        let Derive { params, roms, len } = group.shape.derive().ok_or(Error::Panicked)?;
        let ahead = |(rom, _): (usize, Grid)| roms[rom].reading.look_ahead as usize + 1;
        group.deferred = WaitingReads::with_room(group.shape.read().map(ahead).sum())?;
        let items = group.items.iter().map(|queued| &queued.entry.item);
        let inputs: Vec<(&[u8], &[u8])> =
            items.map(|item| (&item.password[..], &item.salt[..])).collect();
        let mut count = inputs.len();
        while let Err(error) = group.hash.begin(&inputs[..count], params, roms, *len) {
            if count == 1 || !matches!(error, Hash::OutOfMemory { .. }) {
                return Err(error.into());
            }
            count /= 2;
        }
        let lanes = self.layout.lanes;
        let whole = |set: &ReadBuffers| set.buffers[..lanes].iter().all(Option::is_some);
        let made = self.sets.len() == self.layout.sets.len() && self.sets.iter().all(whole);
        if reads && !made {
            self.make_sets(reader)?;
        }
        Ok(self.group.as_mut().map_or_else(Vec::new, |group| group.items.split_off(count)))
    }

    /// Allocates the buffers of the layout.
    fn make_sets(&mut self, reader: &mut Reader) -> Result<(), Error> {
        reader.keep(self.tag, &[0; TAGS])?;
        self.clear_sets();
        let mut ids = [0; TAGS];
        for (&(rom, len), ids) in self.layout.sets.iter().zip(ids.chunks_exact_mut(MAX_LANES)) {
            let mut buffers: [Option<BlockBuffer>; MAX_LANES] = Default::default();
            for (buffer, id) in buffers.iter_mut().zip(&mut *ids).take(self.layout.lanes) {
                let made = reader.make(len)?;
                *id = made.id;
                *buffer = Some(made);
            }
            let ids = std::array::from_fn(|lane| ids[lane]);
            self.sets.push(ReadBuffers { rom, buffers, ids, ..ReadBuffers::default() });
        }
        reader.keep(self.tag, &ids)
    }

    /// Computes until the group is finished, or waits for a read.
    pub(crate) fn run(&mut self, reader: &mut Reader) -> Result<Advance, Error> {
        loop {
            let Some(group) = &mut self.group else { return Ok(Advance::Done) };
            let progress = match group.needed.take() {
                None => group.hash.advance(&[])?,
                Some(read) => {
                    let Some(set) = self.supply(read) else {
                        if let Some(group) = &mut self.group {
                            group.needed = Some(read);
                        }
                        reader.flush()?;
                        return Ok(Advance::Needs(read));
                    };
                    self.resume(set, reader)?
                }
            };
            let Some(group) = &mut self.group else { return Ok(Advance::Done) };
            match progress {
                Advance::Announces(read) => {
                    group.deferred.push(read)?;
                    let ahead = group.shape.roms()[read.rom].reading.look_ahead > 0;
                    self.submit(reader)?;
                    // Reads needed at once begin together, when the group waits.
                    if ahead {
                        reader.flush()?;
                    }
                }
                Advance::Needs(read) => group.needed = Some(read),
                Advance::Done => {
                    group.check();
                    return Ok(Advance::Done);
                }
            }
        }
    }

    /// Continues with the blocks of a set, which is then free for the next read.
    fn resume(&mut self, set: usize, reader: &mut Reader) -> Result<Advance, Error> {
        let Some(group) = &mut self.group else { return Err(Error::Panicked) };
        let set = &mut self.sets[set];
        let read = set.read.take().ok_or(Error::Panicked)?;
        if let Some(error) = set.failed.take() {
            return Err(error);
        }
        let block = group.shape.block();
        let (rom, grid) = group.rom(set.rom)?;
        let mut supplied: [&[u8]; MAX_LANES] = Default::default();
        let blocks = read.blocks().iter().zip(&mut set.buffers).zip(set.came);
        // Checked only now: blocks could be damaged while they wait.
        for (((j, buffer), came), supplied) in blocks.zip(&mut supplied) {
            let Some(buffer) = buffer else { return Err(Error::Panicked) };
            let Window { offset, extent, skip, .. } = grid.block(*j, block);
            let bytes = &mut buffer.memory[..extent];
            if !came || !rom.is_right(offset, bytes) {
                reader.stats.repeated += 1;
                let again = rom.read_again(offset, bytes);
                again.map_err(|fault| Error::RomUnavailable { id: rom.id(), fault })?;
            }
            *supplied = buffer.memory.get(skip..skip + block).unwrap_or_default();
        }
        let progress = group.hash.advance(&supplied[..read.blocks().len()])?;
        if !group.deferred.is_empty() {
            self.submit(reader)?;
        }
        Ok(progress)
    }

    /// Submits announced reads while there are free sets, each ROM's in order.
    fn submit(&mut self, reader: &mut Reader) -> Result<(), Error> {
        let Some(group) = &mut self.group else { return Ok(()) };
        let block = group.shape.block();
        let mut full = [false; MAX_ROMS];
        for _ in 0..group.deferred.len() {
            let Some(read) = group.deferred.pop() else { break };
            let free =
                |set: &ReadBuffers| set.rom == read.rom && set.read.is_none() && set.missing == 0;
            let Some(index) = self.sets.iter().position(free).filter(|_| !full[read.rom]) else {
                full[read.rom] = true;
                group.deferred.push(read)?;
                continue;
            };
            let set = &mut self.sets[index];
            set.read = Some(read);
            let (rom, grid) = group.rom(read.rom)?;
            for (lane, j) in read.blocks().iter().enumerate() {
                let Window { offset, len, .. } = grid.block(*j, block);
                let Some(buffer) = set.buffers[lane].take() else {
                    set.failed = Some(Hash::OutOfMemory { bytes: len as u64 }.into());
                    continue;
                };
                set.missing += 1;
                set.under_way[lane] = true;
                self.under_way += 1;
                reader.depth += 1;
                reader.stats.blocks += 1;
                reader.stats.bytes += len as u64;
                reader.stats.depth_sum += reader.depth;
                let tag = self.tag + index * MAX_LANES + lane;
                let rom = Arc::clone(rom);
                reader.call(|source| source.submit(Request { tag, rom, offset, len, buffer }))?;
            }
        }
        Ok(())
    }

    /// A read has ended. If it was not requested, or comes back in other memory, the state of the
    /// source's reads is no longer known.
    pub(crate) fn ended(&mut self, completion: Completion, reader: &mut Reader) {
        let Completion { tag, buffer, outcome } = completion;
        let (index, lane) = (tag % TAGS / MAX_LANES, tag % MAX_LANES);
        let Some(under_way) = self.under_way.checked_sub(1) else {
            reader.failed = true;
            return;
        };
        self.under_way = under_way;
        // A group that ended in an error may have left reads behind, with the sets.
        let Some(set) = self.sets.get_mut(index) else { return };
        let len = self.layout.sets[index].1;
        let own = |buffer: &BlockBuffer| buffer.id == set.ids[lane] && buffer.memory.len() == len;
        if !std::mem::take(&mut set.under_way[lane]) || !buffer.as_ref().is_none_or(own) {
            reader.failed = true;
            return;
        }
        set.missing -= 1;
        self.dirty |= buffer.is_some();
        let Some((read, group)) = set.read.zip(self.group.as_ref()) else {
            set.buffers[lane] = buffer;
            return;
        };
        let Ok((rom, grid)) = group.rom(set.rom) else { return };
        let window = grid.block(read.blocks()[lane], group.shape.block());
        let came = outcome.is_ok_and(|came| came >= window.extent);
        set.came[lane] = buffer.is_some() && came;
        match buffer.map_or_else(|| reader.make(len), Ok) {
            Ok(buffer) => {
                set.ids[lane] = buffer.id;
                set.buffers[lane] = Some(buffer);
            }
            Err(error) => {
                let (id, fault) = (rom.id(), Fault::new(error));
                set.failed = Some(Error::RomUnavailable { id, fault });
            }
        }
    }

    /// Ends the group and returns its items and memory. Reads may still be under way.
    pub(crate) fn end(&mut self, outcome: Result<(), Error>) -> Option<(Ended, Arena)> {
        self.forget();
        let Group { mut hash, bytes, shape, items, began, faults, checked, .. } =
            self.group.take()?;
        self.sets.iter_mut().for_each(|set| set.failed = None);
        let outputs = |()| {
            let output = |index| hash.output(index).map(|output| Zeroizing::new(output.to_vec()));
            let outputs: Option<Vec<_>> = (0..items.len()).map(output).collect();
            outputs.ok_or(Error::Panicked)
        };
        let outcome = outcome.and_then(outputs);
        hash.clear();
        let arena = Arena { workspace: hash.into_workspace(), bytes };
        Some((Ended { shape, began, items, outcome, faults, checked }, arena))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.forget();
        self.clear_sets();
    }
}

impl Group {
    /// A ROM whose blocks are read, and their layout.
    fn rom(&self, index: usize) -> Result<(&Arc<dyn BlockRom>, Grid), Error> {
        let rom = self.shape.roms().get(index).and_then(|used| block_rom(&used.rom));
        rom.zip(self.shape.grid(index)).ok_or(Error::Panicked)
    }

    /// Checks the reads from ROMs in memory where an answer depends on them.
    fn check(&mut self) {
        for (index, queued) in self.items.iter().enumerate() {
            let item = &queued.entry.item;
            let output = self.hash.output(index);
            let doubtful = output.is_some_and(|output| item.is_doubtful(output));
            let checked = if doubtful { self.hash.check(index) } else { Ok(()) };
            self.checked += usize::from(doubtful);
            let unavailable = |(id, fault)| Error::RomUnavailable { id, fault: Fault::new(fault) };
            self.faults.push(checked.map_err(unavailable).err());
        }
    }
}

impl Ended {
    /// The end of a task, which runs alone.
    pub(crate) fn of_task(
        (shape, items): (Arc<Shape>, Vec<Queued>),
        began: Instant,
        outcome: Outcome,
    ) -> Self {
        let outcome = outcome.map(|bytes| vec![bytes]);
        Ended { shape, began, items, outcome, faults: vec![None], checked: 0 }
    }

    /// Units of work that were done, for measuring the speed of the thread.
    pub(crate) fn work(&self) -> u64 {
        let unchecked = self.items.len().saturating_sub(self.checked) as u64;
        self.booked().saturating_sub(self.shape.check_cost.saturating_mul(unchecked))
    }

    /// Units of work that were booked when it began.
    pub(crate) fn booked(&self) -> u64 {
        self.shape.cost.saturating_mul(self.items.len() as u64)
    }

    /// Answers all items.
    pub(crate) fn answer(self) {
        match self.outcome {
            Ok(outputs) => {
                // Items that were not checked are not answered.
                let unchecked = std::iter::repeat_with(|| Some(Error::Panicked));
                let faults = self.faults.into_iter().chain(unchecked);
                for ((queued, output), fault) in self.items.into_iter().zip(outputs).zip(faults) {
                    queued.entry.item.end(fault.map_or(Ok(output), Err));
                }
            }
            Err(error) => end_all(self.items, &error),
        }
    }
}
