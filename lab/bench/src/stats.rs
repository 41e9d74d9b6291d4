//! Robust statistics: medians, and how sure they are.

pub use saltern_tune::Random;

use crate::record::{Estimate, Latency, Verdict};

/// How often samples are drawn again.
const RESAMPLES: usize = 2000;

/// The middle number; of an even number of them, the mean of the two in the middle. NaN of none.
///
/// ```
/// use saltern_bench::stats::median;
/// assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
/// assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
/// ```
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

fn middle(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// The median of some samples, and its 95 % interval: that of the medians of 2000 draws, with
/// replacement, of as many samples.
///
/// Nothing is assumed about how the samples are distributed. The draws are the same in every run.
/// Few samples give a wide interval: of three, it goes from the least to the greatest.
///
/// ```
/// let estimate = saltern_bench::stats::estimate(&[1.0, 1.1, 0.9, 1.0, 5.0]);
/// assert_eq!(estimate.median, 1.0);
/// assert!(estimate.low >= 0.9 && estimate.high <= 5.0);
/// ```
#[must_use]
pub fn estimate(samples: &[f64]) -> Estimate {
    let mut random = Random::new(samples.len() as u64);
    let mut draw = vec![0.0; samples.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            draw.fill_with(|| samples[random.below(samples.len())]);
            draw.sort_by(f64::total_cmp);
            middle(&draw)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let [low, high] = [0.025, 0.975].map(|part| medians[(part * (RESAMPLES - 1) as f64) as usize]);
    let rounded = |x: f64| digits(x, 6);
    Estimate {
        median: rounded(median(samples)),
        low: rounded(low),
        high: rounded(high),
        samples: samples.len(),
    }
}

/// The least of the samples that so large a part of them does not exceed (the nearest rank); NaN of
/// none.
///
/// ```
/// assert_eq!(saltern_bench::stats::percentile(&[3.0, 1.0, 2.0], 0.95), 3.0);
/// ```
#[must_use]
pub fn percentile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    nearest_rank(&sorted, part).unwrap_or(f64::NAN)
}

fn nearest_rank(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// What an interval says about a ratio.
#[must_use]
pub fn verdict(ratio: &Estimate) -> Verdict {
    if ratio.low > 1.0 {
        Verdict::Faster
    } else if ratio.high < 1.0 {
        Verdict::Slower
    } else {
        Verdict::Tie
    }
}

/// Least, mean, 99th percentile and greatest of times in milliseconds; none of none.
#[must_use]
pub fn latency(mut ms: Vec<f64>) -> Option<Latency> {
    ms.sort_by(f64::total_cmp);
    let (&min, &max) = ms.first().zip(ms.last())?;
    let p99 = nearest_rank(&ms, 0.99)?;
    let [min_ms, avg_ms, p99_ms, max_ms] =
        [min, ms.iter().sum::<f64>() / ms.len() as f64, p99, max].map(|x| digits(x, 5));
    Some(Latency { min_ms, avg_ms, p99_ms, max_ms })
}

/// A number rounded to so many significant digits, so that a record is no longer than it is exact.
#[must_use]
pub fn digits(x: f64, count: i32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    // Through text: a power of ten that is multiplied and divided leaves digits at the end.
    format!("{x:.*e}", (count - 1).max(0) as usize).parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are nearly normal: sums of twelve uniform ones, around `mean`, with a deviation
    /// of 1.
    fn normal(random: &mut Random, mean: f64) -> f64 {
        let uniform = |random: &mut Random| random.next_u64() as f64 / u64::MAX as f64;
        mean - 6.0 + (0..12).map(|_| uniform(random)).sum::<f64>()
    }

    #[test]
    fn a_median_of_nothing_is_no_number() {
        assert!(median(&[]).is_nan() && estimate(&[]).median.is_nan());
        assert_eq!(estimate(&[7.0]), Estimate { median: 7.0, low: 7.0, high: 7.0, samples: 1 });
    }

    #[test]
    fn the_interval_holds_the_truth_about_95_times_in_100() {
        let mut random = Random::new(1);
        let held = (0..400).filter(|_| {
            let samples: Vec<f64> = (0..15).map(|_| normal(&mut random, 10.0)).collect();
            let Estimate { low, high, .. } = estimate(&samples);
            low <= 10.0 && 10.0 <= high
        });
        let held = held.count();
        // 400 trials at 0.95 deviate by 4.4; the method itself is a little off with 15 samples.
        assert!((360..=395).contains(&held), "{held} of 400");
    }

    #[test]
    fn the_interval_narrows_with_the_root_of_the_number_of_samples() {
        let mut random = Random::new(2);
        let mut width = |count: usize| {
            let widths: Vec<f64> = (0..40)
                .map(|_| {
                    let samples: Vec<f64> = (0..count).map(|_| normal(&mut random, 0.0)).collect();
                    let Estimate { low, high, .. } = estimate(&samples);
                    high - low
                })
                .collect();
            median(&widths)
        };
        let ratio = width(11) / width(11 * 16);
        assert!((3.0..5.2).contains(&ratio), "{ratio}");
        // Of the median of 121 normal numbers, the interval is 2 * 1.96 * 1.2533 / 11 wide.
        let ratio = width(121) / 0.4466;
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
    }

    #[test]
    fn an_outlier_moves_neither_the_median_nor_the_interval_far() {
        let mut samples = vec![1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99];
        let clean = estimate(&samples);
        samples[4] = 1000.0;
        let dirty = estimate(&samples);
        assert!((clean.median - dirty.median).abs() < 0.011 && dirty.high < 1.03, "{dirty:?}");
    }

    #[test]
    fn a_ratio_on_both_sides_of_one_is_a_tie() {
        let of = |samples: &[f64]| verdict(&estimate(samples));
        assert_eq!(of(&[0.9, 1.2, 0.95, 1.1]), Verdict::Tie);
        assert_eq!(of(&[1.1, 1.2, 1.3]), Verdict::Faster);
        assert_eq!(of(&[0.8, 0.9, 0.99]), Verdict::Slower);
        assert_eq!(of(&[1.0; 5]), Verdict::Tie);
    }

    #[test]
    fn a_percentile_is_exceeded_by_no_more_than_the_rest() {
        let twenty: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(
            [0.95, 0.951, 0.5, 0.0, 1.0].map(|part| percentile(&twenty, part)),
            [19.0, 20.0, 10.0, 1.0, 20.0]
        );
        assert_eq!(latency(twenty).unwrap().p99_ms, 20.0);
        assert!(percentile(&[], 0.5).is_nan());
    }

    #[test]
    fn latencies() {
        let ms = latency((1..=200).rev().map(f64::from).collect()).unwrap();
        assert_eq!((ms.min_ms, ms.avg_ms, ms.p99_ms, ms.max_ms), (1.0, 100.5, 198.0, 200.0));
        assert!(latency(Vec::new()).is_none());
    }

    #[test]
    fn digits_are_significant_ones() {
        assert_eq!(digits(123_456.7, 4), 123_500.0);
        assert_eq!(digits(0.001_234_567, 3), 0.001_23);
        assert_eq!((digits(0.0, 3), digits(-2.55, 2)), (0.0, -2.5));
    }
}
