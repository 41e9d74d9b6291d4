//! How fast the pool has been, measured on what it has computed.

use std::time::{Duration, Instant};

/// After this much busy time of a thread, a measurement counts for a third of what it did.
const MEMORY: f64 = 2.0;

/// For this long after the last group ended, a measurement is trusted as it is.
const TRUST: f64 = 1.0;

/// Exponentially weighted means of throughput and of the time that one item takes.
///
/// A pool that refuses everything measures nothing. So that one bad second cannot make it refuse
/// for ever, what is measured becomes more optimistic while nothing runs: by a factor of two each
/// second.
#[derive(Default)]
pub(crate) struct Rate {
    /// Work of all groups, and the seconds that their threads were busy.
    work: f64,
    busy: f64,
    /// Work of single items, and the seconds from their beginning to their end.
    item_work: f64,
    item_time: f64,
    last: Option<Instant>,
}

/// A group that has been computed.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// Units of work that all its items were to be when it began.
    pub(crate) booked: u64,
    /// Units of work that they were.
    pub(crate) work: u64,
    /// Items.
    pub(crate) items: usize,
    /// How long its thread has been busy since it last finished a group.
    pub(crate) busy: Duration,
    /// From its beginning to its end, other groups of the same thread included.
    pub(crate) taken: Duration,
}

impl Rate {
    pub(crate) fn add(&mut self, now: Instant, sample: Sample) {
        let (busy, taken) = (sample.busy.as_secs_f64(), sample.taken.as_secs_f64());
        let keep = (-busy / MEMORY).exp();
        self.work = self.work * keep + sample.work as f64;
        self.busy = self.busy * keep + busy;
        self.item_work = self.item_work * keep + sample.work as f64;
        self.item_time = self.item_time * keep + taken * sample.items as f64;
        self.last = Some(now);
    }

    /// Units of work that a busy thread does in a second, if anything has been measured.
    pub(crate) fn per_thread(&self, now: Instant, running: bool) -> Option<f64> {
        let known = self.work > 0.0 && self.busy > 0.0;
        known.then(|| self.work / self.busy * self.optimism(now, running))
    }

    /// How long an item of this much work takes once it has begun.
    pub(crate) fn time_of(&self, work: u64, now: Instant, running: bool) -> Option<Duration> {
        let known = self.item_work > 0.0 && self.item_time > 0.0;
        let seconds =
            || work as f64 * self.item_time / self.item_work / self.optimism(now, running);
        known.then(|| Duration::try_from_secs_f64(seconds()).unwrap_or(Duration::MAX))
    }

    fn optimism(&self, now: Instant, running: bool) -> f64 {
        let silence =
            self.last.map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64());
        if running { 1.0 } else { (silence - TRUST).clamp(0.0, 40.0).exp2() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn sample(work: u64, time: u64) -> Sample {
        Sample { booked: work, work, items: 1, busy: ms(time), taken: ms(time) }
    }

    #[test]
    fn the_first_sample_is_the_rate_and_later_ones_move_it() {
        let mut rate = Rate::default();
        let mut now = Instant::now();
        assert_eq!((rate.per_thread(now, true), rate.time_of(1, now, true)), (None, None));
        rate.add(now, sample(1000, 10));
        let known = rate.per_thread(now, true).unwrap();
        assert!((known - 100_000.0).abs() < 1.0, "{known}");
        assert_eq!(rate.time_of(500, now, true), Some(ms(5)));
        // Half as fast from now on: after ten seconds next to nothing is left of the first rate.
        for _ in 0..500 {
            now += ms(20);
            rate.add(now, sample(1000, 20));
        }
        let known = rate.per_thread(now, true).unwrap();
        assert!((known - 50_000.0).abs() < 500.0, "{known}");
    }

    #[test]
    fn a_group_of_two_does_twice_the_work_and_each_of_them_takes_all_of_its_time() {
        let mut rate = Rate::default();
        let now = Instant::now();
        rate.add(now, Sample { items: 2, ..sample(2000, 15) });
        assert!((rate.per_thread(now, true).unwrap() - 2000.0 / 0.015).abs() < 1.0);
        assert_eq!(rate.time_of(1000, now, true), Some(ms(15)));
    }

    #[test]
    fn silence_makes_optimistic_unless_something_runs() {
        let mut rate = Rate::default();
        let now = Instant::now();
        rate.add(now, sample(1000, 1000));
        let later = now + Duration::from_secs(4);
        assert_eq!(rate.time_of(1000, later, true), Some(ms(1000)));
        assert_eq!(rate.time_of(1000, later, false), Some(ms(125)));
        assert!((rate.per_thread(later, false).unwrap() - 8000.0).abs() < 1.0);
    }
}
