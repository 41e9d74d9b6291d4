//! What the system says about the memory of processes.

use std::fs::read_to_string;

/// Bytes of memory of a process that are there, of any kind; none elsewhere than on Linux, or if
/// there is no such process.
#[must_use]
pub fn resident_bytes(process: u32) -> Option<u64> {
    memory(process, "VmRSS:")
}

/// The most bytes of memory that a process ever had; none elsewhere than on Linux, or if there is
/// no such process.
#[must_use]
pub fn peak_bytes(process: u32) -> Option<u64> {
    memory(process, "VmHWM:")
}

fn memory(process: u32, line: &str) -> Option<u64> {
    let status = read_to_string(format!("/proc/{process}/status")).ok()?;
    Some(crate::machine::kib_in(&status, line)? << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_use() {
        let resident = resident_bytes(std::process::id()).unwrap();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(resident_bytes(std::process::id()).unwrap() >= resident + (60 << 20));
        drop(memory);
    }
}
