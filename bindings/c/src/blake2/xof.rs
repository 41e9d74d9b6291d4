//! BLAKE2Xb and BLAKE2Xs in pieces.

use super::running::Running;
use super::state::State;
use super::state::kind::{
    Kind, params, set_leaf_length, set_node, set_node_offset, set_xof_length, xof_length,
};

/// `blake2xb_state`, `blake2xs_state`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Xof<K: Kind> {
    root: State<K>,
    params: K::Param,
}

impl<K: Kind> Xof<K> {
    /// The value for an unknown length.
    pub(super) const UNKNOWN: u32 = u32::MAX >> (32 - K::XOF_LENGTH_BITS);
}

impl<K: Kind> Running for Xof<K> {
    fn begin(outlen: usize, keylen: Option<usize>) -> Option<Self> {
        let length = u32::try_from(outlen).ok().filter(|len| (1..=Self::UNKNOWN).contains(len))?;
        let keylen = keylen.unwrap_or(0);
        if keylen > K::OUT_BYTES {
            return None;
        }
        let mut params = params::<K>(K::OUT_BYTES, keylen, 1, 1);
        set_xof_length::<K>(&mut params, length);
        Some(Xof { root: State::new(&params), params })
    }

    fn absorb_key(&mut self, key: &[u8]) -> Option<()> {
        if key.is_empty() { Some(()) } else { self.root.absorb_key(key) }
    }

    fn absorb(&mut self, data: &[u8]) -> Option<()> {
        self.root.absorb(data)
    }

    fn close(&mut self, outlen: usize, mut give: impl FnMut(usize, &[u8])) -> Option<()> {
        let stated = xof_length::<K>(&self.params);
        let fits = if stated == Self::UNKNOWN { outlen > 0 } else { outlen == stated as usize };
        let blocks = u32::try_from(outlen.div_ceil(K::OUT_BYTES)).ok().filter(|_| fits)?;
        let root = self.root.last()?;
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
            give(at, &state.last()?[..len]);
        }
        Some(())
    }

    fn wipe(&mut self) {
        self.root.wipe();
    }
}
