//! Many inputs over several threads, with the results in the order of the inputs.
//!
//! Each worker takes the next task from the shared source, so no list of tasks is ever held, and sends the
//! result with its number to the calling thread, which puts them in order and prints. A worker does not run
//! further ahead of the printing than [`WINDOW`] tasks, which bounds what waits behind one long file.

use std::collections::BTreeMap;
use std::io;
use std::iter::Fuse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::algorithm::{Digest, Key, Spec};
use super::input::{Input, StdinTurns};
use super::progress::Progress;
use super::worker::Worker;

/// Results that may wait for an earlier one.
const WINDOW: u64 = 16 * 1024;

/// Something that takes its place in the output: an input to hash, or only a remark.
pub(super) struct Task<T> {
    pub(super) about: T,
    pub(super) work: Option<(Input, Spec)>,
}

/// What became of an input: its digest, or why there is none.
pub(super) type Outcome = io::Result<Digest>;

/// The receiver of the results, called on the calling thread and in order.
pub(super) trait Sink<T> {
    /// Print the result of one task; `outcome` is there if the task had work.
    fn take(&mut self, about: T, outcome: Option<Outcome>) -> io::Result<()>;

    /// Nothing more is ready: let what was printed be seen.
    fn flush(&mut self) -> io::Result<()>;
}

/// What stays the same over all the runs of a process.
pub(super) struct Engine {
    pub(super) threads: usize,
    pub(super) key: Option<Key>,
    pub(super) progress: Progress,
    pub(super) stdin: StdinTurns,
}

/// The state that the threads of one run share.
pub(super) struct Run<'a, I> {
    pub(super) engine: &'a Engine,
    pub(super) stop: AtomicBool,
    pub(super) read_ahead: bool,
    /// The source of the tasks may be slow, so that results should not wait for more of them.
    pub(super) slow: bool,
    source: Mutex<(u64, Fuse<I>)>,
    printed: Mutex<u64>,
    advanced: Condvar,
}

/// A result with the place of its task.
pub(super) type Numbered<T> = (u64, T, Option<Outcome>);

impl Engine {
    /// Hash the inputs of `tasks` and give everything to `sink`, in order. `slow` says that the iterator may
    /// take its time, so that no result should wait for it.
    ///
    /// # Errors
    ///
    /// Only those of `sink`; the work that has begun is then abandoned.
    pub(super) fn run<T, I>(&self, tasks: I, slow: bool, sink: &mut dyn Sink<T>) -> io::Result<()>
    where
        T: Send,
        I: Iterator<Item = Task<T>> + Send,
    {
        // More workers than tasks would only be started to find nothing.
        let most = tasks.size_hint().1.unwrap_or(usize::MAX);
        let workers = self.threads.min(most).max(1);
        let run = Run {
            engine: self,
            source: Mutex::new((0, tasks.fuse())),
            printed: Mutex::new(0),
            advanced: Condvar::new(),
            stop: AtomicBool::new(false),
            read_ahead: workers < self.threads,
            slow,
        };
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for number in 0..workers {
                let (run, sender) = (&run, sender.clone());
                let worker = thread::Builder::new().name(format!("sum-{number}"));
                match worker.spawn_scoped(scope, move || run.work(&sender)) {
                    Ok(_) => {}
                    // Fewer threads than asked for are slower, not wrong; without any there is no way on.
                    Err(_) if number > 0 => break,
                    Err(error) => return Err(error),
                }
            }
            drop(sender);
            let result = run.print(&receiver, sink);
            self.progress.finish();
            run.halt();
            result
        })
    }
}

impl<I> Run<'_, I> {
    /// The life of a worker.
    fn work<T>(&self, results: &Sender<Vec<Numbered<T>>>)
    where
        I: Iterator<Item = Task<T>>,
    {
        // Should this thread panic, the others must not wait for its result.
        let guard = HaltOnPanic(self);
        Worker::new(self, results).work();
        drop(guard);
    }

    /// The next task and its number, once the printing has come near enough.
    pub(super) fn next<T>(&self) -> Option<(u64, Task<T>)>
    where
        I: Iterator<Item = Task<T>>,
    {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let number = source.0;
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let far = |printed: &mut u64| number - *printed >= WINDOW && !self.stopped();
        drop(self.advanced.wait_while(printed, far));
        if self.stopped() {
            return None;
        }
        take(&mut source)
    }

    /// The next task, if it can be had without waiting: what a worker asks that has unfinished work, for
    /// which the printing may be waiting in turn.
    pub(super) fn next_at_once<T>(&self) -> Option<(u64, Task<T>)>
    where
        I: Iterator<Item = Task<T>>,
    {
        let mut source = self.source.try_lock().ok()?;
        let printed = *self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.slow || source.0 - printed >= WINDOW || self.stopped() {
            return None;
        }
        take(&mut source)
    }

    /// Put the results in order and print them, until all workers are done.
    fn print<T>(
        &self,
        results: &Receiver<Vec<Numbered<T>>>,
        sink: &mut dyn Sink<T>,
    ) -> io::Result<()> {
        let mut early = BTreeMap::new();
        let mut next = 0;
        while let Some(batch) = self.receive(results, sink)? {
            early.extend(
                batch.into_iter().map(|(number, about, outcome)| (number, (about, outcome))),
            );
            while let Some((about, outcome)) = early.remove(&next) {
                self.engine.progress.aside(|| sink.take(about, outcome))?;
                next += 1;
            }
            *self.printed.lock().unwrap_or_else(PoisonError::into_inner) = next;
            self.advanced.notify_all();
        }
        self.engine.progress.aside(|| sink.flush())
    }

    /// The next results in order of arrival. Before it waits, what was printed is flushed.
    fn receive<T>(
        &self,
        results: &Receiver<Vec<Numbered<T>>>,
        sink: &mut dyn Sink<T>,
    ) -> io::Result<Option<Vec<Numbered<T>>>> {
        match results.try_recv() {
            Ok(result) => return Ok(Some(result)),
            Err(TryRecvError::Disconnected) => return Ok(None),
            Err(TryRecvError::Empty) => self.engine.progress.aside(|| sink.flush())?,
        }
        let Some(tick) = self.engine.progress.tick() else {
            return Ok(results.recv().ok());
        };
        loop {
            match results.recv_timeout(tick) {
                Ok(result) => return Ok(Some(result)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.engine.progress.show(),
            }
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Let every worker come to its end.
    fn halt(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // The lock orders this after the test of a worker that is about to wait.
        drop(self.printed.lock());
        self.advanced.notify_all();
    }
}

fn take<T, I>(source: &mut (u64, Fuse<I>)) -> Option<(u64, Task<T>)>
where
    I: Iterator<Item = Task<T>>,
{
    let task = source.1.next()?;
    source.0 += 1;
    Some((source.0 - 1, task))
}

struct HaltOnPanic<'a, 'b, I>(&'a Run<'b, I>);

impl<I> Drop for HaltOnPanic<'_, '_, I> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.halt();
        }
    }
}
