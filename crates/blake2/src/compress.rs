//! The compression function, written once. A [`Row`] is either one vector with four words of one
//! state, or four vectors with the words of many states side by side; nothing here knows which.

use saltern_simd::lanes::{Lanes, MAX_LANES, Row, Word};
use saltern_wipe::Zeroize;

use crate::function::{Function, State};

/// The most leaves of a parallel tree.
pub(crate) const MAX_LEAVES: usize = 8;

/// The message schedule (RFC 7693, section 2.7).
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// [`SIGMA`] as rows: first and second word of the four column steps, then of the four diagonal
/// steps, the latter in the order of the diagonals when the second row is left in place (see
/// [`round`]).
const ORDER: [[usize; 16]; 10] = {
    let positions = [0, 2, 4, 6, 1, 3, 5, 7, 14, 8, 10, 12, 15, 9, 11, 13];
    let mut order = [[0; 16]; 10];
    let mut i = 0;
    while i < 160 {
        order[i / 16][i % 16] = SIGMA[i / 16][positions[i % 16]];
        i += 1;
    }
    order
};

/// Four mixing functions side by side: down the columns of the matrix.
#[inline(always)]
fn mix<V: Function, R: Row<Word = V::Word>>([a, b, c, d]: [R; 4], x: R, y: R) -> [R; 4] {
    let [r1, r2, r3, r4] = V::ROTATIONS;
    // The message is added before b, which is the last of the four to be known.
    let a = a.add(x).add(b);
    let d = d.xor_rotate(a, r1);
    let c = c.add(d);
    let b = b.xor_rotate(c, r2).schedule_barrier();
    let a = a.add(y).add(b);
    let d = d.xor_rotate(a, r3);
    let c = c.add(d);
    let b = b.xor_rotate(c, r4).schedule_barrier();
    [a, b, c, d]
}

/// One round. The diagonals are brought into columns by turning the first, third and fourth row
/// instead of the second, third and fourth: the second is on the critical path, the others have
/// cycles to spare.
#[inline(always)]
fn round<V: Function, R: Row<Word = V::Word>, const ROUND: usize>(
    token: R::Token,
    v: [R; 4],
    message: &R::Message,
) -> [R; 4] {
    let [x, y, z, w] = R::schedule(token, message, const { &ORDER[ROUND % 10] });
    let [a, b, c, d] = mix::<V, R>(v, x, y);
    let turned = [a.rotate_words(3), b, c.rotate_words(1), d.rotate_words(2)];
    let [a, b, c, d] = mix::<V, R>(turned, z, w);
    [a.rotate_words(1), b, c.rotate_words(3), d.rotate_words(2)]
}

/// The compression function (RFC 7693, section 3.2). `offset` is the row of counter and flags: t0,
/// t1, f0, f1.
#[inline(always)]
pub(crate) fn compress<V: Function, R: Row<Word = V::Word>>(
    token: R::Token,
    [h0, h1]: [R; 2],
    message: &R::Message,
    offset: R,
) -> [R; 2] {
    let [i0, i1, i2, i3, i4, i5, i6, i7] = V::IV;
    let c = R::from_words(token, [i0, i1, i2, i3]);
    let d = R::from_words(token, [i4, i5, i6, i7]).xor(offset);
    let v = [h0, h1, c, d];
    // Written out because the schedule must be a constant of each round; a loop is not reliably
    // unrolled.
    let v = round::<V, R, 0>(token, v, message);
    let v = round::<V, R, 1>(token, v, message);
    let v = round::<V, R, 2>(token, v, message);
    let v = round::<V, R, 3>(token, v, message);
    let v = round::<V, R, 4>(token, v, message);
    let v = round::<V, R, 5>(token, v, message);
    let v = round::<V, R, 6>(token, v, message);
    let v = round::<V, R, 7>(token, v, message);
    let v = round::<V, R, 8>(token, v, message);
    let mut v = round::<V, R, 9>(token, v, message);
    if V::ROUNDS == 12 {
        v = round::<V, R, 10>(token, v, message);
        v = round::<V, R, 11>(token, v, message);
    }
    [h0.xor(v[0].xor(v[2])), h1.xor(v[1].xor(v[3]))]
}

