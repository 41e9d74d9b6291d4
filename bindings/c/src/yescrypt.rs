//! The interface of yescrypt's own C library, version 1.1: names, types and values are the same
//! (`include/yescrypt.h`), so that programs written for it, or compiled with it, work with this
//! one. docs/c.md lists the differences.
#![allow(unsafe_code, reason = "functions for C")]

mod region;
mod shared;
mod strings;

use std::ffi::c_int;

use saltern_yescrypt::params::{Mode, Syntax};
use saltern_yescrypt::{Error, Params};

pub use self::region::{Region, yescrypt_free_local, yescrypt_init_local};
pub use self::shared::{yescrypt_digest_shared, yescrypt_free_shared, yescrypt_init_shared};
pub use self::strings::{
    yescrypt, yescrypt_encode_params, yescrypt_encode_params_r, yescrypt_r, yescrypt_reencrypt,
};

use self::region::with_workspace;
use crate::arena::Memory;
use crate::boundary::{bytes, copied, entry, number_of, write, zeros};
use crate::gather::{self, Job};
use crate::text::limits;

/// `yescrypt_params_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawParams {
    flags: u32,
    n: u64,
    r: u32,
    p: u32,
    t: u32,
    g: u32,
    nrom: u64,
}

impl RawParams {
    /// The parameters as the caller gave them, unchecked.
    fn params(&self) -> Result<Params, Error> {
        let RawParams { flags, n, r, p, t, g, nrom } = *self;
        let mut params = Params::with_flags(flags, n, r)?;
        (params.p, params.t, params.g, params.nrom) = (p, t, g, nrom);
        Ok(params)
    }
}

/// Refuses what upstream refuses, though the algorithm allows it.
fn within_upstream(params: &Params) -> Result<(), c_int> {
    let narrow = |n: u64| (4..1 << 32).contains(&n);
    let slice = params.n / u64::from(params.p.max(1));
    let fits = narrow(params.n)
        && (params.nrom == 0 || params.nrom >> 32 == 0)
        && (params.mode != Mode::Rw || slice > 3);
    if fits { Ok(()) } else { Err(libc::EINVAL) }
}

/// One password and its salt, as pointers.
struct Input {
    password: (*const u8, usize),
    salt: (*const u8, usize),
}

/// Derives into memory that may overlap an input.
///
/// # Safety
/// As [`yescrypt_kdf`].
unsafe fn derive(
    shared: *const Region,
    local: *mut Region,
    input: &Input,
    params: &RawParams,
    out: (*mut u8, usize),
) -> Result<c_int, c_int> {
    // SAFETY: the caller's pointers go with their lengths.
    let (password, salt) =
        unsafe { (bytes(input.password.0, input.password.1), bytes(input.salt.0, input.salt.1)) };
    let (Some(password), Some(salt)) = (password, salt) else { return Err(libc::EINVAL) };
    let params = params.params().map_err(number_of)?;
    within_upstream(&params)?;
    let checked = params.check(&limits(Syntax::Wide)).map_err(number_of)?;
    checked.check_output(out.1 as u64).map_err(number_of)?;
    if out.0.is_null() && out.1 > 0 {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's ROM is valid for the duration of the call.
    let rom = unsafe { shared::image(shared, &params) }?;
    let mut derived = zeros(out.1).ok_or(libc::ENOMEM)?;
    let job = Job { params: checked, rom, password, salt, out: &mut derived };
    // SAFETY: the caller's `local` is this thread's alone.
    unsafe { with_workspace(local, |workspace| gather::compute(job, Memory::Own(workspace))) }?;
    // SAFETY: there is as much room.
    unsafe { write(out.0, &derived) };
    Ok(0)
}

/// Derives bytes: see `yescrypt.h`.
///
/// # Safety
/// Every pointer that is not null is as `yescrypt.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn yescrypt_kdf(
    shared: *const Region,
    local: *mut Region,
    passwd: *const u8,
    passwdlen: usize,
    salt: *const u8,
    saltlen: usize,
    params: *const RawParams,
    buf: *mut u8,
    buflen: usize,
) -> c_int {
    let input = Input { password: (passwd, passwdlen), salt: (salt, saltlen) };
    entry(-1, || {
        // SAFETY: a pointer to parameters, wherever they lie.
        let params = unsafe { copied(params) }.ok_or(libc::EINVAL)?;
        // SAFETY: what the caller guarantees is passed on.
        unsafe { derive(shared, local, &input, &params, (buf, buflen)) }
    })
}

/// Classic scrypt: see `yescrypt.h`.
///
/// # Safety
/// As [`yescrypt_kdf`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crypto_scrypt(
    passwd: *const u8,
    passwdlen: usize,
    salt: *const u8,
    saltlen: usize,
    n: u64,
    r: u32,
    p: u32,
    buf: *mut u8,
    buflen: usize,
) -> c_int {
    let input = Input { password: (passwd, passwdlen), salt: (salt, saltlen) };
    let params = RawParams { flags: 0, n, r, p, t: 0, g: 0, nrom: 0 };
    entry(-1, || {
        let mut local = Region::EMPTY;
        // SAFETY: what the caller guarantees is passed on, and `local` is a new one.
        let done =
            unsafe { derive(std::ptr::null(), &raw mut local, &input, &params, (buf, buflen)) };
        // SAFETY: as above.
        let freed = unsafe { region::free(&mut local) };
        done.and_then(|done| freed.map(|()| done))
    })
}
