//! BLAKE2bp and BLAKE2sp: four or eight leaves that share the blocks of one message in turn, under
//! one root.

use core::fmt;
#[cfg(feature = "std")]
use core::num::NonZero;
#[cfg(feature = "std")]
use std::sync::{Mutex, PoisonError};
#[cfg(feature = "std")]
use std::thread;

use saltern_simd::Level;
use saltern_simd::lanes::{MAX_LANES, Word};
use saltern_wipe::Zeroize;

use crate::compress::{Group, Inputs, MAX_LEAVES, Run};
use crate::dispatch::Kernels;
use crate::engine::{self, Task};
use crate::error::Error;
use crate::function::{State, plain_stripes, stripe};
use crate::hasher::Hasher as NodeHasher;
use crate::output::Hash;
use crate::params::Params as NodeParams;
use crate::variant::Variant;

/// Bytes of buffer: two stripes of one block for each leaf. Four blocks of BLAKE2b are as long as
/// eight of BLAKE2s.
const BUFFER: usize = 1024;

/// Bytes of the leaves' hashes together: four of 64 bytes or eight of 32.
const INNER: usize = 256;

/// The parameters of one BLAKE2bp or BLAKE2sp hash: its length, a key, and the level to compute
/// with.
///
/// Wipes and hides the key as [`blake2b::Params`](crate::blake2b::Params) does.
///
/// ```
/// use saltern_blake2::blake2bp;
/// let mac = blake2bp::Params::new().key(b"secret")?.hash_length(32)?.hash(b"message");
/// assert_eq!(mac.as_bytes().len(), 32);
/// # Ok::<(), saltern_blake2::Error>(())
/// ```
#[derive(Clone)]
pub struct Params<V: Variant> {
    node: NodeParams<V>,
}

impl<V: Variant> Params<V> {
    /// Output of full length, no key, at the best level of this processor.
    #[must_use]
    pub fn new() -> Self {
        Self { node: NodeParams::new().parallel_node() }
    }

    /// The length of the hash: 1 to 64 bytes (BLAKE2bp) or 1 to 32 (BLAKE2sp).
    ///
    /// # Errors
    /// [`Error::HashLength`].
    pub fn hash_length(self, length: usize) -> Result<Self, Error> {
        Ok(Self { node: self.node.hash_length(length)? })
    }

    /// A secret key of up to 64 bytes (BLAKE2bp) or 32 (BLAKE2sp); empty for none.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn key(self, key: &[u8]) -> Result<Self, Error> {
        Ok(Self { node: self.node.key(key)? })
    }

    /// Computes with the kernels of this level instead of the processor's best. The result is the
    /// same.
    ///
    /// # Errors
    /// [`Error::Level`] where the processor lacks it.
    pub fn level(self, level: Level) -> Result<Self, Error> {
        Ok(Self { node: self.node.level(level)? })
    }

    /// With a table that the processor can use but would not choose.
    #[cfg(test)]
    pub(crate) fn with_kernels(self, kernels: &'static crate::dispatch::Kernels<V>) -> Self {
        Self { node: self.node.with_kernels(kernels) }
    }

    /// The kernels, and whether their data is secret.
    fn kernels(&self) -> (&'static Kernels<V>, bool) {
        (self.node.kernels(), self.node.key_block().is_some())
    }

    /// The hash of `data`, computed by the calling thread. No memory is allocated.
    #[must_use]
    pub fn hash(&self, data: &[u8]) -> Hash<V> {
        if self.node.key_block().is_none()
            && let Some(root) = self.node.kernels().tree(self.node.tree_states(), data)
        {
            return Hash::from_state(&root, self.node.output_length());
        }
        self.to_hasher().update(data).finalize()
    }

    /// Like [`hash`](Self::hash), with a thread for each leaf of a long message: four (BLAKE2bp) or
    /// eight (BLAKE2sp).
    ///
    /// A leaf alone cannot use the lanes that all leaves share in one thread, so the gain is small:
    /// about 1.4 times with as many idle processors. With fewer processors, or less than half a MiB
    /// for each leaf, no thread is started. Many messages gain far more from
    /// [`hash_many_threaded`](crate::many::hash_many_threaded).
    ///
    /// ```
    /// let params = saltern_blake2::blake2bp::Params::new();
    /// let data = vec![1; 3 << 20];
    /// assert_eq!(params.hash_threaded(&data), params.hash(&data));
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn hash_threaded(&self, data: &[u8]) -> Hash<V> {
        if worth_threads::<V>(None, data) {
            self.to_hasher().update_by_leaves(data).finalize()
        } else {
            self.hash(data)
        }
    }

    /// A state that takes the message in pieces.
    #[must_use]
    pub fn to_hasher(&self) -> Hasher<V> {
        let mut hasher = Hasher {
            leaves: [V::IV; MAX_LEAVES],
            leaf_count: 0,
            buffer: [0; BUFFER],
            buffered: 0,
            params: self.clone(),
        };
        let mut node = self.node.clone();
        for (leaf, h) in hasher.leaves[..V::LEAVES].iter_mut().enumerate() {
            node.set_node_offset(leaf as u64);
            *h = node.initial_state();
        }
        if let Some(key) = self.node.key_block() {
            for block in hasher.buffer[..stripe::<V>()].chunks_exact_mut(V::BLOCK_BYTES) {
                block.copy_from_slice(key.as_ref());
            }
            hasher.buffered = stripe::<V>();
        }
        hasher
    }
}

