//! The functions for C with whatever bytes, lengths, rooms, structs and null pointers: none reads
//! or writes beyond what it was given (AddressSanitizer looks), none panics into C, and where there
//! is an answer it is one.
#![no_main]

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::ptr;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use saltern_capi::{blake2, crypt, saltern, yescrypt};

/// A string, or a null pointer.
type Text = Option<CString>;

#[derive(Arbitrary, Debug)]
enum Call {
    Crypt(Crypt),
    Gensalt(Gensalt),
    Check(Text),
    Yescrypt(Yescrypt),
    Kdf(Kdf),
    Encode { params: [u32; 6], nrom: u64, salt: Vec<u8>, room: u8 },
    Reencrypt { hash: CString, keys: [Option<[u8; 32]>; 2] },
    Blake2(Pieces),
    Whole { message: Option<Vec<u8>>, key: Option<Vec<u8>>, length: u8, function: u8 },
    Stored { text: Text, room: u16 },
}

#[derive(Arbitrary, Debug)]
struct Crypt {
    phrase: Text,
    setting: Text,
    room: u16,
    function: u8,
}

#[derive(Arbitrary, Debug)]
struct Gensalt {
    prefix: Text,
    count: c_ulong,
    random: Option<Vec<u8>>,
    room: u8,
}

#[derive(Arbitrary, Debug)]
struct Yescrypt {
    password: Vec<u8>,
    setting: Text,
    key: Option<[u8; 32]>,
    rom: Option<Rom>,
    room: u8,
}

#[derive(Arbitrary, Debug)]
struct Kdf {
    password: Option<Vec<u8>>,
    salt: Vec<u8>,
    params: [u32; 6],
    nrom: u64,
    rom: Option<Rom>,
    misplaced: bool,
    length: u8,
}

/// Memory that is called a ROM, up to 64 KiB: of one byte, and with a tag or without.
#[derive(Arbitrary, Debug)]
struct Rom {
    byte: u8,
    quarters: u8,
    tagged: bool,
}

#[derive(Arbitrary, Debug)]
struct Pieces {
    /// What the state holds before it is begun, if it is begun at all.
    state: Vec<u8>,
    fresh: Option<u16>,
    pieces: Vec<Vec<u8>>,
    room: u8,
    function: u8,
}

fn pointer(text: &Text) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

fn parts(bytes: &Option<Vec<u8>>) -> (*const u8, usize) {
    bytes.as_ref().map_or((ptr::null(), 0), |bytes| (bytes.as_ptr(), bytes.len()))
}

/// Whether a setting takes no longer than a moment: nobody limits costs on this side of C.
fn is_light(setting: &Text) -> bool {
    let Some(text) = setting else { return true };
    saltern_yescrypt::Setting::parse(text.as_bytes()).map_or(true, |setting| {
        setting.params().work() < 1 << 20 && setting.params().memory() < 1 << 22
    })
}

/// Whether it is computed here; what the machine's libcrypt does with the others is not our matter.
fn is_ours(text: &Text) -> bool {
    text.as_ref().is_some_and(|text| {
        text.as_bytes().starts_with(b"$y$") || text.as_bytes().starts_with(b"$7$")
    })
}

/// The first character of an answer; 0 for none.
fn first(answer: *const c_char) -> u8 {
    // SAFETY: an answer that is not null is a string.
    if answer.is_null() { 0 } else { unsafe { *answer as u8 } }
}

impl Crypt {
    fn call(&self) {
        if !is_ours(&self.setting) || !is_light(&self.setting) {
            return;
        }
        let (phrase, setting) = (pointer(&self.phrase), pointer(&self.setting));
        // SAFETY (of all of these): strings or null pointers, and as much room as is said.
        match self.function % 4 {
            0 => {
                let answer = unsafe { crypt::saltern_crypt(phrase, setting) };
                let text = unsafe { CStr::from_ptr(answer) }.to_bytes();
                assert!(text.starts_with(b"$") || text == b"*0");
            }
            1 => {
                let mut data = vec![0_u8; self.room.into()];
                let (place, room) = (data.as_mut_ptr().cast(), self.room.into());
                let answer = unsafe { crypt::saltern_crypt_rn(phrase, setting, place, room) };
                assert!(matches!(first(answer), 0 | b'$'));
            }
            2 => {
                let mut data = vec![0_u8; 32768];
                let place = data.as_mut_ptr().cast();
                let answer = unsafe { crypt::saltern_crypt_r(phrase, setting, place) };
                assert!(matches!(first(answer), b'*' | b'$'));
            }
            _ => self.call_growing(),
        }
    }

