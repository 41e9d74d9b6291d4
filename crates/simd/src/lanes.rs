//! The vector operations that BLAKE2 and Salsa20 need: words side by side that are added, xored and
//! rotated, and the ways of loading messages and states into them. Each operation is documented by
//! its scalar meaning; [`portable`](crate::portable) is that meaning as code.

use core::fmt::Debug;

/// A machine word: `u32` or `u64`, little-endian in memory.
pub trait Word: Copy + Default + Eq + Debug + Send + Sync + 'static {
    /// Sixteen words of message as bytes: `[u8; 64]` or `[u8; 128]`.
    type Block: Copy + AsRef<[u8]> + AsMut<[u8]> + Send + Sync + 'static;
    /// Bytes in a word.
    const BYTES: usize;
    /// The block of zeros.
    const ZERO_BLOCK: Self::Block;

    /// The low bits of a counter as a word.
    fn truncate(value: u128) -> Self;
    /// The word as a 64-bit number.
    fn to_u64(self) -> u64;
    /// The block at the start of `bytes`, or `None` if there are too few.
    fn first_block(bytes: &[u8]) -> Option<&Self::Block>;
    /// Writes words as bytes to the front of `bytes`, as far as there is room.
    fn write(words: &[Self], bytes: &mut [u8]);
    /// Word `index` of a block; `index` is below 16.
    fn of_block(block: &Self::Block, index: usize) -> Self;
}

/// Words side by side, and the three operations of both mixing functions on each of them.
pub trait Vector: Copy {
    /// Proof that the processor has the features that the operations need; `()` if they need none.
    type Token: Copy;
    /// The words side by side.
    type Word: Word;

    /// Wrapping sum, word by word.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// Exclusive or.
    #[must_use]
    fn xor(self, other: Self) -> Self;
    /// Every word rotated right by `bits`, which must be a constant at the call site to be fast.
    #[must_use]
    fn rotate_right(self, bits: u32) -> Self;
    /// `self.xor(late).rotate_right(bits)` in the fewest cycles after `late` is known.
    #[inline(always)]
    #[must_use]
    fn xor_rotate(self, late: Self, bits: u32) -> Self {
        self.xor(late).rotate_right(bits)
    }
}

/// A block of a vector's words.
pub type BlockOf<V> = <<V as Vector>::Word as Word>::Block;

/// One word from each of [`COUNT`](Lanes::COUNT) independent states.
pub trait Lanes: Vector {
    /// How many states lie side by side.
    const COUNT: usize;

    /// One word in every lane.
    fn splat(token: Self::Token, word: Self::Word) -> Self;
    /// Lane `i` from `words[i]`; at least `COUNT` words must be there.
    fn load(token: Self::Token, words: &[Self::Word]) -> Self;
    /// Lane `i` to `words[i]`.
    fn store(self, words: &mut [Self::Word]);
    /// Lane 0.
    fn first(self) -> Self::Word;
    /// Returns all four unchanged, and keeps their instructions together: see
    /// [`Row::schedule_barrier`].
    #[inline(always)]
    #[must_use]
    fn schedule_barrier(four: [Self; 4]) -> [Self; 4] {
        four
    }
    /// The transposition of `COUNT` blocks: lane `i` of vector `j` is word `j` of `blocks[i]`.
    fn message(token: Self::Token, blocks: &[&BlockOf<Self>]) -> [Self; 16];
    /// Calls `put` with each lane's number, in any order, and its words: word `j` is lane `i` of
    /// `rows[j]`.
    #[inline(always)]
    fn columns(rows: [Self; 8], mut put: impl FnMut(usize, [Self::Word; 8])) {
        let mut words = [[Self::Word::default(); MAX_LANES]; 8];
        for (row, words) in rows.into_iter().zip(&mut words) {
            row.store(words);
        }
        for lane in 0..Self::COUNT {
            let mut column = [Self::Word::default(); 8];
            for (word, row) in column.iter_mut().zip(&words) {
                *word = row[lane];
            }
            put(lane, column);
        }
    }
}

/// The most lanes of any vector.
pub const MAX_LANES: usize = 16;

