//! One sequential hash in a struct of C: `blake2b_state`, `blake2s_state`.

pub(super) mod kind;

use saltern_blake2::hazmat::{self, Word, join, split};
use saltern_wipe::{Zeroize, Zeroizing};

use self::kind::{Kind, params};
use super::running::Running;

/// The struct, for both functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct State<K: Kind> {
    pub(super) h: [K::Word; 8],
    /// Bytes compressed, the lower word first.
    pub(super) t: [K::Word; 2],
    /// Not zero after the last block.
    pub(super) f: [K::Word; 2],
    pub(super) buf: <K::Word as Word>::Block,
    pub(super) buflen: usize,
    pub(super) outlen: usize,
    pub(super) last_node: u8,
}

impl<K: Kind> State<K> {
    pub(super) fn new(params: &K::Param) -> Self {
        State {
            h: hazmat::initial::<K>(params.as_ref()),
            t: split::<K>(0),
            f: split::<K>(0),
            buf: K::Word::ZERO_BLOCK,
            buflen: 0,
            outlen: usize::from(params.as_ref()[0]),
            last_node: 0,
        }
    }

    /// Compresses the last block, once, and returns the hash, of which the first bytes count.
    pub(super) fn last(&mut self) -> Option<Zeroizing<[u8; 64]>> {
        let over = self.f[0] != K::Word::default();
        let rest = self.buf.as_ref().get(..self.buflen).filter(|_| !over)?;
        let (last, count) = (self.last_node != 0, join::<K>(self.t));
        hazmat::finish::<K>(&mut self.h, count, rest, last);
        self.t = split::<K>(count.wrapping_add(self.buflen as u128));
        self.f = [K::ALL_ONES, if last { K::ALL_ONES } else { self.f[1] }];
        self.buf.as_mut().zeroize();
        let mut hash = Zeroizing::new([0; 64]);
        Word::write(&self.h, &mut *hash);
        Some(hash)
    }

    /// Bytes compressed.
    pub(super) fn count(&self) -> u128 {
        join::<K>(self.t)
    }

    pub(super) fn set_count(&mut self, count: u128) {
        self.t = split::<K>(count);
    }

    /// Whether an output and a key may be this long.
    pub(super) fn are_lengths(outlen: usize, keylen: Option<usize>) -> Option<()> {
        let fits = |len| (1..=K::OUT_BYTES).contains(&len);
        (fits(outlen) && keylen.is_none_or(fits)).then_some(())
    }

    /// How many bytes of the hash to return; `None` if there is not enough room.
    pub(super) fn given(stated: usize, outlen: usize) -> Option<usize> {
        (stated <= outlen.min(K::OUT_BYTES)).then_some(stated)
    }
}

impl<K: Kind> Running for State<K> {
    fn begin(outlen: usize, keylen: Option<usize>) -> Option<Self> {
        Self::are_lengths(outlen, keylen)?;
        Some(State::new(&params::<K>(outlen, keylen.unwrap_or(0), 1, 1)))
    }

    fn absorb_key(&mut self, key: &[u8]) -> Option<()> {
        // Padded to a block.
        let mut block = Zeroizing::new([0; 128]);
        block.get_mut(..key.len())?.copy_from_slice(key);
        self.absorb(&block[..K::BLOCK_BYTES])
    }

    fn absorb(&mut self, data: &[u8]) -> Option<()> {
        let block = K::BLOCK_BYTES;
        let room = block.checked_sub(self.buflen)?;
        let mut rest = data;
        if data.len() > room {
            let (head, tail) = data.split_at(room);
            self.buf.as_mut()[self.buflen..].copy_from_slice(head);
            let count = join::<K>(self.t);
            let count = hazmat::absorb::<K>(&mut self.h, count, self.buf.as_ref());
            // At least one byte stays: it may be the last block.
            let (blocks, tail) = tail.split_at((tail.len() - 1) / block * block);
            self.t = split::<K>(hazmat::absorb::<K>(&mut self.h, count, blocks));
            (self.buflen, rest) = (0, tail);
        }
        self.buf.as_mut()[self.buflen..self.buflen + rest.len()].copy_from_slice(rest);
        self.buflen += rest.len();
        Some(())
    }

    fn close(&mut self, outlen: usize, mut give: impl FnMut(usize, &[u8])) -> Option<()> {
        let given = Self::given(self.outlen, outlen)?;
        give(0, &self.last()?[..given]);
        Some(())
    }

    fn wipe(&mut self) {
        self.buf.as_mut().zeroize();
    }
}
