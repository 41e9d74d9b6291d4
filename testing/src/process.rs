//! What Linux tells of processes.

use std::fs::read_to_string;

/// A line of `/proc/PROCESS/status` that counts memory (`VmRSS`, `VmHWM`, `VmPin`), in bytes. The
/// process is a number, or `self`.
///
/// # Panics
/// There is no such process, or no such line.
#[must_use]
#[track_caller]
pub fn memory(process: impl ToString, line: &str) -> u64 {
    let status = read_to_string(format!("/proc/{}/status", process.to_string())).unwrap();
    let of = |text: &str| {
        text.strip_prefix(line)?.strip_prefix(':')?.strip_suffix("kB")?.trim().parse().ok()
    };
    status.lines().find_map(of).map(|kib: u64| kib << 10).expect(line)
}
