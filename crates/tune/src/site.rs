//! The real subject: the passwords of a site, under a policy.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use saltern::{Outcome, Passwords, Policy, Ticket};

use crate::clock::{process_seconds, thread_seconds};
use crate::error::Error;
use crate::ladder::Setting;
use crate::load::{Arrivals, Load, Saturation, Subject};
use crate::neighbour::{Neighbour, Neighbours};
use crate::others::{Others, Watch};

/// [`Passwords`] under a policy whose costs and threads are changed by settings.
pub struct Site {
    base: Policy,
    exact: bool,
    ready: Option<Ready>,
    neighbour: Neighbour,
    watch: Watch,
    /// Varies the arrival times between loads.
    runs: u64,
}

/// A pool with its threads, and a string that it made.
struct Ready {
    setting: Setting,
    passwords: Passwords,
    stored: String,
}

const PASSWORD: &str = "correct horse battery staple";

/// The longest time at the beginning of a load in which answers are not counted.
const WARM: Duration = Duration::from_secs(2);

/// How long to wait for answers after the last login of a load.
const AFTER: Duration = Duration::from_secs(2);

impl Site {
    /// A site for searching a policy.
    #[must_use]
    pub fn new(base: Policy) -> Self {
        let (neighbour, watch) = (Neighbour::default(), Watch::begin());
        Site { base, exact: false, ready: None, neighbour, watch, runs: 0 }
    }

    /// A site with a given policy.
    #[must_use]
    pub fn exact(policy: Policy) -> Self {
        Site { exact: true, ..Self::new(policy) }
    }

    /// The policy with these costs and threads, with memory prepared before the first login.
    #[must_use]
    pub fn policy(&self, setting: &Setting) -> Policy {
        let mut policy = self.base.clone();
        (policy.params, policy.pool.threads) = (setting.params(), setting.threads);
        if !self.exact {
            policy.pool.prepare = policy.params.check(&policy.limits).ok();
        }
        policy
    }

    fn ready(&mut self, setting: &Setting) -> Result<&Ready, Error> {
        self.neighbour.look(20);
        let fits = self.ready.as_ref().is_some_and(|ready| ready.setting == *setting);
        if !fits {
            // Frees its memory before new memory is allocated.
            self.ready = None;
            let passwords = Passwords::new(self.policy(setting))?;
            if passwords.pool().stats().threads < setting.threads {
                return Err(Error::NoThreads { wanted: setting.threads });
            }
            let stored = passwords.bulk().hash(PASSWORD).wait()?;
            self.ready = Some(Ready { setting: *setting, passwords, stored });
        }
        self.ready.as_ref().ok_or(Error::Failed { why: "there is no pool" })
    }
}

impl Ready {
    /// A login that waits for its turn.
    fn bulk(&self) -> Login {
        let bulk = self.passwords.bulk();
        Login::new(Instant::now(), bulk.verify("account", PASSWORD, Some(&self.stored)))
    }

    /// Seconds for a single hash: the best of three, or of fewer if these take long.
    fn alone(&self, time: Duration) -> Result<f64, Error> {
        let (start, mut best) = (Instant::now(), f64::INFINITY);
        for _ in 0..3 {
            best = best
                .min(self.bulk().wait(Instant::now() + Duration::from_secs(600))?.unwrap_or(600.0));
            if start.elapsed() > time {
                break;
            }
        }
        Ok(best)
    }
}

impl Subject for Site {
    fn saturate(&mut self, setting: &Setting, time: Duration) -> Result<Saturation, Error> {
        let ready = self.ready(setting)?;
        let alone = ready.alone(time / 4)?;
        let pool = ready.passwords.pool();
        let mut open: VecDeque<Login> = (0..8 * setting.threads).map(|_| ready.bulk()).collect();
        // The first ones begin at the same time.
        let hour = Duration::from_secs(3600);
        for _ in 0..setting.threads {
            if let Some(first) = open.pop_front() {
                first.wait(Instant::now() + hour)?;
                open.push_back(ready.bulk());
            }
        }
        let others = || process_seconds() - thread_seconds();
        let (start, worked, before) = (Instant::now(), others(), pool.stats());
        let mut done = 0;
        while done == 0 || start.elapsed() < time {
            let Some(first) = open.pop_front() else { break };
            first.wait(Instant::now() + hour)?;
            done += 1;
            open.push_back(ready.bulk());
        }
        let (passed, worked) = (start.elapsed().as_secs_f64(), others() - worked);
        let after = pool.stats();
        let counted = (after.hashes - before.hashes).max(1) as f64;
        let groups: u64 = after.groups.iter().zip(before.groups).map(|(a, b)| a - b).sum();
        let threads = passed * setting.threads as f64;
        let rate = f64::from(done) / passed;
        Ok(Saturation {
            rate,
            alone,
            processor: worked / (rate * passed),
            share: (worked / threads).min(1.0),
            group: counted / groups.max(1) as f64,
            stalled: after.reads.since(&before.reads).stalled.as_secs_f64() / threads,
        })
    }

