//! Many inputs over several threads, with the results in the order of the inputs.
//!
//! Each worker takes the next task from the shared queue, so no list of tasks is ever held, and
//! sends the result with its number to the calling thread, which puts them in order and prints.

mod worker;

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;

use self::worker::Worker;
use super::algorithm::Key;
use super::input::StdinTurns;
use super::queue::{HaltOnPanic, Numbered, Outcome, Queue, Task};
use crate::progress::Progress;

/// The receiver of the results, called on the calling thread and in order.
pub(super) trait Sink<T> {
    /// Print the result of one task; `outcome` is `Some` if the task had work.
    fn take(&mut self, about: T, outcome: Option<Outcome>) -> io::Result<()>;

    /// Called when nothing more is ready: flush what was printed.
    fn flush(&mut self) -> io::Result<()>;
}

/// The state shared by all runs of a process.
pub(super) struct Engine {
    pub(super) threads: usize,
    pub(super) key: Option<Key>,
    pub(super) progress: Progress,
    pub(super) stdin: StdinTurns,
}

impl Engine {
    /// Hash the inputs of `tasks` and pass everything to `sink`, in order. `slow` means that the
    /// iterator may block, so no result should wait for it.
    ///
    /// # Errors
    ///
    /// Only those of `sink`; work that has begun is then abandoned.
    pub(super) fn run<T, I>(&self, tasks: I, slow: bool, sink: &mut dyn Sink<T>) -> io::Result<()>
    where
        T: Send,
        I: Iterator<Item = Task<T>> + Send,
    {
        // More workers than tasks would find nothing to do.
        let most = tasks.size_hint().1.unwrap_or(usize::MAX);
        let workers = self.threads.min(most).max(1);
        let queue = Queue::new(tasks, workers, slow);
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for number in 0..workers {
                let worker = Worker::new(self, &queue, sender.clone(), workers);
                let guard = HaltOnPanic(&queue);
                let thread = thread::Builder::new().name(format!("sum-{number}"));
                let started = thread.spawn_scoped(scope, move || {
                    worker.work();
                    drop(guard);
                });
                match started {
                    Ok(_) => {}
                    // Fewer threads than requested are slower, not wrong.
                    Err(_) if number > 0 => break,
                    Err(_) => return self.run_here(&queue, sink),
                }
            }
            drop(sender);
            let result = self.print(&queue, &receiver, sink);
            self.progress.finish();
            queue.halt();
            result
        })
    }

    /// Hashes the whole queue in this thread, if no other can be started.
    fn run_here<T, I: Iterator<Item = Task<T>>>(
        &self,
        queue: &Queue<I>,
        sink: &mut dyn Sink<T>,
    ) -> io::Result<()> {
        let (sender, receiver) = mpsc::channel();
        let mut worker = Worker::new(self, queue, sender, self.threads);
        let mut order = Order::default();
        while worker.go_on() {
            for batch in receiver.try_iter() {
                order.print(batch, self, sink)?;
            }
            queue.set_printed(order.next);
        }
        self.progress.finish();
        sink.flush()
    }

    /// Put the results in order and print them, until all workers are done.
    fn print<T, I: Iterator<Item = Task<T>>>(
        &self,
        queue: &Queue<I>,
        results: &Receiver<Vec<Numbered<T>>>,
        sink: &mut dyn Sink<T>,
    ) -> io::Result<()> {
        let mut order = Order::default();
        while let Some(batch) = self.receive(results, sink)? {
            order.print(batch, self, sink)?;
            queue.set_printed(order.next);
        }
        self.progress.aside(|| sink.flush())
    }

    /// The next results in order of arrival. Before it waits, what was printed is flushed.
    fn receive<T>(
        &self,
        results: &Receiver<Vec<Numbered<T>>>,
        sink: &mut dyn Sink<T>,
    ) -> io::Result<Option<Vec<Numbered<T>>>> {
        match results.try_recv() {
            Ok(batch) => return Ok(Some(batch)),
            Err(TryRecvError::Disconnected) => return Ok(None),
            Err(TryRecvError::Empty) => self.progress.aside(|| sink.flush())?,
        }
        let Some(tick) = self.progress.tick() else {
            return Ok(results.recv().ok());
        };
        loop {
            match results.recv_timeout(tick) {
                Ok(batch) => return Ok(Some(batch)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.progress.show(),
            }
        }
    }
}

/// Results that arrived before their turn.
struct Order<T> {
    early: BTreeMap<u64, (T, Option<Outcome>)>,
    /// The number whose turn it is.
    next: u64,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Order { early: BTreeMap::new(), next: 0 }
    }
}

impl<T> Order<T> {
    /// Print the results whose turn it is.
    fn print(
        &mut self,
        batch: Vec<Numbered<T>>,
        engine: &Engine,
        sink: &mut dyn Sink<T>,
    ) -> io::Result<()> {
        let keyed = |(number, about, outcome)| (number, (about, outcome));
        self.early.extend(batch.into_iter().map(keyed));
        while let Some((about, outcome)) = self.early.remove(&self.next) {
            engine.progress.aside(|| sink.take(about, outcome))?;
            self.next += 1;
        }
        Ok(())
    }
}
