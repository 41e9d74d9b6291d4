//! The passes of [`Resumable`](super::Resumable), cut where a loop stops.
//!
//! A loop finds its memory from indices each time it continues, so nothing here borrows the memory
//! in between.

use alloc::vec::Vec;
use core::cell::RefCell;
use core::ops::Range;

use saltern_wipe::{Zeroize, Zeroizing};

use super::{Advance, BlocksNeeded, WaitingReads};
use crate::core::blockmix::{Boxes, MAX_LANES};
use crate::core::check::RomFault;
use crate::core::dispatch::{self, Target};
use crate::core::kdf::run;
use crate::core::log::{self, Log, ReadRecorder, RecordedRead};
use crate::core::memory::{self, SubBlock};
use crate::core::params::{CheckedParams, Mode};
use crate::core::pass::{Derivation, Kind, Pass, Sizes, groups, list, shared, slice};
use crate::core::pbkdf2::Secret;
use crate::core::reading::{MAX_LOOK_AHEAD, MAX_ROMS, Reads, RomUse, Schedule};
use crate::core::smix::{Cursor, Mixer, Stop, split};
use crate::ids::RomId;
use crate::{Error, Workspace};

/// One of the hashes.
struct Hash {
    /// The input of the pass: after the pre-hash, its result.
    password: Zeroizing<Vec<u8>>,
    salt: Zeroizing<Vec<u8>>,
    out: Zeroizing<Vec<u8>>,
}

/// Instances that advance together.
struct Group {
    /// The index of the first in the pass.
    first: usize,
    lanes: usize,
    /// The state of the S-boxes, once the group has stopped.
    boxes: [usize; 2],
}

/// The next thing to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The beginning of a pass.
    Open,
    /// The first loop of a group.
    Fill(usize),
    /// The second with writes.
    Write(usize),
    /// The second without.
    Read(usize),
    Close,
    Done,
}

/// Hashes in progress.
pub(super) struct Running {
    /// The parameters of the main pass.
    main: CheckedParams,
    /// The parameters of this pass.
    params: CheckedParams,
    kind: Kind,
    roms: Vec<RomUse>,
    hashes: Vec<Hash>,
    secrets: [Secret; MAX_LANES],
    groups: Vec<Group>,
    stage: Stage,
    cursor: Cursor,
    /// For each ROM, the reads that have been announced but not needed yet.
    announced: [WaitingReads; MAX_ROMS],
    needed: Option<BlocksNeeded>,
    /// The workspace's memory for the hashes, followed by the log of their reads.
    plan: Sizes,
    log: usize,
    /// The number of reads in the log.
    noted: usize,
}

impl Drop for Running {
    /// The block numbers reveal something about the password.
    fn drop(&mut self) {
        // Also those of a read that was supplied, of which a copy was taken.
        self.needed.zeroize();
    }
}

/// The memory of a pass.
struct Memory<'m> {
    v: &'m mut [SubBlock],
    b: &'m mut [SubBlock],
    sboxes: &'m mut [SubBlock],
    spare: &'m mut [SubBlock],
    log: &'m mut [SubBlock],
}

