//! Reading with a few threads that do nothing else.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::reads::{Completion, Request};
use super::rom::Loaded;

/// Requests that no thread has taken yet.
#[derive(Default)]
pub(super) struct Readers {
    waiting: Mutex<Waiting>,
    more: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: VecDeque<(Request, Arc<Mailbox>)>,
    closed: bool,
}

/// The ended reads of one thread.
#[derive(Default)]
pub(super) struct Mailbox {
    ended: Mutex<Vec<Completion>>,
    more: Condvar,
}

/// Nothing in here panics while it holds a lock; if a thread ended in one all the same, what it left is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Readers {
    pub(super) fn submit(&self, request: Request, mailbox: &Arc<Mailbox>) {
        lock(&self.waiting).requests.push_back((request, Arc::clone(mailbox)));
        self.more.notify_one();
    }

    /// Starts threads that read until [`Readers::close`].
    pub(super) fn start(
        self: &Arc<Self>,
        count: usize,
        roms: &Arc<[Loaded]>,
    ) -> io::Result<Vec<JoinHandle<()>>> {
        let start = |index| {
            let (readers, roms) = (Arc::clone(self), Arc::clone(roms));
            let builder = std::thread::Builder::new().name(format!("rom-read-{index}"));
            builder.spawn(move || while readers.serve(&roms) {})
        };
        let mut threads = Vec::new();
        for index in 0..count {
            match start(index) {
                Ok(thread) => threads.push(thread),
                Err(error) if threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(threads)
    }

    /// Lets the threads end once nothing waits.
    pub(super) fn close(&self) {
        lock(&self.waiting).closed = true;
        self.more.notify_all();
    }

    /// One request; false at the end.
    fn serve(&self, roms: &[Loaded]) -> bool {
        let done = |waiting: &mut Waiting| waiting.requests.is_empty() && !waiting.closed;
        let waiting = self.more.wait_while(lock(&self.waiting), done);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let Some((request, mailbox)) = waiting.requests.pop_front() else { return false };
        drop(waiting);
        let Request { tag, rom, offset, len, mut buffer } = request;
        let outcome = loop {
            match roms[rom].read(offset, &mut buffer.memory[..len]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        lock(&mailbox.ended).push(Completion { tag, buffer: Some(buffer), outcome });
        mailbox.more.notify_one();
        true
    }
}

impl Mailbox {
    pub(super) fn collect(&self, wait: bool, ended: &mut Vec<Completion>) {
        let mut here = lock(&self.ended);
        if wait {
            let here_empty = |here: &mut Vec<Completion>| here.is_empty();
            here = self.more.wait_while(here, here_empty).unwrap_or_else(PoisonError::into_inner);
        }
        ended.append(&mut here);
    }
}
