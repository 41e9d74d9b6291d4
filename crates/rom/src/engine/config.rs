//! What an engine is made of.

use std::sync::Arc;

use saltern_yescrypt::{Level, Pages, Workspace};

use super::EngineError;
use crate::{Attached, Manifest, RomFile};

/// How blocks come from a file.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// [`Backend::IoUring`] if the system has and allows it, otherwise [`Backend::Pread`].
    #[default]
    Auto,
    /// io_uring, with buffers that are registered if RLIMIT_MEMLOCK allows it.
    IoUring,
    /// A few threads that do nothing but read.
    Pread,
    /// The file is mapped, and a hash that needs a block waits for it: nothing overlaps, and no checksums are compared. For comparisons, and for files that nobody
    /// shortens meanwhile, which would kill the process.
    Map,
}

/// Threads, memory and limits of an [`SsdEngine`](super::SsdEngine).
///
/// ```
/// let mut config = saltern_rom::EngineConfig::default();
/// config.threads = 2;
/// config.memory = 512 << 20;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineConfig {
    /// How many threads hash, 1 to 1024; by default as many as there are processors.
    pub threads: usize,
    /// How many hashes each of them has in flight, 1 to 256: one is computed (with others of its shape, see
    /// [`CheckedParams::degree`](saltern_yescrypt::CheckedParams::degree)) while the others wait for their blocks. The default, 6, suffices where the time between two
    /// reads of a hash is longer than half the latency of the device.
    pub in_flight: usize,
    /// The most bytes that the memory of hashes in flight and the buffers of their reads take together. Fewer are in flight where it does not
    /// suffice; a hash that alone does not fit is refused. The default is 128 MiB for each thread and at least 320 MiB.
    pub memory: u64,
    /// The most items that may wait, those in flight not counted, at least 1. The default is 4096.
    pub max_waiting: usize,
    /// How blocks are read.
    pub backend: Backend,
    /// How many threads read, 1 to 64, where [`Backend::Pread`] is used. The default is 8.
    pub readers: usize,
    /// The pages of the memory of hashes.
    pub pages: Pages,
    /// The CPU level of the kernels; the best one by default.
    pub level: Level,
}

impl Default for EngineConfig {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(1024);
        EngineConfig {
            threads,
            in_flight: 6,
            memory: (threads as u64 * (128 << 20)).max(320 << 20),
            max_waiting: 4096,
            backend: Backend::Auto,
            readers: 8,
            pages: Pages::Huge,
            level: Level::detect(),
        }
    }
}

impl EngineConfig {
    pub(super) fn check(&self) -> Result<(), EngineError> {
        let refuse = |name, value: usize, expected| {
            let value = value as u64;
            Err(saltern_yescrypt::Error::InvalidParameter { name, value, expected }.into())
        };
        if !(1..=1024).contains(&self.threads) {
            return refuse("number of threads", self.threads, "1 to 1024");
        }
        if !(1..=256).contains(&self.in_flight) {
            return refuse("number of hashes in flight", self.in_flight, "1 to 256");
        }
        if !(1..=64).contains(&self.readers) {
            return refuse("number of reading threads", self.readers, "1 to 64");
        }
        if self.max_waiting == 0 {
            return refuse("number of waiting items", 0, "at least 1");
        }
        if !self.level.is_available() {
            return refuse("CPU level", self.level as usize, "one that this processor has");
        }
        Ok(())
    }

    /// Memory for hashes, none yet.
    pub(super) fn workspace(&self) -> Workspace {
        // The level was checked.
        let workspace = Workspace::with_level(self.level).unwrap_or_default();
        workspace.with_pages(self.pages)
    }
}

/// A ROM that an engine has at hand.
#[derive(Clone, Debug)]
pub enum EngineRom {
    /// In its file, to be read block by block.
    File(Arc<RomFile>),
    /// In memory.
    Memory(Arc<Attached>),
}

impl EngineRom {
    /// What its manifest says.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        match self {
            EngineRom::File(file) => file.manifest(),
            EngineRom::Memory(attached) => attached.manifest(),
        }
    }
}

impl From<RomFile> for EngineRom {
    fn from(rom: RomFile) -> Self {
        EngineRom::File(Arc::new(rom))
    }
}

impl From<Attached> for EngineRom {
    fn from(rom: Attached) -> Self {
        EngineRom::Memory(Arc::new(rom))
    }
}
