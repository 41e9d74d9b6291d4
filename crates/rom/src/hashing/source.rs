//! Reading blocks of ROMs in files for a pool: with io_uring, or with a few threads.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod ring;
mod threads;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use saltern_pool::{
    Fault,
    source::{BlockRom, BlockSource, BlockSources, Window, stored_rom},
};
use saltern_yescrypt::rom::{BlockRead, Rom, RomCheck, RomFault, RomId};

use self::threads::Readers;
use crate::hashing::checked::grid;
use crate::system::map::Mapping;
use crate::{DirectBuffer, Error, RomFile};

/// The end of the image that is kept in memory: the last block of every r up to this size.
const TAIL: u64 = 1 << 20;

/// How blocks are read from a file.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// [`Backend::IoUring`] if the system has and allows it, otherwise [`Backend::Threads`].
    #[default]
    Auto,
    /// io_uring, with buffers that are registered if RLIMIT_MEMLOCK allows it.
    IoUring,
    /// A few threads that only read.
    Threads,
}

/// Reads blocks of [`RomFile`]s for a pool:
/// [`PoolConfig::sources`](saltern_pool::PoolConfig::sources).
///
/// ```
/// use std::sync::Arc;
/// use saltern_pool::{Derive, Pool, PoolConfig, Terms};
/// use saltern_rom::{Backend, Create, RomFile, RomReaders, Seed};
/// use saltern_yescrypt::{Limits, Params, rom::{RomMasks, RomParams, RomReading, RomUse}};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("site.rom");
/// let seed = Seed::from_bytes(b"not a seed for real use")?;
/// Create::new(RomParams::new(64, 32, 1), &seed).file(&path)?;
/// let rom = Arc::new(RomFile::open(&path, None)?).rom()?;
///
/// let mut config = PoolConfig::default();
/// config.sources = Some(Arc::new(RomReaders::new(Backend::Auto)));
/// let pool = Pool::new(config)?;
/// let reading = RomReading { masks: RomMasks { fill: 0, mix: 15 }, ..RomReading::new(64) };
/// let params = Params::yescrypt(64, 32).check(&Limits::server())?;
/// let what = Derive { params, roms: vec![RomUse { rom, reading }], len: 32 };
/// let keys = pool.derive(&what, [("one", "salt"), ("two", "salt")], Terms::bulk())?.wait();
/// assert_eq!(keys[0].as_ref().unwrap().len(), 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With this, while a block is read for a hash, the thread works on another hash. So as long as
/// there are enough passwords at once, hashing with a ROM on an SSD is about as fast as with the
/// same ROM in memory.
///
/// Blocks are read in whole chunks whose checksums are compared
/// ([`Manifest::chunk`](crate::Manifest)). A read that fails, is short or has a wrong checksum is
/// repeated once. If that fails too, the hashes that needed it end in
/// [`RomUnavailable`](saltern_pool::Error::RomUnavailable) and the others continue. A block is
/// checked in place immediately before hashes use it. The last block, which stays in memory, is
/// checked after hashes have read it, before a mismatch is reported or a hash is returned.
pub struct RomReaders {
    backend: Backend,
    /// Threads that read, once there are some.
    readers: Mutex<Option<Readers>>,
    told: Mutex<Told>,
}

/// What the readers have reported.
#[derive(Default)]
struct Told {
    backend: Backend,
    notes: Vec<String>,
}

/// The number of threads that read, with that backend.
const THREADS: usize = 8;

impl RomReaders {
    /// With this backend.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        let told = Mutex::new(Told { backend, notes: Vec::new() });
        RomReaders { backend, readers: Mutex::new(None), told }
    }

    /// Readers that were tried in advance, with remarks for the operator on what was not available.
    /// No thread of the trial remains; those that read start with the pool.
    ///
    /// # Errors
    /// Those of the system, if no backend works.
    pub fn tried(backend: Backend) -> io::Result<(Self, Vec<String>)> {
        let trial = Self::new(backend);
        trial.open(1)?;
        Ok((Self::new(backend), trial.notes()))
    }

    /// How blocks are read; never [`Backend::Auto`] once a pool uses it.
    #[must_use]
    pub fn backend(&self) -> Backend {
        lock(&self.told).backend
    }

    /// Remarks for the operator: what was not available, and what is used instead.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        lock(&self.told).notes.clone()
    }

    fn tell(&self, backend: Backend, note: Option<String>) {
        let mut told = lock(&self.told);
        told.backend = backend;
        // Each thread of a pool finds the same.
        if let Some(note) = note.filter(|note| !told.notes.contains(note)) {
            told.notes.push(note);
        }
    }

    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn ring(&self, tags: usize) -> io::Result<Box<dyn BlockSource>> {
        let ring = ring::Ring::new(tags)?;
        let note =
            "RLIMIT_MEMLOCK (ulimit -l) is too low for registered buffers: reading without them";
        let note = (!ring.is_registered()).then(|| note.to_owned());
        self.tell(Backend::IoUring, note);
        Ok(Box::new(ring))
    }

    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fn ring(&self, _: usize) -> io::Result<Box<dyn BlockSource>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn threads(&self) -> Box<dyn BlockSource> {
        let mut readers = lock(&self.readers);
        // Threads of the process from which this one was forked do not exist here.
        let here = readers.take().filter(Readers::are_here);
        Box::new(readers.insert(here.unwrap_or_else(|| Readers::start(THREADS))).source())
    }
}

