//! A ROM as the algorithm sees it (section 18): an image that ends in a tag and a digest. There are
//! no files and no system calls here; callers that map an image pass it as bytes.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::core::check::RomCheck;
use crate::core::memory::{self, Arena, Pages, SubBlock};
use crate::core::params::block_bytes;
use crate::error::Error;

pub(crate) const TAG: &[u8; 16] = b"yescrypt-ROMhash";
/// The tag as the numbers in an image.
const TAG_LANES: [u64; 2] = {
    let (words, _) = TAG.as_chunks();
    [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
};
/// Tag and digest.
pub(crate) const TRAILER: usize = 48;

/// Memory that holds the image of a ROM: an owned image, a mapped file, a shared segment.
pub trait RomMemory: Send + Sync {
    /// The whole image, aligned to 64 bytes. The same bytes at each call.
    fn bytes(&self) -> &[u8];

    /// The checker of its blocks, if there is one. The same at each call.
    fn checker(&self) -> Option<&dyn RomCheck> {
        None
    }
}

impl<M: RomMemory + ?Sized> RomMemory for Arc<M> {
    fn bytes(&self) -> &[u8] {
        (**self).bytes()
    }

    fn checker(&self) -> Option<&dyn RomCheck> {
        (**self).checker()
    }
}

/// A ROM that is not in memory, reduced to what a hash must know: its size and its end. The code
/// that computes such a hash supplies the blocks itself ([`Resumable`](crate::hazmat::Resumable)),
/// and finds their source by downcasting this value as [`Any`]. This crate does no I/O: the trait
/// for reading blocks (`saltern_pool::source::BlockRom`) is in a crate above it.
pub trait RomStore: Any + Send + Sync {
    /// Bytes in the image.
    fn size(&self) -> u64;

    /// The last `len` bytes of the image, aligned to 64, if they are kept in memory; the last 64
    /// always are. They contain the block that the first step of a hash reads, for every r up to
    /// the store's limit.
    fn tail(&self, len: usize) -> Option<&[u8]>;

    /// The checker of the end of the image, if there is one: it is only asked about the last block,
    /// which hashes read from here. The same at each call.
    fn checker(&self) -> Option<&dyn RomCheck> {
        None
    }
}

/// A ROM that sets and hashers hold. Clones are cheap and share the image, whose memory is freed
/// when the last of them is dropped.
///
/// Two values are equal if they are clones of one another.
///
/// ```
/// use saltern_yescrypt::{Workspace, rom::{Rom, RomImage, RomParams}};
/// let image = RomImage::init(&RomParams::new(64, 8, 1), b"a seed", &mut Workspace::new())?;
/// let rom = Rom::new(image)?;
/// assert_eq!(rom, rom.clone());
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone)]
pub struct Rom {
    place: Place,
    size: u64,
    digest: [u8; 32],
}

#[derive(Clone)]
enum Place {
    Memory(Arc<dyn RomMemory>),
    Untagged(Arc<dyn RomMemory>),
    Store(Arc<dyn RomStore>),
}

impl Rom {
    /// A ROM in memory.
    ///
    /// # Errors
    /// Those of [`RomView::from_bytes`].
    pub fn new(memory: impl RomMemory + 'static) -> Result<Self, Error> {
        let view = RomView::from_bytes(memory.bytes())?;
        let (digest, size) = (view.digest(), view.size() as u64);
        Ok(Rom { place: Place::Memory(Arc::new(memory)), size, digest })
    }

    /// A ROM of generation 0.5, see [`RomView::untagged`]. It has no digest, and what hashes read
    /// from it is not checked, even in a pool: damage results in different hashes.
    ///
    /// # Errors
    /// [`Error::RomAlignment`].
    pub fn untagged(memory: impl RomMemory + 'static) -> Result<Self, Error> {
        let size = RomView::untagged(memory.bytes())?.size() as u64;
        Ok(Rom { place: Place::Untagged(Arc::new(memory)), size, digest: [0; 32] })
    }

    /// A ROM that is not in memory.
    ///
    /// # Errors
    /// Those of [`RomView::from_bytes`] for its end.
    pub fn stored(store: Arc<dyn RomStore>) -> Result<Self, Error> {
        let end = store.tail(SubBlock::BYTES).ok_or(Error::RomTag)?;
        let digest = RomView::from_bytes(end)?.digest();
        Ok(Rom { digest, size: store.size(), place: Place::Store(store) })
    }

