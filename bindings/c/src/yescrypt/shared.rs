//! ROMs (`yescrypt_shared_t`): memory as upstream has it, mapped or the caller's.

use std::ffi::c_int;
use std::ptr;

use saltern_yescrypt::rom::{RomParams, RomView, init_rom};
use saltern_yescrypt::{
    Error, Params, Workspace,
    params::{Mode, block_bytes},
};

use super::region::Region;
use super::{RawParams, within_upstream};
use crate::boundary::{
    Place, bytes, copied, entry, last_entry, number_of, object, object_mut, write,
};
use crate::processors::processors;

/// The flag for memory that is already allocated.
const PREALLOCATED: u32 = 0x10000;

/// The image of the ROM that the parameters ask for, in a region that may be larger.
///
/// # Safety
/// A pointer that is not null is to a region whose memory stays as it is for as long as the call
/// lasts.
pub(super) unsafe fn image(
    shared: *const Region,
    params: &Params,
) -> Result<Option<&'static [u8]>, c_int> {
    if shared.is_null() {
        return if params.nrom == 0 { Ok(None) } else { Err(libc::EINVAL) };
    }
    // SAFETY: by the contract above.
    let shared = unsafe { object(shared) }.ok_or(libc::EINVAL)?;
    let size = block_bytes(params.r).checked_mul(params.nrom);
    let size = size
        .and_then(|size| usize::try_from(size).ok())
        .filter(|size| (1..=shared.aligned_size).contains(size));
    // SAFETY: by the contract above, as far as the region goes.
    let image = unsafe { bytes(shared.aligned.cast(), size.ok_or(libc::EINVAL)?) };
    image.map(Some).ok_or(libc::EINVAL)
}

/// Makes a ROM: see `yescrypt.h`.
///
/// # Safety
/// Every pointer that is not null is what `yescrypt.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_init_shared(
    shared: *mut Region,
    seed: *const u8,
    seedlen: usize,
    params: *const RawParams,
) -> c_int {
    entry(-1, || {
        // SAFETY: a pointer to parameters, wherever they lie.
        let raw = unsafe { copied(params) }.ok_or(libc::EINVAL)?;
        // SAFETY: as many bytes as is said.
        let seed = unsafe { bytes(seed, seedlen) }.ok_or(libc::EINVAL)?;
        if shared.is_null() || !shared.is_aligned() {
            return Err(libc::EINVAL);
        }
        let params = rom_params(&raw)?;
        let size = usize::try_from(params.size()).map_err(|_| libc::ENOMEM)?;
        if raw.flags & PREALLOCATED != 0 {
            // SAFETY: an initialised region, as the flag says.
            let region = unsafe { object_mut(shared) }.ok_or(libc::EINVAL)?;
            // SAFETY: its memory is the caller's, to be written to.
            return unsafe { fill(region, &params, seed) };
        }
        let mut region = map(size)?;
        // SAFETY: memory that was mapped just now.
        let filled = unsafe { fill(&region, &params, seed) };
        if filled.is_err() {
            // SAFETY: as above.
            let _ = unsafe { unmap(&mut region) };
        }
        // SAFETY: there is room for a region, whose contents do not matter.
        unsafe { shared.write(region) };
        filled
    })
}

/// The parameters of a ROM, limited to those that upstream accepts.
fn rom_params(raw: &RawParams) -> Result<RomParams, c_int> {
    let half = RawParams { flags: raw.flags & !PREALLOCATED, n: raw.nrom / 2, nrom: 0, ..*raw };
    if raw.n != 0 || raw.g != 0 || raw.nrom >> 32 != 0 {
        return Err(libc::EINVAL);
    }
    let half = half.params().map_err(number_of)?;
    within_upstream(&half)?;
    half.check(&crate::text::limits(saltern_yescrypt::params::Syntax::Wide)).map_err(number_of)?;
    if half.mode != Mode::Rw {
        return Err(libc::EINVAL);
    }
    let mut params = RomParams::new(raw.nrom, raw.r, raw.p);
    params.t = raw.t;
    params.check().map_err(number_of)?;
    Ok(params)
}

/// Fills the memory of a region.
///
/// # Safety
/// The size in the region is correct.
unsafe fn fill(region: &Region, params: &RomParams, seed: &[u8]) -> Result<c_int, c_int> {
    let size = usize::try_from(params.size()).map_err(|_| libc::ENOMEM)?;
    if region.aligned.is_null() || region.aligned_size < size {
        return Err(libc::EINVAL);
    }
    // SAFETY: by the contract above; whatever is in it may be read as bytes.
    let image = unsafe { std::slice::from_raw_parts_mut(region.aligned.cast::<u8>(), size) };
    let mut workspace = Workspace::new();
    workspace.set_threads(processors().unwrap_or(1));
    init_rom(params, seed, image, &mut workspace).map_err(number_of)?;
    Ok(0)
}

/// Memory from the system, on huge pages if it has some.
fn map(size: usize) -> Result<Region, c_int> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping touches nothing that exists.
    let base = unsafe { libc::mmap(ptr::null_mut(), size, access, kind, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(libc::ENOMEM);
    }
    // SAFETY: advice about this mapping, which may be refused.
    unsafe { libc::madvise(base, size, libc::MADV_HUGEPAGE) };
    Ok(Region { base, aligned: base, base_size: size, aligned_size: size })
}

/// Unmaps a mapping.
///
/// # Safety
/// The base of the region is null or a mapping of its size, which nothing refers to any more.
unsafe fn unmap(region: &mut Region) -> Result<c_int, c_int> {
    // SAFETY: by the contract above.
    if !region.base.is_null() && unsafe { libc::munmap(region.base, region.base_size) } != 0 {
        return Err(crate::boundary::errno());
    }
    *region = Region::EMPTY;
    Ok(0)
}

/// The digest of a ROM: see `yescrypt.h`. Upstream has one buffer for it; here each thread has its
/// own.
///
/// # Safety
/// A pointer that is not null is to a region with its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_digest_shared(shared: *mut Region) -> *mut [u8; 32] {
    thread_local! {
        static DIGEST: Place<32> = const { Place::new() };
    }
    entry(ptr::null_mut(), || {
        // SAFETY: the caller's contract.
        let region = unsafe { object(shared.cast_const()) }.ok_or(libc::EINVAL)?;
        // The tag is in the last 64 bytes, whose alignment is that of the whole.
        let last = region.aligned_size.checked_sub(64).ok_or(libc::EINVAL)?;
        if region.aligned.is_null() {
            return Err(libc::EINVAL);
        }
        let place = region.aligned.cast::<u8>().wrapping_add(last);
        // SAFETY: the last bytes of the region.
        let end = unsafe { bytes(place, 64) }.ok_or(libc::EINVAL)?;
        let view = RomView::from_bytes(end).map_err(|_: Error| libc::EINVAL)?;
        let place = Place::of_thread(&DIGEST).ok_or(libc::EIO)?;
        // SAFETY: this thread's place, which only its caller has a pointer to.
        unsafe { write(place, &view.digest()) };
        Ok(place.cast())
    })
}

/// Frees a ROM's memory: see `yescrypt.h`.
///
/// # Safety
/// A pointer that is not null is to a region from `yescrypt_init_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_free_shared(shared: *mut Region) -> c_int {
    last_entry(-1, || {
        // SAFETY: the caller's contract.
        let region = unsafe { object_mut(shared) }.ok_or(libc::EINVAL)?;
        // SAFETY: as above.
        unsafe { unmap(region) }
    })
}
