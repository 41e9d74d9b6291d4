//! The memory that hashes use one after the other.

use saltern_simd::{Level, UnavailableLevel};

use crate::Error;
use crate::core::dispatch::Target;
use crate::core::memory::{Arena, Pages, SubBlock};
use crate::core::params::CheckedParams;
use crate::core::pass::Sizes;

/// Memory that hashes use one after the other, the CPU level of the kernels, and the number of
/// threads for one hash.
///
/// Reusing one is what makes hashing fast: fresh memory costs a page fault for every 4 KiB, a large
/// part of a short hash's time. It grows to the largest hash computed with it and keeps that until
/// dropped; contents are overwritten by the next hash and wiped on [`Workspace::wipe`], on growing
/// and on drop.
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
    target: Target,
    threads: usize,
}

impl Workspace {
    /// An empty workspace for the best level of this processor and one thread. Allocates nothing
    /// yet.
    #[must_use]
    pub fn new() -> Self {
        Self::at(Level::detect(), Pages::default())
    }

    /// An empty workspace for a given level: for tests and comparisons. Results are the same at
    /// every level.
    ///
    /// # Errors
    /// [`UnavailableLevel`] if this processor does not have it.
    pub fn with_level(level: Level) -> Result<Self, UnavailableLevel> {
        Ok(Self::at(level.require()?, Pages::default()))
    }

    /// An empty workspace for a level that is known to be available.
    pub(crate) fn at(level: Level, pages: Pages) -> Self {
        Workspace { arena: Arena::new(pages), target: Target { level, paired: false }, threads: 1 }
    }

    /// With other pages for the memory that it will allocate, which has to be none yet: what it
    /// held is given back.
    #[must_use]
    pub fn with_pages(mut self, pages: Pages) -> Self {
        self.arena = Arena::new(pages);
        self
    }

    /// The CPU level of the kernels.
    #[must_use]
    pub fn level(&self) -> Level {
        self.target.level
    }

    /// See [`crate::hazmat::pair_groups`].
    pub(crate) fn pair_groups(&mut self) -> bool {
        self.target.paired = match self.target.level {
            Level::Avx2 | Level::Avx512 => true,
            Level::Portable | Level::Sse2 | Level::Sse41 | Level::Neon => false,
        };
        self.target.paired
    }

    /// How many threads may work on one hash with p > 1 (at least 1; at most p are used; without
    /// the `std` feature always 1). Classic scrypt and WORM need `128 * r * N` bytes for each of
    /// them. Results do not depend on it.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Allocates the memory for hashes with these parameters now.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn reserve(&mut self, params: &CheckedParams) -> Result<(), Error> {
        let plan = Sizes::new(params, 1, self.threads)?;
        self.arena.reserve(plan.v + plan.scratch)
    }

    /// Overwrites all memory that hashes have used with zeros. Costs one pass over it.
    pub fn wipe(&mut self) {
        self.arena.wipe();
    }

    /// Bytes that the workspace holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.arena.bytes()
    }

    /// Allocates what this many hashes at once need, and touches every page of it.
    #[cfg(feature = "std")]
    pub(crate) fn prepare(&mut self, params: &CheckedParams, hashes: usize) -> Result<(), Error> {
        let plan = Sizes::new(params, hashes, 1)?;
        self.arena.reserve(plan.v + plan.scratch)?;
        self.arena.fault_in();
        Ok(())
    }

    /// The addresses of its memory.
    #[cfg(feature = "std")]
    pub(crate) fn addresses(&self) -> core::ops::Range<usize> {
        self.arena.addresses()
    }

    /// Whether anything but zeros is in its memory.
    #[cfg(feature = "std")]
    pub(crate) fn residue(&self) -> bool {
        self.arena.residue()
    }

    pub(crate) fn target(&self) -> Target {
        self.target
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// `len` sub-blocks of memory.
    pub(crate) fn take(&mut self, len: usize) -> Result<&mut [SubBlock], Error> {
        self.arena.take(len)
    }

    /// The first `len` sub-blocks, which have to be there.
    pub(crate) fn first(&self, len: usize) -> &[SubBlock] {
        self.arena.first(len)
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Workspace { target: Target { level, .. }, threads, .. } = self;
        write!(f, "Workspace {{ {} bytes, {level}, {threads} threads }}", self.memory())
    }
}
