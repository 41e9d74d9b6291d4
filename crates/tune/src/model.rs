//! A simulated pool: threads that take waiting hashes, several at a time.

use crate::ladder::Setting;
use crate::load::{Arrivals, Load, Saturation};

/// Times of hashes, measured for one setting and scaled to others by their work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    /// Units of work per second of one thread, for a hash alone.
    alone: f64,
    /// Units of work per second of all threads, for groups of the usual size.
    together: f64,
    threads: usize,
    group: f64,
}

impl Model {
    pub(crate) fn of(setting: &Setting, seen: &Saturation) -> Self {
        let work = setting.work();
        Model {
            alone: work / seen.alone.max(1e-9),
            together: work * seen.rate,
            threads: setting.threads,
            group: seen.group.clamp(1.0, 8.0),
        }
    }

    /// Hashes per second of a setting.
    pub(crate) fn capacity(&self, setting: &Setting) -> f64 {
        let threads = setting.threads as f64 / self.threads as f64;
        self.together * threads.min(1.0) / setting.work()
    }

    /// Simulates a load for this many seconds. The result is deterministic.
    pub(crate) fn load(&self, setting: &Setting, rate: f64, seconds: f64) -> Load {
        let group = self.group.round().max(1.0);
        let alone = setting.work() / self.alone;
        let full = group * setting.threads as f64 / self.capacity(setting);
        // A group takes the time of its first hash, plus a part of that for each other one.
        let other = if group > 1.0 { ((full - alone) / (group - 1.0)).max(0.0) } else { 0.0 };
        let alone = if group > 1.0 { alone } else { alone.max(full) };
        let times: Vec<f64> = Arrivals::new(rate, 1).take_while(|&time| time < seconds).collect();
        let mut free = vec![0.0_f64; setting.threads];
        let mut answered = Vec::with_capacity(times.len());
        let mut next = 0;
        while next < times.len() {
            let Some(thread) = free.iter_mut().min_by(|a, b| a.total_cmp(b)) else { break };
            let start = thread.max(times[next]);
            let waiting = times[next..].iter().take(group as usize);
            let taken = waiting.take_while(|&&time| time <= start).count().max(1);
            let end = start + alone + other * (taken - 1) as f64;
            answered.extend(times[next..next + taken].iter().map(|time| 1000.0 * (end - time)));
            (*thread, next) = (end, next + taken);
        }
        Load::new(seconds, answered, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting { n: 4096, r: 32, p: 1, t: 0, threads: 2 };

    /// 10 ms alone, 240 hashes a second in pairs.
    fn seen() -> Saturation {
        let (rate, alone) = (240.0, 0.01);
        Saturation { rate, alone, processor: 0.008, share: 1.0, group: 2.0, stalled: 0.0 }
    }

    #[test]
    fn an_idle_pool_takes_the_time_of_a_hash_and_a_full_one_has_its_capacity() {
        let model = Model::of(&SETTING, &seen());
        let idle = model.load(&SETTING, 1.0, 1000.0);
        assert!((idle.median_ms.unwrap() - 10.0).abs() < 0.01, "{idle:?}");
        assert!((model.capacity(&SETTING) - 240.0).abs() < 1e-6);
        // Ten seconds of twice the capacity take twenty: the last one waits for ten.
        let over = model.load(&SETTING, 480.0, 10.0);
        assert!((9000.0..11_000.0).contains(&over.worst_ms.unwrap()), "{over:?}");
    }

    #[test]
    fn latency_rises_with_load_and_with_work() {
        let model = Model::of(&SETTING, &seen());
        let p99 = |rate| model.load(&SETTING, rate, 300.0).p99_ms.unwrap();
        assert!(p99(24.0) < p99(120.0) && p99(120.0) < p99(200.0) && p99(200.0) < p99(235.0));
        let twice = Setting { n: 8192, ..SETTING };
        assert!((model.capacity(&twice) - 120.0).abs() < 5.0, "{}", model.capacity(&twice));
    }

    /// One thread without groups is the queue M/D/1, whose mean wait Pollaczek and Khinchine know.
    #[test]
    fn one_thread_waits_as_theory_says() {
        let one = Setting { threads: 1, ..SETTING };
        let seen = Saturation { rate: 100.0, group: 1.0, ..seen() };
        let load = Model::of(&one, &seen).load(&one, 50.0, 4000.0);
        // Median of M/D/1 at half load: nobody waits for half of the logins.
        assert!((9.99..10.5).contains(&load.median_ms.unwrap()), "{load:?}");
        // P(wait > x) at half load falls by about e^(-1.2564 x / service): p99 waits 3.1 services.
        assert!((36.0..46.0).contains(&load.p99_ms.unwrap()), "{load:?}");
    }
}
