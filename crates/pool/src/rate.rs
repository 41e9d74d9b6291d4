//! How fast the pool has been, measured on what it has computed.

use std::time::{Duration, Instant};

/// After this much time of a thread, a measurement counts for a third of what it did.
const MEMORY: f64 = 2.0;

/// For this long after the last group ended, a measurement is trusted as it is.
const TRUST: f64 = 1.0;

/// A group counts for at most so many times the time that it was expected to take, and what was
/// measured before for at most so many times that of the newest group. A process that stands still
/// for seconds (a virtual machine that is moved, a throttled cgroup) says nothing of the hashes
/// after that.
const OUTLIER: f64 = 4.0;

/// The best speed is halved in so many seconds in which it is not reached.
const BEST_HALVES: f64 = 60.0;

/// Exponentially weighted means of throughput and of the time that one item takes, and the shortest
/// time.
///
/// A pool that refuses everything measures nothing. So that one bad second cannot make it refuse
/// for ever, what is measured becomes more optimistic while nothing runs: by a factor of two each
/// second.
#[derive(Default)]
pub(crate) struct Rate {
    /// All groups, by the time that their threads were busy.
    groups: Mean,
    /// Single items, from their beginning to their end.
    items: Mean,
    /// The most units of work that an item did in a second.
    best: f64,
    last: Option<Instant>,
}

/// Units of work, and the seconds that they took.
#[derive(Default)]
struct Mean {
    work: f64,
    time: f64,
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

impl Mean {
    fn add(&mut self, work: f64, time: f64) {
        let expected = self.time_of(work).unwrap_or(time);
        let time = time.min(expected * OUTLIER);
        let keep = (-time.min(expected) / MEMORY).exp();
        if work > 0.0 {
            self.time = self.time.min(self.work * time / work * OUTLIER);
        }
        self.work = self.work * keep + work;
        self.time = self.time * keep + time;
    }

    /// The seconds for so much work, if anything has been measured.
    fn time_of(&self, work: f64) -> Option<f64> {
        (self.work > 0.0 && self.time > 0.0).then(|| work * self.time / self.work)
    }
}

impl Rate {
    pub(crate) fn add(&mut self, now: Instant, sample: Sample) {
        let (busy, taken) = (sample.busy.as_secs_f64(), sample.taken.as_secs_f64());
        let (work, items) = (sample.work as f64, sample.items as f64);
        self.groups.add(work, busy);
        self.items.add(work, taken * items);
        let known = self.best_at(now);
        self.best = if taken * items > 0.0 { known.max(work / items / taken) } else { known };
        self.last = Some(now);
    }

    /// Units of work that a busy thread does in a second, if anything has been measured.
    pub(crate) fn per_thread(&self, now: Instant, running: bool) -> Option<f64> {
        self.groups.time_of(1.0).map(|time| self.optimism(now, running) / time)
    }

    /// How long an item of this much work takes once it has begun.
    pub(crate) fn time_of(&self, work: u64, now: Instant, running: bool) -> Option<Duration> {
        let seconds = self.items.time_of(work as f64)? / self.optimism(now, running);
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    /// How long it takes at the best speed of late. An item that keeps nobody waiting is measured
    /// by this: if the mean is wrong, it is how that comes out.
    pub(crate) fn best_time_of(&self, work: u64, now: Instant, running: bool) -> Option<Duration> {
        let seconds = Some(work as f64 / self.best_at(now)).filter(|time| time.is_finite())?;
        let best = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Some(best.min(self.time_of(work, now, running)?))
    }

    fn best_at(&self, now: Instant) -> f64 {
        self.best * (-self.silence(now) / BEST_HALVES).exp2()
    }

    fn silence(&self, now: Instant) -> f64 {
        self.last.map_or(0.0, |last| now.saturating_duration_since(last).as_secs_f64())
    }

    fn optimism(&self, now: Instant, running: bool) -> f64 {
        if running { 1.0 } else { (self.silence(now) - TRUST).clamp(0.0, 40.0).exp2() }
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
