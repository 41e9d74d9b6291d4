//! Many messages at once, the simple case: unkeyed messages of equally many blocks under the same parameters, as many as
//! the widest kernel has lanes. With short messages, the engine spends half of its time on carrying states into the lanes
//! and out. Here all lanes start from the same value, which needs no carrying; blocks that are full are read where they
//! are; and the hashes are transposed in registers.

use saltern_simd::lanes::{Lanes, Row, Word};

use crate::compress::{MAX_LANES, compress};
use crate::many::Job;
use crate::params::Params;
use crate::variant::{Block, State, Variant};

/// The most blocks of a message in a batch. Longer ones gain nothing over the lanes of the engine; nor may a counter
/// have more than its low word.
const MAX_BLOCKS: usize = 64;

/// Up to as many jobs as there are lanes.
pub(crate) struct Batch<'j, 'a, V: Variant> {
    params: &'a Params<V>,
    /// The initial value, that of all lanes.
    h: State<V>,
    /// How many blocks each message has; 0 if nothing can be in the batch.
    blocks: usize,
    jobs: [Option<&'j mut Job<'a, V>>; MAX_LANES],
    count: usize,
    /// Last blocks that are not full. After the first so many bytes of each are zeros.
    pads: [(Block<V>, usize); MAX_LANES],
}

impl<'j, 'a, V: Variant> Batch<'j, 'a, V> {
    /// An empty batch for jobs like this one.
    pub(crate) fn new(job: &Job<'a, V>) -> Self {
        let mut batch = Self {
            params: job.params(),
            h: V::IV,
            blocks: 0,
            jobs: [const { None }; MAX_LANES],
            count: 0,
            pads: [(V::Word::ZERO_BLOCK, 0); MAX_LANES],
        };
        batch.restart(job);
        batch
    }

    /// Makes an empty batch one for jobs like this one.
    pub(crate) fn restart(&mut self, job: &Job<'a, V>) {
        let blocks = Self::blocks(job.input());
        let fits = blocks <= MAX_BLOCKS && job.params().key_block().is_none();
        self.params = job.params();
        self.h = self.params.initial_state();
        self.blocks = if fits { blocks } else { 0 };
    }

    /// Whether a job can be in one batch with those before.
    #[inline]
    pub(crate) fn takes(&self, job: &Job<'a, V>) -> bool {
        core::ptr::eq(job.params(), self.params) && Self::blocks(job.input()) == self.blocks
    }

    /// Adds a job that the batch [takes](Self::takes), and says how many there are now: at most as many as lanes.
    #[inline]
    pub(crate) fn push(&mut self, job: &'j mut Job<'a, V>) -> usize {
        self.jobs[self.count] = Some(job);
        self.count += 1;
        self.count
    }

    /// The jobs, which leave an empty batch.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = &'j mut Job<'a, V>> {
        let count = core::mem::take(&mut self.count);
        self.jobs[..count].iter_mut().filter_map(Option::take)
    }

    /// Blocks of a message without a key, at least one.
    fn blocks(input: &[u8]) -> usize {
        input.len().saturating_sub(1) / V::BLOCK_BYTES + 1
    }

    /// The messages in the first `lanes` lanes. Their last blocks are padded.
    #[inline(always)]
    fn messages(&mut self, lanes: usize) -> [&'a [u8]; MAX_LANES] {
        let mut messages = [&[][..]; MAX_LANES];
        let before = (self.blocks - 1) * V::BLOCK_BYTES;
        let jobs = self.jobs[..lanes].iter().flatten();
        for ((message, job), (pad, used)) in messages.iter_mut().zip(jobs).zip(&mut self.pads) {
            *message = job.input();
            let tail = &message[before..];
            if tail.len() < V::BLOCK_BYTES {
                copy_short(pad.as_mut(), tail);
                if tail.len() < *used {
                    pad.as_mut()[tail.len()..*used].fill(0);
                }
                *used = tail.len();
            }
        }
        messages
    }
}

/// Hashes the jobs of a batch, `L::COUNT` of them, and leaves it empty.
#[inline(always)]
pub(crate) fn hash<V: Variant, L: Lanes<Word = V::Word>>(
    token: L::Token,
    batch: &mut Batch<'_, '_, V>,
) {
    if batch.count != L::COUNT {
        return;
    }
    let messages = batch.messages(L::COUNT);
    let row = |words| <[L; 4] as Row>::from_words(token, words);
    let [h0, h1, h2, h3, h4, h5, h6, h7] = batch.h;
    let mut rows = [row([h0, h1, h2, h3]), row([h4, h5, h6, h7])];
    for k in 0..batch.blocks {
        let at = k * V::BLOCK_BYTES;
        let mut blocks = [&batch.pads[0].0; MAX_LANES];
        let lanes = messages[..L::COUNT].iter().zip(&batch.pads);
        for (block, (message, (pad, _))) in blocks.iter_mut().zip(lanes) {
            *block = V::Word::first_block(&message[at..]).unwrap_or(pad);
        }
        let (none, count) = (V::Word::default(), V::Word::truncate((at + V::BLOCK_BYTES) as u128));
        let mut offset = row([count, none, none, none]);
        if k + 1 == batch.blocks {
            let last_node = if batch.params.is_last_node() { V::ALL_ONES } else { none };
            offset = row([none, none, V::ALL_ONES, last_node]);
            offset[0] = L::load(token, &messages.map(|m| V::Word::truncate(m.len() as u128)));
        }
        rows = compress::<V, [L; 4]>(token, rows, &L::message(token, &blocks), offset);
    }
    let [[a, b, c, d], [e, f, g, h]] = rows;
    L::columns([a, b, c, d, e, f, g, h], |lane, state| {
        if let Some(job) = &mut batch.jobs[lane] {
            job.settle(state);
        }
    });
    batch.count = 0;
}

/// Copies less than a block to the front of one, without a call for a length that is not known when compiling.
#[inline(always)]
pub(crate) fn copy_short(block: &mut [u8], bytes: &[u8]) {
    let (parts, rest) = bytes.as_chunks::<16>();
    let (front, back) = block.split_at_mut(16 * parts.len());
    for (to, from) in front.as_chunks_mut::<16>().0.iter_mut().zip(parts) {
        *to = *from;
    }
    for (to, from) in back.iter_mut().zip(rest) {
        *to = *from;
    }
}
