//! The sizes of pages that an image lies on: requested and actual.

use std::fmt;
use std::ops::Range;

use saltern_pool::hazmat::sizes;

use crate::system::filesystem::page_size_of_memory;

/// Bytes of a transparent huge page (where base pages have 4 KiB).
#[cfg(target_os = "linux")]
pub(crate) const THP: usize = 2 << 20;

/// Pages to request. Larger ones make random reads of a large ROM faster, since the processor must
/// translate fewer addresses.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RomPages {
    /// The machine's base pages: 4 KiB on most.
    Base,
    /// Transparent huge pages: granted if the system has them available, without any preparation.
    #[default]
    Transparent,
    /// Huge pages of 2 MiB from the pool that the administrator has reserved (vm.nr_hugepages).
    /// Never swapped.
    Huge2M,
    /// Huge pages of 1 GiB from their pool (hugepagesz=1G hugepages=… on the kernel's command
    /// line).
    Huge1G,
}

impl RomPages {
    /// The kind to try next.
    pub(crate) fn fallback(self) -> Option<Self> {
        match self {
            RomPages::Huge1G => Some(RomPages::Huge2M),
            RomPages::Huge2M => Some(RomPages::Transparent),
            RomPages::Transparent | RomPages::Base => None,
        }
    }

    /// Whether they come from a pool that the administrator has reserved.
    pub(crate) fn is_reserved(self) -> bool {
        matches!(self, RomPages::Huge2M | RomPages::Huge1G)
    }

    /// The flag bits that select the size of huge pages in mmap(2), memfd_create(2) and shmget(2):
    /// its logarithm, in the upper bits.
    #[cfg(target_os = "linux")]
    pub(crate) fn huge_bits(self) -> u32 {
        if self.is_reserved() { self.size().ilog2() << 26 } else { 0 }
    }

    /// The page size to which sizes must be rounded.
    #[cfg(target_os = "linux")]
    pub(crate) fn size(self) -> usize {
        match self {
            RomPages::Base | RomPages::Transparent => page_size_of_memory(),
            RomPages::Huge2M => 2 << 20,
            RomPages::Huge1G => 1 << 30,
        }
    }
}

impl fmt::Display for RomPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RomPages::Base => "base pages",
            RomPages::Transparent => "transparent huge pages",
            RomPages::Huge2M => "2 MiB pages",
            RomPages::Huge1G => "1 GiB pages",
        })
    }
}

/// The pages that memory actually lies on, as reported by the kernel (/proc/self/smaps).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObtainedPages {
    /// Bytes of a page of the mapping: the machine's base page, or the huge page that was reserved.
    pub page_size: u64,
    /// Bytes that lie on transparent huge pages at the moment.
    pub transparent: u64,
}

impl ObtainedPages {
    /// The pages of the mappings within some addresses. Base pages if the kernel does not report
    /// them.
    pub(crate) fn of(addresses: Range<usize>) -> Self {
        let unknown = ObtainedPages { page_size: page_size_of_memory() as u64, transparent: 0 };
        std::fs::read_to_string("/proc/self/smaps")
            .map_or(unknown, |smaps| parse(&smaps, &addresses).unwrap_or(unknown))
    }
}

impl fmt::Display for ObtainedPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pages of {} KiB", self.page_size >> 10)?;
        if self.transparent > 0 {
            write!(f, ", {} MiB of them as transparent huge pages", self.transparent >> 20)?;
        }
        Ok(())
    }
}

/// Sums over the mappings that lie within `addresses`; adjacent ones may have been merged with
/// them.
fn parse(smaps: &str, addresses: &Range<usize>) -> Option<ObtainedPages> {
    let mut found: Option<ObtainedPages> = None;
    let inside =
        |mapping: &Range<usize>| mapping.start < addresses.end && addresses.start < mapping.end;
    for (_, key, bytes) in sizes(smaps).filter(|(mapping, ..)| inside(mapping)) {
        let base = ObtainedPages { page_size: 4096, transparent: 0 };
        match key {
            "KernelPageSize" => found.get_or_insert(base).page_size = bytes.unwrap_or(4096),
            "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" => {
                found.get_or_insert(base).transparent += bytes.unwrap_or(0);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaps_are_summed_over_the_mappings_in_question() {
        let smaps = "\
7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n\
KernelPageSize:        4 kB\nAnonHugePages:      2048 kB\n\
7f0000200000-7f0000400000 r--p 00000000 00:00 0  /dev/shm/x y\n\
KernelPageSize:        4 kB\nAnonHugePages:         0 kB\nShmemPmdMapped:     2048 kB\n\
7f0000400000-7f0000600000 r--s 00000000 00:00 0 \n\
KernelPageSize:     2048 kB\nAnonHugePages:         0 kB\nVmFlags: rd mr\n";
        let at = |start: usize, end: usize| {
            parse(smaps, &(0x7f00_0000_0000 + start..0x7f00_0000_0000 + end))
        };
        let pages = |page_size, transparent| Some(ObtainedPages { page_size, transparent });
        assert_eq!(at(0, 0x20_0000), pages(4096, 2 << 20));
        assert_eq!(at(0, 0x40_0000), pages(4096, 4 << 20));
        assert_eq!(at(0x40_0000, 0x60_0000), pages(2 << 20, 0));
        assert_eq!(at(0x60_0000, 0x80_0000), None);
    }
}
