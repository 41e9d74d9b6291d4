//! System V shared memory segments: found by a key, of a size that nobody can change, gone at the
//! next boot.
#![allow(unsafe_code, reason = "System V shared memory has no safe interface")]

use std::io;
use std::path::PathBuf;
use std::ptr::NonNull;

use crate::format::paths::segment_name;
use crate::system::pages::RomPages;

/// A segment: its key, its identifier and its properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) key: i32,
    id: libc::c_int,
    pub(crate) size: u64,
    /// Whether any process has it attached.
    pub(crate) attached: bool,
    /// Its owner and its creator: both may change its permissions.
    pub(crate) owners: [u32; 2],
    /// Its permissions.
    pub(crate) mode: u32,
}

fn outcome(status: libc::c_int) -> io::Result<libc::c_int> {
    if status == -1 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

/// The system's data about a segment.
fn data(id: libc::c_int) -> io::Result<libc::shmid_ds> {
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut data: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: `data` has room for what the call writes.
    outcome(unsafe { libc::shmctl(id, libc::IPC_STAT, &raw mut data) })?;
    Ok(data)
}

impl Segment {
    /// The segment that has this key.
    pub(crate) fn find(key: i32) -> io::Result<Segment> {
        // SAFETY: only looks a number up.
        let id = outcome(unsafe { libc::shmget(key, 0, 0) })?;
        Self::look_at(key, id)
    }

    /// A new segment for this key, which must have none.
    pub(crate) fn create(key: i32, size: usize, pages: RomPages, mode: u32) -> io::Result<Segment> {
        let huge = if pages.is_reserved() { libc::SHM_HUGETLB } else { 0 };
        let page = huge | pages.huge_bits().cast_signed();
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | (mode & 0o777) as libc::c_int;
        // SAFETY: makes a new object, which is in no address space yet.
        let id = outcome(unsafe { libc::shmget(key, size, flags | page) })?;
        Self::look_at(key, id)
    }

    fn look_at(key: i32, id: libc::c_int) -> io::Result<Segment> {
        let data = data(id)?;
        let owners = [data.shm_perm.uid, data.shm_perm.cuid];
        let mode = u32::from(data.shm_perm.mode) & 0o777;
        let (size, attached) = (data.shm_segsz as u64, data.shm_nattch > 0);
        Ok(Segment { key, id, size, attached, owners, mode })
    }

    /// Its name in errors.
    pub(crate) fn name(&self) -> PathBuf {
        segment_name(self.key)
    }

    /// Distinguishes it from every other segment until the next boot.
    pub(crate) fn identifier(&self) -> i32 {
        self.id
    }

    /// Maps it into this process; returns its address.
    pub(crate) fn attach(&self, writable: bool) -> io::Result<NonNull<u8>> {
        let flags = if writable { 0 } else { libc::SHM_RDONLY };
        // SAFETY: the system chooses the address, so that no other memory changes.
        let base = unsafe { libc::shmat(self.id, std::ptr::null(), flags) };
        let refused = base.addr() == usize::MAX;
        NonNull::new(base.cast()).filter(|_| !refused).ok_or_else(io::Error::last_os_error)
    }

    /// The inverse of [`Segment::attach`].
    ///
    /// # Safety
    /// `base` comes from there, and nothing refers to the memory any more.
    pub(crate) unsafe fn detach(base: NonNull<u8>) {
        // SAFETY: by the caller.
        let _ = unsafe { libc::shmdt(base.as_ptr().cast()) };
    }

    /// Changes the permissions. Processes that have it attached writable can still write to it.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        let mut data = data(self.id)?;
        data.shm_perm.mode = (mode & 0o777) as _;
        // SAFETY: `data` is what the system said of the segment, with another mode.
        outcome(unsafe { libc::shmctl(self.id, libc::IPC_SET, &raw mut data) }).map(|_| ())
    }

    /// Removes the key; the memory is freed when nobody has it attached.
    pub(crate) fn remove(&self) -> io::Result<()> {
        // SAFETY: those who have it attached keep it.
        outcome(unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) }).map(|_| ())
    }
}
