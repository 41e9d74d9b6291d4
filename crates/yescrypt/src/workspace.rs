//! The memory that hashes use one after the other.

use saltern_simd::{Level, UnavailableLevel};

use crate::Error;
use crate::memory::{Arena, SubBlock};
use crate::params::CheckedParams;
use crate::pass::Plan;

/// Memory that hashes use one after the other, the CPU level of the kernels, and the number of threads for one hash.
///
/// Reusing one is what makes hashing fast: fresh memory costs a page fault for every 4 KiB, a large part of a short hash's
/// time. It grows to the largest hash computed with it and keeps that until dropped; contents are overwritten by the
/// next hash and wiped on [`Workspace::wipe`], on growing and on drop.
///
/// ```
/// use saltern_yescrypt::{Limits, Params, Workspace, derive};
/// let params = Params::yescrypt(16, 8).check(&Limits::server())?;
/// let mut workspace = Workspace::new();
/// let mut key = [0; 32];
/// derive(b"p", b"s", &params, None, &mut workspace, &mut key)?;
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
pub struct Workspace {
    arena: Arena,
    level: Level,
    threads: usize,
}

impl Workspace {
    /// An empty workspace for the best level of this processor and one thread. Allocates nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Workspace { arena: Arena::new(), level: Level::detect(), threads: 1 }
    }

    /// An empty workspace for a given level: for tests and comparisons. Results are the same at every level.
    ///
    /// # Errors
    /// [`UnavailableLevel`] if this processor does not have it.
    pub fn with_level(level: Level) -> Result<Self, UnavailableLevel> {
        Ok(Workspace { level: level.require()?, ..Self::new() })
    }

    /// The CPU level of the kernels.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// How many threads may work on one hash with p > 1 (at least 1; at most p are used; without the `std` feature always 1).
    /// Classic scrypt and WORM need `128 * r * N` bytes for each of them. Results do not depend on it.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Allocates the memory for hashes with these parameters now.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn reserve(&mut self, params: &CheckedParams) -> Result<(), Error> {
        let plan = Plan::new(params, 1, self.threads)?;
        self.arena.reserve(plan.v + plan.scratch)
    }

    /// Overwrites all memory with zeros. Costs one pass over it.
    pub fn wipe(&mut self) {
        self.arena.wipe();
    }

    /// Bytes that the workspace holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.arena.bytes()
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// `len` sub-blocks of memory.
    pub(crate) fn take(&mut self, len: usize) -> Result<&mut [SubBlock], Error> {
        self.arena.take(len)
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Workspace { level, threads, .. } = self;
        write!(f, "Workspace {{ {} bytes, {level}, {threads} threads }}", self.memory())
    }
}