    fn call_growing(&self) {
        let (phrase, setting) = (pointer(&self.phrase), pointer(&self.setting));
        let mut size = c_int::from(self.room);
        // SAFETY: so many bytes, or a null pointer; then strings, and what goes with the size.
        let mut data = unsafe { libc::malloc(self.room.into()) };
        let answer = unsafe { crypt::saltern_crypt_ra(phrase, setting, &mut data, &mut size) };
        assert!(matches!(first(answer), 0 | b'$'));
        unsafe { libc::free(data) };
    }
}

impl Gensalt {
    fn call(&self) {
        if self.prefix.is_some() && !is_ours(&self.prefix) {
            return;
        }
        let mut output = vec![0; self.room.into()];
        let (random, len) = parts(&self.random);
        let (prefix, place) = (pointer(&self.prefix), output.as_mut_ptr());
        let (random, len, room) = (random.cast(), len as c_int, self.room.into());
        let rn = crypt::saltern_crypt_gensalt_rn;
        // SAFETY: a string or a null pointer, and as many bytes as is said.
        let made = unsafe { rn(prefix, self.count, random, len, place, room) };
        assert!(matches!(first(made), 0 | b'$'));
    }
}

/// Memory as ROMs are aligned.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block([u8; 64]);

impl Rom {
    /// The memory, and the struct that says where it is.
    fn region(&self) -> (Vec<Block>, [usize; 4]) {
        let mut memory = vec![Block([self.byte; 64]); usize::from(self.quarters) * 4];
        if let Some(last) = memory.last_mut().filter(|_| self.tagged) {
            last.0[16..32].copy_from_slice(b"yescrypt-ROMhash");
        }
        let (start, size) = (memory.as_ptr().expose_provenance(), size_of_val(&*memory));
        (memory, [start, start, size, size])
    }
}

impl Yescrypt {
    fn call(&self) {
        if !is_light(&self.setting) {
            return;
        }
        let rom = self.rom.as_ref().map(Rom::region);
        let shared = rom.as_ref().map_or(ptr::null(), |(_, region)| ptr::from_ref(region).cast());
        let mut local = [0_usize; 4];
        let local = local.as_mut_ptr().cast();
        let mut buffer = vec![0_u8; self.room.into()];
        let key = self.key.as_ref().map_or(ptr::null(), ptr::from_ref);
        let (word, len) = (self.password.as_ptr(), self.password.len());
        let (setting, out) = (pointer(&self.setting).cast(), buffer.as_mut_ptr());
        let (r, room) = (yescrypt::yescrypt_r, buffer.len());
        // SAFETY: as many bytes as is said, a string or a null pointer, an empty region.
        unsafe {
            let made = r(shared, local, word, len, setting, key, out, room);
            assert!(matches!(first(made.cast()), 0 | b'$'));
            assert_eq!(yescrypt::yescrypt_free_local(local), 0);
        }
    }
}

impl Kdf {
    fn call(&self) {
        let [_, n, r, p, t, _] = self.params.map(u64::from);
        if n.saturating_mul(r).saturating_mul(p.max(1)).saturating_mul(t + 1) > 1 << 13 {
            return;
        }
        let rom = self.rom.as_ref().map(Rom::region);
        let shared = rom.as_ref().map_or(ptr::null(), |(_, region)| ptr::from_ref(region).cast());
        let words = raw_params(self.params, self.nrom).map(u64::to_ne_bytes);
        let mut raw = vec![0; usize::from(self.misplaced)];
        raw.extend_from_slice(words.as_flattened());
        let raw = raw[usize::from(self.misplaced)..].as_ptr().cast();
        let mut local = [0_usize; 4];
        let local = local.as_mut_ptr().cast();
        let mut out = vec![0_u8; self.length.into()];
        let (word, len) = parts(&self.password);
        let (salt, salt_len) = (self.salt.as_ptr(), self.salt.len());
        let (kdf, out, room) = (yescrypt::yescrypt_kdf, out.as_mut_ptr(), out.len());
        // SAFETY: as many bytes as is said, parameters, and a region without memory.
        unsafe {
            kdf(shared, local, word, len, salt, salt_len, raw, out, room);
            assert_eq!(yescrypt::yescrypt_free_local(local), 0);
        }
    }
}

/// `yescrypt_params_t`, with holes: flags, N, r, p, t, g, NROM.
fn raw_params([flags, n, r, p, t, g]: [u32; 6], nrom: u64) -> [u64; 5] {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    [u64::from(flags), u64::from(n), pair(r, p), pair(t, g), nrom]
}

fn encode(params: [u32; 6], nrom: u64, salt: &[u8], room: u8) {
    let raw = raw_params(params, nrom);
    let mut buffer = vec![0_u8; room.into()];
    let (raw, out, len) = (raw.as_ptr().cast(), buffer.as_mut_ptr(), buffer.len());
    // SAFETY: parameters, and as many bytes as is said.
    unsafe { yescrypt::yescrypt_encode_params_r(raw, salt.as_ptr(), salt.len(), out, len) };
}

