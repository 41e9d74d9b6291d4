//! The libcrypt that would have been called: the next one in the order of symbols, or else the
//! machine's, which is `libcrypt.so.1` or, without the functions of glibc's time, `libcrypt.so.2`.
#![allow(unsafe_code, reason = "functions found at run time")]

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

type Crypt = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_char;
type CryptR = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void) -> *mut c_char;
type CryptRn =
    unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void, c_int) -> *mut c_char;
type CryptRa =
    unsafe extern "C" fn(*const c_char, *const c_char, *mut *mut c_void, *mut c_int) -> *mut c_char;
type Gensalt = unsafe extern "C" fn(*const c_char, c_ulong, *const c_char, c_int) -> *mut c_char;
type GensaltRn = unsafe extern "C" fn(
    *const c_char,
    c_ulong,
    *const c_char,
    c_int,
    *mut c_char,
    c_int,
) -> *mut c_char;
type Check = unsafe extern "C" fn(*const c_char) -> c_int;

/// Its functions. Those of glibc's old libcrypt, which has two of them, do not suffice.
pub(super) struct Next {
    pub(super) crypt: Crypt,
    pub(super) crypt_r: CryptR,
    pub(super) crypt_rn: CryptRn,
    pub(super) crypt_ra: CryptRa,
    pub(super) gensalt: Gensalt,
    pub(super) gensalt_rn: GensaltRn,
    pub(super) gensalt_ra: Gensalt,
    /// Since libxcrypt 4.3.
    pub(super) checksalt: Option<Check>,
}

/// The next libcrypt, if there is one.
pub(super) fn next() -> Option<&'static Next> {
    static FOUND: AtomicPtr<Next> = AtomicPtr::new(ptr::null_mut());
    let known = FOUND.load(Ordering::Acquire);
    // SAFETY: it was leaked below.
    if let Some(found) = unsafe { known.as_ref() } {
        return Some(found);
    }
    let new = Box::into_raw(crate::boundary::boxed(find()?)?);
    // Two threads may find it at once; both find the same.
    FOUND.store(new, Ordering::Release);
    // SAFETY: it was leaked just now.
    unsafe { new.as_ref() }
}

fn find() -> Option<Next> {
    let load = |name: &CStr| {
        // SAFETY: libcrypt does nothing when it is loaded, and is never unloaded.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() { None } else { find_in(library) }
    };
    find_in(libc::RTLD_NEXT)
        .or_else(|| [c"libcrypt.so.1", c"libcrypt.so.2"].into_iter().find_map(load))
}

fn find_in(library: *mut c_void) -> Option<Next> {
    let symbol = |name: &CStr| {
        // SAFETY: a handle of the loader's, and a string.
        let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    };
    // SAFETY: these are the types that <crypt.h> declares the functions with.
    unsafe {
        Some(Next {
            crypt: mem::transmute::<*mut c_void, Crypt>(symbol(c"crypt")?),
            crypt_r: mem::transmute::<*mut c_void, CryptR>(symbol(c"crypt_r")?),
            crypt_rn: mem::transmute::<*mut c_void, CryptRn>(symbol(c"crypt_rn")?),
            crypt_ra: mem::transmute::<*mut c_void, CryptRa>(symbol(c"crypt_ra")?),
            gensalt: mem::transmute::<*mut c_void, Gensalt>(symbol(c"crypt_gensalt")?),
            gensalt_rn: mem::transmute::<*mut c_void, GensaltRn>(symbol(c"crypt_gensalt_rn")?),
            gensalt_ra: mem::transmute::<*mut c_void, Gensalt>(symbol(c"crypt_gensalt_ra")?),
            checksalt: symbol(c"crypt_checksalt")
                .map(|found| mem::transmute::<*mut c_void, Check>(found)),
        })
    }
}
