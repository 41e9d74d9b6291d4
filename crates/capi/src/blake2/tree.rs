//! BLAKE2bp and BLAKE2sp in pieces: leaves and root are states, a stripe has a block for each leaf.
#![allow(unsafe_code, reason = "functions for C")]

use std::ffi::{c_int, c_void};

use saltern_blake2::{Blake2b, Blake2s, hazmat};
use zeroize::{Zeroize, Zeroizing};

use super::node::{is_key, is_output, put};
use super::state::State;
use super::state::kind::{Kind, params, set_node, set_node_offset};
use super::{answer, with};
use crate::boundary::{bytes, write};

/// Bytes in a stripe: four blocks of 128, or eight of 64.
const STRIPE: usize = 512;

/// `blake2bp_state`, `blake2sp_state`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tree<K: Kind> {
    leaves: K::Leaves,
    root: State<K>,
    /// What is no whole stripe yet.
    buf: [u8; STRIPE],
    buflen: usize,
    outlen: usize,
}

impl<K: Kind> Tree<K> {
    fn new(outlen: usize, keylen: usize) -> Self {
        let fanout = K::LEAVES as u8;
        let node = |leaf: usize, depth: u8, last: bool| {
            let mut node = params::<K>(outlen, keylen, fanout, 2);
            set_node_offset::<K>(&mut node, leaf as u32);
            set_node::<K>(&mut node, depth, K::OUT_BYTES);
            State { last_node: u8::from(last), ..State::new(&node) }
        };
        let leaf = |at| State { outlen: K::OUT_BYTES, ..node(at, 0, at + 1 == K::LEAVES) };
        let root = node(0, 1, true);
        Tree { leaves: K::leaves(leaf), root, buf: [0; STRIPE], buflen: 0, outlen }
    }

    /// More of the message; none if the struct is no state.
    fn absorb(&mut self, data: &[u8]) -> Option<()> {
        let room = STRIPE.checked_sub(self.buflen)?;
        let mut rest = data;
        if self.buflen > 0 && data.len() >= room {
            let (head, tail) = data.split_at(room);
            self.buf[self.buflen..].copy_from_slice(head);
            let stripe = Zeroizing::new(self.buf);
            self.absorb_stripes(&*stripe)?;
            (self.buflen, rest) = (0, tail);
        }
        let (stripes, tail) = if self.buflen == 0 {
            rest.split_at(rest.len() / STRIPE * STRIPE)
        } else {
            (&[][..], rest)
        };
        self.absorb_stripes(stripes)?;
        self.buf[self.buflen..self.buflen + tail.len()].copy_from_slice(tail);
        self.buflen += tail.len();
        Some(())
    }

    /// Whole stripes, of which the last one stays in the leaves: it may hold the last block of
    /// each.
    fn absorb_stripes(&mut self, stripes: &[u8]) -> Option<()> {
        let Some(last) = stripes.len().checked_sub(STRIPE) else { return Some(()) };
        let block = K::BLOCK_BYTES;
        let leaves = self.leaves.as_mut();
        let mut pending = Zeroizing::new([0; STRIPE]);
        let held = leaves.iter().all(|leaf| leaf.buflen == block);
        if !held && leaves.iter().any(|leaf| leaf.buflen != 0) {
            return None;
        }
        for (pending, leaf) in pending.chunks_exact_mut(block).zip(&*leaves) {
            pending.copy_from_slice(leaf.buf.as_ref());
        }
        // One count serves all leaves, which have had as much.
        let mut count = leaves[0].count();
        let mut states: [[K::Word; 8]; 8] = [K::IV; 8];
        let states = &mut states[..K::LEAVES];
        for (state, leaf) in states.iter_mut().zip(&*leaves) {
            *state = leaf.h;
        }
        let (whole, last) = stripes.split_at(last);
        if held {
            count = hazmat::absorb_leaves::<K>(states, count, &*pending);
        }
        count = hazmat::absorb_leaves::<K>(states, count, whole);
        for ((leaf, state), last) in leaves.iter_mut().zip(states).zip(last.chunks_exact(block)) {
            leaf.h = *state;
            state.zeroize();
            leaf.set_count(count);
            leaf.buf.as_mut().copy_from_slice(last);
            leaf.buflen = block;
        }
        Some(())
    }

