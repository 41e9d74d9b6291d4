//! A pool on a system that allows it no threads, or fewer than it wants.
#![cfg(feature = "getrandom")]

use std::future::Future;
use std::pin::pin;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use saltern_pool::{Derive, Error, Pool, PoolConfig, Terms, task::Task};
use saltern_yescrypt::{HashString, Hasher, Limits, Params};

const INSIDE: &str = "SALTERN_TEST_THREADLESS";

/// Runs a test again in a process of its own, whose threads ask for stacks of this size.
fn with_stacks(size: u64, mut command: Command, name: &str) {
    command.args(["--exact", name, "--nocapture"]).env("RUST_MIN_STACK", size.to_string());
    // The allocator reserves address space for each thread.
    command.env(INSIDE, "1").env("RUST_TEST_THREADS", "1").env("MALLOC_ARENA_MAX", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

fn pool(threads: usize) -> Pool {
    let mut config = PoolConfig::default();
    config.threads = threads;
    config.prepare = Some(Params::yescrypt(16, 8).check(&Limits::server()).unwrap());
    Pool::new(config).unwrap()
}

#[test]
fn without_threads_the_caller_computes() {
    if !is_inside() {
        // No address space has room for it.
        let own = Command::new(std::env::current_exe().unwrap());
        return with_stacks(1 << 47, own, "without_threads_the_caller_computes");
    }
    for threads in [1, 8] {
        let pool = pool(threads);
        assert_eq!((pool.stats().threads, pool.config().threads), (0, threads));
        assert!(pool.note().unwrap().contains(&format!("allows 0 of {threads} threads")));
        everything(&pool);
        let stats = pool.stats();
        assert_eq!((stats.waiting, stats.running, stats.reserved > 0), (0, 0, true), "{stats:?}");
    }
}

fn everything(pool: &Pool) {
    let hasher = Arc::new(Hasher::new().with_params(Params::from_cost(1).unwrap()));
    let login = Terms::interactive().within(Duration::from_secs(60));
    let ticket = pool.hash_one(&hasher, "secret", login).unwrap();
    assert!(ticket.is_done());
    let stored = ticket.wait().unwrap();
    let tries = ["secret", "Secret"].map(|password| (password, &stored));
    let found = pool.verify(&hasher, tries, Terms::bulk()).unwrap();
    assert_eq!(found.try_wait().unwrap(), [Ok(true), Ok(false)]);
    // Awaited.
    let mut future = pin!(
        pool.verify_one(&hasher, "secret", HashString::parse(&stored).unwrap(), login).unwrap()
    );
    let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(Ok(true)));
    // In groups, and p > 1.
    let mut params = Params::yescrypt(64, 8);
    params.p = 3;
    let what = |params: Params| {
        let params = params.check(&Limits::unlimited()).unwrap();
        Derive { params, roms: Vec::new(), len: 32 }
    };
    let keys = pool.derive(&what(params), [("p", "s"); 7], Terms::bulk()).unwrap().wait();
    assert!(keys.iter().all(|key| key.is_ok() && *key == keys[0]));
    // What a hash is refused for, it is refused for here.
    let huge = what(Params::yescrypt(1 << 20, 32));
    let huge = pool.derive(&huge, [("p", "s")], Terms::bulk()).unwrap().wait();
    assert!(matches!(huge[0], Err(Error::OverBudget { .. })), "{huge:?}");
    // A task that panics, and one that submits more, which is computed after it.
    let task = Task { memory: 1 << 20, work: 1000 };
    let panics: Result<(), _> =
        pool.run_one(task, || panic!("on purpose"), Terms::bulk()).unwrap().wait();
    assert_eq!(panics, Err(Error::Panicked));
    let (more, pool) = (Arc::new(Mutex::new(None)), Arc::new(self::pool(1)));
    let (put, own) = (Arc::clone(&more), Arc::clone(&pool));
    let submits = move || {
        let ticket = own.run_one(task, || "more", Terms::bulk()).unwrap();
        assert!(!ticket.is_done());
        *put.lock().unwrap() = Some(ticket);
    };
    assert_eq!(pool.run_one(task, submits, Terms::bulk()).unwrap().wait(), Ok(()));
    assert_eq!(more.lock().unwrap().take().unwrap().try_wait().unwrap(), Ok("more"));
}

/// Slower, but right, and within the same memory.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn with_fewer_threads_than_wanted_they_compute() {
    if !is_inside() {
        // The program itself takes the room of the eighth.
        let mut limited = Command::new("prlimit");
        limited.arg("--as=2147483648").arg(std::env::current_exe().unwrap());
        return with_stacks(256 << 20, limited, "with_fewer_threads_than_wanted_they_compute");
    }
    let mut config = PoolConfig::default();
    config.threads = 64;
    let pool = Pool::new(config).unwrap();
    let started = pool.stats().threads;
    assert!((1..64).contains(&started), "{started}");
    assert!(pool.note().unwrap().contains(&format!("allows {started} of 64 threads")));
    let hasher = Arc::new(Hasher::new().with_params(Params::from_cost(1).unwrap()));
    let hashes = pool.hash(&hasher, ["secret"; 40], Terms::bulk()).unwrap().wait();
    let tries = hashes.iter().map(|stored| ("secret", stored.as_ref().unwrap()));
    let found = pool.verify(&hasher, tries, Terms::bulk()).unwrap().wait();
    assert!(found.len() == 40 && found.iter().all(|found| *found == Ok(true)));
}
