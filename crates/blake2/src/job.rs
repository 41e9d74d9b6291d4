//! One message to hash among others.

use core::fmt;

use crate::engine::Task;
use crate::function::State;
use crate::output::Hash;
use crate::params::Params;
use crate::variant::Variant;

/// One message to hash among others, and its hash afterwards.
///
/// A job of a keyed hash holds no part of the key; after hashing, its state is the hash.
#[derive(Clone)]
pub struct Job<'a, V: Variant> {
    pub(crate) params: &'a Params<V>,
    pub(crate) input: &'a [u8],
    /// Valid once a kernel has set it.
    h: State<V>,
    is_done: bool,
}

impl<'a, V: Variant> Job<'a, V> {
    /// A message and the parameters to hash it with. Nothing is computed yet.
    #[must_use]
    #[inline]
    pub fn new(params: &'a Params<V>, input: &'a [u8]) -> Self {
        Self { params, input, h: V::IV, is_done: false }
    }

    /// The hash. If [`hash_many`](crate::many::hash_many) has not hashed the job yet, it is hashed
    /// here, alone.
    #[must_use]
    #[inline]
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

    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Stores the state after the last block.
    #[inline(always)]
    pub(crate) fn set_done(&mut self, h: State<V>) {
        self.h = h;
        self.is_done = true;
    }

    /// The job as a task for the engine; one that has nothing to do if the job is done.
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
