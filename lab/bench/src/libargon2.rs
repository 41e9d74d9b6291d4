//! The C library of Argon2, found at run time, with memory that is kept from call to call as
//! Saltern keeps its own.
#![allow(unsafe_code, reason = "the peer is a C library")]

use std::cell::RefCell;
use std::ffi::c_int;
use std::ptr;

use libloading::Library;

use crate::work::Argon2;

/// `argon2_context`.
#[repr(C)]
struct Context {
    out: *mut u8,
    out_len: u32,
    password: *const u8,
    password_len: u32,
    salt: *const u8,
    salt_len: u32,
    secret: *const u8,
    secret_len: u32,
    associated: *const u8,
    associated_len: u32,
    t_cost: u32,
    m_cost: u32,
    lanes: u32,
    threads: u32,
    version: u32,
    allocate: Option<unsafe extern "C" fn(*mut *mut u8, usize) -> c_int>,
    free: Option<unsafe extern "C" fn(*mut u8, usize)>,
    flags: u32,
}

type Argon2Ctx = unsafe extern "C" fn(*mut Context) -> c_int;

/// A cache line of a thread's memory.
type Line = Aligned<[u64; 8]>;

#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct Aligned<T>(#[allow(dead_code, reason = "the library reads and writes it")] T);

thread_local! {
    /// What the library has allocated in this thread: one memory, used by one call at a time.
    static MEMORY: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Gives the thread's memory, made as large as it has to be.
unsafe extern "C" fn allocate(memory: *mut *mut u8, bytes: usize) -> c_int {
    MEMORY.with_borrow_mut(|lines| {
        lines.resize(lines.len().max(bytes.div_ceil(64)), Line::default());
        // SAFETY: the library passes the address of a pointer of its own.
        unsafe { *memory = lines.as_mut_ptr().cast() };
    });
    0
}

/// Keeps it.
unsafe extern "C" fn keep(_: *mut u8, _: usize) {}

/// The library.
pub struct LibArgon2 {
    argon2d: Argon2Ctx,
    argon2id: Argon2Ctx,
    // Keeps the functions valid.
    _library: Library,
}

impl LibArgon2 {
    /// Loads `libargon2.so.1`.
    ///
    /// # Errors
    /// The loader's, if there is no such library or it lacks a function.
    pub fn open() -> Result<LibArgon2, libloading::Error> {
        // SAFETY: the library has no initialisers.
        let library = unsafe { Library::new("libargon2.so.1")? };
        // SAFETY: these are the signatures in argon2.h.
        let (argon2d, argon2id) =
            unsafe { (*library.get(b"argon2d_ctx\0")?, *library.get(b"argon2id_ctx\0")?) };
        Ok(LibArgon2 { argon2d, argon2id, _library: library })
    }

    /// A hash of 32 bytes, in one thread.
    ///
    /// # Errors
    /// The library's number for what it refuses.
    pub fn hash(&self, params: &Argon2, password: &[u8], salt: &[u8]) -> Result<[u8; 32], c_int> {
        let mut out = [0; 32];
        let mut context = Context {
            out: out.as_mut_ptr(),
            out_len: 32,
            password: password.as_ptr(),
            password_len: password.len() as u32,
            salt: salt.as_ptr(),
            salt_len: salt.len() as u32,
            secret: ptr::null(),
            secret_len: 0,
            associated: ptr::null(),
            associated_len: 0,
            t_cost: params.t,
            m_cost: params.kib,
            lanes: params.p,
            threads: 1,
            version: 0x13,
            allocate: Some(allocate),
            free: Some(keep),
            flags: 0,
        };
        let function = if params.id { self.argon2id } else { self.argon2d };
        // SAFETY: every pointer goes with its length; without flags nothing behind them is written
        // but `out`.
        match unsafe { function(&raw mut context) } {
            0 => Ok(out),
            refused => Err(refused),
        }
    }
}
