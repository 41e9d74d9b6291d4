//! One sequential hash in a struct of C: `blake2b_state`, `blake2s_state`.
//!
//! What programs write into the struct can give a wrong hash or an error, and nothing worse.

pub(super) mod kind;

use saltern_blake2::hazmat;
use zeroize::{Zeroize, Zeroizing};

use self::kind::Kind;

/// The struct, in both functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct State<K: Kind> {
    pub(super) h: [K::Word; 8],
    /// Bytes compressed, the lower word first.
    pub(super) t: [K::Word; 2],
    /// Not zero after the last block.
    pub(super) f: [K::Word; 2],
    pub(super) buf: K::Block,
    pub(super) buflen: usize,
    pub(super) outlen: usize,
    pub(super) last_node: u8,
}

impl<K: Kind> State<K> {
    pub(super) fn new(params: &K::Param) -> Self {
        State {
            h: hazmat::initial::<K>(params.as_ref()),
            t: K::split(0),
            f: K::split(0),
            buf: K::NO_BLOCK,
            buflen: 0,
            outlen: usize::from(params.as_ref()[0]),
            last_node: 0,
        }
    }

    /// More of the message; none if the struct is no state.
    pub(super) fn absorb(&mut self, data: &[u8]) -> Option<()> {
        let block = K::BLOCK_BYTES;
        let room = block.checked_sub(self.buflen)?;
        let mut rest = data;
        if data.len() > room {
            let (head, tail) = data.split_at(room);
            self.buf.as_mut()[self.buflen..].copy_from_slice(head);
            let count = K::join(self.t);
            let count = hazmat::absorb::<K>(&mut self.h, count, self.buf.as_ref());
            // At least a byte stays: it may be the last block.
            let (blocks, tail) = tail.split_at((tail.len() - 1) / block * block);
            self.t = K::split(hazmat::absorb::<K>(&mut self.h, count, blocks));
            (self.buflen, rest) = (0, tail);
        }
        self.buf.as_mut()[self.buflen..self.buflen + rest.len()].copy_from_slice(rest);
        self.buflen += rest.len();
        Some(())
    }

    /// A key, padded to a block.
    pub(super) fn absorb_key(&mut self, key: &[u8]) -> Option<()> {
        let mut block = Zeroizing::new([0; 128]);
        block.get_mut(..key.len())?.copy_from_slice(key);
        self.absorb(&block[..K::BLOCK_BYTES])
    }

    /// Compresses the last block, once, and returns the hash, of which the first bytes count.
    pub(super) fn close(&mut self) -> Option<Zeroizing<[u8; 64]>> {
        let over = self.f[0] != K::split(0)[0];
        let rest = self.buf.as_ref().get(..self.buflen).filter(|_| !over)?;
        let last = self.last_node != 0;
        hazmat::finish::<K>(&mut self.h, K::join(self.t), rest, last);
        self.set_count(self.count().wrapping_add(self.buflen as u128));
        self.f = [K::ALL_ONES, if last { K::ALL_ONES } else { self.f[1] }];
        self.buf.as_mut().zeroize();
        Some(K::bytes(&self.h))
    }

    /// Bytes compressed.
    pub(super) fn count(&self) -> u128 {
        K::join(self.t)
    }

    pub(super) fn set_count(&mut self, count: u128) {
        self.t = K::split(count);
    }
}
