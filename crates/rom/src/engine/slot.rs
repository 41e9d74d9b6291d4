//! A group of hashes in flight, with its memory and the reads that it waits for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use saltern_yescrypt::{Error as Core, Progress, Resumable, RomRead};
use zeroize::{Zeroize, Zeroizing};

use super::queue::Item;
use super::reads::{Buffer, Completion, Reader, Request};
use super::{EngineError, Shared, Work, WorkRom};
use crate::{BlockBuffer, Error};

/// The most reads of one slot that are under way at once, over all of its ROMs.
const MAX_SETS: usize = 8;
/// The most blocks of one read: one for each hash of a group.
const LANES: usize = 4;
/// Tags of one slot.
pub(super) const TAGS: usize = MAX_SETS * LANES;

/// Buffers for one read, and how it goes.
struct Set {
    /// The ROM's place in the work's list.
    rom: usize,
    buffers: [Option<Buffer>; LANES],
    /// How many bytes before each block were read, too.
    skip: [usize; LANES],
    /// What was announced, from then until it has been supplied.
    read: Option<RomRead>,
    /// Blocks that have not come yet.
    missing: usize,
    failed: Option<EngineError>,
}

/// A place for a group in flight.
pub(super) struct Slot {
    hash: Resumable,
    items: Vec<Item>,
    sets: Vec<Set>,
    /// Reads that were announced while no set was free, in order.
    deferred: VecDeque<RomRead>,
    needed: Option<RomRead>,
    /// Reads under way.
    under_way: usize,
    /// What it has taken out of the budget.
    pub(super) reserved: u64,
    /// Whether hashes have left anything in its memory.
    dirty: bool,
    /// Which of the slots began first.
    pub(super) age: u64,
    /// Of the first of its tags.
    tag: usize,
    buffers: Buffers,
}

/// Makes the buffers of one slot.
struct Buffers {
    last_id: u64,
}

impl Buffers {
    fn make(&mut self, len: usize) -> Result<Buffer, Error> {
        self.last_id += 1;
        Ok(Buffer { memory: BlockBuffer::new(len)?, id: self.last_id })
    }
}

/// What slots use of their thread.
pub(super) struct Context<'t, 'a> {
    pub(super) shared: &'a Shared,
    pub(super) reader: &'t mut Reader,
    /// Reads of this thread that are under way.
    pub(super) depth: &'t mut u64,
}

/// How many sets a ROM of a work gets: as many as there may be reads between announcement and use, 1 at least.
fn sets_of(shared: &Shared, work: &Work, plan: &WorkRom) -> usize {
    let in_file = |plan: &&WorkRom| shared.roms[plan.rom].file().is_some();
    let files = work.roms.iter().filter(in_file).count();
    if !in_file(&plan) {
        return 0;
    }
    let within = |mask: u32| (1..=plan.look_ahead + 1).filter(|i| i & mask == 1).count();
    let useful = within(plan.masks.fill).max(within(plan.masks.mix));
    useful.clamp(1, (MAX_SETS / files).max(1))
}

/// How many blocks the reads of a group of `count` hashes have at most. Hashes with p > 1 have several instances each.
fn lanes(work: &Work, count: usize) -> usize {
    count.saturating_mul(work.params.params().p as usize).min(work.params.degree())
}

/// Bytes of memory for a group of `count` hashes, and of buffers for their reads.
pub(super) fn need(shared: &Shared, work: &Work, count: usize) -> Option<[u64; 2]> {
    let hashes = Resumable::memory_for(&work.params, count, shared.config.pages)?;
    let block = 128 * work.params.params().r as usize;
    let lanes = lanes(work, count) as u64;
    let mut buffers = 0u64;
    for plan in &work.roms {
        let window = shared.roms[plan.rom].window_size(block).next_multiple_of(4096);
        buffers += sets_of(shared, work, plan) as u64 * lanes * window as u64;
    }
    hashes.checked_add(buffers).map(|_| [hashes, buffers])
}

impl Slot {
    pub(super) fn new(shared: &Shared, index: usize) -> Self {
        Slot {
            hash: Resumable::new(shared.config.workspace()),
            items: Vec::new(),
            sets: Vec::new(),
            deferred: VecDeque::new(),
            needed: None,
            under_way: 0,
            reserved: 0,
            dirty: false,
            age: 0,
            tag: index * TAGS,
            buffers: Buffers { last_id: 0 },
        }
    }

    /// Hashes in it.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether a group can be begun in it.
    pub(super) fn is_free(&self) -> bool {
        self.items.is_empty() && self.under_way == 0
    }

    /// Whether there is something to compute.
    pub(super) fn is_ready(&self) -> bool {
        !self.items.is_empty() && self.needed.is_none_or(|read| self.supply(read).is_some())
    }

    /// The set with the blocks of this read, if all of them are there, or are known not to come.
    fn supply(&self, read: RomRead) -> Option<usize> {
        self.sets.iter().position(|set| set.read == Some(read) && set.missing == 0)
    }

