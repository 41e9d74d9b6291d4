//! The speed of reading files.

use std::io;
use std::time::{Duration, Instant};

/// Bytes per second above which reading is not a bottleneck: memory and flash are faster, rotating
/// disks and most networks are slower.
const FAST: u64 = 512 << 20;

/// Bytes before the speed is judged.
const TRIAL: u64 = 1 << 20;

/// Bytes after which the past counts half.
const MEMORY: u64 = 64 << 20;

/// The reads of the recent past.
#[derive(Default)]
pub(super) struct Pace {
    bytes: u64,
    time: Duration,
}

impl Pace {
    /// Time a read.
    pub(super) fn time(&mut self, read: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        let before = Instant::now();
        let count = read()?;
        self.time += before.elapsed();
        self.bytes += count as u64;
        if self.bytes > MEMORY {
            self.bytes /= 2;
            self.time /= 2;
        }
        Ok(count)
    }

    /// Whether hashing takes longer than reading, as far as observed.
    pub(super) fn is_fast(&self) -> bool {
        let limit = self.bytes as f64 / FAST as f64;
        self.bytes >= TRIAL && self.time.as_secs_f64() <= limit
    }
}
