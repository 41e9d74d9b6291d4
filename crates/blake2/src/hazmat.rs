//! Chaining values in the hands of a caller who keeps them in a layout of another library. No
//! application needs this, and versions promise nothing about it.
//!
//! All of it computes at the best level of this processor. Lengths that do not fit are cut down to
//! whole blocks or stripes; nothing panics.

use saltern_simd::Level;
/// The operations on words of chaining values.
pub use saltern_simd::lanes::Word;

pub use crate::compress::{join, split};
use crate::function::{State, stripe};
use crate::params::Params;
use crate::tree;
use crate::variant::Variant;

/// The state before the first block, from a parameter block of 64 (BLAKE2b) or 32 bytes; shorter
/// ones are filled up with zeros.
///
/// ```
/// use saltern_blake2::{Blake2b, blake2b, hazmat};
/// let mut h = hazmat::initial::<Blake2b>(&[64, 0, 1, 1]);
/// hazmat::finish::<Blake2b>(&mut h, 0, b"abc", false);
/// let bytes: Vec<u8> = h.iter().flat_map(|word| word.to_le_bytes()).collect();
/// assert_eq!(bytes, blake2b::hash(b"abc").as_bytes());
/// ```
#[must_use]
pub fn initial<V: Variant>(params: &[u8]) -> [V::Word; 8] {
    let mut block = V::Word::ZERO_BLOCK;
    let len = params.len().min(V::OUT_BYTES);
    block.as_mut()[..len].copy_from_slice(&params[..len]);
    Params::<V>::state_of(&block)
}

/// Compresses whole blocks of which none is the last. `count` bytes went before; returns how many
/// have gone now.
pub fn absorb<V: Variant>(h: &mut [V::Word; 8], count: u128, blocks: &[u8]) -> u128 {
    let whole = blocks.len() / V::BLOCK_BYTES * V::BLOCK_BYTES;
    V::kernels(Level::detect()).absorb(h, count, &blocks[..whole])
}

/// Compresses the last block, of which as much is given as there is, at most a whole one. `count`
/// bytes went before.
pub fn finish<V: Variant>(h: &mut [V::Word; 8], count: u128, rest: &[u8], last_node: bool) {
    let mut block = V::Word::ZERO_BLOCK;
    let len = rest.len().min(V::BLOCK_BYTES);
    block.as_mut()[..len].copy_from_slice(&rest[..len]);
    let count = count.wrapping_add(len as u128);
    V::kernels(Level::detect()).finish(h, count, &block, last_node);
    saltern_wipe::Zeroize::zeroize(block.as_mut());
}

/// Compresses whole stripes, one block for each leaf of BLAKE2bp or BLAKE2sp, into all of its
/// leaves; none of the blocks is the last of a leaf. `count` bytes went before into each; returns
/// how many have gone now. With another number of leaves nothing happens.
pub fn absorb_leaves<V: Variant>(leaves: &mut [[V::Word; 8]], count: u128, stripes: &[u8]) -> u128 {
    if leaves.len() != V::LEAVES {
        return count;
    }
    let stripes = &stripes[..stripes.len() / stripe::<V>() * stripe::<V>()];
    let leaves: &mut [State<V>] = leaves;
    tree::absorb::<V>((V::kernels(Level::detect()), true), leaves, count, stripes)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{Blake2b, Blake2s, blake2bp, blake2s};

    #[test]
    fn pieces_give_the_hash_of_the_whole() {
        let data: Vec<u8> = (0..1000).map(|i| i as u8).collect();
        let mut h = initial::<Blake2s>(&[32, 0, 1, 1]);
        let mut count = 0;
        for piece in [&data[..64], &data[64..64], &data[64..960]] {
            count = absorb::<Blake2s>(&mut h, count, piece);
        }
        finish::<Blake2s>(&mut h, count, &data[960..], false);
        let bytes: Vec<u8> = h.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, blake2s::hash(&data).as_bytes());
    }

    #[test]
    fn leaves_give_the_hash_of_the_tree() {
        let data: Vec<u8> = (0..1536).map(|i| (i * 7) as u8).collect();
        let node = |offset: u8, depth: u8| {
            let mut params = [0; 64];
            params[..4].copy_from_slice(&[64, 0, 4, 2]);
            (params[8], params[16], params[17]) = (offset, depth, 64);
            initial::<Blake2b>(&params)
        };
        let mut leaves = [0, 1, 2, 3].map(|leaf| node(leaf, 0));
        let count = absorb_leaves::<Blake2b>(&mut leaves, 0, &data[..1024]);
        assert_eq!(count, 256);
        let mut inner = Vec::new();
        for (leaf, h) in leaves.iter_mut().enumerate() {
            finish::<Blake2b>(h, count, &data[1024 + 128 * leaf..][..128], leaf == 3);
            inner.extend(h.iter().flat_map(|word| word.to_le_bytes()));
        }
        let mut root = node(0, 1);
        let count = absorb::<Blake2b>(&mut root, 0, &inner[..128]);
        finish::<Blake2b>(&mut root, count, &inner[128..], true);
        let bytes: Vec<u8> = root.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, blake2bp::hash(&data).as_bytes());
        assert_eq!(absorb_leaves::<Blake2b>(&mut leaves[..3], 5, &data), 5);
    }
}
