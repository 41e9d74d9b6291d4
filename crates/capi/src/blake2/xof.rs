//! BLAKE2Xb and BLAKE2Xs in pieces.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_int, c_void};

use saltern_blake2::{Blake2b, Blake2s};
use zeroize::{Zeroize, Zeroizing};

use super::node::put;
use super::state::State;
use super::state::kind::{
    Kind, params, set_leaf_length, set_node, set_node_offset, set_xof_length, xof_length,
};
use super::{answer, with};
use crate::boundary::{bytes, write};

/// `blake2xb_state`, `blake2xs_state`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Xof<K: Kind> {
    root: State<K>,
    params: K::Param,
}

impl<K: Kind> Xof<K> {
    /// What is said of a length that is not known.
    const UNKNOWN: u32 = u32::MAX >> (32 - 8 * K::XOF_LENGTH);

    /// A hash with an output of so many bytes.
    fn new(outlen: usize, key: &[u8]) -> Option<Self> {
        let length = u32::try_from(outlen).ok().filter(|len| (1..=Self::UNKNOWN).contains(len))?;
        if key.len() > K::OUT_BYTES {
            return None;
        }
        let mut params = params::<K>(K::OUT_BYTES, key.len(), 1, 1);
        set_xof_length::<K>(&mut params, length);
        let mut root = State::new(&params);
        if !key.is_empty() {
            root.absorb_key(key)?;
        }
        Some(Xof { root, params })
    }

    /// Gives the output, piece by piece.
    fn close(&mut self, outlen: usize, mut give: impl FnMut(usize, &[u8])) -> Option<()> {
        let stated = xof_length::<K>(&self.params);
        let fits = if stated == Self::UNKNOWN { outlen > 0 } else { outlen == stated as usize };
        let blocks = u32::try_from(outlen.div_ceil(K::OUT_BYTES)).ok().filter(|_| fits)?;
        let root: Zeroizing<[u8; 64]> = self.root.close()?;
        let mut node = self.params;
        node.as_mut()[1..4].fill(0);
        set_leaf_length::<K>(&mut node, K::OUT_BYTES as u32);
        set_node::<K>(&mut node, 0, K::OUT_BYTES);
        for number in 0..blocks {
            let at = number as usize * K::OUT_BYTES;
            let len = (outlen - at).min(K::OUT_BYTES);
            node.as_mut()[0] = len as u8;
            set_node_offset::<K>(&mut node, number);
            let mut state = State::<K>::new(&node);
            state.absorb(&root[..K::OUT_BYTES])?;
            give(at, &state.close()?[..len]);
        }
        Some(())
    }
}

/// # Safety
/// As `blake2.h` says.
unsafe fn init<K: Kind>(
    xof: *mut Xof<K>,
    outlen: usize,
    (key, len): (*const c_void, usize),
) -> c_int {
    answer(|| {
        // SAFETY: as many bytes as is said.
        let key = unsafe { bytes(key.cast(), len) }?;
        let mut new = Xof::new(outlen, key)?;
        // SAFETY: by the contract above; what was there does not matter.
        let done = unsafe { put(xof, &new) };
        new.root.buf.as_mut().zeroize();
        done
    })
}

/// # Safety
/// As `blake2.h` says.
unsafe fn update<K: Kind>(xof: *mut Xof<K>, input: *const c_void, len: usize) -> c_int {
    let work = |xof: &mut Xof<K>, data: &[u8]| xof.root.absorb(data);
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(xof, (input.cast(), len), work) }
}

/// # Safety
/// As `blake2.h` says.
unsafe fn finish<K: Kind>(xof: *mut Xof<K>, out: *mut c_void, outlen: usize) -> c_int {
    let work = |xof: &mut Xof<K>, _: &[u8]| {
        if out.is_null() {
            return None;
        }
        // SAFETY: pieces of an output for which the caller has room.
        xof.close(outlen, |at, bytes| unsafe { write(out.cast::<u8>().add(at), bytes) })
    };
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(xof, (std::ptr::null(), 0), work) }
}

/// Stamps the entries of one function.
macro_rules! entries {
    ($kind:ty, $init:ident, $init_key:ident, $update:ident, $final:ident) => {
        /// Begins a hash with an output of `outlen` bytes: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init(xof: *mut Xof<$kind>, outlen: usize) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(xof, outlen, (std::ptr::null(), 0)) }
        }

        /// The same with a key: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init_key(
            xof: *mut Xof<$kind>,
            outlen: usize,
            key: *const c_void,
            keylen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(xof, outlen, (key, keylen)) }
        }

        /// More of the message: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $update(
            xof: *mut Xof<$kind>,
            input: *const c_void,
            inlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { update(xof, input, inlen) }
        }

        /// The output: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $final(
            xof: *mut Xof<$kind>,
            out: *mut c_void,
            outlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { finish(xof, out, outlen) }
        }
    };
}

entries!(Blake2b, blake2xb_init, blake2xb_init_key, blake2xb_update, blake2xb_final);
entries!(Blake2s, blake2xs_init, blake2xs_init_key, blake2xs_update, blake2xs_final);
