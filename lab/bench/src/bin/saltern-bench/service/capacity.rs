//! What the service does at most, in turns with what the pool alone does.

use std::time::Duration;

use saltern::Policy;
use saltern_bench::stats::{estimate, median};
use saltern_tune::neighbour::Neighbours;
use saltern_tune::{Setting, Site, Subject};

use super::daemon::Daemon;
use super::figures::{Figures, Goal};
use super::load::Logins;

/// Rates are logins a second.
pub(super) struct Capacity {
    /// Of the service.
    pub(super) http: f64,
    pool: f64,
    /// Of each turn, the service's rate divided by the pool's: by the time that passed, and by the
    /// processor time of both.
    passed: Vec<f64>,
    spent: Vec<f64>,
    /// Processor time of a hash in the service, in seconds.
    pub(super) hash: f64,
    /// Processor time of a login in the service beside that of its hash, in seconds.
    pub(super) rest: f64,
    /// Hashes that were computed together, in the mean: in the service and in the pool.
    groups: (f64, f64),
    /// Milliseconds of a full group.
    pub(super) group_ms: f64,
    /// Milliseconds of a login alone.
    pub(super) alone: f64,
    neighbours: Option<Neighbours>,
}

/// How long the pool and the service work in each turn.
pub(super) const TURN: Duration = Duration::from_secs(1);

/// Clients for each thread, of which each asks again when it is answered: enough for a full group
/// in the thread and another one that waits.
pub(super) const CLIENTS: usize = 16;

impl Capacity {
    /// So many turns.
    pub(super) fn measure(
        daemon: &Daemon,
        logins: &Logins,
        policy: &Policy,
        turns: u32,
    ) -> anyhow::Result<Self> {
        let threads = policy.pool.threads;
        let setting = Setting::new(&policy.params, threads);
        let mut site = Site::exact(policy.clone());
        let alone = logins.alone()?;
        logins.saturate(CLIENTS * threads, TURN / 2, daemon)?;
        let (mut pool, mut http, mut passed, mut spent) = (vec![], vec![], vec![], vec![]);
        let (mut together, mut rests, mut hashes) = (vec![], vec![], vec![]);
        let before = daemon.metrics()?;
        for _ in 0..turns.max(3) {
            let alone = site.saturate(&setting, TURN)?;
            let service = logins.saturate(CLIENTS * threads, TURN, daemon)?;
            let all = service.spent.hashing + service.spent.rest;
            pool.push(alone.rate);
            http.push(service.rate);
            together.push(alone.group);
            hashes.push(service.spent.hashing / service.count);
            rests.push(service.spent.rest / service.count);
            passed.push(service.rate / alone.rate);
            spent.push(alone.processor * service.count / all);
        }
        let after = daemon.metrics()?;
        let more = |name: &str| after.since(&before, name);
        let group = more("saltern_pool_hashes_total") / more("saltern_pool_groups_total");
        let rate = median(&http);
        Ok(Capacity {
            http: rate,
            pool: median(&pool),
            passed,
            spent,
            hash: median(&hashes),
            rest: median(&rests),
            groups: (group, median(&together)),
            group_ms: 1e3 * group * threads as f64 / rate,
            alone,
            neighbours: site.neighbours(),
        })
    }

    /// Adds what was found.
    pub(super) fn tell(&self, cost: u8, figures: &mut Figures) {
        figures.neighbours.clone_from(&self.neighbours);
        figures.add("pool", "capacity of the pool alone", self.pool, "/s", None);
        figures.add("http", "capacity of the service", self.http, "/s", None);
        let goal = Goal::least(if cost == 1 { 0.9 } else { 0.97 });
        let passed = estimate(&self.passed);
        figures.add("ratio", "of the pool's", passed.median, "", goal);
        figures.add("ratio-low", "of it, 95 % interval from", passed.low, "", None);
        figures.add("ratio-high", "to", passed.high, "", None);
        let spent = median(&self.spent);
        figures.add("ratio-processor", "the same by processor time", spent, "", None);
        let rest = 1e6 * self.rest;
        figures.add("request", "processor time of a login beside its hash", rest, "µs", None);
        figures.add("group", "hashes together in the service", self.groups.0, "", None);
        figures.add("group-pool", "and in the pool alone", self.groups.1, "", None);
        figures.add("group-ms", "time of a full group", self.group_ms, "ms", None);
        figures.add("alone", "a login alone", self.alone, "ms", None);
    }
}
