//! Short files, read whole and hashed together.

use std::io;
use std::ops::Range;

use super::pace::Pace;
use crate::cmd::sum::algorithm::{self, Algorithm, Key, Spec};
use crate::cmd::sum::buffer::{Buffer, LINE};
use crate::cmd::sum::input::Source;
use crate::cmd::sum::queue::Numbered;
use crate::progress::Progress;

/// Longest file that is read whole, in bytes.
pub(super) const LONGEST: u64 = (1 << 20) - 1;

/// Files in a batch for each lane: with several, files of different lengths fill the lanes well.
const FILES_PER_LANE: usize = 4;

/// The size beyond which a batch with a file for each lane is not extended.
const ENOUGH: usize = 2 << 20;

/// Files of one function that were read and wait for the others.
pub(super) struct Batch<T> {
    members: Vec<Member<T>>,
    used: usize,
}

struct Member<T> {
    number: u64,
    about: T,
    spec: Spec,
    range: Range<usize>,
}

/// The place of a file in the buffer.
pub(super) struct Place {
    pub(super) range: Range<usize>,
    /// Whether the file continues after that.
    pub(super) is_cut: bool,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { members: Vec::new(), used: 0 }
    }
}

impl<T> Batch<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether a file should be read into this batch, and not into the next.
    pub(super) fn has_room(&self, source: &Source<'_>, spec: Spec) -> bool {
        let Some(first) = self.members.first() else { return true };
        let lanes = algorithm::degree(spec.algorithm());
        let files = self.members.len();
        let is_full = files >= FILES_PER_LANE * lanes || (files >= lanes && self.used >= ENOUGH);
        let fits = self.used + wanted(source) <= room(spec.algorithm());
        fits && !is_full && first.spec.algorithm() == spec.algorithm()
    }

    /// Read a file for which there is room into the buffer.
    pub(super) fn read(
        &mut self,
        buffer: &mut Buffer,
        source: &Source<'_>,
        spec: Spec,
        pace: &mut Pace,
    ) -> io::Result<Place> {
        if self.is_empty() {
            buffer.reserve(room(spec.algorithm()))?;
        }
        let want = wanted(source);
        let place = &mut buffer.bytes_mut()[self.used..self.used + want];
        let len = pace.time(|| source.fill(place))?;
        Ok(Place { range: self.used..self.used + len, is_cut: len == want })
    }

    /// Keep what was just read.
    pub(super) fn push(&mut self, number: u64, about: T, spec: Spec, place: Place) {
        self.used = place.range.end.next_multiple_of(LINE);
        self.members.push(Member { number, about, spec, range: place.range });
    }

    /// Hash all the files.
    pub(super) fn finish(
        &mut self,
        buffer: &[u8],
        key: Option<&Key>,
        progress: &Progress,
    ) -> Vec<Numbered<T>> {
        let Some(first) = self.members.first() else { return Vec::new() };
        let algorithm = first.spec.algorithm();
        let message = |member: &Member<T>| (member.spec.bytes(), &buffer[member.range.clone()]);
        let messages: Vec<_> = self.members.iter().map(message).collect();
        let digests = algorithm::hash_many(algorithm, &messages, key);
        progress.add(messages.iter().map(|(_, message)| message.len() as u64).sum());
        self.used = 0;
        let members = self.members.drain(..).enumerate();
        let result = |(at, member): (usize, Member<T>)| {
            let digest = match &digests {
                Ok(digests) => Ok(digests[at]),
                Err(error) => Err(io::Error::other(error.to_string())),
            };
            (member.number, member.about, Some(digest))
        };
        members.map(result).collect()
    }
}

/// Bytes of the buffer for a file: one more than its size, to detect whether it has grown since it
/// was opened.
fn wanted(source: &Source<'_>) -> usize {
    source.size().unwrap_or(0).min(LONGEST) as usize + 1
}

/// Bytes of the buffer for a batch: a longest file for each lane.
fn room(algorithm: Algorithm) -> usize {
    algorithm::degree(algorithm) * (LONGEST as usize + 1)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::cmd::sum::input::{Input, StdinTurns};

    #[test]
    fn a_file_that_grows_or_shrinks_is_noticed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), [1; 100]).unwrap();
        let turns = StdinTurns::default();
        let open = || Source::open(&Input::File(file.path().into()), &turns).unwrap();
        let spec = Spec::full(Algorithm::Blake2b);
        let read = |source| {
            let (mut batch, mut buffer) = (Batch::<()>::default(), Buffer::default());
            batch.read(&mut buffer, &source, spec, &mut Pace::default())
        };

        let place = read(open()).unwrap();
        assert!(place.range == (0..100) && !place.is_cut);
        let source = open();
        file.as_file().write_all(&[2; 300]).unwrap();
        let place = read(source).unwrap();
        assert!(place.range == (0..101) && place.is_cut);
        let source = open();
        file.as_file().set_len(7).unwrap();
        let error = read(source).err().unwrap().to_string();
        assert_eq!(error, "file shrank from 300 to 7 bytes while it was being read");
    }
}
