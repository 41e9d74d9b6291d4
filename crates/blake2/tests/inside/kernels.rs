//! What only a test inside the crate can reach: counters that are about to overflow, and tasks in
//! the engine.

use alloc::vec::Vec;

use saltern_reference::blake2::{self as reference, BLAKE2B, BLAKE2S, Family};
use saltern_simd::Level;
use saltern_simd::lanes::Word;

use crate::dispatch::{self, Kernels};
use crate::engine::{self, Task};
use crate::function::{Blake2b, Blake2s, State};
use crate::hasher::Hasher;
use crate::many;
use crate::output::Hash;
use crate::params::Params;
use crate::tree;
use crate::variant::Variant;

/// Bytes without a period that a block could hide.
fn input(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8 ^ (i / 251) as u8).collect()
}

fn family<V: Variant>() -> &'static Family {
    if V::OUT_BYTES == 64 { &BLAKE2B } else { &BLAKE2S }
}

fn expected<V: Variant>(initial_count: u128, data: &[u8], last_node: bool) -> Vec<u8> {
    let params =
        reference::Params { initial_count, last_node, ..reference::Params::new(family::<V>()) };
    reference::hash(family::<V>(), &params, data)
}

/// Counts from which 0 to 8 blocks reach the end of the low word, of both words, or of neither.
fn edges<V: Variant>() -> Vec<u128> {
    let word = 8 * V::Word::BYTES as u32;
    let ends = [1_u128 << word, (1_u128 << (2 * word - 1)) << 1, 1 << (word + 3)];
    let back = (0..9).map(|blocks| blocks * V::BLOCK_BYTES as u128);
    back.flat_map(|back| ends.map(|end| end.wrapping_sub(back))).collect()
}

