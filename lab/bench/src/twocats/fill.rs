//! Filling memory: which block is made from which.

use saltern_yescrypt::hazmat::Level;

use super::dispatch::Mixer;
use super::error::Error;
use super::hash::{Hasher, State};
use super::mix::Blocks;
use super::params::{Params, SLICES};

/// Words in a page, at whose beginning the memory starts, so that speed does not depend on where it
/// was found.
const PAGE_WORDS: usize = 1024;

/// The memory of an engine, and what is needed to fill it.
#[derive(Debug)]
pub(super) struct Filler {
    mixer: Mixer,
    threads: usize,
    /// Words in a block.
    block: usize,
    /// Words in a sub-block.
    sub: usize,
    memory: Vec<u32>,
    /// Where the first page begins.
    start: usize,
    states: Vec<State>,
}

impl Filler {
    pub(super) fn new(params: &Params, level: Level) -> Result<Self, Error> {
        let threads = params.parallelism as usize;
        let (memory, start) =
            if params.uses_memory() { pages(params.stop_mem_cost)? } else { (Vec::new(), 0) };
        Ok(Self {
            mixer: Mixer::new(level, params),
            threads,
            block: params.block_bytes as usize / 4,
            sub: params.sub_bytes as usize / 4,
            memory,
            start,
            states: vec![[0; 16]; threads],
        })
    }

    /// Fills 2^`level` KiB from a key and changes the key accordingly. The first `resistant` of the
    /// four slices are read at addresses that do not depend on the key.
    pub(super) fn fill(&mut self, hasher: &Hasher, key: &mut State, level: u32, resistant: usize) {
        let quarter = (256 << level) / (SLICES * self.threads * self.block);
        for (thread, state) in self.states.iter_mut().enumerate() {
            *state = hasher.hash_state(key, thread as u32);
        }
        for slice in 0..SLICES {
            for thread in 0..self.threads {
                let part = Part { thread, quarter, slice, is_resistant: slice < resistant };
                self.fill_part(hasher, part);
            }
        }
        for state in &self.states {
            for (word, add) in key[..hasher.words()].iter_mut().zip(state) {
                *word = word.wrapping_add(*add);
            }
        }
        *key = hasher.scramble(key);
    }

    /// One thread's part of a slice.
    fn fill_part(&mut self, hasher: &Hasher, part: Part) {
        let block = self.block;
        let memory = &mut self.memory[self.start..];
        let state = &mut self.states[part.thread];
        let per_thread = SLICES * part.quarter;
        let done = part.slice * part.quarter;
        let own = part.thread * per_thread;
        if done == 0 {
            hasher.expand(state, &mut memory[own * block..][..block]);
        }
        for i in done.max(1)..done + part.quarter {
            let (source, pick, width) = if part.is_resistant {
                (sliding_reverse(i), i % self.threads, block)
            } else {
                let pick = state[1] as usize % self.threads;
                (i - 1 - cubed_distance(i, state[0]), pick, self.sub)
            };
            // Of the other threads only what was done before this slice.
            let home = if source < done { pick } else { part.thread };
            let place = Place { from: home * per_thread + source, to: own + i };
            let mut blocks = place.blocks(memory, block, width);
            let number = self.mixer.mix(state, &mut blocks);
            *state = hasher.hash_state(state, number);
        }
    }
}

/// A thread's part of a slice.
#[derive(Clone, Copy)]
struct Part {
    thread: usize,
    /// Blocks in it.
    quarter: usize,
    slice: usize,
    is_resistant: bool,
}

/// Which block is made from which, and from the one before it.
struct Place {
    from: usize,
    to: usize,
}

impl Place {
    /// The three blocks; `to` is not the first, and not `from`.
    fn blocks<'a>(&self, memory: &'a mut [u32], block: usize, width: usize) -> Blocks<'a> {
        let (before, rest) = memory.split_at_mut(self.to * block);
        let (to, after) = rest.split_at_mut(block);
        let (before, after) = (&*before, &*after);
        let from = match self.from.checked_sub(self.to + 1) {
            Some(distance) => &after[distance * block..][..block],
            None => &before[self.from * block..][..block],
        };
        let prev = &before[(self.to - 1) * block..];
        Blocks { from, prev, to, width }
    }
}

/// 2^`cost` KiB of zeros, and where in them to begin.
fn pages(cost: u32) -> Result<(Vec<u32>, usize), Error> {
    let words = (256 << cost) + PAGE_WORDS;
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(words)
        .map_err(|_| Error::new("stopMemCost", cost, "as much memory as this machine has"))?;
    memory.resize(words, 0);
    let start = memory.as_ptr().align_offset(4 * PAGE_WORDS);
    Ok((memory, if start < PAGE_WORDS { start } else { 0 }))
}

/// The bits of `i` without the first, in reversed order, and with the first where that is still
/// less than `i`.
fn sliding_reverse(i: usize) -> usize {
    let top = i.ilog2();
    let reversed = (i as u64).reverse_bits() >> (63 - top) >> 1;
    let with_top = reversed as usize + (1 << top);
    if with_top < i { with_top } else { reversed as usize }
}

/// A distance below `i - 1`, near ones more often: the cube of a random word, rounded at every
/// step.
fn cubed_distance(i: usize, random: u32) -> usize {
    let random = u64::from(random);
    let square = (random * random) >> 32;
    let cube = (random * square) >> 32;
    (((i - 1) as u64 * cube) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resistant_sources_slide() {
        let first: Vec<_> = (1..=16).map(sliding_reverse).collect();
        assert_eq!(first, [0, 0, 1, 0, 2, 5, 3, 0, 4, 2, 6, 9, 5, 11, 7, 0]);
    }

    #[test]
    fn other_sources_stay_within_what_is_there() {
        for i in [1, 2, 3, 255, 1 << 24] {
            assert_eq!(cubed_distance(i, 0), 0);
            let most = cubed_distance(i, u32::MAX);
            assert!(most <= i.saturating_sub(2), "{most} of {i}");
        }
    }
}
