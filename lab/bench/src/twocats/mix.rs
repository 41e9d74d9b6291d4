//! Mixing one block from two others: the inner loop, written once for all vectors.

use saltern_simd::lanes::Lanes;

use super::hash::State;

/// What is mixed, in words.
pub(super) struct Blocks<'a> {
    pub(super) from: &'a [u32],
    pub(super) prev: &'a [u32],
    pub(super) to: &'a mut [u32],
    /// Words in a sub-block: the whole block, or a part of which `prev` is read in an order that
    /// `from` decides.
    pub(super) width: usize,
}

/// How much is done for each block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) repetitions: u32,
    pub(super) multiplies: u32,
}

/// Four words that are multiplied with each other again and again. Each step waits for the one
/// before: this is what an attacker's hardware cannot do faster either.
#[derive(Clone, Copy)]
struct Chain {
    a: u32,
    b: u32,
    c: u32,
    d: u32,
}

impl Chain {
    #[inline(always)]
    fn step(&mut self) {
        self.a ^= high_product(self.b, self.c);
        self.b = self.b.wrapping_add(self.c);
        self.c ^= high_product(self.a, self.d);
        self.d = self.d.wrapping_add(self.a);
    }
}

#[inline(always)]
fn high_product(x: u32, y: u32) -> u32 {
    ((u64::from(x) * u64::from(y)) >> 32) as u32
}

/// Mixes a block with rows of `N` vectors and returns the word that is hashed after the state.
#[inline(always)]
pub(super) fn mix<V: Lanes<Word = u32>, const N: usize>(
    token: V::Token,
    state: &mut State,
    blocks: &mut Blocks<'_>,
    cost: Cost,
) -> u32 {
    let row = const { N * V::COUNT };
    let mut lanes: [V; N] = std::array::from_fn(|n| V::load(token, &state[n * V::COUNT..]));
    let mut chain = Chain { a: state[0], b: state[1], c: state[2], d: state[3] };
    let width = blocks.width;
    let mask = blocks.prev.len() / width - 1; // a power of two, less one
    for _ in 0..cost.repetitions {
        for (from, to) in blocks.from.chunks_exact(width).zip(blocks.to.chunks_exact_mut(width)) {
            let prev = &blocks.prev[width * (from[0] as usize & mask)..][..width];
            let sources = from.chunks_exact(row).zip(prev.chunks_exact(row));
            for ((from, prev), to) in sources.zip(to.chunks_exact_mut(row)) {
                for _ in 0..cost.multiplies {
                    chain.step();
                }
                for (n, lane) in lanes.iter_mut().enumerate() {
                    let at = n * V::COUNT..(n + 1) * V::COUNT;
                    let (x, y) =
                        (V::load(token, &prev[at.clone()]), V::load(token, &from[at.clone()]));
                    *lane = lane.add(x).xor(y).rotate_right(24);
                    lane.store(&mut to[at]);
                }
            }
        }
    }
    for (n, lane) in lanes.iter().enumerate() {
        lane.store(&mut state[n * V::COUNT..]);
    }
    chain.a
}
