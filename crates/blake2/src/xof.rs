//! BLAKE2X: outputs of any length from BLAKE2b ("BLAKE2Xb") and BLAKE2s ("BLAKE2Xs").

use core::fmt;

use saltern_simd::Level;
use saltern_simd::lanes::{MAX_LANES, Word};
use saltern_wipe::Zeroize;

use crate::engine::{self, Task};
use crate::error::Error;
use crate::hasher::Hasher as NodeHasher;
use crate::output::Hash;
use crate::params::Params as NodeParams;
use crate::variant::Variant;

/// The parameters of one BLAKE2X output.
///
/// The output's length is a parameter: outputs of different lengths have nothing in common. Without
/// it the length is "unknown", and the output has 2³² blocks of 64 bytes (BLAKE2Xb) or 32
/// (BLAKE2Xs).
///
/// ```
/// use saltern_blake2::blake2xb;
///
/// let mut out = [0; 200];
/// blake2xb::Params::new().output_length(200)?.personal(b"example")?.to_hasher().update(b"seed").finalize().fill(&mut out)?;
/// # Ok::<(), saltern_blake2::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Params<V: Variant> {
    node: NodeParams<V>,
    /// The length in the parameter block; the largest possible number means unknown.
    length: u64,
}

impl<V: Variant> Params<V> {
    /// The number that means "unknown", one above the longest output.
    const UNKNOWN: u64 = (1 << V::XOF_LENGTH_BITS) - 1;

    /// Unknown output length, no key, at the best level of this processor.
    #[must_use]
    pub fn new() -> Self {
        Self { node: NodeParams::new(), length: Self::UNKNOWN }
    }

    /// The length of the output: 1 to 2³² − 2 bytes (BLAKE2Xb) or 1 to 65534 (BLAKE2Xs).
    ///
    /// # Errors
    /// [`Error::OutputLength`].
    pub fn output_length(mut self, length: u64) -> Result<Self, Error> {
        if length == 0 || length >= Self::UNKNOWN {
            return Err(Error::OutputLength { length, max: Self::UNKNOWN - 1 });
        }
        self.length = length;
        Ok(self)
    }

    /// A secret key of up to 64 bytes (BLAKE2Xb) or 32 (BLAKE2Xs); empty for none.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn key(self, key: &[u8]) -> Result<Self, Error> {
        Ok(Self { node: self.node.key(key)?, ..self })
    }

    /// A salt of up to 16 bytes (BLAKE2Xb) or 8 (BLAKE2Xs), padded with zeros.
    ///
    /// # Errors
    /// [`Error::SaltLength`].
    pub fn salt(self, salt: &[u8]) -> Result<Self, Error> {
        Ok(Self { node: self.node.salt(salt)?, ..self })
    }

    /// A personalisation of up to 16 bytes (BLAKE2Xb) or 8 (BLAKE2Xs), padded with zeros.
    ///
    /// # Errors
    /// [`Error::PersonalLength`].
    pub fn personal(self, personal: &[u8]) -> Result<Self, Error> {
        Ok(Self { node: self.node.personal(personal)?, ..self })
    }

    /// Computes with the kernels of this level instead of the processor's best. The result is the
    /// same.
    ///
    /// # Errors
    /// [`Error::Level`] where the processor lacks it.
    pub fn level(self, level: Level) -> Result<Self, Error> {
        Ok(Self { node: self.node.level(level)?, ..self })
    }

    /// A state that takes the message in pieces.
    #[must_use]
    pub fn to_hasher(&self) -> Hasher<V> {
        let mut root = self.node.clone();
        root.set_node_offset(self.length << 32);
        Hasher { hasher: root.to_hasher(), node: self.node.xof_node(), length: self.length }
    }
}

impl<V: Variant> Default for Params<V> {
    fn default() -> Self {
        Self::new()
    }
}

/// A BLAKE2X computation that still takes its message.
#[derive(Clone, Debug)]
pub struct Hasher<V: Variant> {
    hasher: NodeHasher<V>,
    node: NodeParams<V>,
    length: u64,
}