fn reencrypt(hash: CString, keys: &[Option<[u8; 32]>; 2]) {
    let mut text = hash.into_bytes_with_nul();
    let [from, to] = keys.each_ref().map(|key| key.as_ref().map_or(ptr::null(), ptr::from_ref));
    // SAFETY: a string, and keys or null pointers.
    unsafe { yescrypt::yescrypt_reencrypt(text.as_mut_ptr(), from, to) };
}

type Init<S> = unsafe extern "C" fn(*mut S, usize) -> c_int;
type Update<S> = unsafe extern "C" fn(*mut S, *const c_void, usize) -> c_int;
type Final<S> = unsafe extern "C" fn(*mut S, *mut c_void, usize) -> c_int;

impl Pieces {
    fn call(&self) {
        use blake2::*;
        match self.function % 6 {
            0 => self.hash((blake2b_init, blake2b_update, blake2b_final)),
            1 => self.hash((blake2s_init, blake2s_update, blake2s_final)),
            2 => self.hash((blake2bp_init, blake2bp_update, blake2bp_final)),
            3 => self.hash((blake2sp_init, blake2sp_update, blake2sp_final)),
            4 => self.hash((blake2xb_init, blake2xb_update, blake2xb_final)),
            _ => self.hash((blake2xs_init, blake2xs_update, blake2xs_final)),
        }
    }

    /// A state that may hold anything, or one that was begun.
    fn hash<S>(&self, (init, update, finish): (Init<S>, Update<S>, Final<S>)) {
        let mut memory = vec![0_u64; size_of::<S>() / 8];
        for (word, bytes) in memory.iter_mut().zip(self.state.chunks(8)) {
            *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        let mut out = vec![0_u8; self.room.into()];
        let state = memory.as_mut_ptr().cast::<S>();
        if let Some(length) = self.fresh {
            // SAFETY: room for a state.
            unsafe { init(state, length.into()) };
        }
        for piece in &self.pieces {
            // SAFETY: a state, and as many bytes as is said.
            unsafe { update(state, piece.as_ptr().cast(), piece.len()) };
        }
        // SAFETY: as above.
        unsafe { finish(state, out.as_mut_ptr().cast(), out.len()) };
    }
}

fn whole(message: &Option<Vec<u8>>, key: &Option<Vec<u8>>, length: u8, function: u8) {
    use blake2::*;
    let mut out = vec![0_u8; length.into()];
    let ((message, len), (key, key_len)) = (parts(message), parts(key));
    let (out, room) = (out.as_mut_ptr().cast(), out.len());
    let functions = [blake2, blake2b, blake2s, blake2bp, blake2sp, blake2xb, blake2xs];
    let hash = functions[usize::from(function) % functions.len()];
    // SAFETY: as many bytes as is said.
    unsafe { hash(out, room, message.cast(), len, key.cast(), key_len) };
}

/// What a site says of any stored string, without computing anything.
fn stored(text: &Text, room: u16) {
    static SITE: OnceLock<usize> = OnceLock::new();
    let site = *SITE.get_or_init(|| {
        let mut site = ptr::null_mut();
        let policy = c"[pool]\nthreads = 1\n".as_ptr();
        // SAFETY: a string, null pointers, and a place for a handle.
        let status =
            unsafe { saltern::saltern_open_text(policy, ptr::null(), &mut site, ptr::null_mut()) };
        assert_eq!(status, 0);
        site.addr()
    });
    let site = ptr::with_exposed_provenance(site);
    let mut out = vec![0_u8; room.into()];
    let (text, message) = (pointer(text), ptr::null_mut());
    let mut reasons = 0;
    // SAFETY: a handle, a string or a null pointer, and as much room as is said.
    unsafe {
        let status = saltern::saltern_needs_rehash(site, text, &mut reasons, message);
        assert!((-5..=0).contains(&status));
        let status =
            saltern::saltern_rekey(site, text, out.as_mut_ptr().cast(), out.len(), message);
        assert!((-5..=0).contains(&status));
    }
}

fn run(call: Call) {
    match call {
        Call::Crypt(call) => call.call(),
        Call::Gensalt(call) => call.call(),
        Call::Check(setting) => {
            // SAFETY: a string or a null pointer.
            if is_ours(&setting) {
                assert!(unsafe { crypt::saltern_crypt_checksalt(pointer(&setting)) } <= 1);
            }
        }
        Call::Yescrypt(call) => call.call(),
        Call::Kdf(call) => call.call(),
        Call::Encode { params, nrom, salt, room } => encode(params, nrom, &salt, room),
        Call::Reencrypt { hash, keys } => reencrypt(hash, &keys),
        Call::Blake2(call) => call.call(),
        Call::Whole { message, key, length, function } => whole(&message, &key, length, function),
        Call::Stored { text, room } => stored(&text, room),
    }
}

fuzz_target!(|calls: Vec<Call>| calls.into_iter().take(8).for_each(run));
