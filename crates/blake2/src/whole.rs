//! Complete inputs without a key: a message for one state, or for all nodes of a parallel tree.
//!
//! A hasher must be ready for more input, which costs a buffer, and storing and loading the state
//! between any two kernel calls. Here one call does everything, from the initial value on, in
//! registers.

#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only levels of x86-64 have a lane for every leaf of a tree")
)]

use saltern_simd::lanes::{Lanes, MAX_LANES, Row, Word};

use crate::compress::{MAX_LEAVES, compress, put, rows, split};
use crate::function::{Block, Function, State, plain_blocks, plain_stripes, stripe};

/// Brings an initial value to the final state for a message. (In place: as a return value, both
/// rows would be combined in one wide register, and with 512 bits, a third of the units would be
/// idle until it is stored.)
#[inline(always)]
pub(crate) fn message<V: Function, R: Row<Word = V::Word>>(
    token: R::Token,
    h: &mut State<V>,
    last_node: bool,
    input: &[u8],
) {
    let last = plain_blocks::<V>(input.len());
    let mut pad = V::Word::ZERO_BLOCK;
    let tail = &input[last * V::BLOCK_BYTES..];
    if tail.len() < V::BLOCK_BYTES {
        copy_short(pad.as_mut(), tail);
    }
    let mut rows = rows::<V, R>(token, h);
    let none = V::Word::default();
    let node = if last_node { V::ALL_ONES } else { none };
    for k in 0..=last {
        let at = k * V::BLOCK_BYTES;
        let block = V::Word::first_block(&input[at..]).unwrap_or(&pad);
        let (count, flags) = match k == last {
            true => (input.len() as u128, [V::ALL_ONES, node]),
            false => ((at + V::BLOCK_BYTES) as u128, [none; 2]),
        };
        let [low, high] = split::<V>(count);
        let offset = R::from_words(token, [low, high, flags[0], flags[1]]);
        rows = compress::<V, R>(token, rows, &R::message(token, &[block]), offset);
    }
    put::<V, R>(rows, h);
}

/// From the initial values of a tree's first leaf and of its root, computes the root's final state
/// for a message, in place of its initial value. `L` has a lane for every leaf.
#[inline(always)]
pub(crate) fn tree<V: Function, L: Lanes<Word = V::Word>, R: Row<Word = V::Word>>(
    tokens: (L::Token, R::Token),
    [leaf, root]: &mut [State<V>; 2],
    input: &[u8],
) {
    let mut values = [V::Word::ZERO_BLOCK; 4];
    leaves::<V, L>(tokens.0, leaf, input, &mut values);
    let blocks = V::LEAVES * V::OUT_BYTES / V::BLOCK_BYTES;
    let (token, none) = (tokens.1, V::Word::default());
    let mut rows = rows::<V, R>(token, root);
    for (k, block) in values[..blocks].iter().enumerate() {
        let count = V::Word::truncate(((k + 1) * V::BLOCK_BYTES) as u128);
        let flag = if k + 1 == blocks { V::ALL_ONES } else { none };
        let offset = R::from_words(token, [count, none, flag, flag]);
        rows = compress::<V, R>(token, rows, &R::message(token, &[block]), offset);
    }
    put::<V, R>(rows, root);
}

