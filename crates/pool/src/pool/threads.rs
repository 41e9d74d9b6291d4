//! The threads of a pool, from its beginning to its end; without any, its callers compute.

use std::sync::Arc;

use super::Pool;
use crate::config::PoolConfig;
use crate::error::Error;
use crate::shared::{Shared, Submission, lock, this_thread};
use crate::terms::Terms;
use crate::worker;

impl Pool {
    /// Starts the threads, and returns when all of them are ready. If the system allows fewer, the
    /// pool has fewer ([`Pool::note`]). If it allows none, calls compute in the calling thread what
    /// they submit, before they return the ticket.
    ///
    /// # Errors
    /// [`InvalidParameter`](saltern_yescrypt::Error::InvalidParameter) for an invalid
    /// configuration; [`Error::OverBudget`] if [`PoolConfig::prepare`] does not fit into the
    /// budget, and [`OutOfMemory`](saltern_yescrypt::Error::OutOfMemory) if that memory cannot be
    /// allocated; [`Error::Source`] if ROMs cannot be read as configured.
    pub fn new(config: PoolConfig) -> Result<Self, Error> {
        config.check()?;
        let mut threads = config.threads;
        loop {
            let shared = Arc::new(Shared::new(PoolConfig { threads, ..config.clone() }));
            let mut pool = Pool { shared, threads: Vec::new(), config: config.clone() };
            match pool.start() {
                started if started == threads => {
                    return pool.shared.await_ready().map(|()| pool);
                }
                _ if threads == 1 => return worker::prepare_here(&pool.shared).map(|()| pool),
                // Once more, since the memory is divided among those that there are.
                started => threads = started.max(1),
            }
        }
    }

    /// Starts as many threads as the system allows; returns how many.
    fn start(&mut self) -> usize {
        for me in 0..self.shared.config.threads {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name(format!("saltern-{me}"));
            let run = move || {
                lock(&shared.state).members.push(this_thread());
                worker::run(&shared, me);
            };
            let Ok(thread) = thread.spawn(run) else { break };
            self.threads.push(thread);
        }
        self.threads.len()
    }

    /// A remark for the operator if the system does not allow as many threads as were requested.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let (started, wanted) = (self.threads.len(), self.config.threads);
        (started < wanted).then(|| {
            format!(
                "the system allows {started} of {wanted} threads, so that hashing is slower: raise \
                 the limit on processes (ulimit -u, pids.max), or configure fewer threads"
            )
        })
    }

    /// Puts items into the queue, and computes them here if there is no thread for that.
    pub(super) fn enqueue(&self, terms: Terms, items: Vec<Submission>) -> Result<u64, Error> {
        let batch = self.shared.submit(terms, items)?;
        if self.threads.is_empty() {
            worker::run_here(&self.shared);
        }
        Ok(batch)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.shared.forked() {
            // There is nothing to wait for, and the handles refer to threads of another process.
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        self.shared.close();
        // A future's waker runs in a thread of the pool, and may hold the last reference to it.
        let inside = lock(&self.shared.state).members.contains(&this_thread());
        let me = inside.then(|| std::thread::current().id());
        for thread in self.threads.drain(..) {
            if Some(thread.thread().id()) != me {
                let _ = thread.join();
            }
        }
    }
}
