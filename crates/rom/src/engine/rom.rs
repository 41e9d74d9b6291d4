//! A ROM as an engine holds it.

use std::fs::File;
use std::io;
use std::sync::Arc;

use saltern_yescrypt::{Rom, RomId, RomMemory, RomReading, RomStore, RomUse};

use super::{Backend, EngineError, EngineRom, WorkRom};
use crate::map::Mapping;
use crate::{BlockBuffer, Error, RomFile};

/// The end of the image that is kept in memory: the last block of every r up to this size.
const TAIL: u64 = 1 << 20;

/// A ROM of an engine.
pub(super) struct Loaded {
    rom: Rom,
    id: RomId,
    /// If it is read from there.
    file: Option<Arc<RomFile>>,
}

/// A ROM in a file, of which the end is kept.
struct Stored {
    file: Arc<RomFile>,
    tail: BlockBuffer,
}

impl RomStore for Stored {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn tail(&self, len: usize) -> Option<&[u8]> {
        self.tail.get(self.tail.len().checked_sub(len)?..)
    }
}

impl RomMemory for Mapping {
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }
}

impl RomMemory for crate::Attached {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// What has to be read so that a block of `len` bytes at byte `start` lies `skip` bytes behind the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) offset: u64,
    pub(super) len: usize,
    pub(super) skip: usize,
}

impl EngineRom {
    /// The ROM, for a set. One in a file is not in memory: only an engine computes hashes with it.
    ///
    /// # Errors
    /// [`EngineError::Rom`] for a file that cannot be read.
    pub fn rom(&self) -> Result<Rom, EngineError> {
        let file = match self {
            EngineRom::Memory(attached) => return Ok(Rom::new(Arc::clone(attached))?),
            EngineRom::File(file) => Arc::clone(file),
        };
        // A power of two of bytes, as every block is that divides the image into a power of two.
        let len = file.size().min(TAIL);
        let mut tail = BlockBuffer::new(len as usize)?;
        file.read_range(file.size() - len, &mut tail)?;
        Ok(Rom::stored(Arc::new(Stored { file, tail }))?)
    }
}

impl Loaded {
    pub(super) fn new(rom: &EngineRom, backend: Backend) -> Result<Self, EngineError> {
        let file = match rom {
            EngineRom::Memory(attached) => {
                return Ok(Loaded { rom: rom.rom()?, id: attached.manifest().id(), file: None });
            }
            EngineRom::File(file) => Arc::clone(file),
        };
        let id = file.id();
        if backend == Backend::Map {
            let open = |error: io::Error| Error::io("map", file.path())(error);
            let owned = file.buffered_descriptor().try_clone_to_owned().map_err(open)?;
            let len = usize::try_from(file.size());
            let len = len.map_err(|_| Error::NoMemory { needed: file.size(), available: None })?;
            let page = rustix::param::page_size();
            let mapping = Mapping::file(&File::from(owned), len, page, false);
            let mapping = mapping.map_err(Error::io("map", file.path()))?;
            mapping.advise_random();
            return Ok(Loaded { rom: Rom::new(mapping)?, id, file: None });
        }
        Ok(Loaded { rom: rom.rom()?, id, file: Some(file) })
    }

    pub(super) fn id(&self) -> RomId {
        self.id
    }

    pub(super) fn rom(&self) -> &Rom {
        &self.rom
    }

    /// The file to read from, for those that are read.
    pub(super) fn file(&self) -> Option<&RomFile> {
        self.file.as_deref()
    }

    /// The last bytes of a ROM that is read from a file.
    pub(super) fn tail(&self, len: usize) -> Option<&[u8]> {
        self.rom.store()?.tail(len)
    }

    /// The ROM as hashes of this r use it.
    pub(super) fn used(&self, r: u32, plan: &WorkRom) -> Result<RomUse, EngineError> {
        let &WorkRom { nrom, masks, look_ahead, .. } = plan;
        if let Some(file) = &self.file {
            if file.blocks(r)? != nrom {
                let (name, value) = ("NROM", nrom);
                let expected = "all blocks of the ROM in the file";
                let refused = saltern_yescrypt::Error::InvalidParameter { name, value, expected };
                return Err(refused.into());
            }
            let limit = TAIL / 128;
            if u64::from(r) > limit {
                let (what, value) = (saltern_yescrypt::Limit::StoredRomR, r.into());
                return Err(saltern_yescrypt::Error::OverLimit { what, value, limit }.into());
            }
        }
        let reading = RomReading { nrom, masks, look_ahead };
        Ok(RomUse { rom: self.rom.clone(), reading })
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
