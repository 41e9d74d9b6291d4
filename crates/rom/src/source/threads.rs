//! Reading with a few threads that do nothing else.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use saltern_pool::source::{BlockMemory, BlockSource, Completion, Request};

use super::lock;
use crate::BlockBuffer;

/// Threads that read until this is dropped.
pub(super) struct Readers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    process: u32,
}

/// Requests that no thread has taken yet.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    more: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<(Request, Arc<Mailbox>)>,
    closed: bool,
}

/// The ended reads of one source.
#[derive(Default)]
struct Mailbox {
    ended: Mutex<Vec<Completion>>,
    more: Condvar,
}

impl Readers {
    /// Starts as many threads as can be had, up to `count`.
    pub(super) fn start(count: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let mut readers = Readers { queue, threads: Vec::new(), process: std::process::id() };
        for index in 0..count {
            let queue = Arc::clone(&readers.queue);
            let builder = std::thread::Builder::new().name(format!("rom-read-{index}"));
            match builder.spawn(move || while queue.serve() {}) {
                Ok(thread) => readers.threads.push(thread),
                Err(error) if readers.threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(readers)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // The threads are the parent's.
            self.threads.drain(..).for_each(std::mem::forget);
            return;
        }
        lock(&self.queue.waiting).closed = true;
        self.queue.more.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Queue {
    /// One request; false at the end.
    fn serve(&self) -> bool {
        let idle = |waiting: &mut Waiting| waiting.requests.is_empty() && !waiting.closed;
        let waiting = self.more.wait_while(lock(&self.waiting), idle);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let Some((request, mailbox)) = waiting.requests.pop_front() else { return false };
        drop(waiting);
        let Request { tag, rom, offset, len, mut buffer } = request;
        let outcome = loop {
            match buffer.memory.get_mut(..len).map(|memory| rom.read(offset, memory)) {
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome.unwrap_or(Err(io::ErrorKind::InvalidInput.into())),
            }
        };
        lock(&mailbox.ended).push(Completion { tag, buffer: Some(buffer), outcome });
        mailbox.more.notify_one();
        true
    }
}

/// The reads of one thread of a pool.
pub(super) struct ThreadSource {
    queue: Arc<Queue>,
    mailbox: Arc<Mailbox>,
}

impl ThreadSource {
    pub(super) fn new(readers: &Readers) -> Self {
        ThreadSource { queue: Arc::clone(&readers.queue), mailbox: Arc::default() }
    }
}

impl BlockSource for ThreadSource {
    fn memory(&mut self, len: usize) -> io::Result<Box<dyn BlockMemory>> {
        Ok(Box::new(BlockBuffer::new(len).map_err(io::Error::other)?))
    }

    fn submit(&mut self, request: Request) {
        lock(&self.queue.waiting).requests.push_back((request, Arc::clone(&self.mailbox)));
        self.queue.more.notify_one();
    }

    fn flush(&mut self) {}

    fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        let mut here = lock(&self.mailbox.ended);
        if wait {
            let none = |here: &mut Vec<Completion>| here.is_empty();
            let waited = self.mailbox.more.wait_while(here, none);
            here = waited.unwrap_or_else(PoisonError::into_inner);
        }
        ended.append(&mut here);
    }

    fn keep(&mut self, _: usize, _: &[u64]) {}
}