/// The leaves' hashes, one after the other.
#[inline(always)]
fn leaves<V: Function, L: Lanes<Word = V::Word>>(
    token: L::Token,
    leaf: &State<V>,
    input: &[u8],
    values: &mut [Block<V>; 4],
) {
    let row = |words| <[L; 4] as Row>::from_words(token, words);
    let mut rows = rows::<V, [L; 4]>(token, leaf);
    let mut numbers = [V::Word::default(); MAX_LANES];
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = V::Word::truncate(i as u128);
    }
    rows[0][V::NODE_OFFSET_WORD] = rows[0][V::NODE_OFFSET_WORD].xor(L::load(token, &numbers));
    let stripe = stripe::<V>();
    // The last leaf's last block is either the one that ends the message, or empty.
    let plain = plain_stripes::<V>(input.len());
    let steps = plain + 1 + usize::from(input.len() - plain * stripe > stripe);
    let zeros = V::Word::ZERO_BLOCK;
    let mut pads = [zeros; MAX_LEAVES];
    for k in 0..steps {
        let now = &input[k * stripe..];
        let mut blocks = [&zeros; MAX_LEAVES];
        let [low, high] = split::<V>(((k + 1) * V::BLOCK_BYTES) as u128);
        let none = V::Word::default();
        let mut offset = row([low, high, none, none]);
        let mut closes = [false; MAX_LEAVES];
        if k < plain {
            for (lane, block) in blocks[..L::COUNT].iter_mut().enumerate() {
                let Some(first) = V::Word::first_block(&now[lane * V::BLOCK_BYTES..]) else {
                    return;
                };
                *block = first;
            }
        } else {
            let mut words = [[none; MAX_LANES]; 4];
            for (lane, pad) in pads[..L::COUNT].iter_mut().enumerate() {
                let part = &now[now.len().min(lane * V::BLOCK_BYTES)..];
                // A leaf without a second block was closed in the step before.
                closes[lane] = part.len() <= stripe && (k == plain || !part.is_empty());
                let length = part.len().min(V::BLOCK_BYTES);
                if k > plain {
                    *pad = zeros;
                }
                copy_short(pad.as_mut(), &part[..length]);
                let count = split::<V>((k * V::BLOCK_BYTES + length) as u128);
                let flag = if closes[lane] { V::ALL_ONES } else { none };
                let node = if lane + 1 == V::LEAVES { flag } else { none };
                for (row, word) in words.iter_mut().zip([count[0], count[1], flag, node]) {
                    row[lane] = word;
                }
            }
            for (block, pad) in blocks.iter_mut().zip(&pads) {
                *block = pad;
            }
            let [t0, t1, f0, f1] = &words;
            offset =
                [L::load(token, t0), L::load(token, t1), L::load(token, f0), L::load(token, f1)];
        }
        rows = compress::<V, [L; 4]>(token, rows, &L::message(token, &blocks), offset);
        if k >= plain {
            keep::<V, L>(rows, &closes, values);
        }
    }
}

/// Puts the hashes of the closing leaves in their places.
#[inline(always)]
fn keep<V: Function, L: Lanes<Word = V::Word>>(
    [low, high]: [[L; 4]; 2],
    closes: &[bool; MAX_LEAVES],
    values: &mut [Block<V>; 4],
) {
    let ([a, b, c, d], [e, f, g, h]) = (low, high);
    let in_block = V::BLOCK_BYTES / V::OUT_BYTES;
    L::columns([a, b, c, d, e, f, g, h], |lane, state| {
        if closes[lane] {
            let block = values[lane / in_block].as_mut();
            V::Word::write(&state, &mut block[lane % in_block * V::OUT_BYTES..]);
        }
    });
}

/// Copies less than a block to the front of one, without a call for a length unknown at compile
/// time.
#[inline(always)]
pub(crate) fn copy_short(block: &mut [u8], bytes: &[u8]) {
    let (parts, mut rest) = bytes.as_chunks::<16>();
    let (front, mut back) = block.split_at_mut(16 * parts.len());
    for (to, from) in front.as_chunks_mut::<16>().0.iter_mut().zip(parts) {
        *to = *from;
    }
    (back, rest) = copy_if_longer::<8>(back, rest);
    (back, rest) = copy_if_longer::<4>(back, rest);
    (back, rest) = copy_if_longer::<2>(back, rest);
    copy_if_longer::<1>(back, rest);
}

/// Copies `N` bytes, if there are that many, and returns the rest of both.
#[inline(always)]
fn copy_if_longer<'t, 'f, const N: usize>(
    to: &'t mut [u8],
    from: &'f [u8],
) -> (&'t mut [u8], &'f [u8]) {
    match from.split_first_chunk::<N>() {
        Some((bytes, rest)) if to.len() >= N => {
            let (front, back) = to.split_at_mut(N);
            front.copy_from_slice(bytes);
            (back, rest)
        }
        _ => (to, from),
    }
}
