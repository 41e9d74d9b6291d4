//! What a client does against overload: it asks less while it is refused, and asks again later.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Requests are sent up to this many times those that are accepted: the tenth above lets the client
/// notice when there is room again.
const MORE: f64 = 1.1;

/// This many are sent whatever was answered.
const FREE: f64 = 10.0;

/// After this many seconds, a third of a request still counts.
const WINDOW: f64 = 10.0;

/// Requests and accepted ones of the last seconds (adaptive throttling, as in "Site Reliability
/// Engineering", chapter 21).
pub(super) struct Throttle(Mutex<Counts>);

struct Counts {
    requests: f64,
    accepted: f64,
    since: Instant,
}

impl Throttle {
    pub(super) fn new() -> Self {
        Throttle(Mutex::new(Counts { requests: 0.0, accepted: 0.0, since: Instant::now() }))
    }

    /// Counts a request; whether it may be sent, which a number from 0 to 1 decides.
    pub(super) fn may_send(&self, now: Instant, random: f64) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.age(now);
        let refused = counts.requests - MORE * counts.accepted - FREE;
        let part = refused / (counts.requests + 1.0);
        counts.requests += 1.0;
        random >= part
    }

    /// A request was not refused for overload.
    pub(super) fn accepted(&self, now: Instant) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.age(now);
        counts.accepted += 1.0;
    }
}

impl Counts {
    fn age(&mut self, now: Instant) {
        let left = (-now.saturating_duration_since(self.since).as_secs_f64() / WINDOW).exp();
        (self.requests, self.accepted) = (self.requests * left, self.accepted * left);
        self.since = now;
    }
}

/// A number from 0 to 1, which others cannot foresee.
pub(super) fn random() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

/// A time between one and two times this one, so that clients that were refused together do not
/// come back together.
pub(super) fn jittered(time: Duration, random: f64) -> Duration {
    time.mul_f64(1.0 + random)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that accepts a hundred a second, of a thousand that are wanted.
    #[test]
    fn a_client_that_is_refused_sends_little_more_than_is_accepted() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        let (mut sent, mut accepted) = ([0; 2], [0; 2]);
        for millisecond in 0..60_000_u64 {
            let now = start + Duration::from_millis(millisecond);
            let second_half = usize::from(millisecond >= 30_000);
            // A number that is spread evenly.
            let random = (millisecond * 618_033 % 1_000_000) as f64 / 1e6;
            if throttle.may_send(now, random) {
                sent[second_half] += 1;
                // A tenth of the time it is less busy.
                if accepted[second_half] * 10 <= millisecond % 30_000 {
                    accepted[second_half] += 1;
                    throttle.accepted(now);
                }
            }
        }
        assert!(accepted[1] >= 2900, "{accepted:?}");
        assert!(sent[1] * 100 <= accepted[1] * 125, "{sent:?} {accepted:?}");
    }

    #[test]
    fn a_client_that_is_accepted_sends_all_and_recovers() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        for _ in 0..1000 {
            assert!(throttle.may_send(start, 0.0));
            throttle.accepted(start);
        }
        let refused = (0..5000).filter(|_| !throttle.may_send(start, 0.5)).count();
        assert!(refused > 2000, "{refused}");
        let later = start + Duration::from_secs(120);
        assert!((0..10).all(|_| throttle.may_send(later, 0.0)));
    }

    #[test]
    fn times_are_spread() {
        let second = Duration::from_secs(1);
        assert_eq!(
            [0.0, 0.5, 1.0].map(|random| jittered(second, random).as_millis()),
            [1000, 1500, 2000]
        );
        assert!((0..100).map(|_| random()).all(|number| (0.0..=1.0).contains(&number)));
        assert!(random().to_bits() != random().to_bits());
    }
}
