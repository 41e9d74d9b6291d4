//! Scratch memory: 64-byte sub-blocks, allocated fallibly, reused, wiped.
#![allow(unsafe_code, reason = "memory as sub-blocks, and sub-blocks as bytes")]

mod region;
#[cfg(test)]
mod tests;

use core::ptr::NonNull;

use saltern_wipe::{Zero, Zeroize};

use self::region::{ALIGN, Region};
use crate::Error;

/// A sub-block: 64 bytes as eight lanes in the shuffled word order of the specification's section
/// 3.
///
/// One cache line exactly, so that a block never shares a line with another.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct SubBlock(pub(crate) [u64; 8]);

impl Zero for SubBlock {
    const ZERO: Self = SubBlock([0; 8]);
}

impl SubBlock {
    pub(crate) const BYTES: usize = 64;

    /// The place of word `i` of the shuffled order in the natural one.
    const fn natural(i: usize) -> usize {
        5 * i % 16
    }

    /// Shuffles 64 bytes in natural order into lanes.
    pub(crate) fn from_bytes(bytes: &[u8; 64]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let word = |i: usize| u64::from(u32::from_le_bytes(words[Self::natural(i)]));
        SubBlock(core::array::from_fn(|k| word(2 * k) | word(2 * k + 1) << 32))
    }

    /// The inverse of [`SubBlock::from_bytes`].
    pub(crate) fn to_bytes(self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let (words, _) = bytes.as_chunks_mut::<4>();
        for (k, lane) in self.0.into_iter().enumerate() {
            words[Self::natural(2 * k)] = (lane as u32).to_le_bytes();
            words[Self::natural(2 * k + 1)] = ((lane >> 32) as u32).to_le_bytes();
        }
        bytes
    }
}

