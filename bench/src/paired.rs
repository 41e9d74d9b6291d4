//! Timing in pairs: A B A B …, so that what slows the machine down for a while slows both.

use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Pairs of samples, at least 1.
    pub pairs: usize,
    /// The least time that a sample should take; operations are repeated to fill it.
    pub sample: Duration,
}

impl Effort {
    /// Enough for a ratio that repeats within a few percent on a quiet machine.
    pub const FULL: Effort = Effort { pairs: 9, sample: Duration::from_millis(150) };
    /// One pair of single operations: that a benchmark runs, not how fast it is.
    pub const SMOKE: Effort = Effort { pairs: 1, sample: Duration::ZERO };
}

/// Seconds per operation of two contenders, one entry for each pair.
#[derive(Clone, Debug)]
pub struct Pairs {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Pairs {
    /// Runs `a` and `b` alternately, after one unmeasured run of each.
    pub fn measure(effort: Effort, a: &mut dyn FnMut(), b: &mut dyn FnMut()) -> Pairs {
        let repeats_a = repeats(effort.sample, a);
        let repeats_b = repeats(effort.sample, b);
        let mut pairs = Pairs { a: Vec::new(), b: Vec::new() };
        for _ in 0..effort.pairs.max(1) {
            pairs.a.push(sample(repeats_a, a));
            pairs.b.push(sample(repeats_b, b));
        }
        pairs
    }

    /// The median time of A, in seconds per operation.
    #[must_use]
    pub fn a(&self) -> f64 {
        median(self.a.clone())
    }

    /// The median time of B, in seconds per operation.
    #[must_use]
    pub fn b(&self) -> f64 {
        median(self.b.clone())
    }

    /// How many times as fast A is as B: the median over the pairs of B's time by A's.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        median(self.ratios())
    }

    /// The least and the greatest of the ratios of single pairs.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        let ratios = self.ratios();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        (least, ratios.iter().copied().fold(0.0, f64::max))
    }

    fn ratios(&self) -> Vec<f64> {
        self.a.iter().zip(&self.b).map(|(a, b)| b / a).collect()
    }
}

/// How often an operation fits into `time`, at least once. The run that finds out warms the caches up.
fn repeats(time: Duration, run: &mut dyn FnMut()) -> u32 {
    let once = sample(1, run);
    (time.as_secs_f64() / once).ceil().max(1.0) as u32
}

fn sample(repeats: u32, run: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        run();
    }
    start.elapsed().as_secs_f64() / f64::from(repeats)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ratios_are_taken_pair_by_pair() {
        let pairs = Pairs { a: vec![1.0, 2.0, 4.0], b: vec![3.0, 2.0, 8.0] };
        assert_eq!((pairs.a(), pairs.b()), (2.0, 3.0));
        // The ratios are 3, 1 and 2; the ratio of the medians would be 1.5.
        assert_eq!(pairs.ratio(), 2.0);
        assert_eq!(pairs.range(), (1.0, 3.0));
        assert_eq!(median(vec![4.0, 1.0]), 2.5);
    }

    #[test]
    fn contenders_alternate() {
        let log = std::cell::RefCell::new(String::new());
        let (mut a, mut b) = (|| log.borrow_mut().push('a'), || log.borrow_mut().push('b'));
        let effort = Effort { pairs: 3, ..Effort::SMOKE };
        Pairs::measure(effort, &mut a, &mut b);
        assert_eq!(log.into_inner(), "abababab");
    }
}
