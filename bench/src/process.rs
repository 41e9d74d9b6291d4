//! What the system says about this process: its memory (on Linux alone) and its processor time.

use std::fs::read_to_string;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Bytes of memory that are there, of any kind; none elsewhere than on Linux.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Processor time of the calling thread.
#[must_use]
pub fn thread_time() -> Duration {
    time(ClockId::ThreadCPUTime)
}

/// Processor time of all threads of this process.
#[must_use]
pub fn process_time() -> Duration {
    time(ClockId::ProcessCPUTime)
}

fn time(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn all_grow_with_use() {
        let (resident, process, thread) =
            (resident_bytes().unwrap(), process_time(), thread_time());
        let mut memory = vec![1_u8; 64 << 20];
        while thread_time() < thread + Duration::from_millis(50) {
            memory.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3));
        }
        assert!(process_time() >= process + Duration::from_millis(50));
        assert!(resident_bytes().unwrap() >= resident + (60 << 20));
        std::hint::black_box(memory);
    }
}
