//! Memory for images: asked for in the wanted pages, then in the next best, with a note of every
//! step.

use std::fs::File;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;

use crate::Error;
use crate::map::Mapping;
use crate::pages::Pages;

/// Memory, the file behind it if there is one, and the pages that were granted.
pub(crate) struct Granted {
    pub(crate) mapping: Mapping,
    pub(crate) file: Option<File>,
    pub(crate) pages: Pages,
}

/// Writable zeroed memory of `len` bytes: private to this process, or of a memory file (memfd) that
/// can be passed on.
pub(crate) fn acquire(
    len: u64,
    mut pages: Pages,
    shareable: bool,
    notes: &mut Vec<String>,
) -> Result<Granted, Error> {
    let refused = Error::NoMemory { needed: len, available: None };
    let Ok(bytes) = usize::try_from(len) else { return Err(refused) };
    loop {
        if pages.map_flag().is_none() {
            check_memory(len)?;
        }
        let got = if shareable {
            memory_file(bytes, pages)
        } else {
            Mapping::anonymous(bytes, pages).map(|mapping| Granted { mapping, file: None, pages })
        };
        let Err(error) = got else { return got.map_err(|_| refused) };
        let Some(next) = pages.fallback() else {
            return Err(match error {
                Errno::NOMEM | Errno::NOSPC => refused,
                other => Error::io("allocate", "memory".as_ref())(other),
            });
        };
        notes.push(format!("no {pages} for {len} bytes ({error}): {next} instead"));
        pages = next;
    }
}

fn memory_file(len: usize, pages: Pages) -> Result<Granted, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | pages.memfd_flag();
    let file = File::from(rustix::fs::memfd_create("saltern-rom", flags)?);
    let whole = len.next_multiple_of(pages.size());
    // A file on huge pages has whole ones only.
    let length = if pages.map_flag().is_some() { whole } else { len };
    rustix::fs::ftruncate(&file, length as u64)?;
    // Reserves the huge pages.
    let mapping = Mapping::file(&file, len, pages.size(), true)?;
    mapping.advise(pages);
    Ok(Granted { mapping, file: Some(file), pages })
}

/// Forbids every change of a memory file, for all and for ever. There must be no writable mapping
/// of it left.
pub(crate) fn seal(file: &File) -> Result<(), Errno> {
    rustix::fs::fcntl_add_seals(file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    rustix::fs::fcntl_add_seals(file, SealFlags::SEAL)
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
