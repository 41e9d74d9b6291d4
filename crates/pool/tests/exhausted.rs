//! A pool on a system that grants less memory than the budget allows.
#![cfg(target_os = "linux")]

use std::process::Command;

use saltern_pool::{Derive, Pool, PoolConfig, Terms};
use saltern_yescrypt::hazmat::Pages;
use saltern_yescrypt::{Limits, Params};

const MIB: u64 = 1 << 20;

/// What the limited process does: hashes of 32 MiB, four of which a group would have.
fn hash_in_groups() {
    let mut config = PoolConfig::default();
    (config.threads, config.memory, config.pages) = (1, 1024 * MIB, Pages::Standard);
    let pool = Pool::new(config).unwrap();
    let params = Params::scrypt(1 << 15, 8, 1).check(&Limits::server()).unwrap();
    assert!(params.degree() > 1, "one hash is no group: {}", params.degree());
    let what = Derive { params, roms: Vec::new(), len: 32 };
    let found = pool.derive(&what, [("a", "s"), ("b", "s"), ("c", "s"), ("d", "s")], Terms::bulk());
    let found = found.unwrap().wait();
    assert!(found.iter().all(Result::is_ok), "{found:?}");
    // What not even one can be had for is an error of that one, and the pool goes on.
    let params = Params::scrypt(1 << 17, 16, 1).check(&Limits::unlimited()).unwrap();
    let huge = Derive { params, roms: Vec::new(), len: 32 };
    let refused = pool.derive(&huge, [("p", "s")], Terms::bulk()).unwrap().wait().remove(0);
    assert!(refused.unwrap_err().to_string().contains("memory"));
    assert!(pool.derive(&what, [("p", "s")], Terms::bulk()).unwrap().wait()[0].is_ok());
    let stats = pool.stats();
    assert_eq!((stats.hashes, stats.failed), (5, 1), "{stats:?}");
    assert!(stats.reserved < 100 * MIB, "{stats:?}");
}

/// The limit is for a process of its own: this one again.
#[test]
fn groups_shrink_to_what_the_system_has_memory_for() {
    const LIMITED: &str = "SALTERN_TEST_LIMITED";
    if std::env::var_os(LIMITED).is_some() {
        return hash_in_groups();
    }
    let mut prlimit = Command::new("prlimit");
    // The program and its threads take some of it; two hashes fit, and four do not.
    prlimit.arg(format!("--as={}", 110 * MIB)).arg(std::env::current_exe().unwrap());
    prlimit.args(["--exact", "groups_shrink_to_what_the_system_has_memory_for", "--nocapture"]);
    // The allocator reserves address space for each thread, which counts.
    prlimit.env(LIMITED, "1").env("MALLOC_ARENA_MAX", "1").env("RUST_TEST_THREADS", "1");
    let output = prlimit.output().expect("prlimit(1) can be run");
    assert!(output.status.success(), "{output:?}");
}
