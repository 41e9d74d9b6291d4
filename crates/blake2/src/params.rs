//! The parameter block of BLAKE2b and BLAKE2s, and hashing in one call.

use core::fmt;

use saltern_simd::Level;
use saltern_simd::lanes::{Vector, Word};
use saltern_wipe::Zeroize;

use crate::dispatch::Kernels;
use crate::error::Error;
use crate::function::{Block, State};
use crate::variant::Variant;

/// All the parameters of one BLAKE2b or BLAKE2s hash, and the instruction-set level to compute it
/// with.
///
/// The defaults are those of plain sequential hashing: output of full length, no key, salt or
/// personalisation, fanout and depth 1, all else 0. A key is wiped from memory when the value is
/// dropped and `Debug` does not show it.
///
/// ```
/// use saltern_blake2::{blake2b, Error};
///
/// let params = blake2b::Params::new().hash_length(32)?.key(b"a key of 1 to 64 bytes")?.personal(b"example")?;
/// let tag = params.hash(b"message");
/// assert_eq!(tag.as_bytes().len(), 32);
/// assert_eq!(tag, params.to_hasher().update(b"mess").update(b"age").finalize());
/// assert!(matches!(blake2b::Params::new().hash_length(65), Err(Error::HashLength { length: 65, max: 64 })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Params<V: Variant> {
    /// The parameter block in the first half, zeros after it.
    block: Block<V>,
    /// The key padded with zeros: the block that is hashed before the message.
    key: Block<V>,
    last_node: bool,
    kernels: &'static Kernels<V>,
}

/// Where a field of the parameter block begins, in both variants. After them come the depth of the
/// node and the inner hash length, then, in the second half, salt and personalisation.
mod offset {
    pub(super) const HASH_LENGTH: usize = 0;
    pub(super) const KEY_LENGTH: usize = 1;
    pub(super) const FANOUT: usize = 2;
    pub(super) const MAX_DEPTH: usize = 3;
    pub(super) const MAX_LEAF_LENGTH: usize = 4;
    pub(super) const NODE: usize = 8;
}

impl<V: Variant> Params<V> {
    /// Bytes of node offset: 8 or 6.
    const NODE_BYTES: usize = (64 - V::MAX_NODE_OFFSET.leading_zeros() as usize) / 8;
    const NODE_DEPTH: usize = offset::NODE + Self::NODE_BYTES;
    const SALT: usize = V::OUT_BYTES / 2;
    const PERSONAL: usize = Self::SALT + V::SALT_BYTES;

    /// The default parameters, at the best level of this processor.
    #[must_use]
    pub fn new() -> Self {
        let mut block = V::Word::ZERO_BLOCK;
        block.as_mut()[..4].copy_from_slice(&[V::OUT_BYTES as u8, 0, 1, 1]);
        let kernels = V::kernels(Level::detect());
        Self { block, key: V::Word::ZERO_BLOCK, last_node: false, kernels }
    }

    /// The length of the hash: 1 to 64 bytes (BLAKE2b) or 1 to 32 (BLAKE2s).
    ///
    /// # Errors
    /// [`Error::HashLength`].
    pub fn hash_length(mut self, length: usize) -> Result<Self, Error> {
        if length == 0 || length > V::OUT_BYTES {
            return Err(Error::HashLength { length, max: V::OUT_BYTES });
        }
        self.set(offset::HASH_LENGTH, length as u8);
        Ok(self)
    }

