//! BLAKE2bp and BLAKE2sp in pieces: leaves and root are states, a stripe has a block for each leaf.

use saltern_blake2::hazmat;
use saltern_wipe::{Zeroize, Zeroizing};

use super::running::Running;
use super::state::State;
use super::state::kind::{Kind, params, set_node, set_node_offset};

/// Bytes in a stripe: four blocks of 128, or eight of 64.
const STRIPE: usize = 512;

/// `blake2bp_state`, `blake2sp_state`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tree<K: Kind> {
    leaves: K::Leaves,
    root: State<K>,
    /// An incomplete stripe.
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
        // One count serves all leaves, which have absorbed equally much.
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
    fn last(&mut self) -> Option<Zeroizing<[u8; 64]>> {
        let buffered = self.buf.get(..self.buflen)?;
        let mut parts = buffered.chunks(K::BLOCK_BYTES);
        for leaf in self.leaves.as_mut() {
            leaf.absorb(parts.next().unwrap_or_default())?;
            self.root.absorb(&leaf.last()?[..K::OUT_BYTES])?;
        }
        self.buf.zeroize();
        self.root.last()
    }
}

impl<K: Kind> Running for Tree<K> {
    fn begin(outlen: usize, keylen: Option<usize>) -> Option<Self> {
        State::<K>::are_lengths(outlen, keylen)?;
        Some(Tree::new(outlen, keylen.unwrap_or(0)))
    }

    fn absorb_key(&mut self, key: &[u8]) -> Option<()> {
        self.leaves.as_mut().iter_mut().try_for_each(|leaf| leaf.absorb_key(key))
    }

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

    fn close(&mut self, outlen: usize, mut give: impl FnMut(usize, &[u8])) -> Option<()> {
        let given = State::<K>::given(self.outlen, outlen)?;
        give(0, &self.last()?[..given]);
        Some(())
    }

    fn wipe(&mut self) {
        self.leaves.as_mut().iter_mut().for_each(Running::wipe);
    }
}
