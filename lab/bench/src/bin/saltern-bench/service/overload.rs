//! Many times more logins than can be computed: how many are answered in time, and what becomes of
//! the others.

use std::time::Duration;

use saltern_bench::stats::percentile;

use super::capacity::{CLIENTS, Capacity, TURN};
use super::daemon::Spent;
use super::figures::{Figures, Goal};
use super::load::Asker;
use super::results::Load;
use super::{Bench, TURNS};

/// Who asks: a client of which the service knows nothing, and which sends all it has, or the one of
/// Saltern, which sends less while it is refused.
const WHO: [&str; 2] = ["stranger", "ours"];

/// The least part of the capacity that is to be answered in time, for hashes of 4 MiB and more:
/// with so many times the capacity asked, by strangers and by our client.
const LEAST: [(f64, [f64; 2]); 3] =
    [(2.0, [0.97, 0.98]), (5.0, [0.93, 0.98]), (10.0, [0.87, 0.97])];

/// The same for hashes of 1 MiB, of which ten times as many are more requests than a processor can
/// refuse.
const LEAST_FOR_SMALL: [(f64, [f64; 2]); 1] = [(10.0, [0.5, 0.9])];

/// A step has settled once so many windows in a row have this part of what is answered later.
const SETTLED: (usize, f64) = (4, 0.8);

/// What came of one kind of overload.
#[derive(Default)]
struct Overload {
    load: Load,
    /// Of each turn: answered in time, a second, divided by the capacity just before.
    parts: Vec<f64>,
    /// Seconds from the beginning of a turn until it has settled.
    settled: Vec<f64>,
    spent: Spent,
    hashes: f64,
    groups: f64,
}

impl Bench<'_> {
    /// Many times more than can be done, in turns with as much as can be.
    pub(super) fn overloads(&mut self, capacity: &Capacity) -> anyhow::Result<Load> {
        let mut all = Load::default();
        for times in self.args.times.clone() {
            let mut kinds = [Overload::default(), Overload::default()];
            for _ in 0..TURNS {
                let within = self.within();
                let askers = [
                    Asker::Stranger { within: Some(within) },
                    Asker::Ours(Box::new(self.logins.client().within(within))),
                ];
                for (kind, asker) in kinds.iter_mut().zip(askers) {
                    self.turn(times * capacity.http, capacity, asker, kind)?;
                }
            }
            for (at, kind) in kinds.into_iter().enumerate() {
                self.tell(times, at, capacity, &kind);
                all.join(kind.load);
            }
        }
        self.memory()?;
        Ok(all)
    }

    fn turn(
        &mut self,
        rate: f64,
        capacity: &Capacity,
        asker: Asker,
        kind: &mut Overload,
    ) -> anyhow::Result<()> {
        let (length, within) = (self.part() / TURNS, self.within());
        let turn = length.as_secs_f64();
        let clients = CLIENTS * self.places.service.len();
        let most = self.logins.saturate(clients, TURN, &self.daemon)?.rate;
        let before = (self.daemon.spent(), self.daemon.metrics()?);
        self.seeds += 1;
        let over = self.logins.load(rate, length, asker, self.seeds);
        let metrics = self.daemon.metrics()?;
        kind.spent += self.daemon.spent().since(&before.0);
        kind.hashes += metrics.since(&before.1, "saltern_pool_hashes_total");
        kind.groups += metrics.since(&before.1, "saltern_pool_groups_total");
        // From when the queue is full to the last login.
        let good = over.goodput(within, (0.2 * turn).min(1.0), turn);
        kind.parts.push(good / most);
        let window = (capacity.group_ms / 100.0).max(0.05);
        kind.settled.push(settled(&over, within, window, good));
        kind.load.join(over);
        Ok(())
    }

    fn tell(&mut self, times: f64, who: usize, capacity: &Capacity, kind: &Overload) {
        let (within, cost) = (self.within(), self.args.cost);
        let figures = &mut self.figures;
        let Overload { load, parts, settled, spent, .. } = kind;
        let id = |what: &str| format!("overload-{times}-{}-{what}", WHO[who]);
        let sent = (load.sent() - load.throttled()) as f64;
        let name = match who {
            0 => format!("at {times} times that, of strangers: logins"),
            _ => format!("at {times} times that, of our client: logins"),
        };
        figures.add(&id("offered"), &name, load.sent() as f64 / load.seconds, "/s", None);
        figures.add(&id("sent"), "of which were sent", sent / load.seconds, "/s", None);
        let least = if cost < 3 { &LEAST_FOR_SMALL[..] } else { &LEAST[..] };
        let goal = least.iter().find(|(at, _)| *at == times).map(|(_, least)| least[who]);
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let name = "answered in time, of the capacity in turns with it";
        figures.add(&id("part"), name, mean(parts), "", goal.map(Goal::least));
        let longer = spent.hashing / kind.hashes / capacity.hash;
        let name = "processor time of a hash, divided by that without overload";
        figures.add(&id("hash"), name, longer, "", None);
        figures.add(&id("group"), "hashes together", kind.hashes / kind.groups, "", None);
        // What was accepted takes as much as without overload.
        let refused = load.refused().len() as f64;
        let refusals = 1e6 * (spent.rest - kind.hashes * capacity.rest) / refused.max(1.0);
        let name = "processor time of a refusal";
        figures.add(&id("refusal"), name, refusals, "µs", (who == 0).then(|| Goal::below(20.0)));
        let most = 1e3 * settled.iter().copied().fold(0.0, f64::max);
        figures.add(&id("settled"), "settled within", most, "ms", Goal::below(201.0));
        ends(figures, &id, load, within);
    }
}

/// How logins of an overload ended that were not answered in time.
fn ends(figures: &mut Figures, id: &dyn Fn(&str) -> String, load: &Load, within: Duration) {
    let (late, refused) = (load.late(within) as f64, load.refused());
    figures.add(&id("late"), "accepted, and answered too late", late, "", Goal::Zero);
    let count = load.expired as f64;
    figures.add(&id("expired"), "accepted, and given up in the end", count, "", Goal::Zero);
    let name = "half of the refusals within";
    figures.add(&id("refused-p50"), name, percentile(&refused, 0.5), "ms", Goal::below(5.0));
    let (most, goal) = (percentile(&refused, 0.99), Goal::below(50.0));
    let name = "99 of 100 of the refusals within";
    figures.add(&id("refused-p99"), name, most, "ms", goal);
    figures.lag(&id("load"), load);
}

/// When the first of some windows in a row began in which nearly as much was answered in time as
/// later.
fn settled(load: &Load, within: Duration, window: f64, later: f64) -> f64 {
    let (row, part) = SETTLED;
    let windows = (load.seconds / window) as usize;
    let good = |at: usize| {
        let from = at as f64 * window;
        load.goodput(within, from, from + window) >= part * later
    };
    let good: Vec<_> = (0..windows).map(good).collect();
    let first = good.windows(row).position(|row| row.iter().all(|good| *good));
    first.map_or(load.seconds, |first| first as f64 * window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_settled_once_as_much_is_answered_as_later() {
        let answered = (0..100).filter(|at| *at > 12).map(|at| f64::from(at) / 100.0);
        let load = Load::of_matches(answered.map(|at| at + 0.001), 1.0);
        let within = Duration::from_millis(100);
        assert!((settled(&load, within, 0.05, 100.0) - 0.15).abs() < 1e-9);
        assert_eq!(settled(&load, within, 0.05, 200.0), 1.0);
    }
}