impl Running {
    pub(super) fn new(
        inputs: &[(&[u8], &[u8])],
        params: &CheckedParams,
        (roms, reads): (&[RomUse], Reads<'_>),
        len: usize,
    ) -> Result<Self, Error> {
        let mut hashes = list(inputs.len(), core::iter::empty())?;
        for (password, salt) in inputs {
            // With room for the result of the pre-hash.
            let room = password.len().max(size_of::<Secret>());
            let password = Zeroizing::new(list(room, password.iter().copied())?);
            let salt = Zeroizing::new(list(salt.len(), salt.iter().copied())?);
            let out = Zeroizing::new(list(len, core::iter::repeat_n(0, len))?);
            hashes.push(Hash { password, salt, out });
        }
        let mut announced: [WaitingReads; MAX_ROMS] = Default::default();
        for (announced, elsewhere) in announced.iter_mut().zip(reads.elsewhere()) {
            let most = if elsewhere { MAX_LOOK_AHEAD as usize + 1 } else { 0 };
            *announced = WaitingReads::with_room(most)?;
        }
        let small = params.prehash();
        Ok(Running {
            main: *params,
            params: small.unwrap_or(*params),
            kind: if small.is_some() { Kind::Prehash } else { Kind::Main },
            roms: roms.to_vec(),
            hashes,
            secrets: Default::default(),
            groups: Vec::new(),
            stage: Stage::Open,
            cursor: Cursor::default(),
            announced,
            needed: None,
            plan: Sizes::new(params, inputs.len(), 1)?,
            log: log::room(params, roms, inputs.len()),
            noted: 0,
        })
    }

    pub(super) fn output(&self, index: usize) -> Option<&[u8]> {
        let done = self.stage == Stage::Done;
        self.hashes.get(index).filter(|_| done).map(|hash| &hash.out[..])
    }

    /// Sub-blocks that it needs.
    pub(super) fn memory_len(&self) -> usize {
        self.plan.total().saturating_add(self.log)
    }

    pub(super) fn check(
        &self,
        index: usize,
        workspace: &Workspace,
    ) -> Result<(), (RomId, RomFault)> {
        if self.log == 0 {
            return Ok(());
        }
        let memory = &workspace.arena.first(self.memory_len())[self.plan.total()..];
        let len = self.main.block_len() * SubBlock::BYTES;
        RecordedRead { memory, count: self.noted }.check(index, &self.roms, len)
    }

    pub(super) fn advance(
        &mut self,
        supplied: &[&[u8]],
        workspace: &mut Workspace,
    ) -> Result<Advance, Error> {
        let needed = self.needed.map_or(0, |read| read.count);
        if let Some(read) = self.needed.filter(|_| supplied.is_empty()) {
            return Ok(Advance::Needs(read));
        }
        let length = |needed, actual| match needed == actual {
            true => Ok(()),
            false => Err(Error::BufferLength { needed: needed as u64, actual: actual as u64 }),
        };
        length(needed, supplied.len())?;
        let mut blocks: [&[SubBlock]; MAX_LANES] = Default::default();
        for (block, bytes) in blocks.iter_mut().zip(supplied) {
            *block = memory::from_bytes(bytes)?;
            length(self.params.block_len() * SubBlock::BYTES, bytes.len())?;
        }
        if self.main.mode() != Mode::Rw {
            return self.compute(workspace);
        }
        let target = workspace.target;
        let all = workspace.arena.take(self.memory_len())?;
        let roms = core::mem::take(&mut self.roms);
        let progress = Reads::of(&self.main, &roms)
            .and_then(|reads| self.proceed(reads.schedule(), &blocks, target, all));
        self.roms = roms;
        progress
    }

    /// Computes up to the next stop.
    fn proceed(
        &mut self,
        roms: Schedule<'_>,
        blocks: &[&[SubBlock]],
        target: Target,
        all: &mut [SubBlock],
    ) -> Result<Advance, Error> {
        self.cursor.fed = self.needed.take().is_some();
        while self.stage != Stage::Done {
            let pass = Pass {
                params: self.params,
                kind: self.kind,
                roms,
                target,
                threads: 1,
                watch: None,
            };
            let mut memory = self.memory(all);
            if let Some((stop, lanes)) = self.work(&pass, &mut memory, blocks)? {
                return self.stopped(stop, lanes);
            }
        }
        Ok(Advance::Done)
    }

    /// Modes without ROMs: everything at once.
    fn compute(&mut self, workspace: &mut Workspace) -> Result<Advance, Error> {
        if self.stage != Stage::Done {
            let count = self.hashes.len();
            let mut inputs: [Derivation<'_>; MAX_LANES] = Default::default();
            for (input, hash) in inputs.iter_mut().zip(&mut self.hashes) {
                let (password, salt) = (&hash.password[..], &hash.salt[..]);
                *input = Derivation { password, salt, out: &mut hash.out };
            }
            let reads = Reads::of(&self.main, &self.roms)?;
            run(&mut inputs[..count], &self.main, &reads, workspace)?;
            self.stage = Stage::Done;
        }
        Ok(Advance::Done)
    }

    /// The memory of this pass: all of the main pass's, or the first part of it.
    fn memory<'m>(&self, all: &'m mut [SubBlock]) -> Memory<'m> {
        let (v, rest) = all.split_at_mut(self.plan.v);
        let (scratch, log) = rest.split_at_mut(self.plan.scratch);
        let (params, hashes) = (&self.params, self.hashes.len());
        let instances = hashes * params.p();
        let (b, scratch) = scratch.split_at_mut(instances * params.block_len());
        let (sboxes, spare) = scratch.split_at_mut(instances * params.sbox_len());
        Memory { v: &mut v[..hashes * params.n() * params.block_len()], b, sboxes, spare, log }
    }

    /// One stage, or the part of it up to the next stop.
    fn work(
        &mut self,
        pass: &Pass<'_>,
        memory: &mut Memory<'_>,
        supplied: &[&[SubBlock]],
    ) -> Result<Option<(Stop, usize)>, Error> {
        let [own, shared] = self.params.loops(false);
        if let Stage::Fill(group) | Stage::Write(group) | Stage::Read(group) = self.stage {
            let loops = if self.stage == Stage::Write(group) { own } else { shared };
            let stop = self.run(pass, group, memory, supplied, loops);
            if stop.is_some() {
                return Ok(stop);
            }
        }
        let groups = self.groups.len();
        self.stage = match self.stage {
            Stage::Open => {
                self.open(pass, memory)?;
                Stage::Fill(0)
            }
            Stage::Fill(group) => Stage::Write(group),
            Stage::Write(group) if group + 1 < groups => Stage::Fill(group + 1),
            Stage::Write(_) if shared > 0 => Stage::Read(0),
            Stage::Read(group) if group + 1 < groups => Stage::Read(group + 1),
            Stage::Write(_) | Stage::Read(_) => Stage::Close,
            Stage::Close => self.close(pass, memory),
            Stage::Done => Stage::Done,
        };
        self.cursor = Cursor::default();
        Ok(None)
    }

