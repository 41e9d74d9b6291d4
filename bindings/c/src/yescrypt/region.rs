//! Memory that a thread keeps from call to call (`yescrypt_local_t`).

use std::ffi::{c_int, c_void};
use std::ptr;

use saltern_yescrypt::{Error, Workspace, hazmat};

use crate::boundary::{boxed, entry, last_entry, number_of, object_mut, put};

/// `yescrypt_region_t`: for a ROM, memory as C knows it; for a thread's memory, `base` is a
/// `Local`, and `aligned` is the memory that hashes have used, for programs that inspect it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Region {
    pub(super) base: *mut c_void,
    pub(super) aligned: *mut c_void,
    pub(super) base_size: usize,
    pub(super) aligned_size: usize,
}

impl Region {
    pub(super) const EMPTY: Region =
        Region { base: ptr::null_mut(), aligned: ptr::null_mut(), base_size: 0, aligned_size: 0 };
}

/// The memory of a thread.
struct Local {
    mark: u64,
    workspace: Workspace,
}

/// Marks a region that is not empty as one of these.
const MARK: u64 = 0x5361_6c74_6572_6e31;

/// The [`Local`] of a region, if it has one.
///
/// # Safety
/// The region is empty, or as one of the functions here has left it.
unsafe fn local_of<'a>(region: &Region) -> Result<Option<&'a mut Local>, c_int> {
    if region.base.is_null() {
        return Ok(None);
    }
    if region.base_size != size_of::<Local>() {
        return Err(libc::EINVAL);
    }
    // SAFETY: by the contract above.
    let local = unsafe { object_mut(region.base.cast::<Local>()) };
    local.filter(|local| local.mark == MARK).map(Some).ok_or(libc::EINVAL)
}

/// Lends the memory of a region, which gets some if it has none yet.
///
/// # Safety
/// A pointer that is not null is to a region that [`local_of`] allows, and this thread's alone.
pub(super) unsafe fn with_workspace<T>(
    region: *mut Region,
    work: impl FnOnce(&mut Workspace) -> Result<T, Error>,
) -> Result<T, c_int> {
    // SAFETY: by the contract above.
    let region = unsafe { object_mut(region) }.ok_or(libc::EINVAL)?;
    // SAFETY: by the contract above.
    let local = match unsafe { local_of(region) }? {
        Some(local) => local,
        None => {
            let local = Local { mark: MARK, workspace: Workspace::new() };
            let place = Box::into_raw(boxed(local).ok_or(libc::ENOMEM)?);
            (region.base, region.base_size) = (place.cast(), size_of::<Local>());
            // SAFETY: made just now; the region's pointer is not used before this reference ends.
            unsafe { &mut *place }
        }
    };
    let done = work(&mut local.workspace);
    // Empty as long as other threads have computed its hashes.
    let used = hazmat::addresses(&local.workspace);
    let start = if used.is_empty() { 0 } else { used.start };
    (region.aligned, region.aligned_size) = (ptr::with_exposed_provenance_mut(start), used.len());
    done.map_err(number_of)
}

/// Wipes and frees the memory of a region.
///
/// # Safety
/// As [`local_of`].
pub(super) unsafe fn free(region: &mut Region) -> Result<(), c_int> {
    // SAFETY: by the contract above.
    if let Some(local) = unsafe { local_of(region) }? {
        local.mark = 0;
        // SAFETY: it was leaked when the region got it, and nothing refers to it any more.
        drop(unsafe { Box::from_raw(local) });
    }
    *region = Region::EMPTY;
    Ok(())
}

/// Initialises a region without memory: see `yescrypt.h`.
///
/// # Safety
/// A pointer that is not null has room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_init_local(local: *mut Region) -> c_int {
    entry(-1, || {
        // SAFETY: there is room, whose contents do not matter.
        unsafe { put(local, &Region::EMPTY) }.map(|()| 0).ok_or(libc::EINVAL)
    })
}

/// Frees memory: see `yescrypt.h`.
///
/// # Safety
/// A pointer that is not null is to a region from `yescrypt_init_local`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_free_local(local: *mut Region) -> c_int {
    last_entry(-1, || {
        // SAFETY: the caller's contract.
        let region = unsafe { object_mut(local) }.ok_or(libc::EINVAL)?;
        // SAFETY: as above.
        unsafe { free(region) }.map(|()| 0)
    })
}