    /// A secret key of up to 64 bytes (BLAKE2b) or 32 (BLAKE2s), which makes the hash a MAC; empty
    /// for none.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn key(mut self, key: &[u8]) -> Result<Self, Error> {
        if key.len() > V::OUT_BYTES {
            return Err(Error::KeyLength { length: key.len(), max: V::OUT_BYTES });
        }
        let bytes = self.key.as_mut();
        bytes.zeroize();
        bytes[..key.len()].copy_from_slice(key);
        self.set(offset::KEY_LENGTH, key.len() as u8);
        Ok(self)
    }

    /// A salt of up to 16 bytes (BLAKE2b) or 8 (BLAKE2s), padded with zeros.
    ///
    /// # Errors
    /// [`Error::SaltLength`].
    pub fn salt(mut self, salt: &[u8]) -> Result<Self, Error> {
        let error = Error::SaltLength { length: salt.len(), max: V::SALT_BYTES };
        self.set_padded(Self::SALT, salt).ok_or(error)?;
        Ok(self)
    }

    /// A personalisation of up to 16 bytes (BLAKE2b) or 8 (BLAKE2s), padded with zeros. Choose a
    /// different one for every use of the function, so that no two uses share a hash.
    ///
    /// # Errors
    /// [`Error::PersonalLength`].
    pub fn personal(mut self, personal: &[u8]) -> Result<Self, Error> {
        let error = Error::PersonalLength { length: personal.len(), max: V::SALT_BYTES };
        self.set_padded(Self::PERSONAL, personal).ok_or(error)?;
        Ok(self)
    }

    /// Tree hashing: children of a node, 0 for unlimited, 1 (the default) for sequential hashing.
    #[must_use]
    pub fn fanout(mut self, fanout: u8) -> Self {
        self.set(offset::FANOUT, fanout);
        self
    }

    /// Tree hashing: the maximum depth; 255 for unlimited, 1 (the default) for sequential hashing,
    /// 0 for BLAKE2X.
    #[must_use]
    pub fn max_depth(mut self, depth: u8) -> Self {
        self.set(offset::MAX_DEPTH, depth);
        self
    }

    /// Tree hashing: the maximum length of a leaf in bytes; 0, the default, for unlimited.
    #[must_use]
    pub fn max_leaf_length(mut self, length: u32) -> Self {
        self.block.as_mut()[offset::MAX_LEAF_LENGTH..][..4].copy_from_slice(&length.to_le_bytes());
        self
    }

    /// Tree hashing: the index of this node at its depth, from 0; below 2⁶⁴ (BLAKE2b) or 2⁴⁸
    /// (BLAKE2s).
    ///
    /// # Errors
    /// [`Error::NodeOffset`].
    pub fn node_offset(mut self, offset: u64) -> Result<Self, Error> {
        if offset > V::MAX_NODE_OFFSET {
            return Err(Error::NodeOffset { offset, max: V::MAX_NODE_OFFSET });
        }
        self.set_node_offset(offset);
        Ok(self)
    }

    /// Tree hashing: the depth of this node; 0 for leaves and sequential hashing.
    #[must_use]
    pub fn node_depth(mut self, depth: u8) -> Self {
        self.set(Self::NODE_DEPTH, depth);
        self
    }

    /// Tree hashing: the length of the inner hashes, up to 64 bytes (BLAKE2b) or 32 (BLAKE2s); 0
    /// for sequential hashing.
    ///
    /// # Errors
    /// [`Error::InnerHashLength`].
    pub fn inner_hash_length(mut self, length: usize) -> Result<Self, Error> {
        if length > V::OUT_BYTES {
            return Err(Error::InnerHashLength { length, max: V::OUT_BYTES });
        }
        self.set(Self::NODE_DEPTH + 1, length as u8);
        Ok(self)
    }

    /// Tree hashing: whether this node is the last at its depth. A flag of the last compression,
    /// not a field of the parameter block.
    #[must_use]
    pub fn last_node(mut self, last: bool) -> Self {
        self.last_node = last;
        self
    }

    /// Computes with the kernels of this level instead of the processor's best. The result is the
    /// same.
    ///
    /// # Errors
    /// [`Error::Level`] where the processor lacks it.
    pub fn level(mut self, level: Level) -> Result<Self, Error> {
        self.kernels = V::kernels(level.require()?);
        Ok(self)
    }

    /// The initial value with the parameter block in it.
    #[inline(always)]
    pub(crate) fn initial_state(&self) -> State<V> {
        Self::state_of(&self.block)
    }

    /// The initial value with this parameter block in it.
    #[inline(always)]
    pub(crate) fn state_of(block: &Block<V>) -> State<V> {
        let mut h = V::IV;
        for (i, word) in h.iter_mut().enumerate() {
            *word = word.xor(V::Word::of_block(block, i));
        }
        h
    }

    /// The initial values of this node, a parallel tree's first leaf, and of its root.
    pub(crate) fn tree_states(&self) -> [State<V>; 2] {
        let mut root = V::Word::ZERO_BLOCK;
        root.as_mut()[..V::OUT_BYTES].copy_from_slice(&self.block.as_ref()[..V::OUT_BYTES]);
        root.as_mut()[Self::NODE_DEPTH] = 1;
        [self.initial_state(), Self::state_of(&root)]
    }

    /// The padded key, if there is one.
    pub(crate) fn key_block(&self) -> Option<&Block<V>> {
        (self.block.as_ref()[offset::KEY_LENGTH] > 0).then_some(&self.key)
    }

    pub(crate) fn is_last_node(&self) -> bool {
        self.last_node
    }

    pub(crate) fn output_length(&self) -> u8 {
        self.block.as_ref()[offset::HASH_LENGTH]
    }

    pub(crate) fn kernels(&self) -> &'static Kernels<V> {
        self.kernels
    }

    /// With kernels that the processor can use but would not choose.
    #[cfg(test)]
    pub(crate) fn with_kernels(mut self, kernels: &'static Kernels<V>) -> Self {
        self.kernels = kernels;
        self
    }

    /// The common part of the nodes that make up the output of BLAKE2X: no key, and depths that no
    /// tree has.
    pub(crate) fn xof_node(&self) -> Self {
        let mut node = Self { key: V::Word::ZERO_BLOCK, ..self.clone() };
        node.set(offset::KEY_LENGTH, 0);
        node.set(offset::FANOUT, 0);
        node.set(offset::MAX_DEPTH, 0);
        node.set(Self::NODE_DEPTH + 1, V::OUT_BYTES as u8);
        node.max_leaf_length(V::OUT_BYTES as u32)
    }

    /// Sets the length of the node's output in bytes.
    pub(crate) fn set_hash_length(&mut self, length: u8) {
        self.set(offset::HASH_LENGTH, length);
    }

    /// A node of a two-level tree with as many leaves as the parallel forms have; initially the
    /// first leaf.
    pub(crate) fn parallel_node(mut self) -> Self {
        self.set(offset::FANOUT, V::LEAVES as u8);
        self.set(offset::MAX_DEPTH, 2);
        self.set(Self::NODE_DEPTH + 1, V::OUT_BYTES as u8);
        self
    }

    /// Sets the node's place among those of its depth.
    pub(crate) fn set_node_offset(&mut self, offset: u64) {
        let bytes = &offset.to_le_bytes()[..Self::NODE_BYTES];
        self.block.as_mut()[offset::NODE..][..Self::NODE_BYTES].copy_from_slice(bytes);
    }

    fn set(&mut self, offset: usize, value: u8) {
        self.block.as_mut()[offset] = value;
    }

    /// Writes a salt or personalisation with zeros after it, unless it is too long.
    fn set_padded(&mut self, offset: usize, value: &[u8]) -> Option<()> {
        let field = &mut self.block.as_mut()[offset..][..V::SALT_BYTES];
        field.fill(0);
        field.get_mut(..value.len())?.copy_from_slice(value);
        Some(())
    }
}

impl<V: Variant> Default for Params<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Variant> Drop for Params<V> {
    fn drop(&mut self) {
        if self.key_block().is_some() {
            self.key.as_mut().zeroize();
        }
    }
}

impl<V: Variant> fmt::Debug for Params<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let block = &self.block.as_ref()[..V::OUT_BYTES];
        f.debug_struct("Params")
            .field("hash_length", &block[offset::HASH_LENGTH])
            .field("key_length", &block[offset::KEY_LENGTH])
            .field("fanout", &block[offset::FANOUT])
            .field("max_depth", &block[offset::MAX_DEPTH])
            .field("max_leaf_length", &&block[offset::MAX_LEAF_LENGTH..][..4])
            .field("node_offset", &&block[offset::NODE..Self::NODE_DEPTH])
            .field("node_depth", &block[Self::NODE_DEPTH])
            .field("inner_hash_length", &block[Self::NODE_DEPTH + 1])
            .field("salt", &&block[Self::SALT..Self::PERSONAL])
            .field("personal", &&block[Self::PERSONAL..])
            .field("last_node", &self.last_node)
            .field("level", &self.kernels.level)
            .finish_non_exhaustive()
    }
}
