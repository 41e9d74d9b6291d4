//! Memory for images: requested on the wanted pages, then on the next best, with a note of every
//! step.

use std::fs::File;
use std::io::ErrorKind;

use crate::Error;
use crate::system::groups;
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
    let limit = groups::left();
    Some(limit.map_or(machine, |limit| machine.min(limit)))
}

fn machine_available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
