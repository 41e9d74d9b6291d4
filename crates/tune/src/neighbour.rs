//! Other load on the processor during measurements: programs that share its cores, on this machine
//! or, if it is virtual, on its host.
//!
//! A loop of independent operations fills the execution units of a core: another program on the
//! core takes some of them, and the loop becomes slower by the clock of its own thread. Its rate is
//! compared with the best one in the same run; a neighbour that never rests is not detected this
//! way.

use std::hint::black_box;

use serde::{Deserialize, Serialize};

use crate::clock::thread_seconds;

/// Rounds of the loop in a sample: about a millisecond.
const ROUNDS: u64 = 60_000;

/// Chains of operations that do not wait for one another.
const CHAINS: usize = 16;

/// If the median is below this fraction of the best rate, the core counts as shared.
const QUIET: f64 = 0.95;

/// The speed of a loop that fills a core, before, between and after the measurements, as fractions
/// of its best rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    /// The median.
    pub median: f64,
    /// The 5th percentile.
    pub low: f64,
    /// The number of samples.
    pub samples: usize,
}

/// Samples of the loop.
#[derive(Clone, Debug, Default)]
pub struct Neighbour(Vec<f64>);

impl Neighbour {
    /// Takes this many samples, of about a millisecond each.
    pub fn look(&mut self, samples: usize) {
        self.0.extend((0..samples).map(|_| rate()));
    }

    /// The results; `None` without samples.
    #[must_use]
    pub fn seen(&self) -> Option<Neighbours> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let best = *sorted.last()?;
        let part = |rank: usize| (1000.0 * sorted[rank] / best).round() / 1000.0;
        Some(Neighbours {
            median: part(sorted.len() / 2),
            low: part(sorted.len() / 20),
            samples: sorted.len(),
        })
    }
}

/// Rounds in a second of this thread's processor time.
fn rate() -> f64 {
    let mut chains: [u64; CHAINS] = std::array::from_fn(|index| black_box(index as u64));
    let start = thread_seconds();
    for round in 0..ROUNDS {
        for chain in &mut chains {
            *chain = (*chain ^ round).wrapping_add(*chain << 3);
        }
    }
    let end = thread_seconds();
    black_box(chains);
    ROUNDS as f64 / (end - start).max(1e-9)
}

impl Neighbours {
    /// Whether this program had the core to itself, as far as the loop shows.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.median >= QUIET
    }

    /// `quiet` or `shared`, with the numbers.
    #[must_use]
    pub fn words(&self) -> String {
        let word = if self.is_quiet() { "quiet" } else { "shared" };
        format!(
            "{word}: a loop that fills the core ran at {:.0} % of its best rate in the median, \
             {:.0} % at the 5th percentile",
            100.0 * self.median,
            100.0 * self.low
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_decides() {
        assert!(Neighbour::default().seen().is_none());
        let seen = |rates: &[f64]| Neighbour(rates.to_vec()).seen().unwrap().words();
        assert!(seen(&[100.0, 99.0, 98.0, 50.0]).starts_with("quiet: "));
        let shared = seen(&[100.0, 60.0, 55.0, 58.0, 62.0]);
        assert!(shared.starts_with("shared: ") && shared.contains("60 %"), "{shared}");
    }

    #[test]
    fn rates_are_taken() {
        let mut neighbour = Neighbour::default();
        neighbour.look(3);
        let seen = neighbour.seen().unwrap();
        assert!(seen.samples == 3 && seen.low > 0.0 && seen.median <= 1.0, "{seen:?}");
    }
}
