//! Blocks of ROMs that are not in memory: what a pool asks of whoever reads them.

mod grid;

use std::any::Any;
use std::fmt;
use std::io;
use std::ops::DerefMut;
use std::sync::Arc;

use saltern_yescrypt::rom::{Rom, RomCheck, RomId, RomStore};

pub use self::grid::{Grid, Window};
use crate::error::Fault;

/// A ROM that is not in memory, or that is not to be trusted there: its blocks are read, and
/// checked, one by one.
///
/// Reads are aligned to [`BlockRom::alignment`], so that an implementation can have a checksum for
/// each such piece. The pool never computes with a piece for which [`BlockRom::is_right`] is false.
pub trait BlockRom: Send + Sync {
    /// The ROM's name, for errors.
    fn id(&self) -> RomId;

    /// Bytes in the image, a power of two of blocks.
    fn size(&self) -> u64;

    /// The end of the image, checked and aligned to 64 bytes: the last block of every r up to its
    /// length.
    fn tail(&self) -> &[u8];

    /// Whoever can tell whether the end is still what was made. Hashes that read it are checked
    /// before a mismatch, a new hash or a key is given out; without this, a bit that flips in it
    /// makes them all wrong for as long as the ROM is held.
    fn checker(&self) -> Option<&dyn RomCheck> {
        None
    }

    /// What place and length of a read have to be multiples of, a power of two. A read at the end
    /// of the image may reach beyond it.
    fn alignment(&self) -> usize;

    /// One attempt to fill the buffer from this place in the image. How many bytes came.
    ///
    /// # Errors
    /// Those of the system.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Whether these bytes are those of the image at this place.
    fn is_right(&self, offset: u64, bytes: &[u8]) -> bool;

    /// Fills the buffer, in whatever way is the most reliable, after [`BlockRom::read`] has failed,
    /// come short or not been right.
    ///
    /// # Errors
    /// Why there are no right bytes.
    fn read_again(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Fault>;

    /// The descriptor to read from, for a source that does so by itself.
    #[cfg(unix)]
    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }
}

/// What a [`Rom`] holds whose blocks a pool reads.
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

/// A [`Rom`] for sets and hashers whose blocks the pool reads from here. Only a pool with
/// [`PoolConfig::sources`](crate::PoolConfig::sources) computes with it.
///
/// # Errors
/// [`Error::RomTag`](saltern_yescrypt::Error::RomTag) and
/// [`Error::RomAlignment`](saltern_yescrypt::Error::RomAlignment) for its end.
pub fn stored_rom(rom: Arc<dyn BlockRom>) -> Result<Rom, saltern_yescrypt::Error> {
    Rom::stored(Arc::new(Stored(rom)))
}

/// What the pool reads the blocks of a ROM from; `None` for one in memory, or of another origin.
pub(crate) fn block_rom(rom: &Rom) -> Option<&Arc<dyn BlockRom>> {
    let store: &dyn Any = &**rom.store()?;
    store.downcast_ref::<Stored>().map(|stored| &stored.0)
}

/// Memory that reads fill. A source can find out whether it is its own by looking into it as
/// [`Any`].
pub trait BlockMemory: DerefMut<Target = [u8]> + Any + Send {}

impl<M: DerefMut<Target = [u8]> + Any + Send> BlockMemory for M {}

/// Memory for a block, told apart from every other one with its tag, also from those that were at
/// the same address before.
pub struct BlockBuffer {
    /// Where the block goes.
    pub memory: Box<dyn BlockMemory>,
    /// Not 0.
    pub id: u64,
}

/// A read. Nobody touches the buffer until it comes back in a [`Completion`].
pub struct Request {
    /// Tells the reads of one source that are under way apart: below the number that
    /// [`BlockSources::open`] was called with.
    pub tag: usize,
    /// The ROM.
    pub rom: Arc<dyn BlockRom>,
    /// Where in the image.
    pub offset: u64,
    /// How much of the buffer is to be filled.
    pub len: usize,
    /// Where to.
    pub buffer: BlockBuffer,
}

/// The end of a read.
pub struct Completion {
    /// As in the request.
    pub tag: usize,
    /// `None` if it is lost, the kernel possibly writing to it.
    pub buffer: Option<BlockBuffer>,
    /// How many bytes came.
    pub outcome: io::Result<usize>,
}

/// Reads the blocks that one thread of a pool needs.
pub trait BlockSource {
    /// Memory that reads of this source can fill, zeroed and of this length.
    ///
    /// # Errors
    /// If there is none.
    fn memory(&mut self, len: usize) -> io::Result<Box<dyn BlockMemory>>;

    /// Begins a read, at the latest with the next [`BlockSource::flush`].
    fn submit(&mut self, request: Request);

    /// Lets all reads begin.
    fn flush(&mut self);

    /// Collects the reads that have ended, and waits for one if `wait` says so and none has. (One
    /// is under way then.)
    fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>);

    /// From this tag on, these buffers are the ones that will be used from now on, 0 for none. None
    /// of the others is under way, and what the system holds of them can be given back.
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