    /// The image as hashes with this r read it: all of it or, for a ROM that is not in memory, the
    /// last block.
    ///
    /// # Errors
    /// [`Error::RomTooSmall`] for an r whose last block is not kept in memory; [`Error::RomTag`],
    /// [`Error::RomAlignment`] for memory that has changed since the ROM was made of it.
    pub fn view(&self, r: u32) -> Result<RomView<'_>, Error> {
        match &self.place {
            Place::Memory(memory) => RomView::from_bytes(memory.bytes()),
            Place::Untagged(memory) => RomView::untagged(memory.bytes()),
            Place::Store(store) => {
                let needed = block_bytes(r);
                let tail = usize::try_from(needed).ok().and_then(|len| store.tail(len));
                let actual = self.size;
                RomView::last_block(tail.ok_or(Error::RomTooSmall { needed, actual })?)
            }
        }
    }

    /// The store that has its blocks, if it is not in memory.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn RomStore>> {
        match &self.place {
            Place::Memory(_) | Place::Untagged(_) => None,
            Place::Store(store) => Some(store),
        }
    }

    /// The checker of its blocks, if there is one; for a ROM that is not in memory, of the last
    /// block. ROMs of generation 0.5 have none: their hashes do not record what they read.
    #[must_use]
    pub fn checker(&self) -> Option<&dyn RomCheck> {
        match &self.place {
            Place::Memory(memory) => memory.checker(),
            Place::Store(store) => store.checker(),
            Place::Untagged(_) => None,
        }
    }

    /// The digest in its last 32 bytes. Not secret.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Bytes in the image.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Distinguishes ROMs that exist at the same time.
    pub(crate) fn address(&self) -> usize {
        match &self.place {
            Place::Memory(memory) | Place::Untagged(memory) => Arc::as_ptr(memory).addr(),
            Place::Store(store) => Arc::as_ptr(store).addr(),
        }
    }
}

impl PartialEq for Rom {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for Rom {}

impl Hash for Rom {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl fmt::Debug for Rom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.store().is_some() { ", not in memory" } else { "" };
        write!(f, "Rom {{ {} bytes{place} }}", self.size)
    }
}

/// Which part of a ROM is in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// The last block.
    Last,
    /// All of an image of generation 0.5, which has no tag.
    Untagged,
}

/// A ROM as one computation reads it: a borrowed image that has a tag at its end, or its last
/// block.
///
/// Only the digest shows whether it is the *right* ROM: compare [`RomView::digest`] with the digest
/// you expect. A wrong ROM of the right size gives wrong hashes without any error.
#[derive(Clone, Copy)]
pub struct RomView<'a> {
    blocks: &'a [SubBlock],
    part: Part,
}

impl<'a> RomView<'a> {
    /// The ROM in an owned image.
    ///
    /// # Errors
    /// [`Error::RomTag`] if it was not filled.
    pub fn new(image: &'a RomImage) -> Result<Self, Error> {
        Self::from_bytes(image.as_bytes())
    }

    /// The ROM in any memory that is aligned to 64 bytes and does not change; its length must be a
    /// multiple of 64.
    ///
    /// # Errors
    /// [`Error::RomAlignment`], [`Error::RomTag`].
    pub fn from_bytes(image: &'a [u8]) -> Result<Self, Error> {
        let blocks = memory::from_bytes(image)?;
        if !image.len().is_multiple_of(SubBlock::BYTES) {
            return Err(Error::RomTag);
        }
        check_tag(blocks)?;
        Ok(RomView { blocks, part: Part::Whole })
    }

    /// A ROM of which only the last block of 128 * r bytes is in memory. That block ends in the tag
    /// and the digest, and is the one that the first step of a hash reads. Only for
    /// [`Resumable`](crate::hazmat::Resumable).
    ///
    /// # Errors
    /// Those of [`RomView::from_bytes`].
    pub(crate) fn last_block(block: &'a [u8]) -> Result<Self, Error> {
        Ok(RomView { part: Part::Last, ..Self::from_bytes(block)? })
    }

    /// A ROM of generation 0.5 in any memory that is aligned to 64 bytes.
    ///
    /// Nothing in such an image shows whether it is a ROM at all, or which one: another image of
    /// the same size gives different hashes without any error.
    ///
    /// # Errors
    /// [`Error::RomAlignment`].
    pub fn untagged(image: &'a [u8]) -> Result<Self, Error> {
        Ok(RomView { blocks: memory::from_bytes(image)?, part: Part::Untagged })
    }

