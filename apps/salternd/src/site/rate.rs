//! Rate limits: for a single subject, or for any number of accounts in bounded memory.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A rate: a burst at once, and then one per interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rate {
    /// Nanoseconds from one to the next.
    every: u64,
    /// Nanoseconds that an event may be ahead of its time.
    ahead: u64,
}

impl Rate {
    /// Parses a rate such as `10/min`, with a burst; `None` for any other text.
    pub(crate) fn parse(text: &str, burst: u32) -> Option<Self> {
        let (count, unit) = text.split_once('/')?;
        let count: u64 = count.trim().parse().ok().filter(|count| *count > 0)?;
        let unit = match unit.trim() {
            "s" => 1,
            "min" => 60,
            "h" => 3600,
            _ => return None,
        };
        let every = Duration::from_secs(unit).as_nanos() as u64 / count;
        let ahead = every.checked_mul(u64::from(burst.checked_sub(1)?))?;
        (every > 0).then_some(Rate { every, ahead })
    }

    /// How many there are in a second, at least two, so that batches leave one to logins: the
    /// default burst.
    pub(crate) fn in_a_second(text: &str) -> u32 {
        let rate = Self::parse(text, 1);
        rate.map_or(2, |rate| u32::try_from(1_000_000_000 / rate.every).unwrap_or(u32::MAX).max(2))
    }

    /// This rate with half of the burst, rounded up: the rest is for others.
    fn half(self) -> Self {
        let burst = self.ahead / self.every + 1;
        Rate { ahead: self.ahead - burst / 2 * self.every, ..self }
    }

    /// If one more may happen now, the time at which the next is due, by the generic cell rate
    /// algorithm; otherwise how long it must wait.
    fn next(self, due: u64, now: u64) -> Result<u64, Duration> {
        let due = due.max(now);
        match (due - now).checked_sub(self.ahead) {
            Some(wait) if wait > 0 => Err(Duration::from_nanos(wait)),
            _ => Ok(due.saturating_add(self.every)),
        }
    }
}

/// The rate limit of a single subject.
pub(crate) struct Bucket {
    rate: Rate,
    start: Instant,
    due: Mutex<u64>,
}

impl Bucket {
    pub(crate) fn new(rate: Rate) -> Self {
        Bucket { rate, start: Instant::now(), due: Mutex::new(0) }
    }

    /// Its rate.
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Counts one, or returns how long it must wait.
    pub(crate) fn take(&self) -> Result<(), Duration> {
        self.take_at(self.rate, nanos(self.start))
    }

    /// Counts one that leaves half of the burst to requests that do not wait, or returns how long
    /// it must wait.
    pub(crate) fn take_leaving_half(&self) -> Result<(), Duration> {
        self.take_at(self.rate.half(), nanos(self.start))
    }

    fn take_at(&self, rate: Rate, now: u64) -> Result<(), Duration> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        *due = rate.next(*due, now)?;
        Ok(())
    }
}

/// How many accounts share a lock; the one among them closest to being free is evicted.
const WAYS: usize = 8;

/// The rates of accounts, in memory that never grows.
///
/// Accounts are identified by 64 bits of a keyed hash. If more of them are limited at once than
/// there is room for, the one closest to being free again is forgotten: to cause that, an attacker
/// must log in that often under other names.
pub(crate) struct Accounts {
    rate: Rate,
    keys: RandomState,
    start: Instant,
    sets: Box<[Mutex<[Slot; WAYS]>]>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    account: u64,
    due: u64,
}

impl Accounts {
    /// Room for at least this many accounts at once, 16 bytes each.
    pub(crate) fn new(rate: Rate, accounts: usize) -> Self {
        let sets = (0..sets(accounts)).map(|_| Mutex::default()).collect();
        Accounts { rate, keys: RandomState::new(), start: Instant::now(), sets }
    }

    /// Whether it is the same as a new one for this rate and number of accounts.
    pub(crate) fn is_for(&self, rate: Rate, accounts: usize) -> bool {
        (self.rate, self.sets.len()) == (rate, sets(accounts))
    }

    /// Counts a login of an account, or returns how long it must wait.
    pub(crate) fn take(&self, account: &[u8]) -> Result<(), Duration> {
        self.take_at(account, nanos(self.start))
    }

    /// Takes back the count of a login that had no result.
    pub(crate) fn give_back(&self, account: &[u8]) {
        let Some((account, mut set)) = self.set(account) else { return };
        if let Some(slot) = set.iter_mut().find(|slot| slot.account == account) {
            slot.due = slot.due.saturating_sub(self.rate.every);
        }
    }

