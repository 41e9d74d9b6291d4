//! Hashing a message that arrives in pieces.

use core::fmt;

use saltern_simd::lanes::Word;
use saltern_wipe::Zeroize;

use crate::dispatch::Kernels;
use crate::engine::Task;
use crate::function::{Block, State, plain_blocks};
use crate::output::Hash;
use crate::params::Params;
use crate::variant::Variant;

/// A BLAKE2b or BLAKE2s computation in progress. A few hundred bytes, no allocation; `Clone` forks
/// it.
///
/// The state of a keyed hash is wiped from memory when it is dropped, and `Debug` shows no part of
/// any state.
///
/// ```
/// let mut hasher = saltern_blake2::blake2b::Hasher::new();
/// hasher.update(b"a message ").update(b"in pieces");
/// assert_eq!(hasher.finalize(), saltern_blake2::blake2b(b"a message in pieces"));
/// assert_eq!(hasher.count(), 19);
/// ```
#[derive(Clone)]
pub struct Hasher<V: Variant> {
    h: State<V>,
    /// Bytes compressed, including those of a key block.
    count: u128,
    /// Input not yet compressed: a block that may be the last must wait.
    buffer: Block<V>,
    buffered: u8,
    hash_length: u8,
    last_node: bool,
    keyed: bool,
    kernels: &'static Kernels<V>,
}

impl<V: Variant> Hasher<V> {
    /// A hasher with the default parameters; others come from [`Params::to_hasher`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_params(&Params::new())
    }

    /// The root of a parallel tree: its parameter block states the key length, but the key is not
    /// hashed into it.
    pub(crate) fn root(leaf: &Params<V>) -> Self {
        let node = leaf.clone().node_depth(1).last_node(true);
        Self { buffered: 0, ..Self::with_params(&node) }
    }

    pub(crate) fn with_params(params: &Params<V>) -> Self {
        let key = params.key_block();
        Self {
            h: params.initial_state(),
            count: 0,
            buffer: *key.unwrap_or(&V::Word::ZERO_BLOCK),
            buffered: if key.is_some() { V::BLOCK_BYTES as u8 } else { 0 },
            hash_length: params.output_length(),
            last_node: params.is_last_node(),
            keyed: key.is_some(),
            kernels: params.kernels(),
        }
    }

    /// Appends to the message. Pieces may have any length; long ones are hashed in place.
    pub fn update(&mut self, data: &[u8]) -> &mut Self {
        let rest = self.top_up(data);
        if !rest.is_empty() {
            // Not a method of `self`, so that the buffer need not be copied.
            let buffered = &self.buffer.as_ref()[..usize::from(self.buffered)];
            let count = self.kernels.absorb(&mut self.h, self.count, buffered);
            self.kernels.absorb(&mut self.h, count, whole_blocks::<V>(rest));
        }
        self.keep_rest(rest);
        self
    }

    /// The first of three steps of an update: fills a buffer that holds something. Returns the rest
    /// of `data`; if it is not empty, the buffer is empty or holds a whole block.
    pub(crate) fn top_up<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        let buffered = usize::from(self.buffered);
        if buffered == 0 {
            return data;
        }
        let (head, rest) = data.split_at(data.len().min(V::BLOCK_BYTES - buffered));
        self.buffer.as_mut()[buffered..buffered + head.len()].copy_from_slice(head);
        self.buffered += head.len() as u8;
        rest
    }

    /// The second step for [`many`](crate::many): what there is to compress.
    pub(crate) fn task<'a>(&'a mut self, rest: &'a [u8]) -> Task<'a, V> {
        let goes_on = !rest.is_empty() && self.buffered > 0;
        let head = goes_on.then_some(&self.buffer);
        let input = whole_blocks::<V>(rest);
        Task { h: &mut self.h, count: self.count, head, input, finish: None }
    }

    /// The third step, when buffer and whole blocks are compressed: keeps what is left.
    pub(crate) fn keep_rest(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            return;
        }
        let whole = whole_blocks::<V>(rest).len();
        let compressed = usize::from(self.buffered) + whole;
        self.count = self.count.wrapping_add(compressed as u128);
        let tail = &rest[whole..];
        self.buffer.as_mut()[..tail.len()].copy_from_slice(tail);
        self.buffered = tail.len() as u8;
    }

    /// As if this many bytes had been compressed.
    #[cfg(test)]
    pub(crate) fn start_at(&mut self, count: u128) {
        self.count = count;
    }

    pub(crate) fn kernels(&self) -> &'static Kernels<V> {
        self.kernels
    }

    /// The hash of the message so far. The hasher can continue afterwards.
    #[must_use]
    pub fn finalize(&self) -> Hash<V> {
        self.finished(|h| Hash::from_state(h, self.hash_length))
    }

    /// Passes the last state to `make`; the state may be wiped afterwards.
    #[inline(always)]
    pub(crate) fn finished<T>(&self, make: impl FnOnce(&State<V>) -> T) -> T {
        let mut h = self.h;
        let mut block = self.buffer;
        let buffered = usize::from(self.buffered);
        block.as_mut()[buffered..].fill(0);
        let count = self.count.wrapping_add(buffered as u128);
        self.kernels.finish(&mut h, count, &block, self.last_node);
        let made = make(&h);
        if self.keyed {
            h.zeroize();
            block.as_mut().zeroize();
        }
        made
    }

    /// Bytes of message so far, modulo 2¹²⁸, not counting a key.
    #[must_use]
    pub fn count(&self) -> u128 {
        let key = if self.keyed { V::BLOCK_BYTES as u128 } else { 0 };
        self.count.wrapping_add(u128::from(self.buffered)).wrapping_sub(key)
    }
}

impl<V: Variant> Params<V> {
    /// The hash of `data`. The time is linear in its length, at least one block; no memory is
    /// allocated.
    #[must_use]
    pub fn hash(&self, data: &[u8]) -> Hash<V> {
        if self.key_block().is_some() {
            return self.to_hasher().update(data).finalize(); // which knows how to wipe its state
        }
        let mut h = self.initial_state();
        self.kernels().message(&mut h, self.is_last_node(), data);
        Hash::from_state(&h, self.output_length())
    }

    /// A state that takes the message in pieces.
    #[must_use]
    pub fn to_hasher(&self) -> Hasher<V> {
        Hasher::with_params(self)
    }
}

/// The blocks at the front of `data` that are followed by at least one byte.
fn whole_blocks<V: Variant>(data: &[u8]) -> &[u8] {
    &data[..plain_blocks::<V>(data.len()) * V::BLOCK_BYTES]
}

impl<V: Variant> Default for Hasher<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Variant> Drop for Hasher<V> {
    fn drop(&mut self) {
        if self.keyed {
            self.h.zeroize();
            self.buffer.as_mut().zeroize();
        }
    }
}

impl<V: Variant> fmt::Debug for Hasher<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher")
            .field("count", &self.count())
            .field("keyed", &self.keyed)
            .field("level", &self.kernels.level)
            .finish_non_exhaustive()
    }
}