    /// The digest in its last 32 bytes, which identifies the ROM. Not secret.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = [0; 32];
        let lanes = self.blocks.last().map_or(&[][..], |last| &last.0[4..]);
        for (bytes, lane) in digest.as_chunks_mut::<8>().0.iter_mut().zip(lanes) {
            *bytes = lane.to_le_bytes();
        }
        digest
    }

    /// The number of its bytes that are in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of_val(self.blocks)
    }

    /// Whether it is a yescrypt 1.1 ROM.
    pub(crate) fn is_tagged(&self) -> bool {
        self.part != Part::Untagged
    }

    /// Whether only its last block is in memory.
    pub(crate) fn elsewhere(&self) -> bool {
        self.part == Part::Last
    }

    /// The part that a hash reads with blocks of `len` sub-blocks: the first `nrom` of them, or the
    /// last one. A smaller ROM may be nested in the image, with a tag at its end.
    pub(crate) fn blocks(&self, nrom: u64, len: usize) -> Result<&'a [SubBlock], Error> {
        if self.elsewhere() {
            let (needed, actual) = ((len * SubBlock::BYTES) as u64, self.size() as u64);
            let other = Error::BufferLength { needed, actual };
            return if needed == actual { Ok(self.blocks) } else { Err(other) };
        }
        let needed = nrom.saturating_mul(len as u64);
        let blocks = usize::try_from(needed).ok().and_then(|needed| self.blocks.get(..needed));
        let needed = needed.saturating_mul(SubBlock::BYTES as u64);
        let blocks = blocks.ok_or(Error::RomTooSmall { needed, actual: self.size() as u64 })?;
        if self.part == Part::Whole {
            check_tag(blocks)?;
        }
        Ok(blocks)
    }
}

impl fmt::Debug for RomView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RomView {{ {} bytes }}", self.size())
    }
}

/// An owned image: 64-byte aligned, allocated fallibly, wiped on drop.
pub struct RomImage {
    arena: Arena,
    /// Sub-blocks.
    len: usize,
}

impl RomImage {
    /// An image of zeros; `bytes` must be a multiple of 64. Not a ROM until it is filled.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for another length, [`Error::OutOfMemory`].
    pub fn zeroed(bytes: usize) -> Result<Self, Error> {
        if bytes == 0 || !bytes.is_multiple_of(SubBlock::BYTES) {
            return Err(Error::invalid("ROM size", bytes as u64, "a multiple of 64 bytes, not 0"));
        }
        let len = bytes / SubBlock::BYTES;
        let mut arena = Arena::new(Pages::default());
        arena.reserve(len)?;
        Ok(RomImage { arena, len })
    }

    /// The bytes of the image.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        memory::as_bytes(self.arena.first(self.len))
    }

    /// The bytes of the image, mutable.
    #[must_use]
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        memory::as_bytes_mut(self.arena.first_mut(self.len))
    }
}

impl fmt::Debug for RomImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RomImage {{ {} bytes }}", self.len * SubBlock::BYTES)
    }
}

impl RomMemory for RomImage {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

fn check_tag(blocks: &[SubBlock]) -> Result<(), Error> {
    let found = blocks.last().is_some_and(|last| last.0[2..4] == TAG_LANES);
    if found { Ok(()) } else { Err(Error::RomTag) }
}

/// Writes tag and digest over the end of an image (section 18, step 6). They are stored as numbers,
/// like the rest of the image: lanes 2 to 7 of the last sub-block, in the byte order of this
/// machine. Hashes read that block, so the byte order affects the result.
pub(crate) fn write_trailer(blocks: &mut [SubBlock], digest: &[u8; 32]) {
    let Some(last) = blocks.last_mut() else { return };
    last.0[2..4].copy_from_slice(&TAG_LANES);
    let (words, _) = digest.as_chunks::<8>();
    for (lane, word) in last.0[4..].iter_mut().zip(words) {
        *lane = u64::from_le_bytes(*word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the specification, whatever the byte order; their bytes are the text only
    /// where the least comes first.
    #[test]
    fn tag_and_digest_are_numbers() {
        let mut image = [SubBlock([7; 8]); 2];
        let digest = core::array::from_fn(|i| i as u8);
        write_trailer(&mut image, &digest);
        let lane = |i: u64| (0..8).fold(0, |lane, byte| lane | (8 * i + byte) << (8 * byte));
        let expected = [
            7,
            7,
            0x7470_7972_6373_6579,
            0x6873_6168_4d4f_522d,
            lane(0),
            lane(1),
            lane(2),
            lane(3),
        ];
        assert_eq!((image[0].0, image[1].0), ([7; 8], expected));
        let mut bytes = [memory::as_bytes(&image)[80..96].to_vec(), TAG.to_vec()];
        if cfg!(target_endian = "big") {
            bytes[0].chunks_mut(8).for_each(<[u8]>::reverse);
        }
        assert_eq!(bytes[0], bytes[1]);
        let view = RomView::from_bytes(memory::as_bytes(&image)).unwrap();
        assert_eq!(view.digest(), digest);
        image[1].0[2] = image[1].0[2].swap_bytes();
        assert!(RomView::from_bytes(memory::as_bytes(&image)).is_err());
    }
}
