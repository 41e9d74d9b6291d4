//! The speed of the pool, measured on what it has computed.

use std::time::{Duration, Instant};

/// After this much time of a thread, a measurement counts for a third of what it did.
const MEMORY: f64 = 2.0;

/// And in the measurement that shows when the pool has just become slower, because the processor
/// has other work: answering and refusing requests, for example, as they come faster.
const RECENT: f64 = 0.1;

/// For this long after the last group ended, a measurement is trusted as it is.
const TRUST: f64 = 1.0;

/// A group counts as at most this many times slower than expected. A process that is stopped for
/// seconds (a virtual machine being migrated, a throttled cgroup) says nothing about the hashes
/// after that.
const SLOWER: f64 = 4.0;

/// And as at most this many times faster: tasks that fail at once say nothing about others, but
/// after a slow period hashes are some ten times faster than expected.
const FASTER: f64 = 32.0;

/// The best speed is halved after this many seconds in which it is not reached.
const BEST_HALVES: f64 = 60.0;

/// The best speed counts as at most this many times the mean: a task that fails at once seems
/// faster than anything.
const BEST_MOST: f64 = 16.0;

/// Exponentially weighted means of throughput and of the time that one item takes, and the shortest
/// time.
///
/// A pool that refuses everything measures nothing. So that one bad second cannot make it refuse
/// forever, the measurement becomes more optimistic while nothing runs: by a factor of two each
/// second.
#[derive(Default)]
pub(crate) struct Rate {
    mean: Mean,
    recent: Mean,
    /// The most units of work that an item did in a second.
    best: f64,
    last: Option<Instant>,
}

/// Sums in which what is older counts for less.
#[derive(Default)]
struct Mean {
    /// Units of work of all groups.
    work: f64,
    /// The seconds that their threads were busy.
    busy: f64,
    /// The seconds of single items, from their beginning to their end.
    taken: f64,
}

impl Mean {
    /// Adds a group that took so long; after `memory` seconds it counts for a third.
    fn add(&mut self, memory: f64, busy: f64, group: Mean) {
        // Old measurements decay with time: otherwise a wrong one would last for as long as it
        // makes everything after it look like an exception.
        let keep = (-busy.min(memory) / memory).exp();
        self.work = self.work * keep + group.work;
        self.busy = self.busy * keep + group.busy;
        self.taken = self.taken * keep + group.taken;
    }

    /// Units of work that a busy thread does in a second.
    fn speed(&self) -> Option<f64> {
        (self.work > 0.0 && self.busy > 0.0).then(|| self.work / self.busy)
    }
}

