//! The system's crypt_r(3), found at run time: a machine that has the library has `libcrypt.so.1`,
//! but not always what is needed to link against it.
#![allow(unsafe_code, reason = "the peer is a C library")]

use std::ffi::{CStr, c_char};

use libloading::Library;

/// `struct crypt_data`: 32768 bytes in every libxcrypt, zero to begin with, its contents private.
#[repr(C, align(16))]
struct CryptData([u8; 32768]);

type CryptR = unsafe extern "C" fn(*const c_char, *const c_char, *mut CryptData) -> *const c_char;

/// The library and its working memory.
pub struct SystemCrypt {
    crypt_r: CryptR,
    data: Box<CryptData>,
    // Keeps `crypt_r` valid.
    _library: Library,
}

impl SystemCrypt {
    /// Loads `libcrypt.so.1`.
    ///
    /// # Errors
    /// The loader's, if there is no such library or it has no `crypt_r`.
    pub fn open() -> Result<SystemCrypt, libloading::Error> {
        // SAFETY: libcrypt's initialisers do nothing that Rust code could notice.
        let library = unsafe { Library::new("libcrypt.so.1")? };
        // SAFETY: this is the signature in crypt.h.
        let crypt_r: CryptR = unsafe { *library.get(b"crypt_r\0")? };
        Ok(SystemCrypt { crypt_r, data: Box::new(CryptData([0; 32768])), _library: library })
    }

    /// The complete hash of a password under a setting; none if the library refuses it.
    pub fn hash(&mut self, password: &CStr, setting: &CStr) -> Option<&CStr> {
        // SAFETY: both strings end with NUL, and `data` is a crypt_data that nobody else uses.
        let out = unsafe { (self.crypt_r)(password.as_ptr(), setting.as_ptr(), &mut *self.data) };
        if out.is_null() {
            return None;
        }
        // SAFETY: a non-null result is a string within `data`, which is borrowed as long as it.
        let hash = unsafe { CStr::from_ptr(out) };
        // A failure is a string that cannot be a hash.
        (!hash.to_bytes().starts_with(b"*")).then_some(hash)
    }
}
