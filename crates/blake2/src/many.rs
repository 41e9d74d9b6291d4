//! Many messages at once: as many in one step as the processor has lanes, with any mix of lengths
//! and parameters.
//!
//! A single message leaves a wide processor mostly idle, because each step of BLAKE2 waits for the
//! one before. Independent messages do not wait for each other, so [`degree`] of them side by side
//! take little longer than one. Shorter and longer messages may be mixed freely: the longest come
//! first, a lane that is done takes the next message, and narrower kernels hash the last ones.

use alloc::vec::Vec;

use saltern_simd::Level;
use saltern_simd::lanes::MAX_LANES;

use crate::batch::Batch;
use crate::dispatch::Kernels;
use crate::engine;
use crate::function::plain_blocks;
use crate::hasher::Hasher;
use crate::output::Hash;
use crate::params::Params;
use crate::variant::Variant;

#[cfg(feature = "std")]
mod threads;

pub use crate::job::Job;
#[cfg(feature = "std")]
pub use threads::{hash_many_threaded, worthwhile_threads};

/// Hashes all the messages, at the level of the first job's parameters. Jobs that are already done
/// are left unchanged.
///
/// Takes one pass over the input. If lengths differ, or messages are long, allocates tables of a
/// few words per job.
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
    let blocks = |job: &Job<'_, V>| plain_blocks::<V>(job.input.len());
    if jobs.is_sorted_by(|a, b| blocks(a) >= blocks(b)) {
        return run(kernels, jobs.iter_mut());
    }
    // The longest first: then the lanes end at about the same time.
    let mut order: Vec<&mut Job<'_, V>> = jobs.iter_mut().collect();
    order.sort_by_cached_key(|job| core::cmp::Reverse(blocks(job)));
    run(kernels, order.into_iter());
}

/// Hashes sorted jobs: those of equal lengths in batches, the others in lanes that are kept full.
pub(crate) fn run<'j, 'a: 'j, V: Variant>(
    kernels: &Kernels<V>,
    jobs: impl Iterator<Item = &'j mut Job<'a, V>>,
) {
    let lanes = kernels.widest();
    if lanes == 1 {
        return engine::run(kernels, jobs.map(Job::task));
    }
    let mut batch = Alike::new();
    let mut others = Vec::new();
    for job in jobs.filter(|job| !job.is_done()) {
        if !batch.takes(job) {
            others.extend(batch.drain());
            batch.restart(job);
            if !batch.takes(job) {
                others.push(job);
                continue;
            }
        }
        if batch.push(job) == lanes {
            batch.hash(kernels);
        }
    }
    others.extend(batch.drain());
    engine::run(kernels, others.into_iter().map(Job::task));
}

/// Jobs that can be hashed in one batch.
struct Alike<'j, 'a, V: Variant> {
    params: Option<&'a Params<V>>,
    jobs: [Option<&'j mut Job<'a, V>>; MAX_LANES],
    batch: Batch<'a, V>,
}

impl<'j, 'a, V: Variant> Alike<'j, 'a, V> {
    fn new() -> Self {
        Self { params: None, jobs: [const { None }; MAX_LANES], batch: Batch::new() }
    }

    /// Prepares an empty batch for jobs like this one; a job with a key cannot be in a batch.
    fn restart(&mut self, job: &Job<'a, V>) {
        self.params = Some(job.params).filter(|params| params.key_block().is_none());
        self.batch.restart(job.params.initial_state(), job.params.is_last_node(), job.input);
    }

    /// Whether a job can join the batch.
    #[inline]
    fn takes(&self, job: &Job<'a, V>) -> bool {
        self.params.is_some_and(|params| core::ptr::eq(params, job.params))
            && self.batch.takes(job.input)
    }

    /// Adds a job that the batch takes, and returns how many there are now.
    #[inline]
    fn push(&mut self, job: &'j mut Job<'a, V>) -> usize {
        let count = self.batch.push(job.input);
        self.jobs[count - 1] = Some(job);
        count
    }

    /// Hashes a full batch.
    fn hash(&mut self, kernels: &Kernels<V>) {
        kernels.batch(&mut self.batch);
        for (job, h) in self.jobs.iter_mut().flatten().zip(self.batch.take()) {
            job.set_done(*h);
        }
    }

    /// Takes the jobs out, leaving the batch empty.
    fn drain(&mut self) -> impl Iterator<Item = &'j mut Job<'a, V>> {
        let count = self.batch.len();
        self.batch.clear();
        self.jobs[..count].iter_mut().filter_map(Option::take)
    }
}

impl<V: Variant> Params<V> {
    /// The hashes of all the messages, in order: [`hash_many`] for one set of parameters. Allocates
    /// the result and, temporarily, as much again.
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

    /// The hashes of all the messages in order, one after the other in `table`: as many as there
    /// are messages and room. Messages with equal numbers of blocks are the fastest, and need no
    /// allocation.
    ///
    /// ```
    /// use saltern_blake2::blake2b;
    /// let (params, mut table) = (blake2b::Params::new().hash_length(16)?, [0; 32]);
    /// params.hash_many_into(&["some", "messages"], &mut table);
    /// assert_eq!(params.hash(b"messages"), table[16..]);
    /// # Ok::<(), saltern_blake2::Error>(())
    /// ```
    pub fn hash_many_into<T: AsRef<[u8]>>(&self, messages: &[T], table: &mut [u8]) {
        let length = usize::from(self.output_length());
        let messages = &messages[..messages.len().min(table.len() / length)];
        if self.hash_alike(messages, table).is_some() {
            return;
        }
        let messages = messages.iter().map(|message| Job::new(self, message.as_ref()));
        let mut jobs: Vec<_> = messages.collect();
        hash_many(&mut jobs);
        for (job, hash) in jobs.iter().zip(table.chunks_exact_mut(length)) {
            hash.copy_from_slice(job.hash().as_bytes());
        }
    }

    /// Hashes messages of one length in batches; does nothing if they cannot be. Lanes that
    /// the last batch does not fill get its first message, and their results are ignored.
    fn hash_alike<T: AsRef<[u8]>>(&self, messages: &[T], table: &mut [u8]) -> Option<()> {
        let (kernels, length) = (self.kernels(), usize::from(self.output_length()));
        let (lanes, first) = (kernels.widest(), messages.first()?.as_ref());
        if lanes == 1 || self.key_block().is_some() {
            return None;
        }
        let mut batch = Batch::new();
        batch.restart(self.initial_state(), self.is_last_node(), first);
        if !messages.iter().all(|message| batch.takes(message.as_ref())) {
            return None;
        }
        for (messages, hashes) in messages.chunks(lanes).zip(table.chunks_mut(lanes * length)) {
            let rest = core::iter::repeat_n(&messages[0], lanes - messages.len());
            for message in messages.iter().chain(rest) {
                batch.push(message.as_ref());
            }
            kernels.batch(&mut batch);
            for (h, hash) in batch.take().iter().zip(hashes.chunks_exact_mut(length)) {
                hash.copy_from_slice(Hash::<V>::from_state(h, length as u8).as_bytes());
            }
        }
        Some(())
    }
}

/// Appends to each hasher's message, as calling each one's `update` would, at the level of the
/// first.
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
        hasher.keep_rest(data);
    }
}

/// How many messages of the variant are hashed side by side at the best level of this processor: 1
/// to 16. Batches of several times as many are best.
///
/// ```
/// use saltern_blake2::{Blake2b, many};
/// assert!((1..=16).contains(&many::degree::<Blake2b>()));
/// ```
#[must_use]
pub fn degree<V: Variant>() -> usize {
    V::kernels(Level::detect()).widest()
}
