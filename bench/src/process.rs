//! What the system says about the memory of this process.

use std::fs::read_to_string;

/// Bytes of memory that are there, of any kind; none elsewhere than on Linux.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_use() {
        let resident = resident_bytes().unwrap();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(resident_bytes().unwrap() >= resident + (60 << 20));
        drop(memory);
    }
}