/// Four words of a 4 × 4 matrix, of one state or of several, which can be rotated.
pub trait Quad: Vector {
    /// Word `i` from word `i + by` modulo 4, in every state; `by` is a constant 1, 2 or 3.
    #[must_use]
    fn rotate_words(self, by: usize) -> Self;
}

/// A diagonal of Salsa20's matrix: four words of each state, word 0 first.
///
/// Memory is seen as pairs of 64-bit lanes, the even word in the low half, so that the meaning does
/// not depend on the byte order of the machine.
pub trait Diagonal: Quad<Word = u32> {
    /// The number of states, which are independent.
    const STATES: usize;

    /// For each state `[lo(m[0]), hi(m[0]), lo(m[1]), hi(m[1])]`, `m` being its memory.
    fn gather(token: Self::Token, memory: impl Fn(usize) -> [u64; 2]) -> Self;
    /// The inverse of [`gather`](Diagonal::gather).
    fn scatter(self, put: impl FnMut(usize, [u64; 2]));
}

/// A row of BLAKE2's matrix: four consecutive words of a state, in one vector for one state, or,
/// for `[L; 4]`, in four vectors for [`L::COUNT`](Lanes::COUNT) states side by side.
pub trait Row: Quad {
    /// Blocks in the form from which [`schedule`](Row::schedule) is cheapest.
    type Message;

    /// The row of these words, in every state.
    fn from_words(token: Self::Token, words: [Self::Word; 4]) -> Self;
    /// Its words in the first state.
    fn to_words(self) -> [Self::Word; 4];
    /// Returns the row unchanged. A hint to the compiler: all instructions that produce it come
    /// before any that use a part of it.
    #[inline(always)]
    #[must_use]
    fn schedule_barrier(self) -> Self {
        self
    }
    /// Prepares one block for each state.
    fn message(token: Self::Token, blocks: &[&BlockOf<Self>]) -> Self::Message;
    /// Four rows of message words: word `i` of row `j` is word `order[4 * j + i]`; `order` is a
    /// constant.
    fn schedule(token: Self::Token, message: &Self::Message, order: &[usize; 16]) -> [Self; 4];
}

impl<L: Lanes> Vector for [L; 4] {
    type Token = L::Token;
    type Word = L::Word;

    #[inline(always)]
    fn add(self, [a, b, c, d]: Self) -> Self {
        [self[0].add(a), self[1].add(b), self[2].add(c), self[3].add(d)]
    }

    #[inline(always)]
    fn xor(self, [a, b, c, d]: Self) -> Self {
        [self[0].xor(a), self[1].xor(b), self[2].xor(c), self[3].xor(d)]
    }

    #[inline(always)]
    fn rotate_right(self, bits: u32) -> Self {
        let [a, b, c, d] = self;
        [a.rotate_right(bits), b.rotate_right(bits), c.rotate_right(bits), d.rotate_right(bits)]
    }
}

impl<L: Lanes> Quad for [L; 4] {
    #[inline(always)]
    fn rotate_words(self, by: usize) -> Self {
        [self[by % 4], self[(by + 1) % 4], self[(by + 2) % 4], self[(by + 3) % 4]]
    }
}

impl<L: Lanes> Row for [L; 4] {
    type Message = [L; 16];

    #[inline(always)]
    fn from_words(token: L::Token, [a, b, c, d]: [L::Word; 4]) -> Self {
        [L::splat(token, a), L::splat(token, b), L::splat(token, c), L::splat(token, d)]
    }

    #[inline(always)]
    fn to_words(self) -> [L::Word; 4] {
        let [a, b, c, d] = self;
        [a.first(), b.first(), c.first(), d.first()]
    }

    #[inline(always)]
    fn schedule_barrier(self) -> Self {
        L::schedule_barrier(self)
    }

    #[inline(always)]
    fn message(token: L::Token, blocks: &[&BlockOf<L>]) -> [L; 16] {
        L::message(token, blocks)
    }

    #[inline(always)]
    fn schedule(_: L::Token, m: &[L; 16], order: &[usize; 16]) -> [Self; 4] {
        let row = |i: usize| [m[order[i]], m[order[i + 1]], m[order[i + 2]], m[order[i + 3]]];
        [row(0), row(4), row(8), row(12)]
    }
}
