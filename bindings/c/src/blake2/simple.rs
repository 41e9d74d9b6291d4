//! A whole message in one call. No state is kept, so the fastest code for a whole message is used.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_int, c_void};

use saltern_blake2::{Blake2b, Blake2s};
use saltern_blake2::{blake2b as b, blake2bp as bp, blake2s as s, blake2sp as sp};
use saltern_blake2::{blake2xb as xb, blake2xs as xs};

use super::answer;
use super::xof::Xof;
use crate::boundary::{bytes, write, zeros};

/// Message and key as slices, and an output at any address: also that of the message, so `hash`,
/// which borrows the message until it returns, does not write it.
///
/// # Safety
/// As `blake2.h` says.
unsafe fn whole<H: AsRef<[u8]>>(
    (out, outlen): (*mut c_void, usize),
    (input, inlen): (*const c_void, usize),
    (key, keylen): (*const c_void, usize),
    hash: impl FnOnce(&[u8], &[u8]) -> Option<H>,
) -> c_int {
    answer(|| {
        // SAFETY: as many bytes as is said.
        let (input, key) = unsafe { (bytes(input.cast(), inlen), bytes(key.cast(), keylen)) };
        let (input, key) = (input?, key?);
        if out.is_null() || outlen == 0 {
            return None;
        }
        let hash = hash(input, key)?;
        // SAFETY: as much room as is said; the message, which may be there, is not read any more.
        unsafe { write(out.cast(), hash.as_ref()) };
        Some(())
    })
}

/// Stamps the entry of a function with an output of one block.
macro_rules! entry {
    ($name:ident, $module:ident) => {
        /// The hash of a whole message: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            out: *mut c_void,
            outlen: usize,
            input: *const c_void,
            inlen: usize,
            key: *const c_void,
            keylen: usize,
        ) -> c_int {
            let hash = |input: &[u8], key: &[u8]| {
                let params = $module::Params::new().hash_length(outlen).ok()?.key(key).ok()?;
                Some(params.hash(input))
            };
            // SAFETY: what the caller guarantees is passed on.
            unsafe { whole((out, outlen), (input, inlen), (key, keylen), hash) }
        }
    };
}

/// Stamps the entry of a function with an output of any length.
macro_rules! long_entry {
    ($name:ident, $module:ident, $kind:ident) => {
        /// The output for a whole message: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            out: *mut c_void,
            outlen: usize,
            input: *const c_void,
            inlen: usize,
            key: *const c_void,
            keylen: usize,
        ) -> c_int {
            let hash = |input: &[u8], key: &[u8]| {
                let mut params = $module::Params::new().key(key).ok()?;
                // The largest number means an unknown length.
                if outlen != Xof::<$kind>::UNKNOWN as usize {
                    params = params.output_length(outlen as u64).ok()?;
                }
                let mut output = zeros(outlen)?;
                params.to_hasher().update(input).finalize().fill(&mut output).ok()?;
                Some(output)
            };
            // SAFETY: what the caller guarantees is passed on.
            unsafe { whole((out, outlen), (input, inlen), (key, keylen), hash) }
        }
    };
}

entry!(blake2, b);
entry!(blake2b, b);
entry!(blake2s, s);
entry!(blake2bp, bp);
entry!(blake2sp, sp);
long_entry!(blake2xb, xb, Blake2b);
long_entry!(blake2xs, xs, Blake2s);
