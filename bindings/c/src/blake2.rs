//! The interface of the BLAKE2 project's C library: names, structs and values are its
//! (`include/blake2.h`). States are plain: copied by assignment, never freed, without a pointer.
#![allow(unsafe_code, reason = "functions for C")]

mod entries;
mod running;
mod simple;
mod state;
mod tree;
mod xof;

use std::ffi::c_int;

pub use self::entries::{
    blake2b_final, blake2b_init, blake2b_init_key, blake2b_init_param, blake2b_update,
    blake2bp_final, blake2bp_init, blake2bp_init_key, blake2bp_update, blake2s_final, blake2s_init,
    blake2s_init_key, blake2s_init_param, blake2s_update, blake2sp_final, blake2sp_init,
    blake2sp_init_key, blake2sp_update, blake2xb_final, blake2xb_init, blake2xb_init_key,
    blake2xb_update, blake2xs_final, blake2xs_init, blake2xs_init_key, blake2xs_update,
};
pub use self::simple::{blake2, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs};

use crate::boundary::{bytes, guard, object_mut};

/// 0 on success, -1 otherwise.
fn answer(body: impl FnOnce() -> Option<()>) -> c_int {
    if guard(None, body).is_some() { 0 } else { -1 }
}

/// Does something with a state and bytes outside it.
///
/// # Safety
/// `state` points to a state, and `start` to `len` bytes; either may be null.
unsafe fn with<S>(
    state: *mut S,
    (start, len): (*const u8, usize),
    work: impl FnOnce(&mut S, &[u8]) -> Option<()>,
) -> c_int {
    answer(|| {
        // SAFETY: by the contract above.
        let (state, bytes) = unsafe { (object_mut(state), bytes(start, len)) };
        work(state?, bytes?)
    })
}