/// Sub-blocks as the bytes that they occupy in memory (the image of a ROM).
pub(crate) fn as_bytes(blocks: &[SubBlock]) -> &[u8] {
    // SAFETY: a `SubBlock` is 64 bytes without padding, and any byte may be read as `u8`.
    unsafe { core::slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
}

/// [`as_bytes`], mutable.
pub(crate) fn as_bytes_mut(blocks: &mut [SubBlock]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`, and every bit pattern is a valid `SubBlock`.
    unsafe { core::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), size_of_val(blocks)) }
}

/// Bytes as sub-blocks, if they are aligned to 64; an incomplete one at the end is cut off.
pub(crate) fn from_bytes(bytes: &[u8]) -> Result<&[SubBlock], Error> {
    // SAFETY: every bit pattern is a valid `SubBlock`.
    let (before, blocks, _) = unsafe { bytes.align_to::<SubBlock>() };
    if before.is_empty() { Ok(blocks) } else { Err(Error::RomAlignment) }
}

/// [`from_bytes`], mutable.
pub(crate) fn from_bytes_mut(bytes: &mut [u8]) -> Result<&mut [SubBlock], Error> {
    // SAFETY: every bit pattern is a valid `SubBlock`, and every `SubBlock` is valid bytes.
    let (before, blocks, _) = unsafe { bytes.align_to_mut::<SubBlock>() };
    if before.is_empty() { Ok(blocks) } else { Err(Error::RomAlignment) }
}

/// Owned sub-blocks that grow on demand and keep what they have.
pub(crate) struct Arena {
    region: Option<Region>,
    /// Sub-blocks available from the first aligned address of the region.
    len: usize,
    /// Sub-blocks that may have been written to since all were zero.
    used: usize,
    pages: Pages,
}

/// Which pages to ask the system for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Pages {
    /// The system's default: 4 KiB on most machines.
    Standard,
    /// Transparent huge pages of 2 MiB, by madvise(2), for allocations of at least 8 MiB, which are
    /// aligned to them where the system has such a place. The system may grant the request at once,
    /// later or never. Only on Linux and with the feature `os`; elsewhere the same as
    /// [`Pages::Standard`].
    #[default]
    Huge,
}

/// The size and alignment of a huge page.
const HUGE: usize = 2 << 20;

/// The alignment of smaller memory: with blocks that begin at a page, no block of up to 4 KiB spans
/// two pages.
const PAGE: usize = 4096;

/// The smallest arena for which they are requested. Below this they save nothing measurable.
const MIN_HUGE: usize = 4 * HUGE;

impl Arena {
    pub(crate) const fn new(pages: Pages) -> Self {
        Arena { region: None, len: 0, used: 0, pages }
    }

    /// Bytes that an arena of `len` sub-blocks takes from the system.
    pub(crate) fn bytes_for(len: usize, pages: Pages) -> Option<usize> {
        let bytes = len.checked_mul(SubBlock::BYTES)?;
        if Self::align(len, pages) == HUGE {
            return bytes.checked_next_multiple_of(PAGE);
        }
        bytes.checked_add(PAGE.saturating_sub(ALIGN))
    }

    /// The alignment of the first sub-block, where it can be had.
    fn align(len: usize, pages: Pages) -> usize {
        let huge = pages == Pages::Huge && len >= MIN_HUGE / SubBlock::BYTES;
        if huge && cfg!(all(feature = "os", target_os = "linux")) { HUGE } else { PAGE }
    }

    /// The first `len` sub-blocks; grows if necessary. Their contents are initialised but
    /// arbitrary.
    pub(crate) fn take(&mut self, len: usize) -> Result<&mut [SubBlock], Error> {
        self.reserve(len)?;
        Ok(self.first_mut(len))
    }

    /// The first `len` sub-blocks, which must exist.
    pub(crate) fn first(&self, len: usize) -> &[SubBlock] {
        // SAFETY: as in `first_mut`, for a shared borrow.
        unsafe { core::slice::from_raw_parts(self.start(), self.len) }.split_at(len).0
    }

    /// The first `len` sub-blocks, which must exist.
    pub(crate) fn first_mut(&mut self, len: usize) -> &mut [SubBlock] {
        self.used = self.used.max(len);
        &mut self.all()[..len]
    }

    /// Grows to `len` sub-blocks. The old memory is wiped and returned to the system first, so that
    /// the two never add up.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), Error> {
        if len <= self.len {
            return Ok(());
        }
        self.release();
        let refused = Error::OutOfMemory { bytes: (len as u64).saturating_mul(64) };
        let bytes = Self::bytes_for(len, self.pages).ok_or(refused)?;
        let align = Self::align(len, self.pages);
        self.region = Some(Region::new(bytes, align).ok_or(refused)?);
        self.len = len;
        if align == HUGE {
            self.advise();
        }
        Ok(())
    }

    /// Requests huge pages for those that lie wholly in the arena.
    fn advise(&self) {
        #[cfg(all(feature = "os", target_os = "linux"))]
        {
            let bytes = self.len * SubBlock::BYTES / HUGE * HUGE;
            let advice = rustix::mm::Advice::LinuxHugepage;
            // SAFETY: these pages lie within this region, and the advice changes no contents.
            // Refusal leaves the pages as they are.
            let _ = unsafe { rustix::mm::madvise(self.start().cast(), bytes, advice) };
        }
    }

    /// Overwrites all used memory with zeros in a way that the compiler does not remove.
    pub(crate) fn wipe(&mut self) {
        let used = core::mem::take(&mut self.used);
        self.all()[..used].zeroize();
    }

    /// Touches every page, so that no hash waits for one; contents are zeros afterwards.
    pub(crate) fn fault_in(&mut self) {
        self.used = 0;
        self.all().zeroize();
    }

    /// Whether it holds anything but zeros.
    pub(crate) fn residue(&self) -> bool {
        self.first(self.len).iter().any(|block| block.0 != [0; 8])
    }

    /// The addresses of the sub-blocks.
    pub(crate) fn addresses(&self) -> core::ops::Range<usize> {
        let start = self.start().addr();
        start..start + self.len * SubBlock::BYTES
    }

    /// Bytes held from the system.
    pub(crate) fn bytes(&self) -> usize {
        self.region.as_ref().map_or(0, Region::bytes)
    }

    fn all(&mut self) -> &mut [SubBlock] {
        // SAFETY: `start` is followed by `len` sub-blocks, zeroed by the system or written since;
        // `self` is borrowed for as long as the slice.
        unsafe { core::slice::from_raw_parts_mut(self.start(), self.len) }
    }

    /// The first aligned address, with room for `len` sub-blocks behind it.
    fn start(&self) -> *mut SubBlock {
        let Some(region) = &self.region else {
            return NonNull::<SubBlock>::dangling().as_ptr();
        };
        let offset = region.start().align_offset(PAGE);
        // SAFETY: the region has as many bytes more than `len` sub-blocks as the offset can be
        // between two multiples of its own alignment.
        unsafe { region.start().add(offset) }.cast()
    }

    fn release(&mut self) {
        self.wipe();
        self.region = None;
        self.len = 0;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.release();
    }
}
