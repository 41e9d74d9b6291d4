//! BLAKE2b and BLAKE2s in pieces.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_int, c_void};

use saltern_blake2::{Blake2b, Blake2s};
use zeroize::Zeroize;

use super::state::State;
use super::state::kind::{Kind, params};
use super::{answer, with};
use crate::boundary::{bytes, copied, write};

/// Whether an output may be this long.
pub(super) fn is_output<K: Kind>(outlen: usize) -> Option<()> {
    (1..=K::OUT_BYTES).contains(&outlen).then_some(())
}

/// Whether a key is one.
pub(super) fn is_key<K: Kind>(key: &[u8]) -> Option<()> {
    (1..=K::OUT_BYTES).contains(&key.len()).then_some(())
}

/// Begins a hash; without a key if there is none to be.
///
/// # Safety
/// As `blake2.h` says.
unsafe fn init<K: Kind>(
    state: *mut State<K>,
    outlen: usize,
    key: Option<(*const c_void, usize)>,
) -> c_int {
    answer(|| {
        is_output::<K>(outlen)?;
        let (start, len) = key.unwrap_or((std::ptr::null(), 0));
        let mut new = State::new(&params::<K>(outlen, len, 1, 1));
        if key.is_some() {
            // SAFETY: as many bytes as is said.
            let key = unsafe { bytes(start.cast(), len) }?;
            is_key::<K>(key)?;
            new.absorb_key(key)?;
        }
        // SAFETY: by the contract above; what was there does not matter.
        let done = unsafe { put(state, &new) };
        new.buf.as_mut().zeroize();
        done
    })
}

/// Writes a new state to where there may be none yet.
///
/// # Safety
/// A pointer that is aligned and not null has room for it.
pub(super) unsafe fn put<S: Copy>(place: *mut S, new: &S) -> Option<()> {
    if place.is_null() || !place.is_aligned() {
        return None;
    }
    // SAFETY: by the contract above.
    unsafe { place.copy_from_nonoverlapping(new, 1) };
    Some(())
}

/// # Safety
/// As `blake2.h` says.
unsafe fn init_param<K: Kind>(state: *mut State<K>, params: *const K::Param) -> c_int {
    answer(|| {
        // SAFETY: a parameter block, which has no alignment, and room for a state.
        unsafe { put(state, &State::new(&copied(params)?)) }
    })
}

/// # Safety
/// As `blake2.h` says.
unsafe fn update<K: Kind>(state: *mut State<K>, input: *const c_void, len: usize) -> c_int {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(state, (input.cast(), len), State::absorb) }
}

/// # Safety
/// As `blake2.h` says.
unsafe fn finish<K: Kind>(state: *mut State<K>, out: *mut c_void, outlen: usize) -> c_int {
    let work = |state: &mut State<K>, _: &[u8]| {
        if out.is_null() || outlen < state.outlen || state.outlen > K::OUT_BYTES {
            return None;
        }
        let hash = state.close()?;
        // SAFETY: at least as much room as the hash has bytes.
        unsafe { write(out.cast(), &hash[..state.outlen]) };
        Some(())
    };
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(state, (std::ptr::null(), 0), work) }
}

/// Stamps the entries of one function.
macro_rules! entries {
    ($kind:ty, $init:ident, $init_key:ident, $init_param:ident, $update:ident, $final:ident) => {
        /// Begins a hash of `outlen` bytes: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init(state: *mut State<$kind>, outlen: usize) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(state, outlen, None) }
        }

        /// The same with a key: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init_key(
            state: *mut State<$kind>,
            outlen: usize,
            key: *const c_void,
            keylen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(state, outlen, Some((key, keylen))) }
        }

        /// The same with a parameter block: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init_param(
            state: *mut State<$kind>,
            params: *const <$kind as Kind>::Param,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init_param(state, params) }
        }

        /// More of the message: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $update(
            state: *mut State<$kind>,
            input: *const c_void,
            inlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { update(state, input, inlen) }
        }

        /// The hash: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $final(
            state: *mut State<$kind>,
            out: *mut c_void,
            outlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { finish(state, out, outlen) }
        }
    };
}

entries!(
    Blake2b,
    blake2b_init,
    blake2b_init_key,
    blake2b_init_param,
    blake2b_update,
    blake2b_final
);
entries!(
    Blake2s,
    blake2s_init,
    blake2s_init_key,
    blake2s_init_param,
    blake2s_update,
    blake2s_final
);
