//! Reading with a few threads that do nothing else.

use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use saltern_pool::hazmat::Process;
use saltern_pool::source::{BlockMemory, BlockSource, Completion, Request};

use super::lock;
use crate::DirectBuffer;

/// A read, and the channel for its completion.
type Task = (Request, Sender<Completion>);

/// Threads that read until this is dropped.
pub(super) struct Readers {
    tasks: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
    process: Process,
}

impl Readers {
    /// Starts as many threads as possible, up to `count`. If there are none, the threads that
    /// compute read.
    pub(super) fn start(count: usize) -> Self {
        let (tasks, waiting) = channel::<Task>();
        let waiting = Arc::new(Mutex::new(waiting));
        let (threads, process) = (Vec::new(), Process::current());
        let mut readers = Readers { tasks: Some(tasks), threads, process };
        for index in 0..count {
            let waiting = Arc::clone(&waiting);
            // One thread holds the lock while it waits for a task, and the others wait for the
            // lock.
            let next = move || lock(&waiting).recv();
            let builder = std::thread::Builder::new().name(format!("rom-read-{index}"));
            match builder.spawn(move || {
                while let Ok(task) = next() {
                    serve(task)
                }
            }) {
                Ok(thread) => readers.threads.push(thread),
                Err(_) => break,
            }
        }
        if readers.threads.is_empty() {
            readers.tasks = None;
        }
        readers
    }

    /// Whether the threads are this process's.
    pub(super) fn are_here(&self) -> bool {
        self.process.is_current()
    }

    /// The source for one thread of a pool.
    pub(super) fn source(&self) -> ThreadSource {
        let (reply, ended) = channel();
        ThreadSource { tasks: self.tasks.clone(), reply, ended }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if !self.are_here() {
            // The threads are those of another process.
            mem::forget((self.tasks.take(), mem::take(&mut self.threads)));
            return;
        }
        self.tasks = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve((request, reply): Task) {
    let Request { tag, rom, offset, len, mut buffer } = request;
    // The ROM may be foreign code. If it panics, this read fails and the next one is served.
    let read = catch_unwind(AssertUnwindSafe(|| {
        let rom = rom;
        loop {
            match buffer.memory.get_mut(..len).map(|memory| rom.read(offset, memory)) {
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome.unwrap_or(Err(io::ErrorKind::InvalidInput.into())),
            }
        }
    }));
    let outcome = read.unwrap_or_else(|_| Err(io::Error::other("reading the ROM panicked")));
    // The receiver may have given up.
    let _ = reply.send(Completion { tag, buffer: Some(buffer), outcome });
}

/// The reads of one thread of a pool.
pub(super) struct ThreadSource {
    /// `None` if there are no threads that read.
    tasks: Option<Sender<Task>>,
    reply: Sender<Completion>,
    ended: Receiver<Completion>,
}

impl BlockSource for ThreadSource {
    fn memory(&mut self, len: usize) -> io::Result<Box<dyn BlockMemory>> {
        Ok(Box::new(DirectBuffer::new(len).map_err(io::Error::other)?))
    }

    fn submit(&mut self, request: Request) {
        let task = (request, self.reply.clone());
        let Some(tasks) = &self.tasks else { return serve(task) };
        if let Err(SendError((request, reply))) = tasks.send(task) {
            // The threads end after all sources; if there were none, nobody would wait for this
            // read.
            let Request { tag, buffer, .. } = request;
            let outcome = Err(io::ErrorKind::BrokenPipe.into());
            let _ = reply.send(Completion { tag, buffer: Some(buffer), outcome });
        }
    }

    fn flush(&mut self) {}

    fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        ended.extend(wait.then(|| self.ended.recv().ok()).flatten());
        ended.extend(self.ended.try_iter());
    }

    fn keep(&mut self, _: usize, _: &[u64]) {}
}
