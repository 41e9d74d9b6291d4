//! Checking what hashes have read from a ROM in memory, which distinguishes a wrong password from a
//! damaged ROM.

use saltern_pool::source::{Grid, Window};
use saltern_wipe::{Zeroize, Zeroizing};
use saltern_yescrypt::rom::{BlockRead, RomCheck, RomFault, RomId, RomMemory};

use crate::{Attached, DirectBuffer, Error, Manifest};

/// How many bytes of a ROM are copied before they are checked, many chunks at once.
const AHEAD: usize = 128 << 10;

impl RomMemory for Attached {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn checker(&self) -> Option<&dyn RomCheck> {
        Some(self)
    }
}

/// Every chunk that a block is in is copied; the copy must have the hash in the table, and the
/// block in it must be what the hash has read.
impl RomCheck for Attached {
    fn id(&self) -> RomId {
        self.id()
    }

    fn bytes_for(&self, len: usize) -> usize {
        grid(self.manifest()).longest(len)
    }

    fn check(&self, len: usize, reads: &mut [BlockRead]) -> Result<(), RomFault> {
        reads.sort_unstable_by_key(BlockRead::block);
        let mut copies = Copies::new(self, len)?;
        for read in reads {
            let (block, at) = copies.block(read.block())?;
            if !read.was(block) {
                // If it is still wrong, this reports it.
                copies.check()?;
                return Err(self.damaged(at).into());
            }
        }
        Ok(copies.check()?)
    }
}

/// The chunks of an image.
pub(super) fn grid(manifest: &Manifest) -> Grid {
    Grid { size: manifest.size(), piece: manifest.chunk as usize }
}

/// Copies of chunks, to be checked later.
struct Copies<'r> {
    rom: &'r Attached,
    /// Bytes of a block.
    block: usize,
    /// Bytes of the buffer for one block with the chunks around it.
    window: usize,
    buffer: DirectBuffer,
    /// The offset in the image and the length of each copy.
    copied: Vec<(u64, usize)>,
}

impl<'r> Copies<'r> {
    fn new(rom: &'r Attached, block: usize) -> Result<Self, Error> {
        let window = rom.bytes_for(block);
        let slots = (AHEAD / window).max(1);
        let buffer = DirectBuffer::new(slots * window)?;
        Ok(Copies { rom, block, window, buffer, copied: Vec::with_capacity(slots) })
    }

    /// A copy of block `j`, and the offset of the first chunk around it.
    fn block(&mut self, j: u64) -> Result<(&[u8], u64), Error> {
        let window = grid(self.rom.manifest()).block(j, self.block);
        let Window { offset: from, skip, extent: len, .. } = window;
        if self.copied.last() != Some(&(from, len)) {
            if self.copied.len() == self.copied.capacity() {
                self.check()?;
            }
            let bytes = usize::try_from(from).ok().and_then(|from| self.rom.as_bytes().get(from..));
            let bytes = bytes.and_then(|bytes| bytes.get(..len)).unwrap_or_default();
            let slot = self.copied.len() * self.window;
            self.buffer[slot..][..bytes.len()].copy_from_slice(bytes);
            self.copied.push((from, bytes.len()));
        }
        let slot = (self.copied.len() - 1) * self.window;
        Ok((&self.buffer[slot + skip..][..self.block], from))
    }

    /// Checks all copies that have not been checked, and forgets them.
    fn check(&mut self) -> Result<(), Error> {
        let chunk = self.rom.manifest().chunk as usize;
        // Allocated at full size, so that growing does not leave unwiped copies behind.
        let mut numbers = Zeroizing::new(Vec::with_capacity(self.buffer.len() / chunk));
        for (from, len) in &self.copied {
            let first = from / chunk as u64;
            numbers.extend(first..first + len.div_ceil(chunk) as u64);
        }
        let copies = self.copied.iter().zip(self.buffer.chunks(self.window));
        let chunks = copies.flat_map(|((_, len), copy)| copy[..*len].chunks(chunk));
        self.rom.check_chunks(&numbers, chunks)?;
        self.copied.clear();
        Ok(())
    }
}

impl Drop for Copies<'_> {
    /// The numbers of the blocks read reveal something about passwords.
    fn drop(&mut self) {
        self.buffer.zeroize();
        self.copied.zeroize();
    }
}
