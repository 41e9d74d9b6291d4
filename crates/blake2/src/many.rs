//! Many messages at once: as many as the processor has lanes in one step, any lengths and parameters mixed.
//!
//! One message keeps a wide processor mostly idle, because each step of BLAKE2 waits for the one before. Independent
//! messages do not wait for each other, so [`degree`] of them side by side take little longer than one. Shorter and longer
//! messages may be mixed freely: a lane that is done takes the next message, the longest come first, and the last ones
//! that are left are hashed by narrower kernels.

use alloc::vec::Vec;

use core::fmt;

use saltern_simd::Level;

use crate::batch::Batch;
use crate::dispatch::Kernels;
use crate::engine::{self, Task};
use crate::hasher::Hasher;
use crate::output::Hash;
use crate::params::Params;
use crate::variant::{State, Variant};

#[cfg(feature = "std")]
pub use crate::threads::hash_many_threaded;

/// One message to be hashed among others, and its hash afterwards.
///
/// A job of a keyed hash holds no part of the key; after hashing, its state is the hash.
#[derive(Clone)]
pub struct Job<'a, V: Variant> {
    params: &'a Params<V>,
    input: &'a [u8],
    /// Of use from the moment that a kernel has it.
    h: State<V>,
    is_done: bool,
}

impl<'a, V: Variant> Job<'a, V> {
    /// A message and the parameters to hash it with. Nothing is computed yet.
    #[must_use]
    pub fn new(params: &'a Params<V>, input: &'a [u8]) -> Self {
        Self { params, input, h: [V::Word::default(); 8], is_done: false }
    }

    /// The hash. A job that [`hash_many`] has not seen yet is computed here, alone.
    #[must_use]
    pub fn hash(&self) -> Hash<V> {
        if self.is_done {
            Hash::from_state(&self.h, self.params.output_length())
        } else {
            self.hash_alone()
        }
    }

    #[cold]
    fn hash_alone(&self) -> Hash<V> {
        self.params.hash(self.input)
    }

    #[cfg(feature = "std")]
    pub(crate) fn bytes(&self) -> usize {
        self.input.len()
    }

    #[cfg(feature = "std")]
    pub(crate) fn kernels(&self) -> &'static Kernels<V> {
        self.params.kernels()
    }

    pub(crate) fn params(&self) -> &'a Params<V> {
        self.params
    }

    pub(crate) fn input(&self) -> &'a [u8] {
        self.input
    }

    /// Takes note of the state after the last block.
    #[inline(always)]
    pub(crate) fn settle(&mut self, h: State<V>) {
        self.h = h;
        self.is_done = true;
    }

    pub(crate) fn task(&mut self) -> Task<'_, V> {
        if !self.is_done {
            self.is_done = true;
            self.h = self.params.initial_state();
            return Task {
                h: &mut self.h,
                count: 0,
                head: self.params.key_block(),
                input: self.input,
                finish: Some(self.params.is_last_node()),
            };
        }
        Task { h: &mut self.h, count: 0, head: None, input: &[], finish: None }
    }
}

impl<V: Variant> fmt::Debug for Job<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("params", &self.params)
            .field("bytes", &self.input.len())
            .field("is_done", &self.is_done)
            .finish_non_exhaustive()
    }
}

/// Hashes all the messages, at the level of the first job's parameters. Jobs done before are left as they are.
///
/// Time is that of one pass over the input. Where lengths differ, or messages are long, tables of some words for each job
/// are allocated.
///
/// ```
/// use saltern_blake2::{blake2s, many};
/// let params = blake2s::Params::new();
/// let mut jobs = ["some", "messages", "of any", "length"].map(|text| many::Job::new(&params, text.as_bytes()));
/// many::hash_many(&mut jobs);
/// assert_eq!(jobs[1].hash(), blake2s::hash(b"messages"));
/// ```
pub fn hash_many<V: Variant>(jobs: &mut [Job<'_, V>]) {
    let Some(first) = jobs.first() else { return };
    let kernels = first.params.kernels();
    let blocks = |job: &Job<'_, V>| job.input.len().saturating_sub(1) / V::BLOCK_BYTES;
    if jobs.is_sorted_by(|a, b| blocks(a) >= blocks(b)) {
        return run(kernels, jobs.iter_mut());
    }
    // The longest first: then the lanes end at about the same time.
    let mut order: Vec<&mut Job<'_, V>> = jobs.iter_mut().collect();
    order.sort_by_cached_key(|job| core::cmp::Reverse(blocks(job)));
    run(kernels, order.into_iter());
}

/// Hashes jobs that are in order: those of equal lengths in batches, the others in lanes that are kept full.
pub(crate) fn run<'j, 'a: 'j, V: Variant>(
    kernels: &Kernels<V>,
    mut jobs: impl Iterator<Item = &'j mut Job<'a, V>>,
) {
    let lanes = kernels.widest();
    if lanes == 1 {
        return engine::run(kernels, jobs.map(Job::task));
    }
    let Some(first) = jobs.next() else { return };
    let mut batch = Batch::new(first);
    let mut others = Vec::new();
    for job in core::iter::once(first).chain(jobs).filter(|job| !job.is_done) {
        if !batch.takes(job) {
            others.extend(batch.drain());
            batch.restart(job);
            if !batch.takes(job) {
                others.push(job);
                continue;
            }
        }
        if batch.push(job) == lanes {
            kernels.batch(&mut batch);
        }
    }
    others.extend(batch.drain());
    engine::run(kernels, others.into_iter().map(Job::task));
}

impl<V: Variant> Params<V> {
    /// The hashes of all the messages, in their order: [`hash_many`] for one set of parameters. Allocates the result and,
    /// for a while, as much again.
    ///
    /// ```
    /// let hashes = saltern_blake2::blake2b::Params::new().hash_many(&["some", "messages"]);
    /// assert_eq!(hashes[1], saltern_blake2::blake2b(b"messages"));
    /// ```
    #[must_use]
    pub fn hash_many<T: AsRef<[u8]>>(&self, messages: &[T]) -> Vec<Hash<V>> {
        let mut jobs: Vec<_> =
            messages.iter().map(|message| Job::new(self, message.as_ref())).collect();
        hash_many(&mut jobs);
        jobs.iter().map(Job::hash).collect()
    }
}

/// Appends to each hasher's message, as its `update` one after the other would, at the level of the first.
///
/// ```
/// use saltern_blake2::{blake2b, many};
/// let mut a = blake2b::Hasher::new();
/// let mut b = a.clone();
/// many::update_many(&mut [(&mut a, &[1; 1000]), (&mut b, &[2; 3000])]);
/// assert_eq!(b.finalize(), blake2b::hash(&[2; 3000]));
/// ```
pub fn update_many<V: Variant>(updates: &mut [(&mut Hasher<V>, &[u8])]) {
    let Some((first, _)) = updates.first() else { return };
    let kernels = first.kernels();
    for (hasher, data) in updates.iter_mut() {
        *data = hasher.top_up(data);
    }
    engine::run(kernels, updates.iter_mut().map(|(hasher, data)| hasher.task(data)));
    for (hasher, data) in updates.iter_mut() {
        hasher.settle(data);
    }
}

/// How many messages of the variant are hashed side by side at the best level of this processor: 1 to 16. Batches of
/// several times as many are best.
///
/// ```
/// use saltern_blake2::{Blake2b, many};
/// assert!((1..=16).contains(&many::degree::<Blake2b>()));
/// ```
#[must_use]
pub fn degree<V: Variant>() -> usize {
    V::kernels(Level::detect()).widest()
}
