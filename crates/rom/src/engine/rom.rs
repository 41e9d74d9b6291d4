//! A ROM as an engine holds it.

use std::fs::File;
use std::io;
use std::sync::Arc;

use saltern_yescrypt::{Rom, RomElsewhere, RomId, RomSource, RomUse};

use super::{Backend, EngineError, EngineRom, WorkRom};
use crate::map::Mapping;
use crate::{BlockBuffer, Error, RomFile};

/// The end of the image that is kept in memory: the last block of every r up to this size.
const TAIL: u64 = 1 << 20;

/// A ROM and what is kept of it.
pub(super) enum Loaded {
    Memory(Arc<crate::Attached>),
    Mapped(Mapping, Arc<RomFile>),
    File { file: Arc<RomFile>, tail: BlockBuffer },
}

/// What has to be read so that a block of `len` bytes at byte `start` lies `skip` bytes behind the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) offset: u64,
    pub(super) len: usize,
    pub(super) skip: usize,
}

impl Loaded {
    pub(super) fn new(rom: &EngineRom, backend: Backend) -> Result<Self, EngineError> {
        let file = match rom {
            EngineRom::Memory(attached) => return Ok(Loaded::Memory(Arc::clone(attached))),
            EngineRom::File(file) => Arc::clone(file),
        };
        if backend == Backend::Map {
            let open = |error: io::Error| Error::io("map", file.path())(error);
            let owned = file.buffered_descriptor().try_clone_to_owned().map_err(open)?;
            let len = usize::try_from(file.size());
            let len = len.map_err(|_| Error::NoMemory { needed: file.size(), available: None })?;
            let page = rustix::param::page_size();
            let mapping = Mapping::file(&File::from(owned), len, page, false);
            let mapping = mapping.map_err(Error::io("map", file.path()))?;
            mapping.advise_random();
            return Ok(Loaded::Mapped(mapping, file));
        }
        // A power of two of bytes, as every block is that divides the image into a power of two.
        let len = file.size().min(TAIL);
        let mut tail = BlockBuffer::new(len as usize)?;
        file.read_range(file.size() - len, &mut tail)?;
        Ok(Loaded::File { file, tail })
    }

    pub(super) fn id(&self) -> RomId {
        match self {
            Loaded::Memory(attached) => attached.manifest().id(),
            Loaded::Mapped(_, file) | Loaded::File { file, .. } => file.id(),
        }
    }

    /// The file to read from, for those that are read.
    pub(super) fn file(&self) -> Option<&RomFile> {
        match self {
            Loaded::File { file, .. } => Some(file),
            Loaded::Memory(_) | Loaded::Mapped(..) => None,
        }
    }

    /// The ROM as hashes of this r see it.
    pub(super) fn source(&self, r: u32, plan: &WorkRom) -> Result<RomSource<'_>, EngineError> {
        let &WorkRom { nrom, masks, look_ahead, .. } = plan;
        let memory = |rom| RomSource::Memory(RomUse { rom, nrom, masks, look_ahead });
        let (file, tail) = match self {
            Loaded::Memory(attached) => return Ok(memory(attached.rom()?)),
            Loaded::Mapped(mapping, _) => return Ok(memory(Rom::from_bytes(mapping.bytes())?)),
            Loaded::File { file, tail } => (file, tail),
        };
        let blocks = file.blocks(r)?;
        if blocks != nrom {
            let (name, value) = ("NROM", nrom);
            let expected = "all blocks of the ROM in the file";
            return Err(saltern_yescrypt::Error::InvalidParameter { name, value, expected }.into());
        }
        let last = tail.len().checked_sub(128 * r as usize).map(|start| &tail[start..]);
        let too_large = saltern_yescrypt::Error::OverLimit {
            name: "r with a ROM in a file",
            value: r.into(),
            limit: TAIL / 128,
        };
        let last = Rom::from_bytes(last.ok_or(too_large)?)?;
        Ok(RomSource::Elsewhere(RomElsewhere { last, nrom, masks, look_ahead }))
    }

    /// How to read block `j` of `len` bytes: in whole chunks that have checksums.
    pub(super) fn window(&self, j: u64, len: usize) -> Window {
        let align = self.file().map_or(1, |file| file.window_alignment()) as u64;
        let start = j * len as u64;
        let offset = start - start % align;
        let end = (start + len as u64).next_multiple_of(align);
        Window { offset, len: (end - offset) as usize, skip: (start - offset) as usize }
    }

    /// How much of a window the file has: one at its end may reach beyond it.
    pub(super) fn extent(&self, window: Window) -> usize {
        let there = self.file().map_or(0, RomFile::size).saturating_sub(window.offset);
        usize::try_from(there).map_or(window.len, |there| there.min(window.len))
    }

    /// The longest that a window of a block of `len` bytes is.
    pub(super) fn window_size(&self, len: usize) -> usize {
        let align = self.file().map_or(1, |file| file.window_alignment());
        len.next_multiple_of(align) + if len.is_multiple_of(align) { 0 } else { align }
    }

    /// One read(2) of a window.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(file) = self.file() else { return Ok(0) };
        Ok(rustix::io::pread(file.descriptor(), buffer, offset)?)
    }
}
