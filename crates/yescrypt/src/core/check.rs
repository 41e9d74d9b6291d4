//! Blocks that hashes have read from ROMs in memory, and the trait for checking them.

use alloc::boxed::Box;
use core::error::Error;
use core::fmt;

use crate::core::memory::{self, SubBlock};
use crate::ids::RomId;

/// Checks whether blocks of a ROM in memory are as they were made.
///
/// A damaged ROM gives a different hash. So the blocks that a hash has read are checked before a
/// password is reported as not matching, and before a new hash is returned
/// ([`Resumable::check`](crate::hazmat::Resumable::check)).
pub trait RomCheck {
    /// The ROM's id, for errors.
    fn id(&self) -> RomId;

    /// The most bytes that are hashed to check one block of `len` bytes: a limit on time must count
    /// them for each read (`Medium::Checked`).
    fn bytes_for(&self, len: usize) -> usize;

    /// Checks blocks of `len` bytes that a hash has read, in any order: each must be as it was
    /// made, and as the hash read it ([`BlockRead::was`]).
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, len: usize, reads: &mut [BlockRead]) -> Result<(), RomFault>;
}

/// What is wrong with a ROM. It cannot be cloned; a pool shares it among answers as a
/// `saltern_pool::Fault`.
pub type RomFault = Box<dyn Error + Send + Sync>;

/// A block of a ROM in memory that a hash has read: its number, and a checksum of its contents at
/// that time.
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

    /// Whether the block had these bytes, which must be aligned to 64, when the hash was about to
    /// read it. Other bytes have the same checksum by an accident in 2^60, or on purpose: this is
    /// for memory that nobody can write to. The hash loads the block again after the checksum, so
    /// the two differ only if the memory changed in between.
    #[must_use]
    pub fn was(&self, bytes: &[u8]) -> bool {
        memory::from_bytes(bytes).is_ok_and(|block| sum(block) == self.sum)
    }
}

/// The number of the block reveals something about the password.
impl fmt::Debug for BlockRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockRead")
    }
}

/// A hash of all sub-blocks against accidents, not against an attacker who chooses them: pairs of
/// words are multiplied, each XORed with the previous state or with a constant, and the halves of
/// the product are combined by XOR. So the effect of a changed word depends on other words, and no
/// pattern of changes cancels out regardless of the contents.
fn sum(block: &[SubBlock]) -> u64 {
    const FACTORS: [u64; 4] = [
        0x9e37_79b9_7f4a_7c15,
        0xbf58_476d_1ce4_e5b9,
        0x94d0_49bb_1331_11eb,
        0xd6e8_feb8_6659_fd93,
    ];
    let product = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let mut sums = FACTORS.map(u64::reverse_bits);
    for sub_block in block {
        for (sum, (words, factor)) in
            sums.iter_mut().zip(sub_block.0.as_chunks::<2>().0.iter().zip(FACTORS))
        {
            // Rotated, so that a zero does not wipe out the state for the next word.
            *sum = product(words[0] ^ *sum, words[1] ^ factor) ^ sum.rotate_left(23);
        }
    }
    sums.iter().zip(FACTORS).fold(block.len() as u64, |all, (sum, factor)| {
        product(all ^ sum, factor).wrapping_add(all.rotate_left(7))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every flipped bit, flips and differences in two places that sums would not see, and
    /// exchanged sub-blocks.
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
        // The same at all distances, even ones included, in all lanes.
        for (one, two, lane) in (0..16)
            .flat_map(|one| (0..one).map(move |two| (one, two)))
            .zip(0..)
            .map(|((a, b), i)| (a, b, i % 8))
        {
            for bit in [0, 13, 31, 32, 62, 63] {
                for other_bit in [bit, (bit + 29) % 64, (bit + 64 - 29) % 64] {
                    let mut other = block;
                    other[one].0[lane] ^= 1 << bit;
                    other[two].0[lane] ^= 1 << other_bit;
                    assert!(!was(&other), "bits {bit}, {other_bit} of {one}, {two}");
                }
                let mut other = block;
                other[one].0[lane] = other[one].0[lane].wrapping_add(1 << bit);
                other[two].0[lane] = other[two].0[lane].wrapping_sub(1 << bit);
                assert!(!was(&other), "{bit} up in {one}, down in {two}");
            }
        }
        let mut other = block;
        other.swap(2, 9);
        assert!(!was(&other));
    }
}
