//! Deriving bytes from a password without a policy, and ROMs for that.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use saltern_rom::{AttachOptions, Attached};
use saltern_yescrypt::rom::RomView;
use saltern_yescrypt::{Limits, Params, Workspace, derive};

use super::site::{free, hand_out, of, place_for};
use super::status::{Failure, Message, OK, call, words};
use crate::boundary::{bytes, copied, guard, write, zeros};

/// `saltern_rom`
pub struct Rom(Attached);

/// `saltern_params`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawParams {
    flags: u32,
    r: u32,
    n: u64,
    p: u32,
    t: u32,
    nrom: u64,
}

/// `saltern_input`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Input {
    password: *const c_void,
    password_length: usize,
    salt: *const c_void,
    salt_length: usize,
}

/// Attaches a ROM: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_rom_attach(
    image: *const c_char,
    hash: *const c_char,
    rom: *mut *mut Rom,
    message: *mut Message,
) -> c_int {
    let attach = || {
        // SAFETY: the caller's place and string.
        let (place, image) =
            unsafe { (place_for(rom)?, words(image, "the name of the image is not UTF-8 text")?) };
        let mut options = AttachOptions::new();
        if !hash.is_null() {
            // SAFETY: the caller's string.
            let hash = unsafe { words(hash, "the hash of the ROM is not UTF-8 text") }?;
            let parsed = hash.parse();
            options.expect =
                Some(parsed.map_err(|_| Failure::bad("the hash of a ROM has 64 digits"))?);
        }
        let attached = saltern_rom::attach(Path::new(image), &options).map_err(Failure::Rom)?;
        // SAFETY: as above.
        unsafe { hand_out(place, Rom(attached)) }
    };
    // SAFETY: the caller's message.
    unsafe { call(message, attach) }
}

/// Bytes in a ROM: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_rom_size(rom: *const Rom) -> u64 {
    // SAFETY: the caller's handle.
    guard(0, || unsafe { of(rom) }.map_or(0, |rom| rom.0.size()))
}

/// Frees a ROM: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_rom_free(rom: *mut Rom) {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { free(rom) }
}

/// Derives bytes: see `saltern.h`.
///
/// # Safety
/// As `saltern.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saltern_derive(
    params: *const RawParams,
    input: *const Input,
    rom: *const Rom,
    out: *mut c_void,
    length: usize,
    message: *mut Message,
) -> c_int {
    let compute = || {
        // SAFETY: the caller's structs, at any address.
        let (params, input) = unsafe { (copied(params), copied(input)) };
        let (Some(raw), Some(input)) = (params, input) else {
            return Err(Failure::bad("the parameters or the input are NULL"));
        };
        // SAFETY: as many bytes as is said.
        let (password, salt) = unsafe {
            let password = bytes(input.password.cast(), input.password_length);
            (password, bytes(input.salt.cast(), input.salt_length))
        };
        let (Some(password), Some(salt)) = (password, salt) else {
            return Err(Failure::bad("the password or the salt is NULL"));
        };
        if out.is_null() && length > 0 {
            return Err(Failure::bad("there is no place for the derived bytes"));
        }
        let mut params = Params::with_flags(raw.flags, raw.n, raw.r)?;
        (params.p, params.t, params.nrom) = (raw.p, raw.t, raw.nrom);
        let checked = params.check(&Limits::unlimited())?;
        // SAFETY: the caller's handle, if there is one.
        let rom = if rom.is_null() { None } else { Some(unsafe { of(rom) }?) };
        let view = rom.map(|rom| RomView::from_bytes(rom.0.as_bytes())).transpose()?;
        let mut derived = zeros(length).ok_or(Failure::NO_MEMORY)?;
        derive(password, salt, &checked, view.as_ref(), &mut Workspace::new(), &mut derived)?;
        // SAFETY: as much room as is said.
        unsafe { write(out.cast(), &derived) };
        Ok(OK)
    };
    // SAFETY: the caller's message.
    unsafe { call(message, compute) }
}