impl<V: Variant> Hasher<V> {
    /// Appends to the message.
    pub fn update(&mut self, data: &[u8]) -> &mut Self {
        self.hasher.update(data);
        self
    }

    /// The output for the message so far. The hasher can continue afterwards.
    #[must_use]
    pub fn finalize(&self) -> Reader<V> {
        let known = self.length != Params::<V>::UNKNOWN;
        let most = V::OUT_BYTES as u64 * (1 << 32);
        let mut root = V::Word::ZERO_BLOCK;
        // Not as a `Hash`, which would not be wiped.
        self.hasher.finished(|h| V::Word::write(h, root.as_mut()));
        Reader {
            node: self.node.clone(),
            root,
            stated: self.length << 32,
            total: if known { self.length } else { most },
            position: 0,
        }
    }
}

impl<V: Variant> Default for Hasher<V> {
    /// A computation with the default parameters.
    fn default() -> Self {
        Params::new().to_hasher()
    }
}

/// The output of BLAKE2X, read from front to back. Debug output shows none of it.
#[derive(Clone)]
pub struct Reader<V: Variant> {
    node: NodeParams<V>,
    /// The root's hash, as the block that every block of output is computed from.
    root: <V::Word as Word>::Block,
    stated: u64,
    total: u64,
    position: u64,
}

impl<V: Variant> Reader<V> {
    /// Bytes that can still be read.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.total - self.position
    }

    /// The next bytes of the output. Several blocks are computed side by side, so that long reads
    /// are fastest.
    ///
    /// # Errors
    /// [`Error::OutputEnd`] where `out` is longer than what [remains](Self::remaining); then
    /// nothing is read.
    pub fn fill(&mut self, out: &mut [u8]) -> Result<(), Error> {
        if out.len() as u64 > self.remaining() {
            return Err(Error::OutputEnd { wanted: out.len(), left: self.remaining() });
        }
        let mut out = out;
        while !out.is_empty() {
            let skip = (self.position % V::OUT_BYTES as u64) as usize;
            let length = out.len().min(MAX_LANES * V::OUT_BYTES - skip);
            let (now, rest) = out.split_at_mut(length);
            self.fill_some(now, skip);
            self.position += length as u64;
            out = rest;
        }
        Ok(())
    }

    /// Fills up to [`MAX_LANES`] blocks, from `skip` bytes into the block at the current position.
    fn fill_some(&self, out: &mut [u8], skip: usize) {
        let first = self.position / V::OUT_BYTES as u64;
        let blocks = (skip + out.len()).div_ceil(V::OUT_BYTES);
        let mut node = self.node.clone();
        let mut states = [V::IV; MAX_LANES];
        let mut lengths = [0; MAX_LANES];
        for (i, h) in states[..blocks].iter_mut().enumerate() {
            let number = first + i as u64;
            let left = self.total - number * V::OUT_BYTES as u64;
            lengths[i] = left.min(V::OUT_BYTES as u64) as u8;
            node.set_hash_length(lengths[i]);
            node.set_node_offset(self.stated | number);
            *h = node.initial_state();
        }
        // A block that is padded already, so that no copy is made; with its padding the count
        // equals the length of the root's hash.
        let count = (V::OUT_BYTES as u128).wrapping_sub(V::BLOCK_BYTES as u128);
        let head = Some(&self.root);
        let tasks = states[..blocks].iter_mut();
        let tasks = tasks.map(|h| Task { h, count, head, input: &[], finish: Some(false) });
        engine::run(self.node.kernels(), tasks);
        let mut at = skip;
        let mut out = out;
        for (h, &length) in states[..blocks].iter().zip(&lengths) {
            let hash = Hash::<V>::from_state(h, length);
            let bytes = &hash.as_bytes()[at..];
            let (head, rest) = out.split_at_mut(bytes.len().min(out.len()));
            head.copy_from_slice(&bytes[..head.len()]);
            (out, at) = (rest, 0);
        }
    }
}

impl<V: Variant> Drop for Reader<V> {
    fn drop(&mut self) {
        self.root.as_mut().zeroize(); // all of the output follows from it
    }
}

impl<V: Variant> fmt::Debug for Reader<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("total", &self.total)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
