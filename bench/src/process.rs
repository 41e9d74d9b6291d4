//! What the system says about this process; nothing elsewhere than on Linux.

use std::fs::read_to_string;

/// Bytes of memory that are there, of any kind.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Seconds that processors have spent in this process, its threads together. Counted in hundredths.
#[must_use]
pub fn processor_seconds() -> Option<f64> {
    let stat = read_to_string("/proc/self/stat").ok()?;
    // The second field, the program's name in parentheses, may hold anything; these are the 14th
    // and the 15th.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks: Result<Vec<_>, _> = ticks.collect();
    Some(ticks.ok()?.iter().sum::<u64>() as f64 / 100.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn both_grow_with_use() {
        let before = (resident_bytes().unwrap(), processor_seconds().unwrap());
        let mut memory = vec![1_u8; 64 << 20];
        while processor_seconds().unwrap() < before.1 + 0.05 {
            memory.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3));
        }
        assert!(resident_bytes().unwrap() >= before.0 + (60 << 20));
        std::hint::black_box(memory);
    }
}
