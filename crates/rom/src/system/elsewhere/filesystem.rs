//! Files through the standard library: all are assumed to be on a disk, none to belong to this
//! user, and nothing about them can be relied on. So images are copied and checked, or read and
//! checked, and never used in place.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::Error;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "on other systems")]
pub(crate) enum Kind {
    Disk,
    Memory,
    Hugetlbfs,
}

impl Kind {
    pub(crate) fn file_length(self, bytes: u64, _: usize) -> Option<u64> {
        Some(bytes)
    }
}

const PAGE: usize = 4096;

pub(crate) fn kind(_: &Path) -> Result<Kind, Error> {
    Ok(Kind::Disk)
}

/// Whether a file with this path is or would be in memory, which only Linux reports.
///
/// # Errors
/// None here.
pub fn is_in_memory(_: &Path) -> Result<bool, Error> {
    Ok(false)
}

pub(crate) fn kind_and_page(_: &File, _: &Path) -> Result<(Kind, usize), Error> {
    Ok((Kind::Disk, PAGE))
}

pub(crate) fn page_size_of_memory() -> usize {
    PAGE
}

pub(crate) fn plainly(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

pub(crate) fn open_regular(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    // Devices are not opened: that alone has effects on some.
    if path.symlink_metadata()?.is_file() {
        let opened = File::open(path)?;
        let found = opened.metadata()?;
        return Ok(found.is_file().then_some((opened, found)));
    }
    Ok(None)
}

pub(crate) fn privately(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Access control lists are read on Linux only.
pub(crate) fn give_access_list_of(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(crate) fn owner_and_mode(found: &Metadata) -> (u32, u32) {
    (own_user(), std::os::unix::fs::MetadataExt::mode(found))
}

#[cfg(not(unix))]
pub(crate) fn owner_and_mode(_: &Metadata) -> (u32, u32) {
    (own_user(), 0o600)
}

pub(crate) fn own_user() -> u32 {
    0
}

pub(crate) fn names(_: &Metadata) -> u64 {
    1
}

/// Judged by the times of creation and modification and the length.
pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    let times = |found: &Metadata| (found.created().ok(), found.modified().ok(), found.len());
    times(one) == times(other)
}

pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode & 0o777);
    #[cfg(not(unix))]
    permissions.set_readonly(mode & 0o200 == 0);
    file.set_permissions(permissions)
}

pub(crate) fn allocate(_: &File, _: u64) -> io::Result<bool> {
    Ok(false)
}

/// A directory cannot be opened everywhere; then the system syncs its names in its own time.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory).map_or(Ok(()), |directory| directory.sync_all())
}

pub(crate) fn room(_: &Path) -> io::Result<Option<u64>> {
    Ok(None)
}

pub(crate) fn size_limit() -> Option<u64> {
    None
}

pub(crate) fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, into, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, into, at);
    #[cfg(not(any(unix, windows)))]
    return Err(unsupported());
}

fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_at(file, bytes, at);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_write(file, bytes, at);
    #[cfg(not(any(unix, windows)))]
    return Err(unsupported());
}

pub(crate) fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    let end = io::ErrorKind::UnexpectedEof;
    in_parts(into.len(), end, |done| read_at(file, &mut into[done..], at + done as u64))
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let end = io::ErrorKind::WriteZero;
    in_parts(bytes.len(), end, |done| write_at(file, &bytes[done..], at + done as u64))
}

/// Calls `part` with the number of bytes done until all are done or it makes no progress.
fn in_parts(
    len: usize,
    end: io::ErrorKind,
    mut part: impl FnMut(usize) -> io::Result<usize>,
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        match part(done) {
            Ok(0) => return Err(end.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn open_direct(_: &Path) -> io::Result<File> {
    Err(unsupported())
}

pub(crate) fn direct_alignment(_: &File) -> Option<[usize; 2]> {
    None
}

pub(crate) fn forget(_: &File, _: u64, _: usize) {}

pub(crate) fn keeps_its_bytes(_: &File) -> bool {
    false
}

pub(crate) fn keeps_its_size(_: &File) -> bool {
    false
}

pub(crate) fn is_immutable(_: &File) -> bool {
    false
}

pub(crate) fn set_immutable(_: &File, _: bool) -> io::Result<()> {
    Err(unsupported())
}

/// The error of everything that only Linux supports.
pub(super) fn unsupported() -> io::Error {
    let what =
        "shared memory, mapped images, huge pages and direct reads are available only on Linux";
    io::Error::new(io::ErrorKind::Unsupported, what)
}