    /// Gives all of its memory back to the system.
    pub(super) fn release(&mut self, shared: &Shared, reader: &mut Reader) {
        reader.keep(self.tag, &[0; TAGS]);
        self.hash = Resumable::new(shared.config.workspace());
        self.sets = Vec::new();
        shared.ledger.release(std::mem::take(&mut self.reserved));
    }

    /// What it has to reserve in all for a group that needs this: memory of earlier ones is kept.
    pub(super) fn total(&self, [hashes, buffers]: [u64; 2]) -> u64 {
        hashes.max(self.hash.memory() as u64).saturating_add(buffers)
    }

    pub(super) fn wipe(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        self.hash.wipe();
        // Which blocks were read tells something about passwords.
        for buffer in self.sets.iter_mut().flat_map(|set| set.buffers.iter_mut().flatten()) {
            buffer.memory.zeroize();
        }
    }

    /// Takes a group on, for which memory is reserved.
    pub(super) fn begin(
        &mut self,
        shared: &Shared,
        reader: &mut Reader,
        items: Vec<Item>,
        age: u64,
    ) {
        let work = Arc::clone(&items[0].work);
        (self.age, self.dirty) = (age, true);
        self.items = items;
        let prepared = self.prepare(shared, &work);
        reader.keep(self.tag, &self.buffer_ids());
        if let Err(error) = prepared {
            self.finish(shared, Err(error));
        }
    }

    /// The buffers that it has, by tag; 0 for none.
    fn buffer_ids(&self) -> [u64; TAGS] {
        let mut ids = [0; TAGS];
        for (ids, set) in ids.chunks_exact_mut(LANES).zip(&self.sets) {
            for (id, buffer) in ids.iter_mut().zip(&set.buffers) {
                *id = buffer.as_ref().map_or(0, |buffer| buffer.id);
            }
        }
        ids
    }

    fn prepare(&mut self, shared: &Shared, work: &Work) -> Result<(), EngineError> {
        let r = work.params.params().r;
        let roms: Result<Vec<_>, _> =
            work.roms.iter().map(|plan| shared.roms[plan.rom].used(r, plan)).collect();
        let inputs: Vec<(&[u8], &[u8])> =
            self.items.iter().map(|item| (&item.password[..], &item.salt[..])).collect();
        self.hash.begin(&inputs, &work.params, &roms?, work.len)?;
        let lanes = lanes(work, self.items.len());
        let mut sets = std::mem::take(&mut self.sets).into_iter();
        for (rom, plan) in work.roms.iter().enumerate() {
            let len = shared.roms[plan.rom].window_size(128 * r as usize);
            for _ in 0..sets_of(shared, work, plan) {
                let mut buffers = sets.next().map(|set| set.buffers).unwrap_or_default();
                for (lane, buffer) in buffers.iter_mut().enumerate() {
                    let fits = buffer.as_ref().is_some_and(|buffer| buffer.memory.len() == len);
                    if lane >= lanes || !fits {
                        *buffer = None;
                    }
                    if lane < lanes && buffer.is_none() {
                        *buffer = Some(self.buffers.make(len)?);
                    }
                }
                let skip = [0; LANES];
                self.sets.push(Set { rom, buffers, skip, read: None, missing: 0, failed: None });
            }
        }
        Ok(())
    }

    /// Computes until the group is finished or waits for a read.
    pub(super) fn run(&mut self, context: &mut Context<'_, '_>) {
        loop {
            let advanced = match self.needed.take() {
                None => self.hash.advance(&[]).map_err(EngineError::from),
                Some(read) => match self.supply(read) {
                    None => {
                        self.needed = Some(read);
                        context.reader.flush();
                        return;
                    }
                    Some(set) => self.resume(set, context),
                },
            };
            match advanced {
                Ok(Progress::Announces(read)) => {
                    self.deferred.push_back(read);
                    self.submit(context);
                    // What is needed at once begins together, when the group waits.
                    let ahead = |item: &Item| item.work.roms[read.rom].look_ahead > 0;
                    if self.items.first().is_some_and(ahead) {
                        context.reader.flush();
                    }
                }
                Ok(Progress::Needs(read)) => self.needed = Some(read),
                Ok(Progress::Done) => return self.finish(context.shared, Ok(())),
                Err(error) => return self.finish(context.shared, Err(error)),
            }
        }
    }

