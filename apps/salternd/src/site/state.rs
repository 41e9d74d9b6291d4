//! The state shared by all requests.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use saltern::Passwords;
use saltern_pool::PoolConfig;
use tokio::sync::{Semaphore, watch};

use super::clients::Clients;
use super::log::Log;
use super::metrics::Metrics;
use super::rate::Accounts;
use super::user_files::UserFiles;
use crate::api::{Problem, Reason};

/// The configuration for requests. A reload replaces it; requests in progress keep the one they
/// began with.
pub(crate) struct Current {
    pub(crate) passwords: Passwords,
    pub(crate) clients: Clients,
    pub(crate) accounts: Option<Arc<Accounts>>,
    pub(crate) lines: Arc<Places>,
    pub(crate) users: UserFiles,
    /// How long a request may take if neither it nor the policy sets a limit.
    pub(crate) timeout: Duration,
    /// Whether each request is logged.
    pub(crate) log_requests: bool,
}

/// Places for lines of batches in the pool's queue, shared by all batches, so that they leave most
/// of it to logins.
pub(crate) struct Places {
    pub(crate) most: usize,
    pub(crate) places: Semaphore,
}

impl Places {
    /// The places for a pool: the earlier ones, if their number is the same.
    pub(crate) fn beside(pool: &PoolConfig, before: Option<&Arc<Self>>) -> Arc<Self> {
        // Enough for full groups in all threads, and few enough to leave the queue to logins.
        let most = (8 * pool.threads).clamp(1, (pool.max_waiting / 4).max(1));
        let new = || Arc::new(Places { most, places: Semaphore::new(most) });
        before.filter(|before| before.most == most).map_or_else(new, Arc::clone)
    }
}

/// The phase of the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Starting,
    Running,
    Ending,
}

/// The state of the process.
pub(crate) struct State {
    current: RwLock<Option<Arc<Current>>>,
    phase: watch::Sender<Phase>,
    pub(crate) metrics: Metrics,
    pub(crate) log: Log,
    pub(crate) started: SystemTime,
    /// Whether a request has been refused since a thread last waited for others.
    crowded: AtomicBool,
}

/// How long requests are gathered in a crowd.
const TOGETHER: Duration = Duration::from_millis(1);

impl State {
    pub(crate) fn new() -> Self {
        let (metrics, log) = (Metrics::default(), Log::new());
        let phase = watch::Sender::new(Phase::Starting);
        let (current, crowded) = (RwLock::new(None), AtomicBool::new(false));
        State { current, phase, metrics, log, started: SystemTime::now(), crowded }
    }

    /// A request has been refused since there is too much to do.
    pub(crate) fn crowd(&self) {
        self.crowded.store(true, Relaxed);
    }

    /// Called before a thread waits for requests. In a crowd it lets those of a millisecond come
    /// together first: to be woken for each of many that are refused, beside threads that hash,
    /// takes twice as long as to refuse it.
    pub(crate) fn before_waiting(&self) {
        if self.crowded.swap(false, Relaxed) {
            std::thread::sleep(TOGETHER);
        }
    }

    /// Replaces the configuration for requests.
    pub(crate) fn set(&self, current: Current) {
        let new = Some(Arc::new(current));
        let old = {
            let mut place = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *place, new)
        };
        // Threads may end here: not with the lock held.
        drop(old);
        self.phase.send_if_modified(|phase| {
            let starting = *phase == Phase::Starting;
            if starting {
                *phase = Phase::Running;
            }
            starting
        });
    }

    /// The configuration for requests, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The configuration for a request.
    ///
    /// # Errors
    /// *Unavailable* while the service starts.
    pub(crate) fn ready(&self) -> Result<Arc<Current>, Problem> {
        let starting =
            || Problem::new(Reason::Starting, "keys and ROMs are being checked: try again");
        self.current().ok_or_else(starting)
    }

    /// Ends the acceptance of requests.
    pub(crate) fn end(&self) {
        self.phase.send_replace(Phase::Ending);
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Waits until no more requests are accepted.
    pub(crate) async fn ending(&self) {
        // The sender is in `self`, so this cannot fail.
        let _ = self.phase.subscribe().wait_for(|phase| *phase == Phase::Ending).await;
    }
}
