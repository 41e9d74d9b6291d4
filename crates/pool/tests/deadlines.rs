//! Deadlines, classes and cancelling, with real threads.
#![cfg(feature = "getrandom")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use saltern_pool::{Derive, Error, Pool, PoolConfig, Terms};
use saltern_yescrypt::{Hasher, Limits, Params};

#[test]
fn expired_items_are_told_so_and_late_ones_refused() {
    let mut config = PoolConfig::default();
    config.threads = 1;
    let pool = Pool::new(config).unwrap();
    let what = |n| {
        let params = Params::yescrypt(n, 8).check(&Limits::server()).unwrap();
        Derive { params, roms: Vec::new(), len: 32 }
    };
    let over = Terms::interactive().by(Instant::now());
    // Nothing is known of the rate yet, so it is taken on.
    let large = pool.derive(&what(65536), [("p", "s")], Terms::interactive()).unwrap();
    let expired = pool.derive(&what(16), [("p", "s"), ("q", "s")], over).unwrap();
    assert!(large.wait()[0].is_ok());
    assert_eq!(expired.wait(), [Err(Error::Expired), Err(Error::Expired)]);
    assert_eq!((pool.stats().hashes, pool.stats().expired), (1, 2));
    // 64 MiB in a millisecond are not possible.
    let hasty = Terms::interactive().within(Duration::from_millis(1));
    let refused = pool.derive(&what(65536), [("p", "s")], hasty).unwrap_err();
    let Error::TooLate { predicted, allowed } = refused else { panic!("{refused}") };
    assert!(predicted > allowed && allowed <= Duration::from_millis(1));
    assert!(
        pool.derive(&what(65536), [("p", "s")], Terms::interactive()).unwrap().wait()[0].is_ok()
    );
}

#[test]
fn bulk_waits_for_interactive_items() {
    let mut config = PoolConfig::default();
    config.threads = 1;
    let pool = Pool::new(config).unwrap();
    let params = Params::yescrypt(4096, 8).check(&Limits::server()).unwrap();
    let what = Derive { params, roms: Vec::new(), len: 32 };
    let bulk = pool.derive(&what, vec![("p", "s"); 60], Terms::bulk()).unwrap();
    let login = pool.derive(&what, [("p", "s"); 2], Terms::interactive()).unwrap();
    let found = login.wait();
    // Only the group that had begun came before it.
    assert!(found.iter().all(Result::is_ok) && pool.stats().hashes <= 4 + 2);
    assert!(!bulk.is_done());
    assert!(bulk.wait().iter().all(Result::is_ok));
    assert_eq!(pool.stats().hashes, 62);
}

/// However much of a table waits, logins are taken on, and the other way round.
#[test]
fn each_class_has_a_queue_of_its_own() {
    let mut config = PoolConfig::default();
    (config.threads, config.max_waiting) = (1, 4);
    let pool = Pool::new(config).unwrap();
    let params = Params::yescrypt(4096, 8).check(&Limits::server()).unwrap();
    let what = Derive { params, roms: Vec::new(), len: 32 };
    let busy = Derive {
        params: Params::yescrypt(65536, 8).check(&Limits::server()).unwrap(),
        ..what.clone()
    };
    let first = pool.derive(&busy, [("p", "s")], Terms::bulk()).unwrap();
    while pool.stats().running == 0 {
        std::thread::yield_now();
    }
    let mut waiting = Vec::new();
    for terms in [Terms::bulk(), Terms::interactive()] {
        waiting.push(pool.derive(&what, [("p", "s"); 4], terms).unwrap());
        let refused = pool.derive(&what, [("p", "s")], terms).map(drop);
        assert_eq!(refused, Err(Error::Overloaded { waiting: 4, limit: 4 }));
    }
    assert_eq!(pool.stats().waiting, 8);
    assert!(first.wait().iter().all(Result::is_ok));
    assert!(waiting.into_iter().all(|ticket| ticket.wait().iter().all(Result::is_ok)));
}

/// Tickets that are dropped all the time, from several threads, while others wait for theirs.
#[test]
fn storms_of_cancelled_items() {
    let mut config = PoolConfig::default();
    (config.threads, config.max_waiting) = (2, 512);
    let pool = Pool::new(config).unwrap();
    let hasher = Arc::new(Hasher::new().with_params(Params::yescrypt(64, 8)));
    let stored = pool.hash_one(&hasher, "password", Terms::interactive()).unwrap().wait().unwrap();
    let kept = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (pool, hasher, stored, kept) = (&pool, &hasher, &stored, &kept);
            scope.spawn(move || {
                for i in 0..2000 {
                    let terms = if i % 3 == 0 { Terms::bulk() } else { Terms::interactive() };
                    let items = [("password", stored.as_str()), ("Password", stored.as_str())];
                    let Ok(ticket) = pool.verify(hasher, items, terms) else { continue };
                    if (i + thread) % 10 == 0 {
                        assert_eq!(ticket.wait(), [Ok(true), Ok(false)]);
                        kept.fetch_add(2, Relaxed);
                    }
                }
            });
        }
    });
    // Those that were dropped last may still be computed.
    while pool.stats().running > 0 {
        std::thread::yield_now();
    }
    let stats = pool.stats();
    assert!(stats.hashes >= kept.load(Relaxed) && stats.waiting == 0, "{stats:?}");
    assert_eq!(stats.hashes - 1 + stats.cancelled, 2 * (stats.batches - 1));
    assert_eq!(stats.failed, 0);
}
