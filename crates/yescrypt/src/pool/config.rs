//! What a pool is made of.

use crate::{CheckedParams, Error, Level, Pages};

/// When the memory of a pool is wiped, beside the time when it is given back, which is always.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum WipePolicy {
    /// Only then: between hashes, memory holds what the last one left.
    OnDrop,
    /// When a worker finds nothing to do. Under full load it costs nothing; a hash that comes while an arena is being wiped may wait for
    /// that, a fraction of the time of a hash.
    #[default]
    WhenIdle,
    /// After every group of hashes, before their results are given out. Costs one pass over the memory of each.
    AfterEach,
}

/// Threads, memory and limits of a [`Pool`](super::Pool).
///
/// ```
/// use saltern_yescrypt::PoolConfig;
/// let mut config = PoolConfig::default();
/// config.threads = 2;
/// config.memory = 512 << 20;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolConfig {
    /// How many threads hash, 1 to 1024. One for each processor is what pays; the default is that of
    /// [`std::thread::available_parallelism`].
    pub threads: usize,
    /// The most bytes that the arenas of all threads take together, at any time. Each thread's share is an even part of it: a group
    /// of hashes is cut down to what fits into a share. A hash that needs more than a share runs while others leave it the room, one that
    /// needs more than all of it is refused by [`Error::OverLimit`].
    ///
    /// A group takes [`CheckedParams::memory`] and one block for each hash, with [`Pages::Huge`] up to 2 MiB more.
    /// Passwords, salts and results (a few hundred bytes for each item) are not counted, nor are the stacks of the threads. On Linux with the
    /// feature `os` arenas are mappings of their own, so that the process is smaller as soon as one is given back; elsewhere the program's
    /// allocator may keep it. The default is 64 MiB for each thread and at least
    /// 320 MiB, so that whatever [`Limits::server`](crate::Limits::server) allows can be computed.
    pub memory: u64,
    /// The most items that may wait, those being computed not counted, at least 1. The default is 4096.
    pub max_waiting: usize,
    /// The CPU level of the kernels; the best one by default.
    pub level: Level,
    /// The pages of the arenas; by default huge ones, which save a few percent of the time of hashes of 4 MiB and more. Which ones were got is told by [`Pool::huge_page_bytes`](super::Pool::huge_page_bytes).
    pub pages: Pages,
    /// When memory is wiped.
    pub wipe: WipePolicy,
    /// Memory for hashes with these parameters, in groups of the best size, is allocated and touched before the pool takes work, so
    /// that no hash of at most that size waits for the system. By default nothing: arenas grow with what they are used for.
    pub prepare: Option<CheckedParams>,
    /// Processors that threads are bound to, thread `i` to the one at `i` modulo the number of these; empty for no binding. Needs Linux and
    /// the feature `os`.
    pub processors: Vec<usize>,
}

impl Default for PoolConfig {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(Self::MAX);
        PoolConfig {
            threads,
            memory: (threads as u64 * (64 << 20)).max(320 << 20),
            max_waiting: 4096,
            level: Level::detect(),
            pages: Pages::Huge,
            wipe: WipePolicy::default(),
            prepare: None,
            processors: Vec::new(),
        }
    }
}

impl PoolConfig {
    /// The most threads.
    const MAX: usize = 1024;

    /// Refuses what cannot be.
    pub(super) fn check(&self) -> Result<(), Error> {
        let refuse = |name, value: u64, expected| Err(Error::invalid(name, value, expected));
        if !(1..=Self::MAX).contains(&self.threads) {
            return refuse("number of threads", self.threads as u64, "1 to 1024");
        }
        if self.max_waiting == 0 {
            return refuse("number of waiting items", 0, "at least 1");
        }
        if !self.level.is_available() {
            return refuse("CPU level", self.level as u64, "one that this processor has");
        }
        Ok(())
    }
}

/// Binds the calling thread to a processor.
pub(super) fn bind(processor: usize) -> Result<(), Error> {
    #[cfg(all(feature = "os", target_os = "linux"))]
    {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let mut set = CpuSet::new();
        if processor < CpuSet::MAX_CPU {
            set.set(processor);
        }
        let expected = "one that this process may use";
        let refused = |_| Error::invalid("processor", processor as u64, expected);
        sched_setaffinity(None, &set).map_err(refused)
    }
    #[cfg(not(all(feature = "os", target_os = "linux")))]
    Err(Error::invalid(
        "processor",
        processor as u64,
        "none: binding needs Linux and the feature `os`",
    ))
}
