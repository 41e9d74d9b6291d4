//! Ten times more work than the pool can do, with deadlines: properties that must hold regardless
//! of timing. Alone in its process, whose memory is measured.
#![cfg(feature = "getrandom")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use saltern_pool::{Error, OneTicket, Pool, PoolConfig, Terms};
use saltern_testing::process::memory;
use saltern_yescrypt::{HashString, Hasher, Params};

const MEMORY: u64 = 24 << 20;

fn pool() -> Pool {
    let mut config = PoolConfig::default();
    (config.threads, config.memory, config.max_waiting) = (2, MEMORY, 512);
    Pool::new(config).unwrap()
}

fn hasher(n: u64) -> Arc<Hasher> {
    Arc::new(Hasher::new().with_params(Params::yescrypt(n, 8)))
}

/// Hashes per second with as many callers as threads, and pairs to form.
fn capacity(pool: &Pool, hasher: &Arc<Hasher>, stored: &str) -> f64 {
    let begin = Instant::now();
    let mut done = 0;
    while begin.elapsed() < Duration::from_millis(300) {
        let items = [("password", stored); 16];
        let found = pool.verify(hasher, items, Terms::interactive()).unwrap().wait();
        done += found.iter().filter(|answer| **answer == Ok(true)).count();
    }
    done as f64 / begin.elapsed().as_secs_f64()
}

#[derive(Default)]
struct Count {
    submitted: AtomicU64,
    right: AtomicU64,
    expired: AtomicU64,
    too_late: AtomicU64,
    full: AtomicU64,
}

impl Count {
    fn refused(&self, error: &Error, within: Duration) {
        match error {
            Error::TooLate { predicted, allowed } => {
                assert!(*allowed <= within && *predicted > Duration::ZERO, "{error}");
                self.too_late.fetch_add(1, Relaxed)
            }
            Error::Overloaded { limit: 512, .. } => self.full.fetch_add(1, Relaxed),
            other => panic!("{other}"),
        };
    }

    fn ended(&self, ticket: OneTicket<bool>) {
        match ticket.wait() {
            Ok(matches) => {
                assert!(matches, "a right password");
                self.right.fetch_add(1, Relaxed)
            }
            Err(Error::Expired) => self.expired.fetch_add(1, Relaxed),
            Err(other) => panic!("{other}"),
        };
    }
}

#[test]
fn every_item_ends_once_and_nothing_that_expired_was_computed() {
    let before = memory("self", "VmRSS");
    let (pool, hasher) = (pool(), hasher(512));
    let stored = pool.hash_one(&hasher, "password", Terms::interactive()).unwrap().wait().unwrap();
    let rate = capacity(&pool, &hasher, &stored);
    let stored = HashString::parse(stored).unwrap();
    let ahead = pool.stats();
    let within = Duration::from_millis(80);
    let (terms, count) = (Terms::interactive().within(within), Count::default());
    let pause = Duration::from_secs_f64(4.0 / (10.0 * rate));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (begin, mut tickets) = (Instant::now(), Vec::new());
                let mut next = begin;
                while begin.elapsed() < Duration::from_millis(1500) {
                    next += pause;
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                    count.submitted.fetch_add(1, Relaxed);
                    match pool.verify_one(&hasher, "password", stored.clone(), terms) {
                        Ok(ticket) => tickets.push(ticket),
                        Err(error) => count.refused(&error, within),
                    }
                }
                tickets.into_iter().for_each(|ticket| count.ended(ticket));
            });
        }
    });
    let stats = pool.stats();
    let [submitted, right, expired, too_late, full] =
        [&count.submitted, &count.right, &count.expired, &count.too_late, &count.full]
            .map(|count| count.load(Relaxed));
    println!(
        "capacity {rate:.0}/s; of {submitted}: {right} computed, {expired} expired, {too_late} \
         too late, {full} too many; {stats:?}"
    );
    assert_eq!(right + expired + too_late + full, submitted);
    // What was computed is what was answered: nothing else ran.
    assert_eq!(stats.hashes - ahead.hashes, right);
    assert_eq!((stats.expired, stats.refused_late, stats.refused), (expired, too_late, full));
    assert_eq!((stats.failed, stats.cancelled, stats.waiting, stats.running), (0, 0, 0, 0));
    assert!(right > 0 && too_late > 0);
    assert!(stats.peak_reserved <= MEMORY && stats.budget == MEMORY);
    assert!(stats.rate.is_some() && stats.predicted_wait == Some(Duration::ZERO));
    let grown = memory("self", "VmRSS").saturating_sub(before);
    assert!(grown <= MEMORY + (16 << 20), "{grown} bytes more");
}
