//! One thread's share of the work: long inputs one after the other, short files several at a time.
//!
//! Short files are read whole into one buffer and hashed side by side, each in its own lane of the vector
//! registers, which takes little longer than one of them alone.

use std::io;
use std::ops::Range;
use std::sync::mpsc::Sender;

use super::algorithm::{self, Algorithm, Spec};
use super::engine::{Numbered, Outcome, Run, Task};
use super::input::{Source, Watch};

/// Longest file that is read whole, in bytes.
const SMALL: usize = 1 << 20;

/// Files in a batch for each lane: with several, files of different lengths fill the lanes well.
const FILES_PER_LANE: usize = 4;

/// Bytes after which a batch with a file for each lane is not made longer.
const ENOUGH: usize = 2 << 20;

/// A thread that hashes, and what it has not finished yet.
pub(super) struct Worker<'a, 'b, T, I> {
    run: &'a Run<'b, I>,
    results: &'a Sender<Vec<Numbered<T>>>,
    buffer: Vec<u8>,
    used: usize,
    batch: Vec<Member<T>>,
}

/// A short file that was read and waits for its lane.
struct Member<T> {
    number: u64,
    about: T,
    spec: Spec,
    place: Range<usize>,
}

/// Nobody takes results any more.
struct HungUp;

impl<'a, 'b, T, I: Iterator<Item = Task<T>>> Worker<'a, 'b, T, I> {
    pub(super) fn new(run: &'a Run<'b, I>, results: &'a Sender<Vec<Numbered<T>>>) -> Self {
        Self { run, results, buffer: Vec::new(), used: 0, batch: Vec::new() }
    }

    /// Take tasks until there are none, or nobody wants the results.
    pub(super) fn work(mut self) {
        loop {
            let next = match self.batch.is_empty() {
                true => self.run.next(),
                false => self.run.next_at_once(),
            };
            let done = match next {
                Some((number, task)) => self.begin(number, task),
                None if self.batch.is_empty() => return,
                None => self.finish_batch(),
            };
            if done.is_err() {
                return;
            }
        }
    }

    /// Do a task, or at least read its file.
    fn begin(&mut self, number: u64, task: Task<T>) -> Result<(), HungUp> {
        let Some((input, spec)) = task.work else {
            return self.send(number, task.about, None);
        };
        let engine = self.run.engine;
        let source = match Source::open(&input, &engine.stdin) {
            Ok(source) => source,
            Err(error) => return self.send(number, task.about, Some(Err(error))),
        };
        let Some(size) =
            source.small_size(SMALL).filter(|_| algorithm::degree(spec.algorithm()) > 1)
        else {
            // What is ready should not wait for a long input.
            self.finish_batch()?;
            let outcome = self.hash(&source, &[], spec);
            return self.send(number, task.about, Some(outcome));
        };
        // A byte more than the file has tells whether it has grown since it was opened.
        let want = size + 1;
        self.make_room(spec.algorithm(), want)?;
        let place = self.used..self.used + want;
        match source.fill(&mut self.buffer[place.clone()]) {
            Ok(len) if len < want => {
                self.used += len;
                let place = place.start..place.start + len;
                self.batch.push(Member { number, about: task.about, spec, place });
                Ok(())
            }
            Ok(_) => {
                let outcome = self.hash(&source, &self.buffer[place], spec);
                self.send(number, task.about, Some(outcome))
            }
            Err(error) => self.send(number, task.about, Some(Err(error))),
        }
    }

    /// Hash an input of any length, of which `start` was read before.
    fn hash(&self, source: &Source<'_>, start: &[u8], spec: Spec) -> Outcome {
        let engine = self.run.engine;
        let hasher = spec.hasher(engine.key.as_ref()).map_err(io::Error::other)?;
        let watch = Watch {
            progress: &engine.progress,
            stop: &self.run.stop,
            read_ahead: self.run.read_ahead,
        };
        source.hash(start, hasher, &watch)
    }

    /// See to it that a file of `want` bytes fits into the batch.
    fn make_room(&mut self, algorithm: Algorithm, want: usize) -> Result<(), HungUp> {
        let lanes = algorithm::degree(algorithm);
        let room = lanes * (SMALL + 1);
        let files = self.batch.len();
        let is_full = files >= FILES_PER_LANE * lanes || (files >= lanes && self.used >= ENOUGH);
        let other = self.batch.first().is_some_and(|first| first.spec.algorithm() != algorithm);
        if is_full || other || self.used + want > room {
            self.finish_batch()?;
        }
        if self.buffer.len() < room {
            self.buffer = vec![0; room];
        }
        Ok(())
    }

    /// Hash the files of the batch side by side.
    fn finish_batch(&mut self) -> Result<(), HungUp> {
        let Some(first) = self.batch.first() else { return Ok(()) };
        let algorithm = first.spec.algorithm();
        let message =
            |member: &Member<T>| (member.spec.bytes(), &self.buffer[member.place.clone()]);
        let messages: Vec<_> = self.batch.iter().map(message).collect();
        let engine = self.run.engine;
        let digests = algorithm::hash_many(algorithm, &messages, engine.key.as_ref());
        engine.progress.add(self.used as u64);
        self.used = 0;
        let result = |member: Member<T>, outcome| (member.number, member.about, Some(outcome));
        let batch = self.batch.drain(..);
        let results = match digests {
            Ok(digests) => {
                batch.zip(digests).map(|(member, digest)| result(member, Ok(digest))).collect()
            }
            Err(error) => {
                batch.map(|member| result(member, Err(io::Error::other(error)))).collect()
            }
        };
        self.results.send(results).map_err(|_| HungUp)
    }

    fn send(&self, number: u64, about: T, outcome: Option<Outcome>) -> Result<(), HungUp> {
        self.results.send(vec![(number, about, outcome)]).map_err(|_| HungUp)
    }
}