    /// The hash of an account, and the set to which it belongs.
    fn set(&self, account: &[u8]) -> Option<(u64, MutexGuard<'_, [Slot; WAYS]>)> {
        // 0 means no account.
        let account = self.keys.hash_one(account).max(1);
        let set = self.sets.get((account as usize) & (self.sets.len() - 1))?;
        Some((account, set.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn take_at(&self, account: &[u8], now: u64) -> Result<(), Duration> {
        let Some((account, mut set)) = self.set(account) else { return Ok(()) };
        let known = set.iter().position(|slot| slot.account == account);
        let first = || (0..WAYS).min_by_key(|way| set[*way].due).unwrap_or(0);
        let way = known.unwrap_or_else(first);
        let due = if known.is_some() { set[way].due } else { 0 };
        let due = self.rate.next(due, now)?;
        set[way] = Slot { account, due };
        Ok(())
    }
}

/// How many sets have room for this many accounts.
fn sets(accounts: usize) -> usize {
    accounts.div_ceil(WAYS).max(1).next_power_of_two()
}

fn nanos(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_passes_and_then_one_each_so_often() {
        let accounts = Accounts::new(Rate::parse("6/min", 3).unwrap(), 8);
        let take = |at: u64| accounts.take_at(b"alice", at * SECOND);
        assert_eq!([take(100), take(100), take(100)], [Ok(()); 3]);
        assert_eq!(take(100), Err(Duration::from_secs(10)));
        // Refused requests do not count.
        assert_eq!(take(109), Err(Duration::from_secs(1)));
        assert_eq!((take(110), take(110)), (Ok(()), Err(Duration::from_secs(10))));
        assert_eq!(accounts.take_at(b"bob", 110 * SECOND), Ok(()));
        assert_eq!([take(1000), take(1000), take(1000)], [Ok(()); 3]);
        assert!(take(1000).is_err());
    }

    /// Many other names push an account out only if they are limited for longer than it is.
    #[test]
    fn the_memory_is_bounded_and_who_is_limited_longest_stays() {
        let accounts = Accounts::new(Rate::parse("1/min", 2).unwrap(), 16);
        assert_eq!(accounts.sets.len() * WAYS, 16);
        for _ in 0..2 {
            assert_eq!(accounts.take_at(b"victim", SECOND), Ok(()));
        }
        for other in 0..10_000_u32 {
            let _ = accounts.take_at(&other.to_le_bytes(), SECOND);
        }
        assert!(accounts.take_at(b"victim", SECOND).is_err());
    }

    /// Requests that wait take as many as allowed; those that do not still find half of the burst.
    #[test]
    fn what_waits_leaves_half_of_the_burst() {
        for (burst, left) in [(1, 0), (2, 1), (5, 2), (10, 5)] {
            let rate = Rate::parse("10/s", burst).unwrap();
            let bucket = Bucket::new(rate);
            let mut waits = 0;
            for at in 0..100 * u64::from(burst) {
                while bucket.take_at(rate.half(), SECOND + at * SECOND / 10).is_ok() {
                    waits += 1;
                }
            }
            let now = SECOND + (100 * u64::from(burst) - 1) * SECOND / 10;
            let others = (0..100).filter(|_| bucket.take_at(rate, now).is_ok()).count();
            assert_eq!(others, left, "{burst}");
            assert!(waits >= 100 * burst, "{burst}: {waits}");
        }
    }

    #[test]
    fn a_rate_alone_has_the_burst_of_a_second() {
        for (text, burst) in [("500/s", 500), ("3/s", 3), ("90/min", 2), ("7/h", 2), ("x", 2)] {
            assert_eq!(Rate::in_a_second(text), burst, "{text}");
        }
    }

    #[test]
    fn a_login_that_is_given_back_does_not_count() {
        let accounts = Accounts::new(Rate::parse("1/min", 2).unwrap(), 1);
        for _ in 0..100 {
            assert_eq!(accounts.take_at(b"alice", SECOND), Ok(()));
            accounts.give_back(b"alice");
        }
        // No account gains from what others gave back, or from having given back before.
        accounts.give_back(b"bob");
        let alice = [(); 3].map(|()| accounts.take_at(b"alice", SECOND).is_ok());
        assert_eq!(alice, [true, true, false]);
    }

    /// The actual shape is compared, even if there is room for more than was requested.
    #[test]
    fn what_is_to_be_the_same_is_the_same() {
        let rate = Rate::parse("1/min", 2).unwrap();
        for accounts in 1..100 {
            let made = Accounts::new(rate, accounts);
            assert!(made.is_for(rate, accounts), "{accounts}");
            assert!(!made.is_for(rate, 16 * accounts), "{accounts}");
            assert!(!made.is_for(Rate::parse("1/min", 3).unwrap(), accounts));
        }
    }

    #[test]
    fn rates_have_units() {
        assert_eq!(Rate::parse("10/s", 1), Some(Rate { every: SECOND / 10, ahead: 0 }));
        for bad in ["", "10", "0/s", "-1/s", "10/d", "x/s", "99999999999/s"] {
            assert_eq!(Rate::parse(bad, 1), None, "{bad}");
        }
        assert_eq!(Rate::parse("1/s", 0), None);
    }
}
