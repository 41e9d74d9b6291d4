//! Memory for images: anonymous or from a file, with a requested page size, read-only once it is
//! filled.
#![allow(unsafe_code, reason = "mapping memory, and views of it as bytes")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{self, NonNull};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};

use crate::Error;
use crate::system::pages::{RomPages, THP};
use crate::system::sysv::Segment;

/// Mapped memory of which `len` bytes are an image. Unmapped on drop.
pub(crate) struct Mapping {
    /// All of it, as it was mapped.
    base: NonNull<u8>,
    mapped: usize,
    /// Where the image begins in it.
    offset: usize,
    len: usize,
    writable: bool,
    /// Whether it is a System V segment, which is unmapped differently.
    segment: bool,
}

// SAFETY: memory without ties to a thread; access follows the usual borrowing rules.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared mapping can only be read.
unsafe impl Sync for Mapping {}

/// Rounded up to whole pages of this size.
fn whole(len: usize, page: usize) -> Result<usize, Errno> {
    len.checked_next_multiple_of(page).filter(|len| *len <= isize::MAX as usize).ok_or(Errno::NOMEM)
}

impl Mapping {
    /// Private zeroed memory, to be filled, on pages of exactly this kind. Huge pages are reserved
    /// at once, so that touching them cannot fail later; transparent ones are only advised.
    pub(crate) fn anonymous(len: usize, pages: RomPages) -> io::Result<Self> {
        let mut flags = MapFlags::PRIVATE;
        // Transparent huge pages need room to align the image.
        let thp = pages == RomPages::Transparent;
        let (page, room) = if thp { (THP, THP) } else { (pages.size(), 0) };
        if pages.is_reserved() {
            flags |= MapFlags::HUGETLB | MapFlags::from_bits_retain(pages.huge_bits());
        }
        let mapped = whole(len, page)?.checked_add(room).ok_or(Errno::NOMEM)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice changes no other memory.
        let base = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), mapped, access, flags)? };
        let base: NonNull<u8> = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        let offset = if room > 0 { base.as_ptr().align_offset(THP) } else { 0 };
        let mapping = Mapping { base, mapped, offset, len, writable: true, segment: false };
        mapping.advise(pages);
        Ok(mapping)
    }

    /// The first `len` bytes of a file with pages of size `page`, shared with all who map it; the
    /// file must be that long.
    pub(crate) fn file(file: &File, len: usize, page: usize, writable: bool) -> io::Result<Self> {
        let whole = whole(len, page)?;
        // Files in memory can lie on transparent huge pages too, if their addresses are aligned. So
        // an address range is reserved first, with room around the file.
        let room = if page == rustix::param::page_size() && len >= THP { THP } else { 0 };
        let mapped = whole.checked_add(room).ok_or(Errno::NOMEM)?;
        let access = ProtFlags::READ | if writable { ProtFlags::WRITE } else { ProtFlags::empty() };
        let (fd, mut at, mut flags) = (file.as_fd(), ptr::null_mut(), MapFlags::SHARED);
        let mut reserved = None;
        if room > 0 {
            let none = (ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE);
            // SAFETY: a new mapping at an address of the system's choice changes no other memory.
            let base = unsafe { rustix::mm::mmap_anonymous(at, mapped, none.0, none.1)? };
            let base: NonNull<u8> = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
            let offset = base.as_ptr().align_offset(THP);
            at = base.as_ptr().wrapping_add(offset).cast();
            flags |= MapFlags::FIXED;
            // From here on it is always unmapped as a whole.
            reserved = Some(Mapping { base, mapped, offset, len, writable, segment: false });
        }
        // SAFETY: a new mapping, either at an address of the system's choice or in place of a part
        // of the reservation, which is ours.
        let base = unsafe { rustix::mm::mmap(at, whole, access, flags, fd, 0)? };
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(match reserved {
            Some(mapping) => mapping,
            None => Mapping { base, mapped, offset: 0, len, writable, segment: false },
        })
    }

    /// A System V segment that is the image as a whole.
    pub(crate) fn segment(segment: &Segment, writable: bool) -> io::Result<Self> {
        let len = isize::try_from(segment.size).map_err(|_| Errno::NOMEM)?.unsigned_abs();
        let base = segment.attach(writable)?;
        Ok(Mapping { base, mapped: len, offset: 0, len, writable, segment: true })
    }

    /// Asks for transparent huge pages, or for none; a refusal changes nothing.
    pub(crate) fn advise(&self, pages: RomPages) {
        let advice = match pages {
            RomPages::Transparent => Advice::LinuxHugepage,
            RomPages::Base => Advice::LinuxNoHugepage,
            RomPages::Huge2M | RomPages::Huge1G => return,
        };
        // SAFETY: these pages are this mapping's, and the advice changes no contents.
        let _ = unsafe { rustix::mm::madvise(self.base.as_ptr().cast(), self.mapped, advice) };
    }

    /// Maps all pages of a file in memory at once, instead of one by one when they are first read.
    /// A refusal changes nothing.
    pub(crate) fn populate(&self) {
        let advice = Advice::LinuxPopulateRead;
        let start = self.bytes().as_ptr().cast_mut().cast();
        // SAFETY: these pages are this mapping's, and the advice changes no contents.
        let _ = unsafe { rustix::mm::madvise(start, self.len, advice) };
    }

    /// The image.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` mapped bytes begin there. Others may hold a shared mapping too; that nobody
        // writes to it any more is what read-only files, seals and the operator guarantee
        // (docs/unsafe.md).
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(self.offset), self.len) }
    }

    /// The image, to be filled, while it may be written to.
    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8], Error> {
        if !self.writable {
            return Err(Error::Unsupported { what: "the memory for the image is read-only" });
        }
        // SAFETY: `len` mapped, writable bytes begin there; of a shared mapping, the lock on its
        // file makes this process the only writer.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(self.offset), self.len) })
    }

    /// Makes the pages read-only for this process.
    pub(crate) fn protect(&mut self) -> io::Result<()> {
        self.writable = false;
        let (base, access) = (self.base.as_ptr().cast(), MprotectFlags::READ);
        let pages = whole(self.mapped, rustix::param::page_size())?;
        // SAFETY: these pages are this mapping's; `&mut self` proves that nobody holds its bytes.
        Ok(unsafe { rustix::mm::mprotect(base, pages, access) }?)
    }

    /// Keeps the pages of the image in memory.
    pub(crate) fn lock(&self) -> io::Result<()> {
        let page = rustix::param::page_size();
        let start = self.bytes().as_ptr();
        // SAFETY: these pages are this mapping's (an image begins at a page), and locking changes
        // no contents.
        Ok(unsafe { rustix::mm::mlock(start.cast_mut().cast(), whole(self.len, page)?) }?)
    }

    /// The addresses of all of it.
    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        let start = self.base.as_ptr().addr();
        start..start + self.mapped
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.segment {
            // SAFETY: attached by this type, detached once, and no reference to it outlives it.
            return unsafe { Segment::detach(self.base) };
        }
        // SAFETY: mapped by this type, unmapped once, and no reference to it outlives it.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

/// A new memory file, and the mapping of it that may be written to.
pub(crate) fn memory_file(len: usize, pages: RomPages) -> io::Result<(File, Mapping)> {
    let mut flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    if pages.is_reserved() {
        flags |= MemfdFlags::HUGETLB | MemfdFlags::from_bits_retain(pages.huge_bits());
    }
    let file = File::from(rustix::fs::memfd_create("saltern-rom", flags)?);
    // A file on huge pages has whole ones only.
    let length = if pages.is_reserved() { len.next_multiple_of(pages.size()) } else { len };
    file.set_len(length as u64)?;
    // Reserves the huge pages.
    let mapping = Mapping::file(&file, len, pages.size(), true)?;
    mapping.advise(pages);
    Ok((file, mapping))
}

/// Forbids every change of a memory file, permanently. There must be no writable mapping of it
/// left.
pub(crate) fn seal(file: &File) -> io::Result<()> {
    rustix::fs::fcntl_add_seals(file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(rustix::fs::fcntl_add_seals(file, SealFlags::SEAL)?)
}

/// Opens a memory file again, by a descriptor that cannot write.
pub(crate) fn reopen(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Bytes that this process may lock in memory, if there is a limit.
pub(crate) fn lock_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}