/// Blocks of one message at a fixed distance.
pub(crate) struct Run<'a, V: Function> {
    /// The input, from the first block on.
    pub(crate) input: &'a [u8],
    /// Bytes from the start of a block to the start of the next.
    pub(crate) stride: usize,
    /// How many blocks; the last must end inside `input`.
    pub(crate) blocks: usize,
    /// The counter for the first block: bytes hashed, including that block.
    pub(crate) count: u128,
    /// f0 and f1, for all blocks.
    pub(crate) flags: [V::Word; 2],
}

/// Compresses a run into one state.
#[inline(always)]
pub(crate) fn one<V: Function, R: Row<Word = V::Word>>(
    token: R::Token,
    h: &mut State<V>,
    run: &Run<'_, V>,
) {
    let mut rows = rows::<V, R>(token, h);
    let mut count = run.count;
    for i in 0..run.blocks {
        let Some(block) = V::Word::first_block(&run.input[i * run.stride..]) else { break };
        let message = R::message(token, &[block]);
        let [low, high] = split::<V>(count);
        let offset = R::from_words(token, [low, high, run.flags[0], run.flags[1]]);
        rows = compress::<V, R>(token, rows, &message, offset);
        count = count.wrapping_add(V::BLOCK_BYTES as u128);
    }
    put::<V, R>(rows, h);
}

/// A state as two rows.
#[inline(always)]
pub(crate) fn rows<V: Function, R: Row<Word = V::Word>>(token: R::Token, h: &State<V>) -> [R; 2] {
    let [h0, h1, h2, h3, h4, h5, h6, h7] = *h;
    [R::from_words(token, [h0, h1, h2, h3]), R::from_words(token, [h4, h5, h6, h7])]
}

/// The inverse of [`rows`], in the first state.
#[inline(always)]
pub(crate) fn put<V: Function, R: Row<Word = V::Word>>([low, high]: [R; 2], h: &mut State<V>) {
    h[..4].copy_from_slice(&low.to_words());
    h[4..].copy_from_slice(&high.to_words());
}

/// A counter as its two words, the lower one first.
#[inline(always)]
pub fn split<V: Function>(count: u128) -> [V::Word; 2] {
    [V::Word::truncate(count), V::Word::truncate(count >> (8 * V::Word::BYTES))]
}

/// The counter of two words.
#[inline(always)]
pub fn join<V: Function>([low, high]: [V::Word; 2]) -> u128 {
    u128::from(low.to_u64()) | u128::from(high.to_u64()) << (8 * V::Word::BYTES)
}

/// States side by side: word `j` of state `i` is `h[j][i]`.
#[repr(C, align(64))]
pub(crate) struct Group<V: Function> {
    pub(crate) h: [[V::Word; MAX_LANES]; 8],
    /// t0, t1, f0, f1 of each: counters for the next block, including that block, and flags.
    offset: [[V::Word; MAX_LANES]; 4],
    /// Whether a state may depend on a key: then all are wiped at the end.
    pub(crate) is_secret: bool,
}

impl<V: Function> Drop for Group<V> {
    fn drop(&mut self) {
        if self.is_secret {
            self.h.zeroize();
        }
    }
}

impl<V: Function> Group<V> {
    pub(crate) fn new() -> Self {
        Self {
            h: [[V::Word::default(); MAX_LANES]; 8],
            offset: [[V::Word::default(); MAX_LANES]; 4],
            is_secret: false,
        }
    }

