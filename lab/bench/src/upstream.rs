//! The C code of yescrypt itself as a shared library that exports its own interface, for instance
//! the one inside the Python package pyescrypt. Unlike crypt_r it keeps its memory from call to
//! call.
#![allow(unsafe_code, reason = "the peer is a C library")]

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

use libloading::Library;

/// `yescrypt_region_t`: memory that a thread keeps (`yescrypt_local_t`), or a ROM
/// (`yescrypt_shared_t`).
#[repr(C)]
struct Region {
    base: *mut c_void,
    aligned: *mut c_void,
    base_size: usize,
    aligned_size: usize,
}

// SAFETY: plain memory from mmap; the library does not care which thread uses it.
unsafe impl Send for Region {}

impl Region {
    /// What `yescrypt_init_local` makes of one: nothing allocated yet.
    fn empty() -> Box<Region> {
        let null = ptr::null_mut();
        Box::new(Region { base: null, aligned: null, base_size: 0, aligned_size: 0 })
    }
}

/// `yescrypt_params_t`.
#[repr(C)]
struct RawParams {
    flags: u32,
    n: u64,
    r: u32,
    p: u32,
    t: u32,
    g: u32,
    nrom: u64,
}

/// `YESCRYPT_DEFAULTS`, and the flag for a ROM whose memory is there already.
const DEFAULTS: u32 = 182;
const PREALLOCATED: u32 = 0x10000;

type OnRegion = unsafe extern "C" fn(*mut Region) -> c_int;
type InitShared =
    unsafe extern "C" fn(*mut Region, *const u8, seed_length: usize, *const RawParams) -> c_int;
type DigestShared = unsafe extern "C" fn(*mut Region) -> *const [u8; 32];
type SetThreads = unsafe extern "C" fn(c_int);
type YescryptR = unsafe extern "C" fn(
    shared: *const c_void,
    local: *mut Region,
    password: *const u8,
    password_length: usize,
    setting: *const u8,
    key: *const c_void,
    buffer: *mut u8,
    buffer_length: usize,
) -> *const u8;

/// The library, with memory that it reuses: its own for hashes, and that of one ROM.
pub struct Upstream {
    yescrypt_r: YescryptR,
    init_shared: InitShared,
    digest_shared: DigestShared,
    free: OnRegion,
    /// Of OpenMP, if the library was compiled with it.
    set_threads: Option<SetThreads>,
    threads: c_int,
    local: Box<Region>,
    rom: Box<Region>,
    buffer: [u8; 512],
    // Never unloaded: the threads of OpenMP go on to wait for work in code that would be gone.
    _library: ManuallyDrop<Library>,
}

impl Upstream {
    /// Loads the library at a path.
    ///
    /// # Errors
    /// The loader's, if there is no such library or it lacks a function.
    pub fn open(path: &OsStr) -> Result<Upstream, libloading::Error> {
        // SAFETY: the library has no initialisers of its own, and OpenMP's only read the
        // environment.
        let library = unsafe { Library::new(path)? };
        // SAFETY: these are the signatures in yescrypt.h.
        let (yescrypt_r, init_shared, digest_shared, free) = unsafe {
            let init_shared = *library.get(b"yescrypt_init_shared\0")?;
            let digest_shared = *library.get(b"yescrypt_digest_shared\0")?;
            let free = *library.get(b"yescrypt_free_local\0")?;
            (*library.get(b"yescrypt_r\0")?, init_shared, digest_shared, free)
        };
        // SAFETY: this is the signature in omp.h; the symbol is found in the library's
        // dependencies.
        let set_threads = unsafe { library.get(b"omp_set_num_threads\0").ok().map(|f| *f) };
        Ok(Upstream {
            yescrypt_r,
            init_shared,
            digest_shared,
            free,
            set_threads,
            threads: 1,
            local: Region::empty(),
            rom: Region::empty(),
            buffer: [0; 512],
            _library: ManuallyDrop::new(library),
        })
    }

    /// How many threads may work on one hash or ROM with p > 1: one, unless this is called.
    pub fn set_threads(&mut self, threads: u8) {
        self.threads = threads.into();
    }

    /// OpenMP keeps this number for each thread that calls, so it is set before each use.
    fn apply_threads(&self) {
        if let Some(set) = self.set_threads {
            // SAFETY: any positive number is valid.
            unsafe { set(self.threads) };
        }
    }

    /// The complete hash of a password under a setting; none if the library refuses it.
    pub fn hash(&mut self, password: &[u8], setting: &CStr) -> Option<&CStr> {
        self.apply_threads();
        let (secret, setting) = (password.as_ptr(), setting.to_bytes_with_nul().as_ptr());
        let (none, buffer, space) = (ptr::null(), self.buffer.as_mut_ptr(), self.buffer.len());
        let local = &mut *self.local;
        // SAFETY: every pointer goes with its length, the setting ends with NUL, no ROM and no key
        // are null.
        let out = unsafe {
            (self.yescrypt_r)(none, local, secret, password.len(), setting, none, buffer, space)
        };
        if out.is_null() { None } else { CStr::from_bytes_until_nul(&self.buffer).ok() }
    }

    /// Fills a ROM of `128 * r * nrom` bytes in the default flavour, in the memory of the last one
    /// if that has the same size, and returns its digest; none if the library refuses it.
    pub fn fill_rom(&mut self, [nrom, r, p]: [u32; 3], seed: &[u8]) -> Option<[u8; 32]> {
        self.apply_threads();
        let rom = &mut *self.rom;
        let mut params = RawParams { flags: DEFAULTS, n: 0, r, p, t: 0, g: 0, nrom: nrom.into() };
        if rom.aligned_size as u64 == 128 * u64::from(r) * u64::from(nrom) {
            params.flags |= PREALLOCATED;
        } else {
            // SAFETY: the region is empty or was allocated by this library, and nothing points into
            // it.
            unsafe { (self.free)(rom) };
        }
        // SAFETY: the seed goes with its length; the region is empty or as large as the parameters
        // say.
        let status =
            unsafe { (self.init_shared)(rom, seed.as_ptr(), seed.len(), &raw const params) };
        if status != 0 {
            return None;
        }
        // SAFETY: the region holds a ROM; the digest is in memory of the library until the next
        // call.
        unsafe { (self.digest_shared)(rom).as_ref().copied() }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        for region in [&mut self.local, &mut self.rom] {
            // SAFETY: the region is empty or was allocated by this library, and is not used again.
            unsafe { (self.free)(&mut **region) };
        }
    }
}
