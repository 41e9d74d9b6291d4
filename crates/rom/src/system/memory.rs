//! Memory for images: requested on the wanted pages, then on the next best, with a note of every
//! step.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use crate::Error;
use crate::system::map::{self, Mapping};
use crate::system::pages::RomPages;

/// Memory, the file behind it if there is one, and the pages that were granted.
pub(crate) struct Granted {
    pub(crate) mapping: Mapping,
    pub(crate) file: Option<File>,
    pub(crate) pages: RomPages,
}

/// Writable zeroed memory of `len` bytes: private to this process, or in a memory file (memfd) that
/// can be passed on.
pub(crate) fn acquire(
    len: u64,
    mut pages: RomPages,
    shareable: bool,
    notes: &mut Vec<String>,
) -> Result<Granted, Error> {
    let refused = Error::NoMemory { needed: len, available: None };
    let bytes = length(len)?;
    loop {
        if !pages.is_reserved() {
            check_memory(len)?;
        }
        let got = if shareable {
            let file = map::memory_file(bytes, pages);
            file.map(|(file, mapping)| Granted { mapping, file: Some(file), pages })
        } else {
            Mapping::anonymous(bytes, pages).map(|mapping| Granted { mapping, file: None, pages })
        };
        let Err(error) = got else { return got.map_err(|_| refused) };
        let Some(next) = pages.fallback() else {
            return Err(match error.kind() {
                ErrorKind::OutOfMemory | ErrorKind::StorageFull => refused,
                _ => Error::io("allocate", "memory".as_ref())(error),
            });
        };
        notes.push(format!("no {pages} for {len} bytes ({error}): using {next} instead"));
        pages = next;
    }
}

/// This number of bytes, if it can be addressed.
pub(crate) fn length(bytes: u64) -> Result<usize, Error> {
    usize::try_from(bytes).map_err(|_| Error::NoMemory { needed: bytes, available: None })
}

/// Checks that this much memory is available by the kernel's estimate. Without an estimate, the
/// attempt decides.
pub(crate) fn check_memory(needed: u64) -> Result<(), Error> {
    match available() {
        Some(available) if available < needed => {
            Err(Error::NoMemory { needed, available: Some(available) })
        }
        _ => Ok(()),
    }
}

/// Bytes available without swapping: on the machine, limited by the control group.
pub(crate) fn available() -> Option<u64> {
    let machine = machine_available()?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = group_limit(Path::new("/sys/fs/cgroup"), &groups);
    Some(limit.map_or(machine, |limit| machine.min(limit)))
}

/// The least that the limits of this process's control group (version 2) and its parents leave.
/// What their processes have allocated counts; page cache can be reclaimed, and does not.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let left = |group: &Path| {
        let read = |file| std::fs::read_to_string(root.join(group).join(file)).ok();
        let limit: u64 = read("memory.max")?.trim().parse().ok()?;
        let statistics = read("memory.stat").unwrap_or_default();
        let used = |name| {
            let line = statistics.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        let allocated = ["anon ", "shmem "].into_iter().filter_map(used).sum();
        Some(limit.saturating_sub(allocated))
    };
    Path::new(own).ancestors().filter_map(left).min()
}

fn machine_available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_all_groups_around_counts() {
        let root = tempfile::tempdir().unwrap();
        let limit = |groups: &str| group_limit(root.path(), groups);
        std::fs::create_dir_all(root.path().join("site/login")).unwrap();
        assert_eq!(limit("0::/site/login\n"), None);
        for (group, bytes, least) in [
            ("site/login", "max", None),
            ("", "9000", Some(9000)),
            ("site", "4000", Some(4000)),
            ("site/login", "5000", Some(4000)),
            ("site/login", "3000", Some(3000)),
        ] {
            std::fs::write(root.path().join(group).join("memory.max"), bytes).unwrap();
            assert_eq!(limit("1:cpu:/other\n0::/site/login\n"), least, "{group} {bytes}");
        }
        assert_eq!([limit("0::/site\n"), limit("0::/\n")], [Some(4000), Some(9000)]);
        assert_eq!(limit("1:memory:/site\n"), None);
        let statistics = "anon 1500\nfile 900\nshmem 500\nanon_thp 100\n";
        std::fs::write(root.path().join("site/memory.stat"), statistics).unwrap();
        assert_eq!(limit("0::/site/login\n"), Some(2000));
        std::fs::write(root.path().join("site/memory.stat"), "anon 5000\n").unwrap();
        assert_eq!(limit("0::/site/login\n"), Some(0));
    }
}
