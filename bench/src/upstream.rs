//! The C code of yescrypt itself as a shared library that exports its own interface, for instance the one
//! inside the Python package pyescrypt. Unlike crypt_r it keeps its memory from call to call.
#![allow(unsafe_code, reason = "the peer is a C library")]

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::ptr;

use libloading::Library;

/// `yescrypt_local_t`: memory that a thread keeps.
#[repr(C)]
struct Local {
    base: *mut c_void,
    aligned: *mut c_void,
    base_size: usize,
    aligned_size: usize,
}

type OnLocal = unsafe extern "C" fn(*mut Local) -> c_int;
type YescryptR = unsafe extern "C" fn(
    shared: *const c_void,
    local: *mut Local,
    password: *const u8,
    password_length: usize,
    setting: *const u8,
    key: *const c_void,
    buffer: *mut u8,
    buffer_length: usize,
) -> *const u8;

/// The library, with memory that it reuses.
pub struct Upstream {
    yescrypt_r: YescryptR,
    free_local: OnLocal,
    local: Box<Local>,
    buffer: [u8; 512],
    // Keeps the functions valid.
    _library: Library,
}

impl Upstream {
    /// Loads the library at a path.
    ///
    /// # Errors
    /// The loader's, if there is no such library or it lacks a function.
    pub fn open(path: &OsStr) -> Result<Upstream, libloading::Error> {
        // SAFETY: the library has no initialisers of its own.
        let library = unsafe { Library::new(path)? };
        // SAFETY: these three are the signatures in yescrypt.h.
        let (yescrypt_r, init_local, free_local): (YescryptR, OnLocal, OnLocal) = unsafe {
            let init = *library.get(b"yescrypt_init_local\0")?;
            (*library.get(b"yescrypt_r\0")?, init, *library.get(b"yescrypt_free_local\0")?)
        };
        let null = ptr::null_mut();
        let mut local =
            Box::new(Local { base: null, aligned: null, base_size: 0, aligned_size: 0 });
        // SAFETY: `local` is valid for writes; initialising it allocates nothing and cannot fail.
        unsafe { init_local(&mut *local) };
        Ok(Upstream { yescrypt_r, free_local, local, buffer: [0; 512], _library: library })
    }

    /// The complete hash of a password under a setting; none if the library refuses it.
    pub fn hash(&mut self, password: &[u8], setting: &CStr) -> Option<&CStr> {
        let (secret, setting) = (password.as_ptr(), setting.to_bytes_with_nul().as_ptr());
        let (none, buffer, space) = (ptr::null(), self.buffer.as_mut_ptr(), self.buffer.len());
        let local = &mut *self.local;
        // SAFETY: every pointer goes with its length, the setting ends with NUL, no ROM and no key are null.
        let out = unsafe {
            (self.yescrypt_r)(none, local, secret, password.len(), setting, none, buffer, space)
        };
        if out.is_null() { None } else { CStr::from_bytes_until_nul(&self.buffer).ok() }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // SAFETY: `local` was initialised by this library and is not used again.
        unsafe { (self.free_local)(&mut *self.local) };
    }
}