impl<V: Variant> Default for Params<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Variant> fmt::Debug for Params<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Params").field(&self.node).finish()
    }
}

/// A BLAKE2bp or BLAKE2sp computation in progress. Under two KiB, no allocation; `Clone` forks it.
///
/// The state of a keyed hash is wiped from memory when it is dropped, and `Debug` shows no part of
/// any state.
///
/// ```
/// use saltern_blake2::{blake2sp, blake2sp::Hasher};
/// assert_eq!(Hasher::new().update(b"a").update(b"bc").finalize(), blake2sp(b"abc"));
/// ```
#[derive(Clone)]
pub struct Hasher<V: Variant> {
    leaves: [State<V>; MAX_LEAVES],
    /// Bytes compressed into each leaf, including those of a key block.
    leaf_count: u128,
    /// Input not yet compressed, after the key blocks of all leaves if there is a key.
    buffer: [u8; BUFFER],
    buffered: usize,
    params: Params<V>,
}

impl<V: Variant> Hasher<V> {
    /// A hasher with the default parameters; others come from [`Params::to_hasher`].
    #[must_use]
    pub fn new() -> Self {
        Params::new().to_hasher()
    }

    /// Appends to the message. Pieces may have any length; long ones are hashed in place.
    pub fn update(&mut self, data: &[u8]) -> &mut Self {
        let mut data = data;
        while self.buffered > 0 && !data.is_empty() {
            self.drain_buffer(data.len());
            // If whole stripes stay, they are the last ones: then all of `data` fits after them.
            let goal = if self.buffered < stripe::<V>() { stripe::<V>() } else { BUFFER };
            let (head, rest) = data.split_at(data.len().min(goal - self.buffered));
            self.push(head);
            data = rest;
        }
        let whole = plain_stripes::<V>(data.len()) * stripe::<V>();
        let (stripes, tail) = data.split_at(whole);
        self.leaf_count =
            absorb(self.params.kernels(), &mut self.leaves[..V::LEAVES], self.leaf_count, stripes);
        self.push(tail);
        self
    }

