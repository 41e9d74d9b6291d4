//! Properties of files and file systems that matter for images.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{
    Advice, AtFlags, FallocateFlags, FsWord, IFlags, Mode, OFlags, SealFlags, StatFs, StatxFlags,
    XattrFlags,
};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::Error;
use crate::format::paths::directory_of;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Disk,
    /// tmpfs: /dev/shm and the like.
    Memory,
    /// Files of huge pages, which can only be mapped.
    Hugetlbfs,
}

impl Kind {
    /// The length of the file of an image of this many bytes: whole pages if they are huge. `None`
    /// if it is beyond all numbers.
    pub(crate) fn file_length(self, bytes: u64, page: usize) -> Option<u64> {
        let whole = if self == Kind::Hugetlbfs { page as u64 } else { 1 };
        bytes.checked_next_multiple_of(whole)
    }
}

/// From linux/magic.h.
const TMPFS: FsWord = 0x0102_1994;
const HUGETLBFS: FsWord = 0x9584_58f6_u32 as FsWord;

/// The kind of the directory that `place` is or will be in.
pub(crate) fn kind(place: &Path) -> Result<Kind, Error> {
    let directory = directory_of(place);
    let found = rustix::fs::statfs(directory).map_err(Error::io("access", directory))?;
    Ok(kind_of(&found))
}

/// Whether a file with this path is or would be in memory, on a tmpfs or hugetlbfs.
///
/// # Errors
/// [`Error::Io`] if there is no such directory.
pub fn is_in_memory(place: &Path) -> Result<bool, Error> {
    Ok(kind(place)? != Kind::Disk)
}

fn kind_of(found: &StatFs) -> Kind {
    match found.f_type {
        TMPFS => Kind::Memory,
        HUGETLBFS => Kind::Hugetlbfs,
        _ => Kind::Disk,
    }
}

/// The kind of file system of an open file, and its page size in bytes.
pub(crate) fn kind_and_page(file: &File, path: &Path) -> Result<(Kind, usize), Error> {
    let found = rustix::fs::fstatfs(file).map_err(Error::io("access", path))?;
    let (kind, base) = (kind_of(&found), page_size_of_memory());
    let huge = kind == Kind::Hugetlbfs;
    let page = if huge { usize::try_from(found.f_bsize).unwrap_or(base) } else { base };
    Ok((kind, page))
}

/// Bytes of a page of memory.
pub(crate) fn page_size_of_memory() -> usize {
    rustix::param::page_size()
}

/// Makes an open call follow no link, never block and take no controlling terminal.
pub(crate) fn plainly(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits() as i32)
}

/// Opens a regular file for reading; `None` for anything else. Devices are not opened, since even
/// that affects some: the path is resolved and its type checked first, and only then is the file
/// opened.
pub(crate) fn open_regular(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !held.metadata()?.is_file() {
        return Ok(None);
    }
    let opened = match File::open(format!("/proc/self/fd/{}", held.as_raw_fd())) {
        // No /proc: opened by name instead.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            plainly(OpenOptions::new().read(true)).open(path)?
        }
        opened => opened?,
    };
    let found = opened.metadata()?;
    Ok(found.is_file().then_some((opened, found)))
}