    /// Goes on with the blocks of a set, which is then free for the next read.
    fn resume(
        &mut self,
        set: usize,
        context: &mut Context<'_, '_>,
    ) -> Result<Progress, EngineError> {
        let set = &mut self.sets[set];
        let read = set.read.take().ok_or(Core::Panicked)?;
        if let Some(error) = set.failed.take() {
            return Err(error);
        }
        let block = 128 * self.items[0].work.params.params().r as usize;
        let mut supplied: [&[u8]; LANES] = Default::default();
        for ((supplied, buffer), skip) in supplied.iter_mut().zip(&set.buffers).zip(set.skip) {
            let bytes = buffer.as_ref().and_then(|buffer| buffer.memory.get(skip..skip + block));
            *supplied = bytes.unwrap_or_default();
        }
        let progress = self.hash.advance(&supplied[..read.blocks().len()])?;
        if !self.deferred.is_empty() {
            self.submit(context);
        }
        Ok(progress)
    }

    /// Submits announced reads as far as there are free sets, each ROM's in order.
    fn submit(&mut self, context: &mut Context<'_, '_>) {
        let work = Arc::clone(&self.items[0].work);
        let block = 128 * work.params.params().r as usize;
        let mut full = [false; LANES];
        for _ in 0..self.deferred.len() {
            let Some(read) = self.deferred.pop_front() else { return };
            let free = |set: &Set| set.rom == read.rom && set.read.is_none() && set.missing == 0;
            let Some(index) = self.sets.iter().position(free).filter(|_| !full[read.rom]) else {
                full[read.rom] = true;
                self.deferred.push_back(read);
                continue;
            };
            let rom = work.roms[read.rom].rom;
            let set = &mut self.sets[index];
            set.read = Some(read);
            for (lane, j) in read.blocks().iter().enumerate() {
                let window = context.shared.roms[rom].window(*j, block);
                set.skip[lane] = window.skip;
                let Some(buffer) = set.buffers[lane].take() else {
                    set.failed = Some(Core::OutOfMemory { bytes: window.len as u64 }.into());
                    continue;
                };
                set.missing += 1;
                self.under_way += 1;
                *context.depth += 1;
                let counters = &context.shared.counters;
                counters.reads.fetch_add(1, Relaxed);
                counters.bytes.fetch_add(window.len as u64, Relaxed);
                counters.depth_sum.fetch_add(*context.depth, Relaxed);
                let tag = self.tag + index * LANES + lane;
                let (offset, len) = (window.offset, window.len);
                let request = Request { tag, rom, offset, len, buffer };
                context.reader.submit(request, &context.shared.roms);
            }
        }
    }

    /// A read has ended.
    pub(super) fn ended(&mut self, shared: &Shared, completion: Completion) {
        let Completion { tag, buffer, outcome } = completion;
        let (index, lane) = ((tag - self.tag) / LANES, tag % LANES);
        self.under_way -= 1;
        // A group that ended in an error may have left reads behind, with the sets.
        let Some(set) = self.sets.get_mut(index) else { return };
        set.missing -= 1;
        let Some((read, item)) = set.read.zip(self.items.first()) else {
            set.buffers[lane] = buffer;
            return;
        };
        let rom = &shared.roms[item.work.roms[set.rom].rom];
        let block = 128 * item.work.params.params().r as usize;
        let window = rom.window(read.blocks()[lane], block);
        let needed = rom.extent(window);
        let came = buffer.is_some() && outcome.is_ok_and(|came| came >= needed);
        let buffers = &mut self.buffers;
        let again = || -> Result<Buffer, Error> {
            let fresh = || buffers.make(rom.window_size(block));
            let mut buffer = buffer.map_or_else(fresh, Ok)?;
            let chunks = &mut buffer.memory[..needed];
            let file = rom.file().ok_or(Error::Unsupported { what: "not a file" })?;
            if !came || !file.fits(window.offset, chunks) {
                shared.counters.repeated.fetch_add(1, Relaxed);
                file.read_again(window.offset, chunks)?;
            }
            Ok(buffer)
        };
        match again() {
            Ok(buffer) => set.buffers[lane] = Some(buffer),
            Err(error) => {
                let (id, source) = (rom.id(), Arc::new(error));
                set.failed = Some(EngineError::RomUnavailable { id, source });
            }
        }
    }

    /// Answers all items of the group.
    pub(super) fn finish(&mut self, shared: &Shared, outcome: Result<(), EngineError>) {
        let counter =
            if outcome.is_ok() { &shared.counters.hashes } else { &shared.counters.failed };
        counter.fetch_add(self.items.len() as u64, Relaxed);
        for (index, item) in self.items.drain(..).enumerate() {
            item.answer(match &outcome {
                Ok(()) => match self.hash.output(index) {
                    Some(output) => Ok(Zeroizing::new(output.to_vec())),
                    None => Err(Core::Panicked.into()),
                },
                Err(error) => Err(error.clone()),
            });
        }
        self.hash.clear();
        self.needed = None;
        self.deferred.clear();
        for set in &mut self.sets {
            (set.read, set.failed) = (None, None);
        }
    }

    /// After a panic: memory whose state is not known is given back.
    pub(super) fn reset(&mut self, shared: &Shared) {
        self.finish(shared, Err(Core::Panicked.into()));
        self.hash = Resumable::new(shared.config.workspace());
    }
}
