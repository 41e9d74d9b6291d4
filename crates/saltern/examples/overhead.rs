//! The overhead of a login through this crate, compared to one through the pool beneath it.
//!
//! ```text
//! cargo build -p saltern --example overhead
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/debug/examples/overhead pool 20
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/debug/examples/overhead saltern 20
//! target/debug/examples/overhead times 2000
//! ```
//!
//! The first two print instruction counts; the third takes this many samples of both in turn, of 4
//! MiB each, and prints their lower quartiles.

use std::sync::Arc;
use std::time::Instant;

use saltern::policy::Params;
use saltern::{Passwords, Policy};
use saltern_pool::{Pool, PoolConfig, Terms, WipePolicy};
use saltern_yescrypt::{HashString, Hasher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let what = args.next().unwrap_or_default();
    let count: usize = args.next().ok_or("pool, saltern or times, and how often")?.parse()?;
    let mut policy = Policy::default();
    policy.params = Params::from_cost(3)?;
    let mut config = PoolConfig::default();
    // The amount wiped while nothing waits depends on how quickly the next login arrives.
    (config.threads, config.wipe) = (1, WipePolicy::OnDrop);
    policy.pool = config.clone();
    let hasher = Arc::new(Hasher::new().with_params(policy.params));
    let pool = Pool::new(config)?;
    let passwords = Passwords::new(policy)?;
    let stored = pool.hash_one(&hasher, "secret", Terms::interactive())?.wait()?;
    let below = || -> Result<bool, saltern_pool::Error> {
        pool.verify_one(&hasher, "secret", HashString::parse(&stored)?, Terms::interactive())?
            .wait()
    };
    let above = || passwords.verify("account", "secret", Some(&stored)).wait();
    let (mut pool_times, mut saltern_times) = (Vec::new(), Vec::new());
    for _ in 0..count {
        if what != "saltern" {
            let began = Instant::now();
            assert!(below()?);
            pool_times.push(began.elapsed());
        }
        if what != "pool" {
            let began = Instant::now();
            assert!(above()?.is_match());
            saltern_times.push(began.elapsed());
        }
    }
    if what == "times" {
        let quarter = |times: &mut Vec<std::time::Duration>| {
            times.sort();
            times[count / 4].as_secs_f64() * 1e6
        };
        let (pool, saltern) = (quarter(&mut pool_times), quarter(&mut saltern_times));
        println!("pool {pool:.1} us, saltern {saltern:.1} us: {:.4}", saltern / pool);
    }
    Ok(())
}
