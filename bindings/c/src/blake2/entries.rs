//! The functions for a message in pieces, which are the same for every struct of `blake2.h`.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_int, c_void};

use saltern_blake2::{Blake2b, Blake2s};

use super::running::Running;
use super::state::State;
use super::state::kind::Kind;
use super::tree::Tree;
use super::xof::Xof;
use super::{answer, with};
use crate::boundary::{bytes, copied, put, write};

/// # Safety
/// As `blake2.h` says.
unsafe fn init<R: Running>(
    place: *mut R,
    outlen: usize,
    key: Option<(*const c_void, usize)>,
) -> c_int {
    answer(|| {
        let key = match key {
            // SAFETY: as many bytes as is said.
            Some((start, len)) => Some(unsafe { bytes(start.cast(), len) }?),
            None => None,
        };
        let mut new = R::begin(outlen, key.map(<[u8]>::len))?;
        if let Some(key) = key {
            new.absorb_key(key)?;
        }
        // SAFETY: by the contract above; what was there does not matter.
        let done = unsafe { put(place, &new) };
        new.wipe();
        done
    })
}

/// # Safety
/// As `blake2.h` says.
unsafe fn init_param<K: Kind>(place: *mut State<K>, params: *const K::Param) -> c_int {
    answer(|| {
        // SAFETY: a parameter block, which has no alignment, and room for a state.
        unsafe { put(place, &State::new(&copied(params)?)) }
    })
}

/// # Safety
/// As `blake2.h` says.
unsafe fn update<R: Running>(state: *mut R, input: *const c_void, len: usize) -> c_int {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(state, (input.cast(), len), R::absorb) }
}

/// # Safety
/// As `blake2.h` says.
unsafe fn finish<R: Running>(state: *mut R, out: *mut c_void, outlen: usize) -> c_int {
    let work = |state: &mut R, _: &[u8]| {
        if out.is_null() {
            return None;
        }
        // SAFETY: pieces of an output for which the caller has room.
        state.close(outlen, |at, bytes| unsafe { write(out.cast::<u8>().add(at), bytes) })
    };
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(state, (std::ptr::null(), 0), work) }
}

/// Stamps the entries of one function.
macro_rules! entries {
    ($state:ty, $init:ident, $init_key:ident, $update:ident, $final:ident) => {
        /// Begins a hash with an output of `outlen` bytes: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init(state: *mut $state, outlen: usize) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(state, outlen, None) }
        }

        /// The same with a key: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init_key(
            state: *mut $state,
            outlen: usize,
            key: *const c_void,
            keylen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(state, outlen, Some((key, keylen))) }
        }

        /// More of the message: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $update(
            state: *mut $state,
            input: *const c_void,
            inlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { update(state, input, inlen) }
        }

        /// The output: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $final(
            state: *mut $state,
            out: *mut c_void,
            outlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { finish(state, out, outlen) }
        }
    };
}

/// Stamps the entry that begins with a parameter block.
macro_rules! entry_param {
    ($kind:ty, $init_param:ident) => {
        /// Begins a hash with all of its parameters: see `blake2.h`.
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
    };
}

entries!(State<Blake2b>, blake2b_init, blake2b_init_key, blake2b_update, blake2b_final);
entries!(State<Blake2s>, blake2s_init, blake2s_init_key, blake2s_update, blake2s_final);
entries!(Tree<Blake2b>, blake2bp_init, blake2bp_init_key, blake2bp_update, blake2bp_final);
entries!(Tree<Blake2s>, blake2sp_init, blake2sp_init_key, blake2sp_update, blake2sp_final);
entries!(Xof<Blake2b>, blake2xb_init, blake2xb_init_key, blake2xb_update, blake2xb_final);
entries!(Xof<Blake2s>, blake2xs_init, blake2xs_init_key, blake2xs_update, blake2xs_final);
entry_param!(Blake2b, blake2b_init_param);
entry_param!(Blake2s, blake2s_init_param);
