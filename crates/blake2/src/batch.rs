//! Many messages at once, the simple case: unkeyed messages with equal numbers of blocks and the
//! same parameters, as many as the widest kernel has lanes. With short messages, the engine spends
//! half of its time on moving states into the lanes and out. Here all lanes start from the same
//! value, so nothing is moved in; full blocks are read in place; and the hashes are transposed in
//! registers.

use saltern_simd::lanes::{Lanes, MAX_LANES, Row, Word};

use crate::compress::{compress, rows};
use crate::function::{Block, Function, State, plain_blocks};
use crate::whole::copy_short;

/// The most blocks of a message in a batch. Longer ones gain nothing over the engine; and the
/// counter must fit into its low word.
const MAX_BLOCKS: usize = 64;

/// Up to as many messages as there are lanes.
pub(crate) struct Batch<'a, V: Function> {
    /// The initial value of all lanes.
    h: State<V>,
    last_node: bool,
    /// How many blocks each message has; 0 if nothing can be in the batch.
    blocks: usize,
    inputs: [&'a [u8]; MAX_LANES],
    count: usize,
    /// Last blocks that are not full, each with its length; zeros follow.
    pads: [(Block<V>, usize); MAX_LANES],
    /// The final states, once the batch is hashed.
    states: [State<V>; MAX_LANES],
}

impl<'a, V: Function> Batch<'a, V> {
    /// An empty batch that takes nothing.
    pub(crate) fn new() -> Self {
        Self {
            h: V::IV,
            last_node: false,
            blocks: 0,
            inputs: [&[]; MAX_LANES],
            count: 0,
            pads: [(V::Word::ZERO_BLOCK, 0); MAX_LANES],
            states: [V::IV; MAX_LANES],
        }
    }

    /// Empties the batch, and prepares it for messages with as many blocks as this one and this
    /// initial value.
    pub(crate) fn restart(&mut self, h: State<V>, last_node: bool, input: &[u8]) {
        let blocks = Self::blocks_of(input);
        self.blocks = if blocks <= MAX_BLOCKS { blocks } else { 0 };
        (self.h, self.last_node, self.count) = (h, last_node, 0);
    }

    /// Whether it has as many blocks as those in the batch.
    #[inline]
    pub(crate) fn takes(&self, input: &[u8]) -> bool {
        Self::blocks_of(input) == self.blocks
    }

    /// Adds a message that the batch [takes](Self::takes), and returns how many there are now: at
    /// most as many as lanes.
    #[inline]
    pub(crate) fn push(&mut self, input: &'a [u8]) -> usize {
        self.inputs[self.count] = input;
        self.count += 1;
        self.count
    }

    /// The final states of a batch that was hashed, which is empty afterwards.
    pub(crate) fn take(&mut self) -> &[State<V>] {
        &self.states[..core::mem::take(&mut self.count)]
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Forgets the messages.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Blocks of a message without a key, at least one.
    fn blocks_of(input: &[u8]) -> usize {
        plain_blocks::<V>(input.len()) + 1
    }

    /// Pads the last blocks of the first `lanes` messages.
    #[inline(always)]
    fn pad(&mut self, lanes: usize) {
        let before = (self.blocks - 1) * V::BLOCK_BYTES;
        for (input, (pad, used)) in self.inputs[..lanes].iter().zip(&mut self.pads) {
            let tail = &input[before..];
            if tail.len() < V::BLOCK_BYTES {
                copy_short(pad.as_mut(), tail);
                if tail.len() < *used {
                    pad.as_mut()[tail.len()..*used].fill(0);
                }
                *used = tail.len();
            }
        }
    }
}

/// Hashes the messages of a batch, `L::COUNT` of them. Does nothing if there are fewer.
#[inline(always)]
pub(crate) fn hash<V: Function, L: Lanes<Word = V::Word>>(
    token: L::Token,
    batch: &mut Batch<'_, V>,
) {
    if batch.count != L::COUNT || batch.blocks == 0 {
        return;
    }
    batch.pad(L::COUNT);
    let row = |words| <[L; 4] as Row>::from_words(token, words);
    let mut rows = rows::<V, [L; 4]>(token, &batch.h);
    for k in 0..batch.blocks {
        let at = k * V::BLOCK_BYTES;
        let mut blocks = [&batch.pads[0].0; MAX_LANES];
        let lanes = batch.inputs[..L::COUNT].iter().zip(&batch.pads);
        for (block, (input, (pad, _))) in blocks.iter_mut().zip(lanes) {
            *block = V::Word::first_block(&input[at..]).unwrap_or(pad);
        }
        let (none, count) = (V::Word::default(), V::Word::truncate((at + V::BLOCK_BYTES) as u128));
        let mut offset = row([count, none, none, none]);
        if k + 1 == batch.blocks {
            let last_node = if batch.last_node { V::ALL_ONES } else { none };
            offset = row([none, none, V::ALL_ONES, last_node]);
            offset[0] = L::load(token, &batch.inputs.map(|m| V::Word::truncate(m.len() as u128)));
        }
        rows = compress::<V, [L; 4]>(token, rows, &L::message(token, &blocks), offset);
    }
    let [[a, b, c, d], [e, f, g, h]] = rows;
    L::columns([a, b, c, d, e, f, g, h], |lane, state| batch.states[lane] = state);
}