fn streams_cross_the_edges<V: Variant>(every: &[&'static Kernels<V>]) -> usize {
    let mut checks = 0;
    for kernels in every {
        let level = kernels.level;
        for count in edges::<V>() {
            for length in [0, 1, V::BLOCK_BYTES, 3 * V::BLOCK_BYTES + 1, 8 * V::BLOCK_BYTES] {
                let data = input(length);
                let mut hasher: Hasher<V> = Params::new().with_kernels(kernels).to_hasher();
                hasher.start_at(count);
                let hash = hasher.update(&data).finalize();
                assert_eq!(
                    hash,
                    &expected::<V>(count, &data, false)[..],
                    "{level} {count} {length}"
                );
                checks += 1;
            }
        }
    }
    checks
}

/// A level that is forgotten in the dispatch would be seen here, where all of them have to be
/// named.
#[test]
fn every_level_has_kernels_of_its_own_or_says_whose_it_takes() {
    for level in Level::available() {
        let expected = match level {
            Level::Portable | Level::Sse2 => Level::Portable,
            Level::Sse41 | Level::Avx2 | Level::Avx512 | Level::Neon => level,
        };
        assert_eq!(dispatch::blake2b(level).level, expected);
        assert_eq!(dispatch::blake2s(level).level, expected);
    }
}

#[test]
fn one_stream_across_the_end_of_a_counter() {
    let (b, s) = dispatch::every();
    assert!(b.len() >= Level::available().count() && s.len() == b.len());
    assert_eq!(streams_cross_the_edges::<Blake2b>(&b), b.len() * 27 * 5);
    assert_eq!(streams_cross_the_edges::<Blake2s>(&s), s.len() * 27 * 5);
}

/// All edges at once in the lanes, with lengths that end at different times.
fn lanes_cross_the_edges<V: Variant>(every: &[&'static Kernels<V>]) {
    for kernels in every {
        let level = kernels.level;
        let edges = edges::<V>();
        let data = input(9 * V::BLOCK_BYTES);
        let length = |i: usize| (i * 37 + i * i * 101) % data.len();
        let start = Params::<V>::new().initial_state();
        let mut states: Vec<State<V>> = edges.iter().map(|_| start).collect();
        let tasks = states.iter_mut().zip(&edges).enumerate().map(|(i, (h, &count))| Task {
            h,
            count,
            head: None,
            input: &data[..length(i)],
            finish: Some(i % 3 == 0),
        });
        engine::run(kernels, tasks);
        for (i, (h, &count)) in states.iter().zip(&edges).enumerate() {
            let expected = expected::<V>(count, &data[..length(i)], i % 3 == 0);
            let hash = Hash::<V>::from_state(h, V::OUT_BYTES as u8);
            assert_eq!(hash, &expected[..], "{level}, task {i}, {count}");
        }
    }
}

#[test]
fn many_streams_across_the_end_of_their_counters() {
    let (b, s) = dispatch::every();
    lanes_cross_the_edges::<Blake2b>(&b);
    lanes_cross_the_edges::<Blake2s>(&s);
}

/// Every number of tasks up to three times the most lanes, so that each kernel runs full and with
/// idle lanes.
fn every_number_of_tasks<V: Variant>(every: &[&'static Kernels<V>]) {
    let data = input(5 * V::BLOCK_BYTES);
    for kernels in every {
        let level = kernels.level;
        for tasks in 0..=48_usize {
            let mut states: Vec<State<V>> =
                (0..tasks).map(|_| Params::<V>::new().initial_state()).collect();
            let length = |i: usize| (i * tasks * 7) % (data.len() + 1);
            engine::run(
                kernels,
                states.iter_mut().enumerate().map(|(i, h)| Task {
                    h,
                    count: 0,
                    head: None,
                    input: &data[..length(i)],
                    finish: Some(false),
                }),
            );
            for (i, h) in states.iter().enumerate() {
                let hash = Hash::<V>::from_state(h, V::OUT_BYTES as u8);
                assert_eq!(hash, Params::new().hash(&data[..length(i)]), "{level}, {i} of {tasks}");
            }
        }
    }
}

#[test]
fn engines_take_any_number_of_tasks() {
    let (b, s) = dispatch::every();
    every_number_of_tasks::<Blake2b>(&b);
    every_number_of_tasks::<Blake2s>(&s);
}

/// Numbers of messages around that of lanes, of equal and of similar lengths around those of
/// blocks.
fn messages_in_batches<V: Variant>(every: &[&'static Kernels<V>]) -> usize {
    let data = input(66 * V::BLOCK_BYTES);
    let mut checks = 0;
    for kernels in every {
        for (last_node, key) in [(false, &b""[..]), (true, b""), (false, b"key")] {
            let params = Params::<V>::new().last_node(last_node).with_kernels(kernels);
            let params = params.key(key).unwrap();
            let other = params.clone();
            for (blocks, extra) in
                [(0, 0), (0, 1), (0, 50), (1, 0), (1, 1), (3, 0), (64, 0), (64, 1)]
            {
                let longest = blocks * V::BLOCK_BYTES + extra;
                for (step, count) in [(0, 15), (0, 16), (0, 17), (1, 40), (29, 40)] {
                    let message =
                        |i: usize| &data[i..][..longest.saturating_sub(step * i % V::BLOCK_BYTES)];
                    let params_of = |i: usize| if i == 20 { &other } else { &params };
                    let mut jobs: Vec<_> =
                        (0..count).map(|i| many::Job::new(params_of(i), message(i))).collect();
                    many::hash_many(&mut jobs[..1]);
                    many::hash_many(&mut jobs);
                    for (i, job) in jobs.iter().enumerate() {
                        assert_eq!(
                            job.hash(),
                            params.hash(message(i)),
                            "{params:?}, {longest}, {i}"
                        );
                        checks += 1;
                    }
                }
            }
        }
    }
    checks
}

#[test]
fn batches_equal_one_by_one() {
    let (b, s) = dispatch::every();
    assert_eq!(messages_in_batches::<Blake2b>(&b), b.len() * 3 * 8 * 128);
    assert_eq!(messages_in_batches::<Blake2s>(&s), s.len() * 3 * 8 * 128);
}

/// Every length up to more than three stripes: each way in which the leaves of a tree can end.
fn trees_at_once<V: Variant>(every: &[&'static Kernels<V>]) -> usize {
    let data = input(3 * V::LEAVES * V::BLOCK_BYTES + 2);
    let mut checks = 0;
    for kernels in every {
        let params = tree::Params::<V>::new().hash_length(20).unwrap().with_kernels(kernels);
        for length in 0..=data.len() {
            let expected = params.to_hasher().update(&data[..length]).finalize();
            assert_eq!(params.hash(&data[..length]), expected, "{} {length}", kernels.level);
            checks += 1;
        }
    }
    checks
}

#[test]
fn trees_in_one_call_equal_hashers() {
    let (b, s) = dispatch::every();
    assert_eq!(trees_at_once::<Blake2b>(&b), b.len() * 1539);
    assert_eq!(trees_at_once::<Blake2s>(&s), s.len() * 1539);
}

/// Pieces that begin and end around the borders of stripes and of the buffer, which has two.
#[cfg(feature = "std")]
fn threads_agree<V: Variant>(every: &[&'static Kernels<V>]) -> usize {
    let data = input(20_000);
    let mut checks = 0;
    for kernels in every {
        for key in [&b""[..], b"key"] {
            let params = tree::Params::<V>::new().key(key).unwrap().with_kernels(kernels);
            for length in
                [0, 1, 448, 511, 512, 513, 900, 1023, 1024, 1025, 1536, 1985, 2049, 20_000]
            {
                let expected = params.to_hasher().update(&data[..length]).finalize();
                assert_eq!(params.hash_threaded(&data[..length]), expected);
                for start in [0, 1, 63, 449, 511, 512, 700, 1023, 1024, 1025] {
                    let (head, tail) = data[..length].split_at(start.min(length));
                    let mut hasher = params.to_hasher();
                    hasher.update(head).update_by_leaves(tail);
                    assert_eq!(hasher.finalize(), expected, "{} {start} {length}", kernels.level);
                    assert_eq!(hasher.count(), length as u128);
                    // And goes on.
                    let longer = params.hash(&data[..length].repeat(2));
                    let twice = hasher.update_by_leaves(&data[..length]).finalize();
                    assert_eq!(twice, longer, "{} {start} {length}", kernels.level);
                    checks += 1;
                }
            }
        }
    }
    checks
}

#[cfg(feature = "std")]
#[test]
fn leaves_in_threads() {
    let (b, s) = dispatch::every();
    assert_eq!(threads_agree::<Blake2b>(&b), b.len() * 2 * 14 * 10);
    assert_eq!(threads_agree::<Blake2s>(&s), s.len() * 2 * 14 * 10);
}

#[cfg(feature = "std")]
#[test]
fn batches_in_threads() {
    let data = input(3 << 20);
    let lengths = [1 << 20, 0, 77, 300_000, 600_000, 128, 900_000, 5, 1 << 19];
    let params = Params::<Blake2s>::new();
    for threads in 1..5 {
        let mut jobs: Vec<_> =
            lengths.iter().map(|&n| many::Job::new(&params, &data[n / 7..][..n])).collect();
        many::hash_many_threaded(&mut jobs, core::num::NonZero::new(threads));
        for (job, n) in jobs.iter().zip(lengths) {
            assert_eq!(job.hash(), params.hash(&data[n / 7..][..n]));
        }
    }
}
