//! Hashes that stop where they need a block of a ROM that is not in memory, and continue when they
//! are given the block.

mod running;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use saltern_wipe::{Zero, Zeroize};

use self::running::Running;
use crate::core::blockmix::MAX_LANES;
use crate::core::check::RomFault;
use crate::core::log;
use crate::core::memory::{Arena, Pages};
use crate::core::params::CheckedParams;
use crate::core::pass::Sizes;
use crate::core::reading::{Reads, RomUse};
use crate::ids::RomId;
use crate::{Error, Workspace};

/// One read of a ROM that is not in memory, by up to [`MAX_LANES`] instances of hashes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlocksNeeded {
    /// The ROM's place in the list.
    pub rom: usize,
    blocks: [u64; MAX_LANES],
    count: usize,
}

impl BlocksNeeded {
    /// The numbers of the blocks, each below the ROM's NROM. Block `j` is at bytes 128 * r * j of
    /// the image, 128 * r of them.
    #[must_use]
    pub fn blocks(&self) -> &[u64] {
        &self.blocks[..self.count]
    }
}

/// None of the first ROM's.
impl Zero for BlocksNeeded {
    const ZERO: Self = BlocksNeeded { rom: 0, blocks: [0; MAX_LANES], count: 0 };
}

/// Reads that wait, in order. Their memory does not move, and is wiped on drop: the numbers of the
/// blocks reveal something about passwords.
#[derive(Default)]
pub struct WaitingReads(VecDeque<BlocksNeeded>);

impl WaitingReads {
    /// With room for this many.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn with_room(most: usize) -> Result<Self, Error> {
        let (mut reads, bytes) = (VecDeque::new(), most.saturating_mul(size_of::<BlocksNeeded>()));
        reads.try_reserve(most).map_err(|_| Error::OutOfMemory { bytes: bytes as u64 })?;
        Ok(WaitingReads(reads))
    }

    /// Appends a read.
    ///
    /// # Errors
    /// [`Error::Panicked`] if there is no room.
    pub fn push(&mut self, read: BlocksNeeded) -> Result<(), Error> {
        if self.0.len() == self.0.capacity() {
            return Err(Error::Panicked);
        }
        self.0.push_back(read);
        Ok(())
    }

    /// Takes the first.
    pub fn pop(&mut self) -> Option<BlocksNeeded> {
        self.0.pop_front()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for WaitingReads {
    fn drop(&mut self) {
        // A list in the same memory, where those that were taken left their numbers behind.
        Vec::from(core::mem::take(&mut self.0)).zeroize();
    }
}

/// Where a hash has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// It will need these blocks: later with a look-ahead, otherwise at once. Reading can begin.
    /// Nothing must be supplied yet, and callers that do not read ahead can ignore this. The reads
    /// of each ROM are announced in the order in which they are needed.
    Announces(BlocksNeeded),
    /// It needs these blocks, which were announced before, to continue.
    Needs(BlocksNeeded),
    /// It is finished.
    Done,
}

/// A few hashes of one shape that advance together in the calling thread, and stop where they need
/// ROM blocks that are not in memory.
///
/// It computes the same as [`derive_with_roms`](crate::rom::derive_with_roms) for the same ROMs.
/// With many of these, a thread works on another one instead of waiting for a read.
///
/// Its memory, that of a [`Workspace`], is kept for the next hashes. The memory and the inputs of
/// hashes are wiped on drop and by [`Resumable::wipe`].
///
/// ```
/// use std::sync::Arc;
/// use saltern_yescrypt::{Error, Limits, Params, Workspace, hazmat::*, rom::*};
///
/// struct Elsewhere(RomImage); // standing for a file
/// impl RomStore for Elsewhere {
///     fn size(&self) -> u64 {
///         self.0.as_bytes().len() as u64
///     }
///     fn tail(&self, len: usize) -> Option<&[u8]> {
///         let image = self.0.as_bytes();
///         image.get(image.len().checked_sub(len)?..)
///     }
/// }
/// let image = || RomImage::init(&RomParams::new(64, 8, 1), b"a seed", &mut Workspace::new());
/// let store = Arc::new(Elsewhere(image()?));
/// let reading = RomReading { masks: RomMasks { fill: 0, mix: 15 }, ..RomReading::new(64) };
/// let rom = RomUse { rom: Rom::stored(store.clone())?, reading };
/// let params = Params::yescrypt(64, 8).check(&Limits::server())?;
///
/// let block = |j: u64| &store.0.as_bytes()[1024 * j as usize..][..1024];
/// let mut hash = Resumable::new(Workspace::new());
/// hash.begin(&[(b"password", b"salt")], &params, &[rom], 32)?;
/// let mut progress = hash.advance(&[])?;
/// loop {
///     progress = match progress {
///         Advance::Announces(_) => hash.advance(&[])?,
///         Advance::Needs(read) => hash.advance(&[block(read.blocks()[0])])?,
///         Advance::Done => break,
///     }
/// }
///
/// let mut expected = [0; 32];
/// let image = image()?;
/// let rom = RomUse { rom: RomView::new(&image)?, reading };
/// derive_with_roms(b"password", b"salt", &params, &[rom], &mut Workspace::new(), &mut expected)?;
/// assert_eq!(hash.output(0), Some(&expected[..]));
/// # Ok::<(), Error>(())
/// ```
pub struct Resumable {
    workspace: Workspace,
    running: Option<Box<Running>>,
}

