//! Blocks of ROMs in memory as hashes have read them, and whoever can tell whether they are right.

use alloc::boxed::Box;
use core::error::Error;
use core::fmt;

use zeroize::Zeroize;

use crate::core::memory::{self, SubBlock};
use crate::ids::RomId;

/// Tells whether blocks of a ROM in memory are those that were made.
///
/// A hash with a damaged ROM is another hash. So blocks that a hash has read are checked before a
/// password is said not to match, and before a new hash is given out
/// ([`Resumable::check`](crate::hazmat::Resumable::check)).
pub trait RomCheck {
    /// The ROM's name, for errors.
    fn id(&self) -> RomId;

    /// Checks blocks of `len` bytes that a hash has read, in whatever order: each has to be the one
    /// that was made, and to be what the hash has read ([`BlockRead::was`]).
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, len: usize, reads: &mut [BlockRead]) -> Result<(), RomFault>;
}

/// What is wrong with a ROM.
pub type RomFault = Box<dyn Error + Send + Sync>;

/// A block of a ROM in memory that a hash has read: its number, and a sum over what it was.
#[derive(Clone, Copy, Default)]
pub struct BlockRead {
    pub(crate) block: u64,
    pub(crate) sum: u64,
}

impl BlockRead {
    pub(crate) fn new(block: u64, contents: &[SubBlock]) -> Self {
        BlockRead { block, sum: sum(contents) }
    }

    /// The number of the block in the image, seen as blocks of the hash's r.
    #[must_use]
    pub const fn block(&self) -> u64 {
        self.block
    }

    /// Whether the hash has read these bytes there, which are aligned to 64. Others have the same
    /// sum by an accident in 2^60, and wherever somebody sees to it: this is for memory that nobody
    /// can write to.
    #[must_use]
    pub fn was(&self, bytes: &[u8]) -> bool {
        memory::from_bytes(bytes).is_ok_and(|block| sum(block) == self.sum)
    }
}

/// Which block was read tells something about a password.
impl fmt::Debug for BlockRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockRead")
    }
}

impl Zeroize for BlockRead {
    fn zeroize(&mut self) {
        self.block.zeroize();
        self.sum.zeroize();
    }
}

/// Sums over all sub-blocks, lane by lane, with their places (Fletcher's), which are then mixed.
fn sum(block: &[SubBlock]) -> u64 {
    let (mut plain, mut placed) = ([0u64; 8], [0u64; 8]);
    for sub_block in block {
        for lane in 0..8 {
            plain[lane] = plain[lane].wrapping_add(sub_block.0[lane]);
            placed[lane] = placed[lane].wrapping_add(plain[lane]);
        }
    }
    // Multiples of 2^64 / golden ratio, so that no lane is like another.
    let constant = |i: usize| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * i as u64 + 1);
    (0..8).fold(block.len() as u64, |sum, lane| {
        let (a, b) = (plain[lane] ^ constant(lane), placed[lane] ^ constant(lane + 8));
        let product = u128::from(a) * u128::from(b);
        sum.rotate_left(7) ^ product as u64 ^ (product >> 64) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every flipped bit, two flips that a plain sum would not see, and exchanged sub-blocks.
    #[test]
    fn other_contents_have_other_sums() {
        let block: [SubBlock; 16] = core::array::from_fn(|i| {
            SubBlock(core::array::from_fn(|lane| (i as u64 * 977 + lane as u64).pow(3)))
        });
        let read = BlockRead::new(5, &block);
        let was = |block: &[SubBlock]| read.was(memory::as_bytes(block));
        assert!(was(&block) && read.block() == 5);
        assert!(!was(&block[..15]) && !read.was(&memory::as_bytes(&block)[1..]));
        for bit in 0..16 * 512 {
            let mut other = block;
            other[bit / 512].0[bit / 64 % 8] ^= 1 << (bit % 64);
            assert!(!was(&other), "{bit}");
            let top = (bit / 512 + 1) % 16;
            other[bit / 512] = block[bit / 512];
            other[bit / 512].0[bit / 64 % 8] ^= 1 << 63;
            other[top].0[bit / 64 % 8] ^= 1 << 63;
            assert!(!was(&other), "{bit} and {top}");
        }
        let mut other = block;
        other.swap(2, 9);
        assert!(!was(&other));
    }
}