    /// The hash, of which the first bytes count.
    fn close(&mut self) -> Option<Zeroizing<[u8; 64]>> {
        let buffered = self.buf.get(..self.buflen)?;
        let mut parts = buffered.chunks(K::BLOCK_BYTES);
        for leaf in self.leaves.as_mut() {
            leaf.absorb(parts.next().unwrap_or_default())?;
            let hash = leaf.close()?;
            self.root.absorb(&hash[..K::OUT_BYTES])?;
        }
        self.buf.zeroize();
        self.root.close()
    }
}

/// # Safety
/// As `blake2.h` says.
unsafe fn init<K: Kind>(
    tree: *mut Tree<K>,
    outlen: usize,
    key: Option<(*const c_void, usize)>,
) -> c_int {
    answer(|| {
        is_output::<K>(outlen)?;
        let mut new = Tree::<K>::new(outlen, key.map_or(0, |key| key.1));
        if let Some((start, len)) = key {
            // SAFETY: as many bytes as is said.
            let key = unsafe { bytes(start.cast(), len) }?;
            is_key::<K>(key)?;
            new.leaves.as_mut().iter_mut().try_for_each(|leaf| leaf.absorb_key(key))?;
        }
        // SAFETY: by the contract above; what was there does not matter.
        let done = unsafe { put(tree, &new) };
        new.leaves.as_mut().iter_mut().for_each(|leaf| leaf.buf.as_mut().zeroize());
        done
    })
}

/// # Safety
/// As `blake2.h` says.
unsafe fn update<K: Kind>(tree: *mut Tree<K>, input: *const c_void, len: usize) -> c_int {
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(tree, (input.cast(), len), Tree::absorb) }
}

/// # Safety
/// As `blake2.h` says.
unsafe fn finish<K: Kind>(tree: *mut Tree<K>, out: *mut c_void, outlen: usize) -> c_int {
    let work = |tree: &mut Tree<K>, _: &[u8]| {
        if out.is_null() || outlen < tree.outlen || tree.outlen > K::OUT_BYTES {
            return None;
        }
        let hash = tree.close()?;
        // SAFETY: at least as much room as the hash has bytes.
        unsafe { write(out.cast(), &hash[..tree.outlen]) };
        Some(())
    };
    // SAFETY: what the caller guarantees is passed on.
    unsafe { with(tree, (std::ptr::null(), 0), work) }
}

/// Stamps the entries of one function.
macro_rules! entries {
    ($kind:ty, $init:ident, $init_key:ident, $update:ident, $final:ident) => {
        /// Begins a hash of `outlen` bytes: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init(tree: *mut Tree<$kind>, outlen: usize) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(tree, outlen, None) }
        }

        /// The same with a key: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $init_key(
            tree: *mut Tree<$kind>,
            outlen: usize,
            key: *const c_void,
            keylen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { init(tree, outlen, Some((key, keylen))) }
        }

        /// More of the message: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $update(
            tree: *mut Tree<$kind>,
            input: *const c_void,
            inlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { update(tree, input, inlen) }
        }

        /// The hash: see `blake2.h`.
        ///
        /// # Safety
        /// As `blake2.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $final(
            tree: *mut Tree<$kind>,
            out: *mut c_void,
            outlen: usize,
        ) -> c_int {
            // SAFETY: what the caller guarantees is passed on.
            unsafe { finish(tree, out, outlen) }
        }
    };
}

entries!(Blake2b, blake2bp_init, blake2bp_init_key, blake2bp_update, blake2bp_final);
entries!(Blake2s, blake2sp_init, blake2sp_init_key, blake2sp_update, blake2sp_final);
