//! Long files, hashed together a piece of each at a time.

use std::io;
use std::sync::atomic::Ordering;

use super::pace::Pace;
use crate::cmd::sum::algorithm::{self, Hasher};
use crate::cmd::sum::buffer::{Buffer, LINE};
use crate::cmd::sum::input::{Source, Watch};
use crate::cmd::sum::queue::Numbered;

/// Bytes of a file at a time.
const PIECE: usize = 128 << 10;

/// The distance between pieces in the buffer: not a multiple of a page, so that lanes at the same
/// place in their pieces do not compete for the same cache lines.
const STRIDE: usize = PIECE + 3 * LINE;

/// The long files in progress.
pub(super) struct Streams<'a, T> {
    open: Vec<Stream<'a, T>>,
}

struct Stream<'a, T> {
    number: u64,
    about: T,
    source: Source<'a>,
    hasher: Hasher,
    count: u64,
}

impl<T> Default for Streams<'_, T> {
    fn default() -> Self {
        Self { open: Vec::new() }
    }
}

impl<'a, T> Streams<'a, T> {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether another file may join those in progress.
    pub(super) fn takes_more(&self, pace: &Pace) -> bool {
        let lanes = |stream: &Stream<'_, T>| algorithm::degree(stream.hasher.algorithm());
        self.open.first().is_none_or(|first| pace.is_fast() && self.open.len() < lanes(first))
    }

    pub(super) fn push(&mut self, number: u64, about: T, source: Source<'a>, hasher: Hasher) {
        self.open.push(Stream { number, about, source, hasher, count: 0 });
    }

    /// Hash a piece of every file, and return those that have ended.
    pub(super) fn advance(
        &mut self,
        buffer: &mut Buffer,
        watch: &Watch<'_>,
        pace: &mut Pace,
    ) -> Vec<Numbered<T>> {
        if watch.stop.load(Ordering::Relaxed) {
            // Nobody waits for the digests.
            self.open.clear();
        }
        if buffer.reserve(self.open.len() * STRIDE).is_err() {
            let none = || io::Error::from(io::ErrorKind::OutOfMemory);
            let gone = self.open.drain(..);
            return gone.map(|stream| (stream.number, stream.about, Some(Err(none())))).collect();
        }
        let places = self.open.iter().zip(buffer.bytes_mut().chunks_exact_mut(STRIDE));
        let read =
            places.map(|(stream, place)| pace.time(|| stream.source.read(&mut place[..PIECE])));
        let read: Vec<_> = read.collect();
        let pieces = read.iter().zip(buffer.bytes().chunks_exact(STRIDE));
        let pieces = pieces.map(|(read, piece)| &piece[..*read.as_ref().unwrap_or(&0)]);
        let hashers = self.open.iter_mut().map(|stream| &mut stream.hasher);
        algorithm::update_many(hashers.zip(pieces));

        let (mut done, mut open) = (Vec::new(), Vec::new());
        for (mut stream, read) in self.open.drain(..).zip(read) {
            let count = *read.as_ref().unwrap_or(&0);
            stream.count += count as u64;
            watch.progress.add(count as u64);
            if count == PIECE {
                open.push(stream);
                continue;
            }
            let checked = read.and_then(|_| stream.source.check_size(stream.count));
            let outcome = checked.map(|()| stream.hasher.finalize());
            done.push((stream.number, stream.about, Some(outcome)));
        }
        self.open = open;
        done
    }
}
