//! Statistics of a pool.

use std::time::Duration;

use saltern_yescrypt::hazmat::MAX_LANES;

use crate::error::Error;

/// The work of a pool so far, its resources, and its predictions.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
#[non_exhaustive]
pub struct PoolStats {
    /// Threads that were started. 0 if the system allows none, and callers compute.
    pub threads: usize,
    /// Threads that have nothing to do.
    pub idle: usize,
    /// The time since the pool was made.
    pub elapsed: Duration,
    /// Submissions accepted.
    pub batches: u64,
    /// Submissions refused because too many items waited.
    pub refused: u64,
    /// Submissions refused because they would have ended too late.
    pub refused_late: u64,
    /// Hashes and tasks computed.
    pub hashes: u64,
    /// Their units of work ([`Params::work`](saltern_yescrypt::Params::work)).
    pub work: u64,
    /// Items whose computation failed.
    pub failed: u64,
    /// Items whose deadline passed before they began.
    pub expired: u64,
    /// Items cancelled.
    pub cancelled: u64,
    /// Groups computed: of one hash or task, of two hashes, and so on.
    pub groups: [u64; MAX_LANES],
    /// Groups lost to a panic.
    pub panics: u64,
    /// How often arenas were freed to make room for others.
    pub evictions: u64,
    /// Items waiting, of both classes.
    pub waiting: usize,
    /// Interactive items waiting.
    pub waiting_interactive: usize,
    /// The most items that ever waited, of both classes together.
    pub peak_waiting: usize,
    /// Items that are being computed.
    pub running: usize,
    /// Bytes that all arenas and buffers hold, or may grow to for what is being computed.
    pub reserved: u64,
    /// The highest value of `reserved` so far; at most [`PoolStats::budget`].
    pub peak_reserved: u64,
    /// [`PoolConfig::memory`](crate::PoolConfig::memory).
    pub budget: u64,
    /// Units of work ([`Params::work`](saltern_yescrypt::Params::work)) per second of all threads,
    /// as measured in the last seconds; `None` before anything has been computed.
    pub rate: Option<f64>,
    /// How long an interactive item that is submitted now, without a deadline, is expected to wait
    /// until it begins; `None` if that is not known.
    pub predicted_wait: Option<Duration>,
    /// Reads of ROMs.
    pub reads: ReadStats,
}

impl PoolStats {
    /// Counts a group of this many items.
    pub(crate) fn count(&mut self, items: usize, outcome: &Result<(), &Error>) {
        match outcome {
            Ok(()) => {
                self.hashes += items as u64;
                if let Some(groups) = items.checked_sub(1).and_then(|i| self.groups.get_mut(i)) {
                    *groups += 1;
                }
            }
            Err(error) => {
                self.failed += items as u64;
                self.panics += u64::from(**error == Error::Panicked);
            }
        }
    }
}

/// Reads of ROMs that are not in memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReadStats {
    /// Blocks read.
    pub blocks: u64,
    /// Bytes read, including those added by alignment and whole chunks.
    pub bytes: u64,
    /// Reads that failed, were short or returned wrong bytes, and were repeated.
    pub repeated: u64,
    /// The sum, over all reads, of the number of reads of the same thread that were under way when
    /// this one was submitted, including itself.
    pub depth_sum: u64,
    /// How often a thread had nothing to compute and waited for reads.
    pub stalls: u64,
    /// The total time that threads waited like this.
    pub stalled: Duration,
}

impl ReadStats {
    /// The mean number of reads under way in a thread.
    #[must_use]
    pub fn mean_depth(&self) -> f64 {
        self.depth_sum as f64 / self.blocks.max(1) as f64
    }

    /// The reads since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        ReadStats {
            blocks: self.blocks - earlier.blocks,
            bytes: self.bytes - earlier.bytes,
            repeated: self.repeated - earlier.repeated,
            depth_sum: self.depth_sum - earlier.depth_sum,
            stalls: self.stalls - earlier.stalls,
            stalled: self.stalled.saturating_sub(earlier.stalled),
        }
    }

    /// Adds what a thread has counted.
    pub(crate) fn add(&mut self, more: &ReadStats) {
        self.blocks += more.blocks;
        self.bytes += more.bytes;
        self.repeated += more.repeated;
        self.depth_sum += more.depth_sum;
        self.stalls += more.stalls;
        self.stalled += more.stalled;
    }
}