    /// The loop of this stage for one group.
    fn run(
        &mut self,
        pass: &Pass<'_>,
        group: usize,
        memory: &mut Memory<'_>,
        supplied: &[&[SubBlock]],
        loops: u64,
    ) -> Option<(Stop, usize)> {
        let (len, p, n) = (self.params.block_len(), self.params.p(), self.params.n());
        let Group { first, lanes, boxes: state } = self.groups[group];
        let mut x = split(&mut memory.b[first * len..], len);
        let mut spare = split(memory.spare, len);
        let size = self.params.sbox_len();
        let boxes = &mut memory.sboxes[first * size..][..lanes * size];
        let mut boxes = Boxes::at(boxes, state);
        let log = RefCell::new(Log { memory: memory.log, noted: self.noted });
        let pen = (self.log > 0).then_some(ReadRecorder { log: &log, first, p });
        let mixer = Mixer { supplied: &supplied[..lanes], pen, ..pass.mixer(lanes) };
        let (x, cursor) = (&mut x[..lanes], &mut self.cursor);
        let (start, blocks) = slice(first % p, n, p);
        // The slices of a group follow each other, also from one hash to the next.
        let own = (first / p * n + start) * len;
        let stop = match self.stage {
            Stage::Read(_) => {
                let mut v = shared(memory.v, n * len, (first, lanes), p);
                mixer.mix(&mut boxes, (x, &mut spare[..lanes]), &mut v[..lanes], loops, cursor)
            }
            Stage::Write(_) => {
                let mut v = split(&mut memory.v[own..], blocks * len);
                mixer.mix(&mut boxes, (x, &mut spare[..lanes]), &mut v[..lanes], loops, cursor)
            }
            _ => {
                let mut v = split(&mut memory.v[own..], blocks * len);
                mixer.fill(&mut boxes, x, &mut v[..lanes], cursor)
            }
        };
        self.groups[group].boxes = boxes.state();
        self.noted = log.borrow().noted;
        stop.map(|stop| (stop, lanes))
    }

    /// The beginning of a pass, up to the first loop.
    fn open(&mut self, pass: &Pass<'_>, memory: &mut Memory<'_>) -> Result<(), Error> {
        let (len, p) = (self.params.block_len(), self.params.p());
        let instances = self.hashes.len() * p;
        let own = memory.b.chunks_exact_mut(p * len);
        for ((hash, b), secret) in self.hashes.iter().zip(own).zip(&mut self.secrets) {
            let input = Derivation { password: &hash.password, salt: &hash.salt, out: &mut [] };
            pass.open(&input, b, secret);
        }
        let mut b = list(instances, memory.b.chunks_exact_mut(len))?;
        pass.begin(&mut self.secrets[..self.hashes.len()], &mut b, memory.sboxes);
        let together = |alike| dispatch::lanes(self.params.mode(), alike);
        let of_group =
            |group: Range<usize>| Group { first: group.start, lanes: group.len(), boxes: [0; 2] };
        self.groups = list(instances, groups(&self.params, instances, together).map(of_group))?;
        Ok(())
    }

    /// The end of a pass.
    fn close(&mut self, pass: &Pass<'_>, memory: &Memory<'_>) -> Stage {
        let own = memory.b.chunks_exact(self.params.p() * self.params.block_len());
        for ((hash, b), secret) in self.hashes.iter_mut().zip(own).zip(&self.secrets) {
            let Hash { password, salt, out } = hash;
            if self.kind == Kind::Main {
                pass.close(Derivation { password, salt, out }, b, secret);
                continue;
            }
            let mut result = Secret::default();
            pass.close(Derivation { password, salt, out: &mut *result }, b, secret);
            password.clear();
            password.extend_from_slice(&*result);
        }
        if self.kind == Kind::Main {
            return Stage::Done;
        }
        (self.kind, self.params) = (Kind::Main, self.main);
        Stage::Open
    }

    /// A stop of the loop of a group with `count` lanes.
    fn stopped(&mut self, stop: Stop, count: usize) -> Result<Advance, Error> {
        Ok(match stop {
            Stop::Announces { rom, blocks } => {
                let read = BlocksNeeded { rom, blocks, count };
                self.announced[rom].push(read)?;
                Advance::Announces(read)
            }
            Stop::Needs { rom } => {
                // Loops need nothing that they have not announced.
                let read = self.announced[rom].pop().ok_or(Error::Panicked)?;
                self.needed = Some(read);
                Advance::Needs(read)
            }
        })
    }
}