    /// Like [`update`](Self::update) with a thread for each leaf, if `threads` allows four
    /// (BLAKE2bp) or eight (BLAKE2sp) of them and `data` has half a MiB for each: see
    /// [`Params::hash_threaded`]. `None` means as many threads as there are processors.
    ///
    /// The threads end with the call. If fewer can be started, those do all the work.
    ///
    /// ```
    /// use std::num::NonZero;
    /// use saltern_blake2::blake2bp;
    /// let data = vec![1; 3 << 20];
    /// let mut hasher = blake2bp::Hasher::new();
    /// hasher.update_threaded(&data, NonZero::new(4)).update(b"end");
    /// assert_eq!(hasher.count(), (3 << 20) + 3);
    /// ```
    #[cfg(feature = "std")]
    pub fn update_threaded(
        &mut self,
        data: &[u8],
        threads: impl Into<Option<NonZero<usize>>>,
    ) -> &mut Self {
        match worth_threads::<V>(threads.into(), data) {
            true => self.update_by_leaves(data),
            false => self.update(data),
        }
    }

    /// Like [`update`](Self::update) with a thread for each leaf.
    #[cfg(feature = "std")]
    pub(crate) fn update_by_leaves(&mut self, data: &[u8]) -> &mut Self {
        let missing = self.buffered.next_multiple_of(stripe::<V>()) - self.buffered;
        let (head, data) = data.split_at(missing.min(data.len()));
        self.push(head);
        self.drain_buffer(data.len());
        let whole = if self.buffered == 0 { plain_stripes::<V>(data.len()) } else { 0 };
        let (stripes, tail) = data.split_at(whole * stripe::<V>());
        self.leaf_count = absorb_threaded(&self.params, &mut self.leaves, self.leaf_count, stripes);
        self.update(tail)
    }

    fn push(&mut self, bytes: &[u8]) {
        self.buffer[self.buffered..self.buffered + bytes.len()].copy_from_slice(bytes);
        self.buffered += bytes.len();
    }

    /// Compresses the stripes of the buffer that are known not to be the last, given the number of
    /// bytes to come.
    fn drain_buffer(&mut self, to_come: usize) {
        let stripes =
            plain_stripes::<V>(self.buffered + to_come).min(self.buffered / stripe::<V>());
        let whole = stripes * stripe::<V>();
        let stripes = &self.buffer[..whole];
        self.leaf_count =
            absorb(self.params.kernels(), &mut self.leaves[..V::LEAVES], self.leaf_count, stripes);
        self.buffer.copy_within(whole..self.buffered, 0);
        self.buffered -= whole;
    }

    /// The hash of the message so far. The hasher can continue afterwards.
    #[must_use]
    pub fn finalize(&self) -> Hash<V> {
        let mut leaves = self.leaves;
        self.close_leaves(&mut leaves);
        let mut root = NodeHasher::root(&self.params.node);
        let mut values = [0; INNER];
        for (value, leaf) in values.chunks_exact_mut(V::OUT_BYTES).zip(&leaves) {
            V::Word::write(leaf, value);
        }
        root.update(&values);
        if self.params.node.key_block().is_some() {
            leaves.zeroize();
            values.zeroize();
        }
        root.finalize()
    }

    /// Compresses what is in the buffer: up to two blocks for each leaf, the last of each.
    fn close_leaves(&self, leaves: &mut [State<V>; MAX_LEAVES]) {
        let buffered = &self.buffer[..self.buffered];
        let (first, second) = buffered.split_at(buffered.len().min(stripe::<V>()));
        let tasks = leaves[..V::LEAVES].iter_mut().enumerate().map(|(leaf, h)| {
            let [first, second] = [first, second].map(|stripe| part_of_leaf::<V>(stripe, leaf));
            let (head, input) = match second.is_empty() {
                true => (None, first),
                false => (V::Word::first_block(first), second),
            };
            let finish = Some(leaf + 1 == V::LEAVES);
            Task { h, count: self.leaf_count, head, input, finish }
        });
        engine::run(self.params.node.kernels(), tasks);
    }

    /// Bytes of message so far, modulo 2¹²⁸, not counting a key.
    #[must_use]
    pub fn count(&self) -> u128 {
        let key = if self.params.node.key_block().is_some() { stripe::<V>() as u128 } else { 0 };
        let compressed = self.leaf_count.wrapping_mul(V::LEAVES as u128);
        compressed.wrapping_add(self.buffered as u128).wrapping_sub(key)
    }
}