    /// Puts a state into a lane.
    pub(crate) fn set_state(&mut self, lane: usize, h: &State<V>) {
        for (words, &word) in self.h.iter_mut().zip(h) {
            words[lane] = word;
        }
    }

    /// The state in a lane.
    pub(crate) fn state(&self, lane: usize) -> State<V> {
        let mut h = [V::Word::default(); 8];
        for (word, words) in h.iter_mut().zip(&self.h) {
            *word = words[lane];
        }
        h
    }

    /// Sets a state's counter for the next block and its flags, with which all blocks of a run are
    /// compressed.
    pub(crate) fn set_offset(&mut self, lane: usize, count: u128, flags: [bool; 2]) {
        let [low, high] = split::<V>(count);
        let [f0, f1] = flags.map(|flag| if flag { V::ALL_ONES } else { V::Word::default() });
        for (words, word) in self.offset.iter_mut().zip([low, high, f0, f1]) {
            words[lane] = word;
        }
    }

    /// How many blocks the first `lanes` states can take before a counter's low word overflows; at
    /// least 1.
    pub(crate) fn room(&self, lanes: usize) -> usize {
        let highest = self.offset[0][..lanes].iter().map(|low| low.to_u64()).max().unwrap_or(0);
        let blocks = (V::ALL_ONES.to_u64() - highest) / V::BLOCK_BYTES as u64;
        usize::try_from(blocks).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// Advances the counters of the first `lanes` states by this many blocks.
    pub(crate) fn advance_count(&mut self, lanes: usize, blocks: usize) {
        for lane in 0..lanes {
            let count = join::<V>([self.offset[0][lane], self.offset[1][lane]])
                .wrapping_add((blocks * V::BLOCK_BYTES) as u128);
            [self.offset[0][lane], self.offset[1][lane]] = split::<V>(count);
        }
    }
}

/// Inputs of the lanes: block `k` of state `i` begins at `lanes[i][k * stride]`.
pub(crate) struct Inputs<'a> {
    pub(crate) lanes: [&'a [u8]; MAX_LANES],
    pub(crate) stride: usize,
}

/// Compresses `blocks` blocks into each of the first `L::COUNT` states. At most as many as there is
/// [room](Group::room) for: the kernel increments only the low words of the counters, and does not
/// store them; that is left to the caller.
#[inline(always)]
pub(crate) fn many<V: Function, L: Lanes<Word = V::Word>>(
    token: L::Token,
    group: &mut Group<V>,
    inputs: &Inputs<'_>,
    blocks: usize,
) {
    let h = &group.h;
    let mut rows = [
        [
            L::load(token, &h[0]),
            L::load(token, &h[1]),
            L::load(token, &h[2]),
            L::load(token, &h[3]),
        ],
        [
            L::load(token, &h[4]),
            L::load(token, &h[5]),
            L::load(token, &h[6]),
            L::load(token, &h[7]),
        ],
    ];
    let [low, high, f0, f1] = &group.offset;
    let mut low = L::load(token, low);
    let [high, f0, f1] = [L::load(token, high), L::load(token, f0), L::load(token, f1)];
    let step = L::splat(token, V::Word::truncate(V::BLOCK_BYTES as u128));
    let zeros = V::Word::ZERO_BLOCK;
    for k in 0..blocks {
        let mut lane_blocks = [&zeros; MAX_LANES];
        for (slot, input) in lane_blocks[..L::COUNT].iter_mut().zip(&inputs.lanes) {
            let Some(block) = V::Word::first_block(&input[k * inputs.stride..]) else { return };
            *slot = block;
        }
        let message = L::message(token, &lane_blocks);
        let offset = [low, high, f0, f1];
        rows = compress::<V, [L; 4]>(token, rows, &message, offset);
        low = low.add(step);
    }
    for (words, lanes) in group.h.iter_mut().zip([0, 1, 2, 3, 4, 5, 6, 7]) {
        rows[lanes / 4][lanes % 4].store(words);
    }
}
