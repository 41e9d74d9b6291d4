//! The results.

use saltern_chart::markup::percent;
use saltern_yescrypt::hazmat::Level;
use serde::Serialize;

use crate::attack::Published;
use crate::error::Bottleneck;
use crate::ladder::Setting;
use crate::load::{Load, Saturation};
use crate::neighbour::Neighbours;
use crate::others::Others;
use crate::target::{LOAD, MARGIN, Target};

/// The layout of the JSON.
pub(crate) const SCHEMA: u32 = 1;

/// Below this fraction of its threads' time, a pool at full load was not alone on its processors.
const ALONE: f64 = 0.9;

/// A setting and what it can do on this machine.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The version of this layout, 1.
    pub schema: u32,
    /// The end of the run, in seconds since 1970.
    pub unix_time: u64,
    /// The duration of the run in seconds.
    pub seconds: f64,
    /// The machine.
    pub(crate) machine: Machine,
    /// The target, if there was one.
    pub target: Option<Target>,
    /// The time, in milliseconds, within which 99 of 100 logins must be answered.
    pub p99_ms: f64,
    /// The setting that was chosen, or given.
    pub setting: Setting,
    /// Bytes of memory for one hash.
    pub memory_per_hash: u64,
    /// Bytes of the pool's budget.
    pub memory: u64,
    /// Its maximum throughput.
    pub saturation: Saturation,
    /// The most logins per second for which 99 of 100 were answered in time.
    pub held: f64,
    /// Logins per second up to which a login takes at most twice as long as in an idle pool.
    pub knee: Option<f64>,
    /// The sustainable load as a multiple of the peak.
    pub headroom: Option<f64>,
    /// The bottleneck.
    pub bottleneck: Bottleneck,
    /// The confirmation run at the target's peak.
    pub confirmation: Option<Load>,
    /// Latency against load, as measured.
    pub curve: Vec<Load>,
    /// Latency against load, by a model of the pool: logins per second, milliseconds.
    pub model: Vec<[f64; 2]>,
    /// The performance of other settings.
    pub(crate) alternatives: Vec<Alternative>,
    /// Whether the cores were shared.
    pub neighbours: Option<Neighbours>,
    /// What the rest of the machine did.
    pub others: Option<Others>,
    /// Reasons not to trust the numbers; empty on a quiet machine.
    pub warnings: Vec<String>,
    /// Published figures for attacks.
    pub(crate) attackers: &'static [Published],
}

/// The computer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) level: &'static str,
}

impl Machine {
    pub(crate) fn here(processors: usize) -> Self {
        Machine { processor: crate::processor(), processors, level: Level::detect().name() }
    }
}

/// The performance of another setting.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Alternative {
    pub(crate) setting: Setting,
    pub(crate) memory_per_hash: u64,
    /// Hashes per second.
    pub(crate) capacity: f64,
    /// At the peak of the target.
    pub(crate) p99_ms: Option<f64>,
    /// Whether it was measured; otherwise it is computed from measurements of others.
    pub(crate) is_measured: bool,
    pub(crate) holds: bool,
}

impl Report {
    /// Whether the target was met; `true` if there was none.
    #[must_use]
    pub fn holds(&self) -> bool {
        let borne = self.target.is_none_or(|target| self.saturation.bears(target.peak()));
        borne && self.confirmation.as_ref().is_none_or(|load| load.holds(self.p99_ms))
    }

    /// Adds a target and its confirmation.
    pub(crate) fn confirmed(
        self,
        target: Target,
        load: Load,
        alternatives: Vec<Alternative>,
    ) -> Self {
        let mut report =
            Report { target: Some(target), confirmation: Some(load), alternatives, ..self };
        report.conclude();
        report
    }

    /// Derives results from the measurements.
    pub(crate) fn conclude(&mut self) {
        let loads = self.loads().into_iter().filter(|load| load.logins > 0);
        let late = |load: &Load| load.p99_ms.unwrap_or(f64::INFINITY);
        let points: Vec<_> = loads.map(|load| (load.rate, late(load))).collect();
        // More logins than the pool computes can arrive for a moment, but not for long.
        self.held = crossing(&points, self.p99_ms).unwrap_or(0.0).min(self.saturation.rate);
        self.knee = crossing(&points, self.twice_idle_ms());
        self.headroom = self.target.map(|target| self.held / target.peak());
        self.warnings = self.doubts();
    }

    /// All latency measurements, by load.
    pub(crate) fn loads(&self) -> Vec<&Load> {
        let mut loads: Vec<&Load> = self.curve.iter().chain(&self.confirmation).collect();
        loads.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        loads
    }

    /// Why a stronger setting that holds was not taken, for the weakest of them, if there are any.
    pub(crate) fn why_no_stronger(&self) -> Option<String> {
        let peak = self.target?.peak();
        let stronger = |other: &&Alternative| {
            other.holds && other.setting.strength() > self.setting.strength()
        };
        let other = self.alternatives.iter().find(stronger)?;
        let why = if other.capacity * LOAD < peak {
            format!("the peak would be more than {} of its capacity", percent(LOAD))
        } else if other.p99_ms.is_some_and(|p99| p99 > MARGIN * self.p99_ms) {
            format!("99 of 100 would take more than {} of the time", percent(MARGIN))
        } else if other.is_measured {
            "it held in a short trial only".to_owned()
        } else {
            "that is only expected: it was not tried for as long as was asked".to_owned()
        };
        Some(format!("{} holds as well, but {why}", other.setting.words()))
    }

    /// The latency at the knee: twice that of an idle pool.
    pub(crate) fn twice_idle_ms(&self) -> f64 {
        2000.0 * self.saturation.alone
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let Saturation { share, stalled, .. } = self.saturation;
        let threads = self.setting.threads.min(self.machine.processors) as f64;
        let share = share * self.setting.threads as f64 / threads;
        if share + stalled < ALONE {
            doubts.push(format!(
                "other programs took processor time: the pool got {:.0} % of what its threads \
                 could use",
                100.0 * share
            ));
        }
        doubts.extend(self.others.iter().flat_map(Others::doubts));
        if let Some(seen) = self.neighbours.filter(|seen| !seen.is_quiet()) {
            doubts.push(format!("the processor is {}", seen.words()));
        }
        let few = self.confirmation.as_ref().map(|load| load.logins).filter(|&logins| logins < 300);
        if let Some(logins) = few {
            doubts.push(format!("a 99th percentile of {logins} logins is a guess: confirm longer"));
        }
        doubts
    }
}

/// The load up to which the latency stays within a limit, interpolated between the points; the last
/// point if all do, `None` if the first does not.
fn crossing(points: &[(f64, f64)], limit: f64) -> Option<f64> {
    let first_over = points.iter().position(|&(_, latency)| latency > limit);
    let Some(over) = first_over else { return points.last().map(|&(load, _)| load) };
    let (below, above) = (points.get(over.checked_sub(1)?)?, points.get(over)?);
    let part = (limit - below.1) / (above.1 - below.1);
    Some(below.0 + part * (above.0 - below.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_crossed_between_points() {
        let points = [(10.0, 5.0), (20.0, 10.0), (30.0, 30.0)];
        assert_eq!(crossing(&points, 20.0), Some(25.0));
        assert_eq!(crossing(&points, 40.0), Some(30.0));
        assert_eq!(crossing(&points, 4.0), None);
        assert_eq!(crossing(&[(10.0, 5.0), (20.0, f64::INFINITY)], 20.0), Some(10.0));
        assert_eq!(crossing(&[], 20.0), None);
    }
}
