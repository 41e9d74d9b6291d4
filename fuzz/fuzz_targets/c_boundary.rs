//! The functions for C with whatever bytes, lengths, rooms, structs and null pointers: none reads
//! or writes beyond what it was given (AddressSanitizer looks), none panics into C, and where there
//! is an answer it is one.
#![no_main]

use std::ffi::{CStr, CString, c_char, c_int, c_ulong};
use std::ptr;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use saltern_capi::{blake2, crypt, yescrypt};

/// A string, or a null pointer.
type Text = Option<CString>;

#[derive(Arbitrary, Debug)]
enum Call {
    Crypt { phrase: Text, setting: Text, room: u16, function: u8 },
    Gensalt { prefix: Text, count: c_ulong, random: Option<Vec<u8>>, room: u8 },
    Check { setting: Text },
    Yescrypt { password: Vec<u8>, setting: Text, key: Option<[u8; 32]>, room: u8 },
    Kdf { password: Option<Vec<u8>>, salt: Vec<u8>, params: [u32; 6], nrom: u64, length: u8 },
    Encode { params: [u32; 6], nrom: u64, salt: Vec<u8>, room: u8 },
    Reencrypt { hash: CString, keys: [Option<[u8; 32]>; 2] },
    Blake2 { state: Vec<u8>, fresh: Option<u8>, pieces: Vec<Vec<u8>>, room: u8, tree: bool },
    Whole { message: Option<Vec<u8>>, key: Option<Vec<u8>>, length: u8, function: u8 },
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

fn run(call: Call) {
    match call {
        Call::Crypt { phrase, setting, room, function } => {
            if !is_ours(&setting) || !is_light(&setting) {
                return;
            }
            let (phrase, setting) = (pointer(&phrase), pointer(&setting));
            let mut data = vec![0_u8; usize::from(room)];
            let answer = match function % 3 {
                0 => unsafe { crypt::saltern_crypt(phrase, setting) },
                1 => unsafe {
                    crypt::saltern_crypt_rn(phrase, setting, data.as_mut_ptr().cast(), room.into())
                },
                _ => {
                    let (mut grown, mut size): (_, c_int) = (ptr::null_mut(), 0);
                    let made =
                        unsafe { crypt::saltern_crypt_ra(phrase, setting, &mut grown, &mut size) };
                    assert!(made.is_null() || unsafe { *made } as u8 == b'$');
                    unsafe { libc::free(grown) };
                    return;
                }
            };
            if !answer.is_null() {
                let first = unsafe { CStr::from_ptr(answer) }.to_bytes()[0];
                assert!(first == b'$' || first == b'*' && function % 3 == 0);
            }
        }
        Call::Gensalt { prefix, count, random, room } => {
            if prefix.is_some() && !is_ours(&prefix) {
                return;
            }
            let mut output = vec![0; usize::from(room)];
            let (start, len) = parts(&random);
            let (prefix, output, room) = (pointer(&prefix), output.as_mut_ptr(), c_int::from(room));
            unsafe {
                crypt::saltern_crypt_gensalt_rn(
                    prefix,
                    count,
                    start.cast(),
                    len as c_int,
                    output,
                    room,
                )
            };
        }
        Call::Check { setting } => {
            if is_ours(&setting) {
                assert!(unsafe { crypt::saltern_crypt_checksalt(pointer(&setting)) } <= 1);
            }
        }
        Call::Yescrypt { password, setting, key, room } => {
            if !is_light(&setting) {
                return;
            }
            let mut local = [0_usize; 4];
            let mut buffer = vec![0_u8; usize::from(room)];
            let key = key.as_ref().map_or(ptr::null(), ptr::from_ref);
            let local = local.as_mut_ptr().cast();
            unsafe {
                let (word, len) = (password.as_ptr(), password.len());
                let setting = pointer(&setting).cast();
                let out = (buffer.as_mut_ptr(), buffer.len());
                yescrypt::yescrypt_r(ptr::null(), local, word, len, setting, key, out.0, out.1);
                yescrypt::yescrypt_free_local(local);
            }
        }
        Call::Kdf { password, salt, params, nrom, length } => {
            let raw = raw_params(params, nrom);
            let [_, n, r, p, t, _] = params.map(u64::from);
            if n.saturating_mul(r).saturating_mul(p.max(1)).saturating_mul(t + 1) > 1 << 13 {
                return;
            }
            let mut local = [0_usize; 4];
            let mut out = vec![0_u8; usize::from(length)];
            let local = local.as_mut_ptr().cast();
            let ((word, len), (salt, salt_len)) = (parts(&password), (salt.as_ptr(), salt.len()));
            unsafe {
                let (out, room, raw) = (out.as_mut_ptr(), out.len(), raw.as_ptr().cast());
                yescrypt::yescrypt_kdf(
                    ptr::null(),
                    local,
                    word,
                    len,
                    salt,
                    salt_len,
                    raw,
                    out,
                    room,
                );
                yescrypt::yescrypt_free_local(local);
            }
        }
        Call::Encode { params, nrom, salt, room } => {
            let raw = raw_params(params, nrom);
            let mut buffer = vec![0_u8; usize::from(room)];
            let (out, len) = (buffer.as_mut_ptr(), buffer.len());
            let (salt, salt_len) = (salt.as_ptr(), salt.len());
            unsafe {
                yescrypt::yescrypt_encode_params_r(raw.as_ptr().cast(), salt, salt_len, out, len)
            };
        }
        Call::Reencrypt { hash, keys } => {
            let mut text = hash.into_bytes_with_nul();
            let [from, to] =
                keys.each_ref().map(|key| key.as_ref().map_or(ptr::null(), ptr::from_ref));
            unsafe { yescrypt::yescrypt_reencrypt(text.as_mut_ptr(), from, to) };
        }
        Call::Blake2 { state, fresh, pieces, room, tree } => hash(state, fresh, pieces, room, tree),
        Call::Whole { message, key, length, function } => {
            let mut out = vec![0_u8; usize::from(length)];
            let ((message, len), (key, key_len)) = (parts(&message), parts(&key));
            let (out, room) = (out.as_mut_ptr().cast(), out.len());
            let whole =
                [blake2::blake2b, blake2::blake2s, blake2::blake2bp][usize::from(function % 3)];
            unsafe { whole(out, room, message.cast(), len, key.cast(), key_len) };
        }
    }
}

/// `yescrypt_params_t`, with holes: flags, N, r, p, t, g, NROM.
fn raw_params([flags, n, r, p, t, g]: [u32; 6], nrom: u64) -> [u64; 6] {
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    [u64::from(flags), u64::from(n), pair(r, p), pair(t, g), nrom, 0]
}

/// A state that may hold anything, or one that was begun.
fn hash(state: Vec<u8>, fresh: Option<u8>, pieces: Vec<Vec<u8>>, room: u8, tree: bool) {
    let mut memory = [0_u64; 512];
    for (word, bytes) in memory.iter_mut().zip(state.chunks(8)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    let mut out = vec![0_u8; usize::from(room)];
    let place = memory.as_mut_ptr();
    unsafe {
        if let Some(length) = fresh {
            match tree {
                true => blake2::blake2bp_init(place.cast(), length.into()),
                false => blake2::blake2b_init(place.cast(), length.into()),
            };
        }
        for piece in &pieces {
            let (start, len) = (piece.as_ptr().cast(), piece.len());
            match tree {
                true => blake2::blake2bp_update(place.cast(), start, len),
                false => blake2::blake2b_update(place.cast(), start, len),
            };
        }
        match tree {
            true => blake2::blake2bp_final(place.cast(), out.as_mut_ptr().cast(), out.len()),
            false => blake2::blake2b_final(place.cast(), out.as_mut_ptr().cast(), out.len()),
        };
    }
}

fuzz_target!(|calls: Vec<Call>| calls.into_iter().take(8).for_each(run));
