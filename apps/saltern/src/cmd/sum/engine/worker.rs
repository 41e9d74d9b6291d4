//! One thread's share of the work. Its files are hashed side by side, each in its own lane of the
//! vector registers, which takes little longer than one of them alone:
//!
//! - short files are read whole and wait until there are enough of them ([`Batch`]);
//! - long ones advance together, a piece of each at a time ([`Streams`]), unless reading is the
//!   bottleneck: a rotating disk would seek back and forth between them in vain;
//! - other inputs, such as pipes, and those that gain nothing from lanes, are hashed alone.

use std::io;
use std::sync::mpsc::Sender;

use super::Engine;
use crate::cmd::sum::algorithm::{self, Spec};
use crate::cmd::sum::buffer::Buffer;
use crate::cmd::sum::input::{Source, Watch};
use crate::cmd::sum::queue::{Numbered, Outcome, Queue, Task};

mod batch;
mod pace;
mod streams;

use self::batch::Batch;
use self::pace::Pace;
use self::streams::Streams;

/// A thread that hashes, and its unfinished work.
pub(super) struct Worker<'a, T, I: Iterator<Item = Task<T>>> {
    engine: &'a Engine,
    queue: &'a Queue<I>,
    results: Sender<Vec<Numbered<T>>>,
    /// Whether there is a spare thread for each worker.
    read_ahead: bool,
    /// Threads for each input, if its function can use several.
    threads: usize,
    buffer: Buffer,
    pace: Pace,
    batch: Batch<T>,
    streams: Streams<'a, T>,
}

/// Nobody takes results any more.
struct HungUp;

impl<'a, T, I: Iterator<Item = Task<T>>> Worker<'a, T, I> {
    pub(super) fn new(
        engine: &'a Engine,
        queue: &'a Queue<I>,
        results: Sender<Vec<Numbered<T>>>,
        workers: usize,
    ) -> Self {
        let (batch, streams) = (Batch::default(), Streams::default());
        let (buffer, pace) = (Buffer::default(), Pace::default());
        let (read_ahead, threads) = (workers < engine.threads, engine.threads / workers);
        Self { engine, queue, results, read_ahead, threads, buffer, pace, batch, streams }
    }

    /// Take tasks until there are none, or nobody wants the results.
    pub(super) fn work(mut self) {
        while self.go_on() {}
    }

    /// Do a part of the work; return whether there may be more to do.
    pub(super) fn go_on(&mut self) -> bool {
        matches!(self.step(), Ok(true))
    }

    /// Begin a task, or else continue with those begun. `Ok(false)` if there is nothing left to do.
    fn step(&mut self) -> Result<bool, HungUp> {
        let idle = self.batch.is_empty() && self.streams.is_empty();
        let next = match idle {
            true => self.queue.next(),
            false if self.streams.takes_more(&self.pace) => {
                self.queue.next_at_once(self.streams.len())
            }
            false => None,
        };
        match next {
            Some((number, task)) => self.begin(number, task).map(|()| true),
            None if idle => Ok(false),
            None => {
                // Work that is nearly ready goes first; it needs the buffer too.
                self.finish_batch()?;
                let watch = self.watch();
                let done = self.streams.advance(&mut self.buffer, &watch, &mut self.pace);
                self.send(done).map(|()| true)
            }
        }
    }

    /// Do a task, or at least open its file.
    fn begin(&mut self, number: u64, task: Task<T>) -> Result<(), HungUp> {
        let Some((input, spec)) = task.work else {
            return self.send(vec![(number, task.about, None)]);
        };
        let source = match Source::open(&input, &self.engine.stdin) {
            Ok(source) => source,
            Err(error) => return self.send(vec![(number, task.about, Some(Err(error)))]),
        };
        let in_lanes = algorithm::degree(spec.algorithm()) > 1;
        match source.size() {
            Some(size) if in_lanes && size <= batch::LONGEST => {
                self.begin_short(number, task.about, &source, spec)
            }
            Some(_) if in_lanes && !self.read_ahead => {
                match spec.hasher(self.engine.key.as_ref()) {
                    Ok(hasher) => self.streams.push(number, task.about, source, hasher),
                    Err(error) => {
                        let error = io::Error::other(error);
                        self.send(vec![(number, task.about, Some(Err(error)))])?;
                    }
                }
                Ok(())
            }
            _ => {
                // Finished work should not wait for a long input.
                self.finish_batch()?;
                let outcome = self.hash(&source, &[], spec);
                self.send(vec![(number, task.about, Some(outcome))])
            }
        }
    }

    /// Read a short file into the batch.
    fn begin_short(
        &mut self,
        number: u64,
        about: T,
        source: &Source<'_>,
        spec: Spec,
    ) -> Result<(), HungUp> {
        if !self.batch.has_room(source, spec) {
            self.finish_batch()?;
        }
        let outcome = match self.batch.read(&mut self.buffer, source, spec, &mut self.pace) {
            Ok(place) if !place.is_cut => {
                self.batch.push(number, about, spec, place);
                return Ok(());
            }
            // It has grown since it was opened, so this is only its beginning.
            Ok(place) => self.hash(source, &self.buffer.bytes()[place.range], spec),
            Err(error) => Err(error),
        };
        self.send(vec![(number, about, Some(outcome))])
    }

    /// Hash an input of any length alone, of which `start` was read before.
    fn hash(&self, source: &Source<'_>, start: &[u8], spec: Spec) -> Outcome {
        let hasher = spec.hasher(self.engine.key.as_ref()).map_err(io::Error::other)?;
        source.hash(start, hasher, &self.watch())
    }

    fn watch(&self) -> Watch<'a> {
        let (progress, stop) = (&self.engine.progress, self.queue.stop());
        Watch { progress, stop, read_ahead: self.read_ahead, threads: self.threads }
    }

    fn finish_batch(&mut self) -> Result<(), HungUp> {
        let key = self.engine.key.as_ref();
        let done = self.batch.finish(self.buffer.bytes(), key, &self.engine.progress);
        self.send(done)
    }

    fn send(&self, done: Vec<Numbered<T>>) -> Result<(), HungUp> {
        if done.is_empty() {
            return Ok(());
        }
        self.results.send(done).map_err(|_| HungUp)
    }
}
