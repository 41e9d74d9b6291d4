//! Calls of C functions that are short enough for Miri (`scripts/test miri`), which looks at the
//! pointers: what they read and write, and what they refuse.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use saltern_capi::{blake2, yescrypt};
use saltern_testing::hex::unhex;

type Init<S> = unsafe extern "C" fn(*mut S, usize) -> c_int;
type Update<S> = unsafe extern "C" fn(*mut S, *const c_void, usize) -> c_int;
type Final<S> = unsafe extern "C" fn(*mut S, *mut c_void, usize) -> c_int;
type Whole =
    unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize, *const c_void, usize) -> c_int;

/// A message in two pieces equals the whole one; a state that is misaligned is refused.
fn in_pieces<S>(init: Init<S>, update: Update<S>, finish: Final<S>, whole: Whole) {
    let (message, mut out, mut expected) = ([0x5a_u8; 131], [0_u8; 32], [0_u8; 32]);
    let mut memory = vec![0_u64; size_of::<S>() / 8 + 1];
    let state = memory.as_mut_ptr().cast::<S>();
    // SAFETY: room for a state, and as many bytes as is said.
    unsafe {
        assert_eq!(init(state, 32), 0);
        assert_eq!(update(state, message.as_ptr().cast(), 3), 0);
        assert_eq!(update(state, message[3..].as_ptr().cast(), 128), 0);
        assert_eq!(finish(state, out.as_mut_ptr().cast(), 32), 0);
    }
    let (place, start) = (expected.as_mut_ptr().cast(), message.as_ptr().cast());
    // SAFETY: as many bytes as is said.
    assert_eq!(unsafe { whole(place, 32, start, 131, null(), 0) }, 0);
    assert_eq!(out, expected);
    let misplaced = state.wrapping_byte_add(1);
    // SAFETY: room for a state, though not where one may be, or none.
    unsafe {
        assert_eq!((init(misplaced, 32), init(null_mut(), 32)), (-1, -1));
        assert_eq!((update(misplaced, start, 3), update(state, null(), 3)), (-1, -1));
        assert_eq!(update(state, start, usize::MAX), -1);
    }
}

#[test]
fn blake2_in_pieces() {
    use blake2::*;
    in_pieces(blake2b_init, blake2b_update, blake2b_final, blake2b);
    in_pieces(blake2s_init, blake2s_update, blake2s_final, blake2s);
    in_pieces(blake2bp_init, blake2bp_update, blake2bp_final, blake2bp);
    in_pieces(blake2sp_init, blake2sp_update, blake2sp_final, blake2sp);
    in_pieces(blake2xb_init, blake2xb_update, blake2xb_final, blake2xb);
    in_pieces(blake2xs_init, blake2xs_update, blake2xs_final, blake2xs);
}

/// The output may take the place of the message.
#[test]
fn an_output_over_its_message() {
    let mut memory = [0_u8; 64];
    memory[..3].copy_from_slice(b"abc");
    let place = memory.as_mut_ptr();
    // SAFETY: 64 bytes, of which three are the message.
    let status = unsafe { blake2::blake2b(place.cast(), 64, place.cast(), 3, null(), 0) };
    assert_eq!((status, &memory[..4]), (0, &[0xba, 0x80, 0xa5, 0x3f][..]));
}

/// The same for a derived key over its password, as the first case of `small.rs` of yescrypt.
#[test]
fn scrypt_through_its_pointers() {
    let (salt, mut out) = (b"salt", [0_u8; 33]);
    out[..8].copy_from_slice(b"password");
    let place = out.as_mut_ptr();
    // SAFETY: as many bytes as is said.
    let scrypt =
        |r, p| unsafe { yescrypt::crypto_scrypt(place, 8, salt.as_ptr(), 4, 4, r, p, place, 32) };
    assert_eq!((scrypt(0, 2), scrypt(1, 2)), (-1, 0));
    let expected = unhex("89fd95bc94b200c0de46e80ed609399f114945306cef211b3d2bc32696ab2cd9");
    assert_eq!((&out[..32], out[32]), (&*expected, 0));
}

#[test]
fn a_string_is_encrypted_in_its_place_and_back() {
    let text = b"$y$j75$SALT$0aF0Lgt4Fz2/6rSjb8Jo.O7Bq7qcm5Rsr7PeXUfK3x3\0";
    let (mut memory, key) = (*text, [7_u8; 32]);
    let place = memory.as_mut_ptr();
    // SAFETY: a string, and keys or null pointers.
    unsafe {
        assert_eq!(yescrypt::yescrypt_reencrypt(place, null(), &raw const key), place);
        let hidden = CStr::from_ptr(place.cast()).to_bytes();
        assert!(hidden.len() == text.len() - 1 && hidden != &text[..hidden.len()]);
        assert_eq!(yescrypt::yescrypt_reencrypt(place, &raw const key, null()), place);
        assert!(yescrypt::yescrypt_reencrypt(null_mut(), null(), null()).is_null());
    }
    assert_eq!(memory, *text);
}
