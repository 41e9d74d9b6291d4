//! The configuration of a pool.

use std::sync::Arc;
use std::time::Duration;

use saltern_yescrypt::{
    hazmat::{Level, Pages},
    params::CheckedParams,
};

use crate::error::{Error, invalid};
use crate::shape::{Derive, Shape};
use crate::source::BlockSources;

/// When the memory of a pool is wiped. It is always wiped before it is freed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum WipePolicy {
    /// Only before it is freed: between hashes, memory holds what the last one left.
    OnDrop,
    /// When a thread finds nothing to do. Under full load it costs nothing; a hash that arrives
    /// while an arena is being wiped may wait for that, a fraction of the time of a hash.
    #[default]
    WhenIdle,
    /// After every group of hashes, before their results are returned. Costs one pass over the
    /// memory of each.
    AfterEach,
}

/// Threads, memory and limits of a [`Pool`](crate::Pool).
///
/// ```
/// use saltern_pool::PoolConfig;
/// let mut config = PoolConfig::default();
/// config.threads = 2;
/// config.memory = 512 << 20;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolConfig {
    /// The number of threads that hash, 1 to 1024. More than one per processor gains nothing; the
    /// default is [`std::thread::available_parallelism`].
    pub threads: usize,
    /// The most bytes that the arenas of all hashes and the buffers of their reads take together,
    /// at any time. Each thread has an equal share: a group of hashes is cut down to what fits into
    /// a share. A hash that needs more than a share runs when others leave it enough room; one that
    /// needs more than the whole budget is refused with [`Error::OverBudget`].
    ///
    /// A group takes [`CheckedParams::memory`] and one block for each hash, and 16 bytes for each
    /// read of a ROM in memory that can be checked. Passwords, salts and results (a few hundred
    /// bytes for each item) are not counted. The default is 128 MiB for each thread and at least
    /// 320 MiB, enough for everything that
    /// [`Limits::server`](saltern_yescrypt::Limits::server) allows.
    pub memory: u64,
    /// The most items of each [class](crate::terms::Class) that may wait, not counting those being
    /// computed; at least 1. The limits are separate, so bulk work never takes a login's place. The
    /// default is 4096.
    pub max_waiting: usize,
    /// An interactive item without a deadline that has waited this long, or one with a deadline
    /// that has expired, indicates that the pool is overloaded: the newest items then come first,
    /// for this long. The default is one second.
    pub patience: Duration,
    /// How many hashes with ROMs that are read on demand each thread has in flight, 1 to 256: one
    /// is computed (with others of its shape, see [`CheckedParams::degree`]) while the others wait
    /// for their blocks. The default, 6, suffices where the time between two reads of a hash is
    /// longer than half the latency of the device.
    pub in_flight: usize,
    /// Reads the blocks of ROMs that are not in memory. With `None`, the default, such hashes are
    /// refused.
    pub sources: Option<Arc<dyn BlockSources>>,
    /// The CPU level of the kernels; the best one by default.
    pub level: Level,
    /// The pages of the arenas; by default huge ones, which save a few percent of the time for
    /// hashes of 4 MiB and more. [`Pool::huge_page_bytes`](crate::Pool::huge_page_bytes) reports
    /// how many the system granted.
    pub pages: Pages,
    /// When memory is wiped.
    pub wipe: WipePolicy,
    /// Memory for hashes with these parameters, in groups of the best size, is allocated and
    /// touched before the pool accepts work, so that no hash of at most that size waits for the
    /// system. By default nothing is prepared: arenas grow as needed.
    pub prepare: Option<CheckedParams>,
    /// Processors that threads are bound to: thread `i` to the entry at `i` modulo the number of
    /// entries; empty for no binding. Needs Linux and the feature `os`.
    pub processors: Vec<usize>,
}

impl Default for PoolConfig {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(MAX_THREADS);
        PoolConfig {
            threads,
            memory: (threads as u64 * (128 << 20)).max(320 << 20),
            max_waiting: 4096,
            patience: Duration::from_secs(1),
            in_flight: 6,
            sources: None,
            level: Level::detect(),
            pages: Pages::Huge,
            wipe: WipePolicy::default(),
            prepare: None,
            processors: Vec::new(),
        }
    }
}

const MAX_THREADS: usize = 1024;
const MAX_IN_FLIGHT: usize = 256;

impl PoolConfig {
    /// Checks the configuration as far as possible without making a pool.
    ///
    /// # Errors
    /// [`InvalidParameter`](saltern_yescrypt::Error::InvalidParameter); [`Error::OverBudget`] if
    /// [`PoolConfig::prepare`] does not fit into the memory of each thread.
    pub fn check(&self) -> Result<(), Error> {
        if !(1..=MAX_THREADS).contains(&self.threads) {
            return Err(invalid("number of threads", self.threads as u64, "1 to 1024").into());
        }
        if !(1..=MAX_IN_FLIGHT).contains(&self.in_flight) {
            return Err(
                invalid("number of hashes in flight", self.in_flight as u64, "1 to 256").into()
            );
        }
        if self.max_waiting == 0 {
            return Err(invalid("number of waiting items", 0, "at least 1").into());
        }
        if !self.level.is_available() {
            let expected = "one that this processor has";
            return Err(invalid("CPU level", self.level as u64, expected).into());
        }
        let Some(what) = self.prepared() else { return Ok(()) };
        let needed = Shape::new(what, false, self.pages)?.memory(1);
        let (threads, limit) = (self.threads as u64, self.memory);
        if needed > limit / threads {
            return Err(Error::OverBudget { needed: needed.saturating_mul(threads), limit });
        }
        Ok(())
    }

    /// What each thread prepares memory for.
    pub(crate) fn prepared(&self) -> Option<Derive> {
        self.prepare.map(|params| Derive { params, roms: Vec::new(), len: 0 })
    }
}

/// Binds the calling thread to a processor.
pub(crate) fn bind(processor: usize) -> Result<(), Error> {
    #[cfg(all(feature = "os", target_os = "linux"))]
    {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let mut set = CpuSet::new();
        if processor < CpuSet::MAX_CPU {
            set.set(processor);
        }
        let expected = "one that this process may use";
        let refused = |_| invalid("processor", processor as u64, expected).into();
        sched_setaffinity(None, &set).map_err(refused)
    }
    #[cfg(not(all(feature = "os", target_os = "linux")))]
    {
        let expected = "none: binding needs Linux and the feature `os`";
        Err(invalid("processor", processor as u64, expected).into())
    }
}
