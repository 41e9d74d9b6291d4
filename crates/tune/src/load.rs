//! Subjects, loads, and their results.

use std::time::Duration;

use serde::Serialize;

use crate::error::Error;
use crate::ladder::Setting;

/// Something that hashes, in reality or simulated.
pub trait Subject {
    /// Computes as many hashes as possible, for about this long.
    ///
    /// # Errors
    /// Those of the subject.
    fn saturate(&mut self, setting: &Setting, time: Duration) -> Result<Saturation, Error>;

    /// Sends this many logins per second, at random times, for this long.
    ///
    /// # Errors
    /// Those of the subject. Logins that are refused or given up are not errors: they count as
    /// late.
    fn load(&mut self, setting: &Setting, rate: f64, time: Duration) -> Result<Load, Error>;

    /// Whether the cores were shared, as far as observed; `None` if not observed.
    fn neighbours(&self) -> Option<crate::neighbour::Neighbours> {
        None
    }

    /// What the rest of the machine did; `None` if not observed.
    fn others(&self) -> Option<crate::others::Others> {
        None
    }
}

/// The maximum throughput of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Saturation {
    /// Hashes per second.
    pub rate: f64,
    /// Seconds for a single hash.
    pub alone: f64,
    /// Seconds of processor time for each hash.
    pub processor: f64,
    /// The fraction of its threads' time in which a processor worked for them, 0 to 1.
    pub share: f64,
    /// Mean number of hashes that were computed together.
    pub group: f64,
    /// The fraction of its threads' time spent waiting for reads of a ROM, 0 to 1.
    pub stalled: f64,
}

/// The most logins that are sent, as a multiple of what a pool computes: more would not show more.
const MOST: f64 = 2.0;

impl Saturation {
    /// The load to send for a requested number of logins per second.
    pub(crate) fn sent(&self, rate: f64) -> f64 {
        rate.min(MOST * self.rate)
    }

    /// Whether a subject that answered the load sent for this rate in time can sustain the rate:
    /// not if fewer logins were sent, because the rate is too high in the long run.
    pub(crate) fn bears(&self, rate: f64) -> bool {
        self.sent(rate) >= rate
    }
}

/// Logins, and how they were answered. Times are milliseconds from the arrival of a login.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Logins per second that arrived.
    pub rate: f64,
    /// Seconds.
    pub seconds: f64,
    /// Logins.
    pub logins: usize,
    /// Logins that were refused or given up.
    pub refused: usize,
    /// The time within which half of them were answered; `None` if fewer were answered.
    pub median_ms: Option<f64>,
    /// The time within which 99 of 100 were answered; `None` if fewer were.
    pub p99_ms: Option<f64>,
    /// The time within which all were answered; `None` if one was not.
    pub worst_ms: Option<f64>,
}

impl Load {
    /// Counts logins by their milliseconds.
    pub(crate) fn new(seconds: f64, mut answered: Vec<f64>, refused: usize) -> Self {
        answered.sort_by(f64::total_cmp);
        let logins = answered.len() + refused;
        // The nearest rank: at least this many logins were answered within this time.
        let rank = |part: f64| (part * logins as f64).ceil().max(1.0) as usize;
        let within = |part: f64| answered.get(rank(part) - 1).copied();
        Load {
            rate: logins as f64 / seconds,
            seconds,
            logins,
            refused,
            median_ms: within(0.5),
            p99_ms: within(0.99),
            worst_ms: within(1.0),
        }
    }

    /// Whether 99 of 100 logins were answered within this many milliseconds.
    #[must_use]
    pub fn holds(&self, p99_ms: f64) -> bool {
        self.p99_ms.is_some_and(|p99| p99 <= p99_ms)
    }
}

/// splitmix64: pseudorandom numbers, the same for the same start.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence for a number.
    #[must_use]
    pub fn new(start: u64) -> Self {
        Random(start)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number from 0 to `bound` - 1; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }
}

/// Endless arrival times of independent logins, in seconds from the beginning: exponential gaps,
/// the same for the same seed.
///
/// ```
/// use saltern_tune::Arrivals;
/// let times: Vec<f64> = Arrivals::new(100.0, 1).take_while(|at| *at < 10.0).collect();
/// assert!((900..1100).contains(&times.len()));
/// ```
#[derive(Clone, Debug)]
pub struct Arrivals {
    random: Random,
    now: f64,
    rate: f64,
}

impl Arrivals {
    /// Arrivals at this mean rate per second.
    #[must_use]
    pub fn new(rate: f64, seed: u64) -> Self {
        Arrivals { random: Random::new(seed), now: 0.0, rate }
    }
}

impl Iterator for Arrivals {
    type Item = f64;

    /// Seconds from the beginning.
    fn next(&mut self) -> Option<f64> {
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        self.now -= uniform.ln() / self.rate;
        Some(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks_and_what_is_not_answered_is_late() {
        let load = Load::new(10.0, (1..=99).map(f64::from).collect(), 1);
        assert_eq!((load.logins, load.rate), (100, 10.0));
        assert_eq!((load.median_ms, load.p99_ms, load.worst_ms), (Some(50.0), Some(99.0), None));
        let load = Load::new(10.0, (1..=98).map(f64::from).collect(), 2);
        assert_eq!(load.p99_ms, None);
        assert!(!load.holds(1e9));
        assert_eq!(Load::new(1.0, Vec::new(), 0).p99_ms, None);
    }

    #[test]
    fn arrivals_are_those_of_poisson() {
        let times: Vec<f64> = Arrivals::new(100.0, 1).take_while(|&time| time < 1000.0).collect();
        let mean = times.len() as f64 / 1000.0;
        assert!((mean - 100.0).abs() < 1.0, "{mean}");
        // In whole seconds the counts vary as much as their mean says.
        let mut counts = [0.0_f64; 1000];
        times.iter().for_each(|&time| counts[time as usize] += 1.0);
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 1000.0;
        assert!((0.85..1.15).contains(&(variance / mean)), "{variance}");
        assert!(times.is_sorted());
    }
}