/// Compresses whole stripes, none of which is the last of any leaf, into all leaves; returns the
/// leaves' count after them.
pub(crate) fn absorb<V: Variant>(
    (kernels, is_secret): (&Kernels<V>, bool),
    leaves: &mut [State<V>],
    leaf_count: u128,
    stripes: &[u8],
) -> u128 {
    let (stride, blocks) = (stripe::<V>(), stripes.len() / stripe::<V>());
    let end = leaf_count.wrapping_add((stripes.len() / V::LEAVES) as u128);
    if blocks == 0 {
        return end;
    }
    let count = leaf_count.wrapping_add(V::BLOCK_BYTES as u128);
    if kernels.width_for(V::LEAVES) == V::LEAVES {
        let mut inputs = Inputs { lanes: [stripes; MAX_LANES], stride };
        let mut group = Group::new();
        group.is_secret = is_secret;
        for (lane, h) in leaves.iter().enumerate() {
            inputs.lanes[lane] = &stripes[lane * V::BLOCK_BYTES..];
            group.set_state(lane, h);
            group.set_offset(lane, count, [false; 2]);
        }
        kernels.many(V::LEAVES, &mut group, inputs, blocks);
        for (lane, h) in leaves.iter_mut().enumerate() {
            *h = group.state(lane);
        }
    } else {
        for (leaf, h) in leaves.iter_mut().enumerate() {
            kernels.one(h, &leaf_run::<V>(stripes, leaf, count));
        }
    }
    end
}

/// Whether there is a thread for each leaf, and enough work for each thread.
#[cfg(feature = "std")]
fn worth_threads<V: Variant>(threads: Option<NonZero<usize>>, data: &[u8]) -> bool {
    crate::many::worthwhile_threads(threads, data.len()) >= V::LEAVES
}

/// Like [`absorb`], with a thread for each leaf, as far as threads can be started.
#[cfg(feature = "std")]
fn absorb_threaded<V: Variant>(
    params: &Params<V>,
    leaves: &mut [State<V>; MAX_LEAVES],
    leaf_count: u128,
    stripes: &[u8],
) -> u128 {
    let kernels = params.node.kernels();
    let count = leaf_count.wrapping_add(V::BLOCK_BYTES as u128);
    let left = Mutex::new(leaves[..V::LEAVES].iter_mut().enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((leaf, h)) = next() {
            kernels.one(h, &leaf_run::<V>(stripes, leaf, count));
        }
    };
    if !stripes.is_empty() {
        thread::scope(|scope| {
            for _ in 1..V::LEAVES {
                // If a thread cannot be started, the others do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }
    leaf_count.wrapping_add((stripes.len() / V::LEAVES) as u128)
}

/// A leaf's part of a stripe, which may be partial: a block, less, or nothing.
fn part_of_leaf<V: Variant>(stripe: &[u8], leaf: usize) -> &[u8] {
    let rest = &stripe[stripe.len().min(leaf * V::BLOCK_BYTES)..];
    &rest[..rest.len().min(V::BLOCK_BYTES)]
}

/// A leaf's blocks of whole stripes.
fn leaf_run<V: Variant>(stripes: &[u8], leaf: usize, count: u128) -> Run<'_, V> {
    let stride = stripe::<V>();
    Run {
        input: &stripes[leaf * V::BLOCK_BYTES..],
        stride,
        blocks: stripes.len() / stride,
        count,
        flags: [V::Word::default(); 2],
    }
}

impl<V: Variant> Default for Hasher<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Variant> Drop for Hasher<V> {
    fn drop(&mut self) {
        if self.params.node.key_block().is_some() {
            self.leaves.zeroize();
            self.buffer.zeroize();
        }
    }
}

impl<V: Variant> fmt::Debug for Hasher<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher")
            .field("count", &self.count())
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}