    fn load(&mut self, setting: &Setting, rate: f64, time: Duration) -> Result<Load, Error> {
        self.runs += 1;
        let seed = self.runs;
        let ready = self.ready(setting)?;
        let warm = (time / 8).min(WARM);
        let start = Instant::now() + Duration::from_millis(2);
        let (mut open, mut count) = (VecDeque::<Login>::new(), Count::from(start + warm));
        let until = (warm + time).as_secs_f64();
        for at in Arrivals::new(rate, seed).take_while(|&at| at < until) {
            let due = start + Duration::from_secs_f64(at);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let ticket = ready.passwords.verify("account", PASSWORD, Some(&ready.stored));
            open.push_back(Login::new(due, ticket));
            while open.front().is_some_and(Login::is_over) {
                count.take(open.pop_front())?;
            }
        }
        count.until = Instant::now() + AFTER;
        while !open.is_empty() {
            count.take(open.pop_front())?;
        }
        Ok(Load::new(time.as_secs_f64(), count.answered, count.refused))
    }

    fn neighbours(&self) -> Option<Neighbours> {
        self.neighbour.seen()
    }

    fn others(&self) -> Option<Others> {
        self.watch.seen()
    }
}

/// The results of the logins of a load.
struct Count {
    /// Earlier logins do not count.
    from: Instant,
    until: Instant,
    answered: Vec<f64>,
    refused: usize,
}

impl Count {
    fn from(from: Instant) -> Self {
        Count { from, until: from, answered: Vec::new(), refused: 0 }
    }

    fn take(&mut self, login: Option<Login>) -> Result<(), Error> {
        let Some(login) = login else { return Ok(()) };
        let counts = login.due >= self.from;
        match login.wait(self.until)? {
            Some(seconds) if counts => self.answered.push(1000.0 * seconds),
            None if counts => self.refused += 1,
            _ => {}
        }
        Ok(())
    }
}

/// A login in progress, and when it was due.
struct Login {
    due: Instant,
    ticket: Ticket<Outcome>,
    result: Option<Result<Outcome, saltern::Error>>,
    ended: Arc<Ended>,
}

/// When a login was answered: set by the thread that answers.
#[derive(Default)]
struct Ended(OnceLock<Instant>);

impl Wake for Ended {
    fn wake(self: Arc<Self>) {
        let _ = self.0.set(Instant::now());
    }
}

impl Login {
    fn new(due: Instant, mut ticket: Ticket<Outcome>) -> Self {
        let ended = Arc::new(Ended::default());
        let waker = Waker::from(Arc::clone(&ended));
        let result = match Pin::new(&mut ticket).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => {
                waker.wake();
                Some(result)
            }
            Poll::Pending => None,
        };
        Login { due, ticket, result, ended }
    }

    fn is_over(&self) -> bool {
        self.ended.0.get().is_some()
    }

    /// Seconds from when it was due until it was answered; `None` if it was refused, was given up,
    /// or is not answered by then.
    fn wait(self, until: Instant) -> Result<Option<f64>, Error> {
        let result = match self.result {
            Some(result) => result,
            None => {
                let left = until.saturating_duration_since(Instant::now());
                match self.ticket.wait_timeout(left) {
                    Ok(result) => result,
                    Err(_) => return Ok(None),
                }
            }
        };
        let ended = self.ended.0.get().copied().unwrap_or_else(Instant::now);
        match result {
            Ok(Outcome::Match { .. }) => Ok(Some((ended - self.due).as_secs_f64())),
            Ok(_) => Err(Error::Failed { why: "a right password did not match" }),
            Err(error) if error.kind() == saltern::ErrorKind::Overloaded => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