/// Makes a new file accessible only to its owner.
pub(crate) fn privately(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// The owner of a file, and its mode.
pub(crate) fn owner_and_mode(found: &Metadata) -> (u32, u32) {
    (found.uid(), found.mode())
}

/// The user of this process.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The number of names (hard links) of a file.
pub(crate) fn names(found: &Metadata) -> u64 {
    found.nlink()
}

/// Whether both belong to the same file.
pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Gives a new file the access control list of another one, or none. With a list, the mode's bits
/// for the group are the most that the list's entries can give: without it they would be the
/// group's own rights.
pub(crate) fn give_access_list_of(file: &File, other: &File) -> io::Result<()> {
    const NAME: &str = "system.posix_acl_access";
    let mut list = vec![0; LONGEST_XATTR];
    let done = match rustix::fs::fgetxattr(other, NAME, &mut list[..]) {
        Ok(len) => rustix::fs::fsetxattr(file, NAME, &list[..len], XattrFlags::empty()),
        // It may have one of its directory's.
        Err(Errno::NODATA) => rustix::fs::fremovexattr(file, NAME),
        Err(error) => Err(error),
    };
    match done {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The most bytes of an extended attribute (linux/limits.h).
const LONGEST_XATTR: usize = 65536;

/// Changes the permissions.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

/// Allocates `len` bytes for a file, if the file system can do that.
pub(crate) fn allocate(file: &File, len: u64) -> io::Result<bool> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, len) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}

/// Syncs the names in a directory.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Bytes that this user may still write there, if the file system reports them.
pub(crate) fn room(directory: &Path) -> io::Result<Option<u64>> {
    let room = rustix::fs::statvfs(directory)?;
    // A file system without a size (0 blocks) reports nothing.
    let known = room.f_blocks != 0;
    Ok(known.then(|| room.f_bavail.saturating_mul(room.f_frsize)))
}

/// The longest file that this process may write, if there is a limit.
pub(crate) fn size_limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// One attempt to read from an offset in a file.
pub(crate) fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(into, at)
}

/// Fills the buffer from an offset in a file.
pub(crate) fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(into, at)
}

/// Writes all bytes to an offset in a file.
pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

/// Opens a file for reads that bypass the page cache.
pub(crate) fn open_direct(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// The alignment of offset and length of such a read, and of the address in memory, if the kernel
/// reports it (statx with STATX_DIOALIGN, Linux 6.1).
pub(crate) fn direct_alignment(file: &File) -> Option<[usize; 2]> {
    let found = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    let found = found.ok().filter(|found| found.stx_dio_offset_align > 0)?;
    Some([found.stx_dio_offset_align, found.stx_dio_mem_align.max(1)].map(|bytes| bytes as usize))
}

/// Drops a part of a file from the page cache. Has no effect where there is none, as in a tmpfs.
pub(crate) fn forget(file: &File, at: u64, len: usize) {
    let _ = rustix::fs::fadvise(file, at, NonZero::new(len as u64), Advice::DontNeed);
}

/// FS_VERITY_FL of linux/fs.h: the contents are fixed and checked by the file system.
const VERITY: IFlags = IFlags::from_bits_retain(0x0010_0000);

/// Whether nobody can change the contents of an open file, its owner and root included, other than
/// by replacing the file: sealed, or under fs-verity. An immutable file does not count: on some
/// file systems, a process that already had it open for writing may still write to it.
pub(crate) fn keeps_its_bytes(file: &File) -> bool {
    let sealed = rustix::fs::fcntl_get_seals(file)
        .is_ok_and(|seals| seals.contains(SealFlags::SHRINK | SealFlags::WRITE));
    sealed || rustix::fs::ioctl_getflags(file).is_ok_and(|flags| flags.intersects(VERITY))
}

/// Whether nobody can change or shorten an open file as long as it remains sealed, immutable, or
/// under fs-verity. A read-only mount proves nothing, since the same file may be writable through
/// another mount.
pub(crate) fn keeps_its_size(file: &File) -> bool {
    keeps_its_bytes(file) || is_immutable(file)
}

/// Whether a file can neither be changed nor replaced nor removed.
pub(crate) fn is_immutable(file: &File) -> bool {
    rustix::fs::ioctl_getflags(file).is_ok_and(|flags| flags.intersects(IFlags::IMMUTABLE))
}

/// Makes a file immutable, or no longer so. Needs CAP_LINUX_IMMUTABLE, which root has.
pub(crate) fn set_immutable(file: &File, immutable: bool) -> io::Result<()> {
    let mut flags = rustix::fs::ioctl_getflags(file)?;
    flags.set(IFlags::IMMUTABLE, immutable);
    Ok(rustix::fs::ioctl_setflags(file, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_huge_pages_have_whole_ones() {
        let page = 2 << 20;
        assert_eq!(Kind::Hugetlbfs.file_length(5 << 19, page), Some(4 << 20));
        assert_eq!(Kind::Hugetlbfs.file_length(4 << 20, page), Some(4 << 20));
        assert_eq!(Kind::Memory.file_length(5 << 19, page), Some(5 << 19));
        assert_eq!(Kind::Hugetlbfs.file_length(u64::MAX, page), None);
    }
}
