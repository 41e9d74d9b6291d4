//! Memory that successive hashes reuse.

use saltern_simd::{Level, UnavailableLevel};

use crate::core::dispatch::Target;
use crate::core::memory::{Arena, Pages};

/// Memory that successive hashes reuse, the CPU level of the kernels, and the number of threads for
/// one hash.
///
/// Reuse it: fresh memory costs a page fault for every 4 KiB, a large part of a short hash's time.
/// It grows to the largest hash computed with it and keeps that until dropped; contents are
/// overwritten by the next hash and wiped on [`Workspace::wipe`], on growing and on drop.
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
    pub(crate) arena: Arena,
    pub(crate) target: Target,
    pub(crate) threads: usize,
}

impl Workspace {
    /// An empty workspace for the best level of this processor and one thread. Allocates nothing
    /// yet.
    #[must_use]
    pub fn new() -> Self {
        Self::at(Level::detect())
    }

    /// An empty workspace for a given level: for tests and comparisons. Results are the same at
    /// every level.
    ///
    /// # Errors
    /// [`UnavailableLevel`] if this processor does not have it.
    pub fn with_level(level: Level) -> Result<Self, UnavailableLevel> {
        Ok(Self::at(level.require()?))
    }

    /// An empty workspace for a level that is known to be available.
    fn at(level: Level) -> Self {
        let arena = Arena::new(Pages::default());
        Workspace { arena, target: Target { level, paired: false }, threads: 1 }
    }

    /// Sets the kind of pages for the memory that it will allocate. Memory that it already holds is
    /// freed.
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

    /// How many threads may work on one hash with p > 1 (at least 1; at most p are used; without
    /// the `std` feature always 1). Classic scrypt and WORM need `128 * r * N` bytes for each of
    /// them. Results do not depend on it.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Overwrites all memory that hashes have used with zeros. Costs one pass over it.
    pub fn wipe(&mut self) {
        self.arena.wipe();
    }

    /// Bytes of memory that the workspace holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.arena.bytes()
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
