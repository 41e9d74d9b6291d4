//! Blocks of ROMs that are not in memory: the traits for the code that reads them.

mod grid;

use std::any::Any;
use std::fmt;
use std::io;
use std::ops::DerefMut;
use std::sync::Arc;

use saltern_yescrypt::rom::{Rom, RomCheck, RomId, RomStore};

pub use self::grid::{Grid, Window};
use crate::error::Fault;

/// A ROM that is not in memory, or cannot be trusted there: its blocks are read and checked one by
/// one.
///
/// Reads are aligned to [`BlockRom::alignment`], so that an implementation can keep a checksum for
/// each such piece. The pool never computes with a piece for which [`BlockRom::is_right`] returns
/// `false`.
pub trait BlockRom: Send + Sync {
    /// The ROM's id, for errors.
    fn id(&self) -> RomId;

    /// Bytes in the image, a power of two of blocks.
    fn size(&self) -> u64;

    /// The end of the image, checked and aligned to 64 bytes: the last block of every r up to its
    /// length.
    fn tail(&self) -> &[u8];

    /// The checker of the end of the image. Hashes that read the end are checked before a mismatch,
    /// a new hash or a key is returned; without a checker, a flipped bit in it makes them all wrong
    /// for as long as the ROM is held.
    fn checker(&self) -> Option<&dyn RomCheck> {
        None
    }

    /// The offset and length of a read are multiples of this, a power of two. A read at the end of
    /// the image may reach beyond it.
    fn alignment(&self) -> usize;

    /// Makes one attempt to fill the buffer from this offset in the image. Returns the number of
    /// bytes read.
    ///
    /// # Errors
    /// Those of the system.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Whether these bytes are those of the image at this offset.
    fn is_right(&self, offset: u64, bytes: &[u8]) -> bool;

    /// Fills the buffer in the most reliable way, after [`BlockRom::read`] has failed, been short
    /// or returned wrong bytes.
    ///
    /// # Errors
    /// Why the right bytes are not available.
    fn read_again(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Fault>;

    /// The descriptor to read from, for a source that reads by itself.
    #[cfg(unix)]
    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }
}

/// The contents of a [`Rom`] whose blocks a pool reads.
struct Stored(Arc<dyn BlockRom>);

impl RomStore for Stored {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn tail(&self, len: usize) -> Option<&[u8]> {
        let tail = self.0.tail();
        tail.get(tail.len().checked_sub(len)?..)
    }

    fn checker(&self) -> Option<&dyn RomCheck> {
        self.0.checker()
    }
}

/// A [`Rom`], for sets and hashers, whose blocks the pool reads from this value. Only a pool with
/// [`PoolConfig::sources`](crate::PoolConfig::sources) computes with it.
///
/// # Errors
/// [`Error::RomTag`](saltern_yescrypt::Error::RomTag) and
/// [`Error::RomAlignment`](saltern_yescrypt::Error::RomAlignment) for its end.
pub fn stored_rom(rom: Arc<dyn BlockRom>) -> Result<Rom, saltern_yescrypt::Error> {
    Rom::stored(Arc::new(Stored(rom)))
}

/// The value from which the pool reads the blocks of a ROM; `None` for one in memory, or of another
/// origin.
pub(crate) fn block_rom(rom: &Rom) -> Option<&Arc<dyn BlockRom>> {
    let store: &dyn Any = &**rom.store()?;
    store.downcast_ref::<Stored>().map(|stored| &stored.0)
}

/// Memory that reads fill. A source can downcast it as [`Any`] to find out whether the memory is
/// its own.
pub trait BlockMemory: DerefMut<Target = [u8]> + Any + Send {}

impl<M: DerefMut<Target = [u8]> + Any + Send> BlockMemory for M {}

/// Memory for a block. Its id distinguishes it from every other buffer with its tag, including
/// earlier ones at the same address.
pub struct BlockBuffer {
    /// The memory that the block is read into.
    pub memory: Box<dyn BlockMemory>,
    /// Not 0.
    pub id: u64,
}

/// A read. The pool does not touch the buffer until it comes back in a [`Completion`].
pub struct Request {
    /// Identifies a read among those of one source that are under way: below the number that
    /// [`BlockSources::open`] was called with.
    pub tag: usize,
    /// The ROM.
    pub rom: Arc<dyn BlockRom>,
    /// The offset in the image.
    pub offset: u64,
    /// How much of the buffer to fill.
    pub len: usize,
    /// The buffer to fill.
    pub buffer: BlockBuffer,
}

/// The end of a read.
pub struct Completion {
    /// The number that the request had.
    pub tag: usize,
    /// `None` if it is lost because the kernel may still write to it.
    pub buffer: Option<BlockBuffer>,
    /// The number of bytes read.
    pub outcome: io::Result<usize>,
}

/// Reads the blocks that one thread of a pool needs.
pub trait BlockSource {
    /// Memory that reads of this source can fill, zeroed and of this length.
    ///
    /// # Errors
    /// If it cannot be allocated.
    fn memory(&mut self, len: usize) -> io::Result<Box<dyn BlockMemory>>;

    /// Begins a read, at the latest with the next [`BlockSource::flush`].
    fn submit(&mut self, request: Request);

    /// Starts all submitted reads.
    fn flush(&mut self);

    /// Collects the reads that have ended. If `wait` is set and none has ended, waits for one. (At
    /// least one is under way then.)
    fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>);

    /// From now on, these buffers will be used for the tags from `first` on, 0 meaning none. No
    /// other buffers of these tags are under way, and system resources held for them can be
    /// released.
    fn keep(&mut self, first: usize, ids: &[u64]);
}

/// Makes the [`BlockSource`] of each thread.
pub trait BlockSources: Send + Sync + fmt::Debug {
    /// A source for reads with tags below `tags`; called by the thread that will use it.
    ///
    /// # Errors
    /// If the system refuses it.
    fn open(&self, tags: usize) -> io::Result<Box<dyn BlockSource>>;
}
