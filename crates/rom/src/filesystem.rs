//! What the file system under a path is like, as far as it matters to images.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FsWord, IFlags, SealFlags, StatFs};

use crate::Error;
use crate::staged::directory_of;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Disk,
    /// tmpfs: /dev/shm and the like.
    Memory,
    /// Files of huge pages, which can only be mapped.
    Hugetlbfs,
}

/// From linux/magic.h.
const TMPFS: FsWord = 0x0102_1994;
const HUGETLBFS: FsWord = 0x9584_58f6_u32 as FsWord;

/// Of the directory that `place` is or will be in.
pub(crate) fn kind(place: &Path) -> Result<Kind, Error> {
    let directory = directory_of(place);
    let found = rustix::fs::statfs(directory).map_err(Error::io("look at", directory))?;
    Ok(kind_of(&found))
}

/// Whether a file of this path is or would be in memory, on a tmpfs or hugetlbfs.
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

/// Bytes of a page of files in the directory of `place`.
pub(crate) fn page_size(place: &Path) -> Result<usize, Error> {
    let directory = directory_of(place);
    let found = rustix::fs::statfs(directory).map_err(Error::io("look at", directory))?;
    Ok(page_of(&found))
}

/// Of an open file: what it is on, and the bytes of one of its pages.
pub(crate) fn kind_and_page(file: &File, path: &Path) -> Result<(Kind, usize), Error> {
    let found = rustix::fs::fstatfs(file).map_err(Error::io("look at", path))?;
    Ok((kind_of(&found), page_of(&found)))
}

fn page_of(found: &StatFs) -> usize {
    let base = rustix::param::page_size();
    let huge = kind_of(found) == Kind::Hugetlbfs;
    if huge { usize::try_from(found.f_bsize).unwrap_or(base) } else { base }
}

/// FS_VERITY_FL of linux/fs.h: the contents are fixed and checked by the file system.
const VERITY: IFlags = IFlags::from_bits_retain(0x0010_0000);

/// Whether nobody can change the contents of an open file, its owner and root included, other than by replacing the file: sealed, or under
/// fs-verity. An immutable file is not: whoever had it open for writing before may still write to it on some file systems.
pub(crate) fn keeps_its_bytes(file: &File) -> bool {
    let sealed = rustix::fs::fcntl_get_seals(file)
        .is_ok_and(|seals| seals.contains(SealFlags::SHRINK | SealFlags::WRITE));
    sealed || rustix::fs::ioctl_getflags(file).is_ok_and(|flags| flags.intersects(VERITY))
}

/// Whether nobody can change or shorten an open file while it is what it is: sealed, immutable, or under fs-verity. A read-only mount
/// proves nothing, since the same file may be writable through another mount.
pub(crate) fn keeps_its_size(file: &File) -> bool {
    keeps_its_bytes(file) || is_immutable(file)
}

/// Whether a file can neither be changed nor replaced nor removed.
pub(crate) fn is_immutable(file: &File) -> bool {
    rustix::fs::ioctl_getflags(file).is_ok_and(|flags| flags.intersects(IFlags::IMMUTABLE))
}

/// Makes a file immutable, or no longer so. Needs CAP_LINUX_IMMUTABLE, which root has.
pub(crate) fn set_immutable(file: &File, immutable: bool) -> rustix::io::Result<()> {
    let mut flags = rustix::fs::ioctl_getflags(file)?;
    flags.set(IFlags::IMMUTABLE, immutable);
    rustix::fs::ioctl_setflags(file, flags)
}