impl BlockSources for RomReaders {
    fn open(&self, tags: usize) -> io::Result<Box<dyn BlockSource>> {
        if self.backend == Backend::Threads {
            return Ok(self.threads());
        }
        let refused = match self.ring(tags) {
            Ok(ring) => return Ok(ring),
            Err(error) => io::Error::new(error.kind(), format!("cannot use io_uring ({error})")),
        };
        if self.backend == Backend::IoUring {
            return Err(refused);
        }
        let source = self.threads();
        self.tell(Backend::Threads, Some(format!("{refused}: reading with threads instead")));
        Ok(source)
    }
}

impl fmt::Debug for RomReaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RomReaders {{ {:?} }}", self.backend())
    }
}

impl RomFile {
    /// The ROM for sets and hashers, and for a pool that has [`RomReaders`]. Reads the end of the
    /// image, which is kept in memory: at most 1 MiB.
    ///
    /// # Errors
    /// [`Error::Damaged`] and other read errors; [`Error::Yescrypt`] for an end without a tag.
    pub fn rom(self: &Arc<Self>) -> Result<Rom, Error> {
        // A power of two, like the size of every block that divides the image into a power of two
        // of blocks.
        let len = self.size().min(TAIL);
        let start = self.size() - len;
        // In whole chunks, so that they can be checked again later.
        let start = grid(self.manifest()).around(start, len as usize).offset;
        let mut end = DirectBuffer::new((self.size() - start) as usize)?;
        self.read_range(start, &mut end)?;
        let end = end.frozen().map_err(Error::io("protect", "the end of the image".as_ref()))?;
        Ok(stored_rom(Arc::new(FileRom { file: Arc::clone(self), end, len: len as usize }))?)
    }
}

/// A file and its end, as it was when that was read.
struct FileRom {
    file: Arc<RomFile>,
    /// Whole chunks, read-only.
    end: Mapping,
    /// How many bytes of it hashes may read.
    len: usize,
}

impl RomCheck for FileRom {
    fn id(&self) -> RomId {
        self.file.id()
    }

    fn bytes_for(&self, len: usize) -> usize {
        grid(self.file.manifest()).longest(len)
    }

    /// Checks the chunks of the last block, and that hashes have read what is in them.
    fn check(&self, len: usize, reads: &mut [BlockRead]) -> Result<(), RomFault> {
        let start = self.file.size().saturating_sub(len as u64);
        let Window { offset, skip, extent, .. } = grid(self.file.manifest()).around(start, len);
        let bytes = self.end.bytes();
        let chunks = &bytes[bytes.len().saturating_sub(extent)..];
        self.file.check_chunks(offset, chunks)?;
        let block = chunks.get(skip..).unwrap_or_default();
        match reads.iter().all(|read| read.was(block)) {
            true => Ok(()),
            false => Err(self.file.damaged(offset).into()),
        }
    }
}

impl BlockRom for FileRom {
    fn id(&self) -> RomId {
        self.file.id()
    }

    fn size(&self) -> u64 {
        self.file.size()
    }

    fn tail(&self) -> &[u8] {
        let bytes = self.end.bytes();
        &bytes[bytes.len() - self.len..]
    }

    fn checker(&self) -> Option<&dyn RomCheck> {
        Some(self)
    }

    fn alignment(&self) -> usize {
        self.file.window_alignment()
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_once(offset, buffer)
    }

    fn is_right(&self, offset: u64, bytes: &[u8]) -> bool {
        self.file.fits(offset, bytes)
    }

    fn read_again(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        self.file.read_again(offset, buffer).map_err(Fault::new)
    }

    #[cfg(unix)]
    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(self.file.descriptor())
    }
}

#[cfg(test)]
mod tests;

/// Nothing in here panics while it holds a lock; if it did, the data would still be consistent.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
