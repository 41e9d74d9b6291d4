//! Memory for images: asked for in the wanted pages, then in the next best, with a note of every
//! step.

use std::fs::File;
use std::io::ErrorKind;

use crate::Error;
use crate::system::map::{self, Mapping};
use crate::system::pages::RomPages;

/// Memory, the file behind it if there is one, and the pages that were granted.
pub(crate) struct Granted {
    pub(crate) mapping: Mapping,
    pub(crate) file: Option<File>,
    pub(crate) pages: RomPages,
}

/// Writable zeroed memory of `len` bytes: private to this process, or of a memory file (memfd) that
/// can be passed on.
pub(crate) fn acquire(
    len: u64,
    mut pages: RomPages,
    shareable: bool,
    notes: &mut Vec<String>,
) -> Result<Granted, Error> {
    let refused = Error::NoMemory { needed: len, available: None };
    let Ok(bytes) = usize::try_from(len) else { return Err(refused) };
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

/// Whether as much memory is available by the kernel's estimate. Without one, the attempt decides.
pub(crate) fn check_memory(needed: u64) -> Result<(), Error> {
    match available() {
        Some(available) if available < needed => {
            Err(Error::NoMemory { needed, available: Some(available) })
        }
        _ => Ok(()),
    }
}

/// Bytes that can be had without swapping: of the machine, but no more than the control group may
/// have.
pub(crate) fn available() -> Option<u64> {
    let machine = machine_available()?;
    Some(group_limit().map_or(machine, |limit| machine.min(limit)))
}

/// The limit of this process's own control group (version 2), of which the page cache can be given
/// back.
fn group_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limit = std::fs::read_to_string(format!("/sys/fs/cgroup{own}/memory.max")).ok()?;
    limit.trim().parse().ok()
}

fn machine_available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
