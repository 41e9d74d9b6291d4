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

/// The mappings of a process, as `/proc/PROCESS/maps` has them, in which one of these texts is, and
/// how many bytes were looked at.
///
/// # Errors
/// Nobody but root may look into a process that is no child, or that has forbidden it.
#[cfg(unix)]
pub fn find(process: u32, wanted: &[&[u8]]) -> std::io::Result<(Vec<String>, usize)> {
    use std::os::unix::fs::FileExt;
    let maps = read_to_string(format!("/proc/{process}/maps"))?;
    let memory = std::fs::File::open(format!("/proc/{process}/mem"))?;
    let (mut found, mut looked) = (Vec::new(), 0);
    for map in maps.lines().filter(|map| map.split(' ').nth(1).unwrap().starts_with('r')) {
        let (start, end) = map.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
        // Some of the kernel's own cannot be read.
        let length = memory.read_at(&mut bytes, start).unwrap_or(0);
        let is = |wanted: &&[u8]| memchr::memmem::find(&bytes[..length], wanted).is_some();
        if wanted.iter().any(is) {
            found.push(map.to_owned());
        }
        looked += length;
    }
    Ok((found, looked))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_memory_is_found() {
        let text = std::hint::black_box(["what", "is", "looked", "for"].concat());
        let (found, looked) = find(std::process::id(), &[text.as_bytes()]).unwrap();
        assert!(found.iter().any(|map| map.contains("[heap]") || map.contains("rw")), "{found:#?}");
        assert!(looked > 1 << 20, "{looked}");
    }
}
