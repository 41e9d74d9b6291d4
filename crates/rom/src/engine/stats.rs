//! What an engine counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What an engine has done so far. Differences of two of these are what was done in between.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineStats {
    /// Since the engine was made.
    pub elapsed: Duration,
    /// Hashes computed.
    pub hashes: u64,
    /// Hashes that ended in an error.
    pub failed: u64,
    /// Blocks read from files.
    pub reads: u64,
    /// Bytes read from files, with what alignment and whole chunks added.
    pub bytes: u64,
    /// Reads that failed, came short or did not fit their checksums, and were repeated.
    pub repeated: u64,
    /// The sum, over all reads, of the number of reads of the same thread that were under way when this one was submitted, itself
    /// counted.
    pub depth_sum: u64,
    /// How often a thread had nothing to compute but reads to wait for.
    pub stalls: u64,
    /// How long threads waited like this, together.
    pub stalled: Duration,
    /// Bytes that hashes in flight and their buffers hold now.
    pub reserved: u64,
    /// The most that this was; at most [`EngineConfig::memory`](super::EngineConfig::memory).
    pub peak_reserved: u64,
}

impl EngineStats {
    /// The mean number of reads under way in a thread.
    #[must_use]
    pub fn mean_depth(&self) -> f64 {
        self.depth_sum as f64 / (self.reads.max(1)) as f64
    }

    /// What happened since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        EngineStats {
            elapsed: self.elapsed.saturating_sub(earlier.elapsed),
            hashes: self.hashes - earlier.hashes,
            failed: self.failed - earlier.failed,
            reads: self.reads - earlier.reads,
            bytes: self.bytes - earlier.bytes,
            repeated: self.repeated - earlier.repeated,
            depth_sum: self.depth_sum - earlier.depth_sum,
            stalls: self.stalls - earlier.stalls,
            stalled: self.stalled.saturating_sub(earlier.stalled),
            ..*self
        }
    }
}

/// The counters behind it.
pub(super) struct Counters {
    pub(super) started: Instant,
    pub(super) hashes: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) repeated: AtomicU64,
    pub(super) depth_sum: AtomicU64,
    pub(super) stalls: AtomicU64,
    pub(super) stalled_ns: AtomicU64,
}

impl Counters {
    pub(super) fn new() -> Self {
        let zero = AtomicU64::default;
        Counters {
            started: Instant::now(),
            hashes: zero(),
            failed: zero(),
            reads: zero(),
            bytes: zero(),
            repeated: zero(),
            depth_sum: zero(),
            stalls: zero(),
            stalled_ns: zero(),
        }
    }

    pub(super) fn read(&self) -> EngineStats {
        EngineStats {
            elapsed: self.started.elapsed(),
            hashes: self.hashes.load(Relaxed),
            failed: self.failed.load(Relaxed),
            reads: self.reads.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            repeated: self.repeated.load(Relaxed),
            depth_sum: self.depth_sum.load(Relaxed),
            stalls: self.stalls.load(Relaxed),
            stalled: Duration::from_nanos(self.stalled_ns.load(Relaxed)),
            ..EngineStats::default()
        }
    }
}

/// Bytes that are taken out of a budget.
pub(super) struct Ledger {
    limit: u64,
    reserved: AtomicU64,
    peak: AtomicU64,
}

impl Ledger {
    pub(super) fn new(limit: u64) -> Self {
        Ledger { limit, reserved: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes `more` bytes if they are there.
    pub(super) fn reserve(&self, more: u64) -> bool {
        let within = |now: u64| now.checked_add(more).filter(|sum| *sum <= self.limit);
        let Ok(before) = self.reserved.fetch_update(Relaxed, Relaxed, within) else { return false };
        self.peak.fetch_max(before + more, Relaxed);
        true
    }

    pub(super) fn release(&self, bytes: u64) {
        self.reserved.fetch_sub(bytes, Relaxed);
    }

    /// What is taken now, and the most that ever was.
    pub(super) fn state(&self) -> [u64; 2] {
        [self.reserved.load(Relaxed), self.peak.load(Relaxed)]
    }
}