impl Resumable {
    /// Begins nothing yet. The workspace's number of threads is not used for hashes with ROMs.
    #[must_use]
    pub fn new(workspace: Workspace) -> Self {
        Resumable { workspace, running: None }
    }

    /// The bytes of memory that a workspace with these pages holds after [`Resumable::begin`] for
    /// this many hashes, if it had less before: their working memory, and their records of reads
    /// ([`Resumable::check`]). `None` for sizes that cannot be addressed.
    #[must_use]
    pub fn memory_for(
        params: &CheckedParams,
        roms: &[RomUse],
        hashes: usize,
        pages: Pages,
    ) -> Option<u64> {
        let plan = Sizes::new(params, hashes, 1).ok()?;
        let len = plan.total().checked_add(log::room(params, roms, hashes))?;
        Arena::bytes_for(len, pages).map(|bytes| bytes as u64)
    }

    /// Bytes of memory that its workspace holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.workspace.memory()
    }

    /// Takes the passwords and salts of one to four hashes, with `len` bytes of output each;
    /// earlier ones are dropped. [`CheckedParams::degree`] is the most efficient number. They are
    /// copied, and nothing is computed yet.
    ///
    /// # Errors
    /// Those of [`derive_with_roms`](crate::rom::derive_with_roms), [`Error::BufferLength`] for a
    /// last block whose length is not 128 * r, and [`Error::InvalidParameter`] for another number
    /// of hashes.
    pub fn begin(
        &mut self,
        inputs: &[(&[u8], &[u8])],
        params: &CheckedParams,
        roms: &[RomUse],
        len: usize,
    ) -> Result<(), Error> {
        self.running = None;
        if inputs.is_empty() || inputs.len() > MAX_LANES {
            return Err(Error::invalid("number of hashes", inputs.len() as u64, "1 to 4"));
        }
        params.check_output(len as u64)?;
        let reads = Reads::of(params, roms)?;
        let running = Running::new(inputs, params, (roms, reads), len)?;
        self.workspace.arena.take(running.memory_len())?;
        self.running = Some(Box::new(running));
        Ok(())
    }

    /// Computes until the hashes are done or blocks of a ROM are needed.
    ///
    /// `supplied` is empty, except after [`Advance::Needs`]: then it is those blocks, in order, as
    /// they are in the image, each aligned to 64 bytes. Without them the same answer is returned
    /// again. Once all hashes are done, or if nothing was begun, the answer is [`Advance::Done`].
    ///
    /// Wrong contents of a block give a wrong hash without any error: the caller must ensure that
    /// the read was complete.
    ///
    /// # Errors
    /// [`Error::BufferLength`] for a wrong number or length of blocks; [`Error::RomAlignment`];
    /// [`Error::OutOfMemory`]. Nothing was computed then and the call can be repeated.
    pub fn advance(&mut self, supplied: &[&[u8]]) -> Result<Advance, Error> {
        match &mut self.running {
            Some(running) => running.advance(supplied, &mut self.workspace),
            None => Ok(Advance::Done),
        }
    }

    /// The output of hash `index` once all are done.
    #[must_use]
    pub fn output(&self, index: usize) -> Option<&[u8]> {
        self.running.as_ref()?.output(index)
    }

    /// Checks the blocks that hash `index` has read from ROMs in memory that have a
    /// [`checker`](crate::rom::RomMemory::checker). Call this before reporting a mismatch, and
    /// before returning a new hash. The cost is that of checking as many blocks as the hash reads.
    ///
    /// # Errors
    /// The id of the damaged ROM, and what its checker reported.
    pub fn check(&self, index: usize) -> Result<(), (RomId, RomFault)> {
        self.running.as_ref().map_or(Ok(()), |running| running.check(index, &self.workspace))
    }

    /// Drops the hashes with their passwords, salts and outputs, and keeps the memory as it is for
    /// the next ones.
    pub fn clear(&mut self) {
        self.running = None;
    }

    /// Drops the hashes and overwrites all memory that they have used with zeros.
    pub fn wipe(&mut self) {
        self.running = None;
        self.workspace.wipe();
    }

    /// The workspace, for other uses. The hashes are dropped.
    #[must_use]
    pub fn into_workspace(self) -> Workspace {
        self.workspace
    }
}

impl core::fmt::Debug for Resumable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Resumable {{ {:?} }}", self.workspace)
    }
}