/// A group that has been computed.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// Units of work that were estimated for all its items when it began.
    pub(crate) booked: u64,
    /// Units of work that were actually done.
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
        let (work, items) = (sample.work as f64, sample.items as f64);
        let (busy, taken) = (sample.busy.as_secs_f64(), sample.taken.as_secs_f64() * items);
        self.best = self.best_at(now);
        self.last = Some(now);
        if work == 0.0 || taken == 0.0 {
            return;
        }
        // By the time of the items: of groups that end together, only the first one got time from
        // its thread.
        let slower = taken / self.seconds_of(work).unwrap_or(taken);
        let time = (SLOWER / slower).min(1.0);
        self.best = self.best.max(work / taken);
        let work = work * (FASTER * slower).min(1.0);
        let group = || Mean { work, busy: busy * time, taken: taken * time };
        self.mean.add(MEMORY, busy, group());
        self.recent.add(RECENT, busy, group());
    }

    /// Units of work that a busy thread does in a second, if anything has been measured: in the
    /// last seconds, or if that is less, just now.
    pub(crate) fn per_thread(&self, now: Instant, running: bool) -> Option<f64> {
        let speed = self.mean.speed()?;
        let least = self.recent.speed().map_or(speed, |recent| recent.min(speed));
        Some(least * self.optimism(now, running))
    }

    /// How long an item of this much work takes once it has begun.
    pub(crate) fn time_of(&self, work: u64, now: Instant, running: bool) -> Option<Duration> {
        let seconds = self.seconds_of(work as f64)? / self.optimism(now, running);
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    fn seconds_of(&self, work: f64) -> Option<f64> {
        let Mean { work: done, taken, .. } = self.mean;
        (done > 0.0 && taken > 0.0).then(|| work * taken / done)
    }

    /// How long it takes at the best recent speed. An item that keeps nobody waiting is judged by
    /// this, which also reveals a wrong mean.
    pub(crate) fn best_time_of(&self, work: u64, now: Instant) -> Option<Duration> {
        let mean = self.time_of(work, now, false)?;
        let best = Duration::try_from_secs_f64(work as f64 / self.best_at(now)).unwrap_or(mean);
        Some(best.clamp(mean.div_f64(BEST_MOST), mean))
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
pub(crate) mod tests {
    use super::*;

    pub(crate) fn ms(ms: u64) -> Duration {
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
        // Half as fast from now on: after ten seconds almost nothing is left of the first rate.
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

    /// A thread that has several groups in flight, two of which end at nearly the same moment: it
    /// has spent almost no time on the second one alone.
    #[test]
    fn groups_that_end_together_are_as_fast_as_both_of_them() {
        let (mut rate, now) = (Rate::default(), Instant::now());
        for _ in 0..100 {
            rate.add(now, Sample { taken: ms(40), ..sample(1000, 20) });
            let busy = Duration::from_micros(1);
            rate.add(now, Sample { busy, taken: ms(40), ..sample(1000, 0) });
        }
        let known = rate.per_thread(now, true).unwrap();
        assert!((known / 100_000.0 - 1.0).abs() < 0.01, "{known}");
        assert_eq!(rate.time_of(500, now, true), Some(ms(20)));
    }

    /// Tasks that find out at once that there is nothing to compute, booked like a long hash.
    #[test]
    fn what_fails_at_once_says_little_of_the_rest() {
        let (mut rate, now) = (Rate::default(), Instant::now());
        for _ in 0..50 {
            rate.add(now, sample(1000, 40));
        }
        let moment = Duration::from_micros(5);
        let storm = Sample { busy: moment, taken: moment, ..sample(30_000, 0) };
        rate.add(now, storm);
        let best = rate.best_time_of(1000, now).unwrap();
        assert!(best > ms(2), "{best:?}");
        (0..1000).for_each(|_| rate.add(now, storm));
        let known = rate.per_thread(now, true).unwrap();
        assert!((known / 25_000.0 - 1.0).abs() < 0.2, "{known}");
        let time = rate.time_of(1000, now, true).unwrap();
        assert!(time > ms(33) && time < ms(42), "{time:?}");
    }

    /// As much as is known of a speed, a storm before it is forgotten within seconds.
    #[test]
    fn a_speed_that_came_first_and_is_wrong_is_forgotten() {
        let (mut rate, now) = (Rate::default(), Instant::now());
        let moment = Duration::from_micros(5);
        let storm = Sample { busy: moment, taken: moment, ..sample(1000, 0) };
        (0..100).for_each(|_| rate.add(now, storm));
        for _ in 0..300 {
            rate.add(now, sample(1000, 40));
        }
        let time = rate.time_of(1000, now, true).unwrap();
        assert!(time > ms(36), "{time:?}");
        let mut rate = Rate::default();
        rate.add(now, sample(1000, 40));
        rate.add(now, Sample { busy: ms(60_000), taken: ms(60_000), ..sample(1000, 0) });
        let time = rate.time_of(1000, now, true).unwrap();
        assert!(time < ms(161), "{time:?}");
    }

    /// Its own speed is unknown, and says nothing about others.
    #[test]
    fn a_task_without_work_says_nothing() {
        let (mut rate, now) = (Rate::default(), Instant::now());
        rate.add(now, sample(1000, 40));
        rate.add(now, sample(0, 600_000));
        assert_eq!(rate.time_of(1000, now, true), Some(ms(40)));
        assert_eq!(rate.best_time_of(1000, now), Some(ms(40)));
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
