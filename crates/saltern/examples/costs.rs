//! How close the estimated costs of other schemes are to the time they take.
//!
//! ```text
//! cargo run --release -p saltern --all-features --example costs
//! ```
//!
//! For each kind of string and passwords of 8, 100 and 500 bytes: units of work, milliseconds of
//! processor time (the median of several; Linux counts it for each thread), and the time of a unit
//! relative to one of yescrypt, ideally 1: a cost that is too low makes the pool's predictions too
//! optimistic, and the limits too high.

use saltern::policy::{Limits, Scheme};
use saltern::{Passwords, Policy};

/// Typical costs; the salts are arbitrary, and no password matches.
const KINDS: [&str; 19] = [
    "$y$j9T$......................",
    "$y$j75$......................",
    "$2b$10$......................",
    "$5$rounds=5000$................",
    "$6$rounds=5000$................",
    "$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA$32",
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$32",
    "$argon2i$v=19$m=4096,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$32",
    "pbkdf2_sha256$100000$0000000000000000000000$32",
    "pbkdf2_sha1$100000$0000000000000000000000$20",
    "$pbkdf2-sha512$25000$AAAAAAAAAAAAAAAAAAAAAA$64",
    "SSHA512$AAAAAAAAAAA=",
    "$1$........$",
    "$sha1$20000$........$",
    "$md5,rounds=4000$........$",
    "$gy$j75$......................$",
    "$gy$j9T$......................$",
    "_zz9.....",
    "..",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut yescrypt = None;
    for like in KINDS {
        let mut policy = Policy::default();
        policy.schemes = Scheme::ALL.to_vec();
        policy.limits = Limits::unlimited();
        policy.pool.threads = 1;
        policy.decoy.costs = vec![saltern::policy::DecoyCost { like: like.to_owned(), share: 1 }];
        let passwords = Passwords::new(policy)?;
        for password in [8, 100, 500].map(|length| "p".repeat(length)) {
            let mut times = Vec::new();
            let before = passwords.pool().stats().work;
            for _ in 0..15 {
                let began = processor_time();
                passwords.verify("account", &password, None).wait()?;
                times.push(processor_time() - began);
            }
            let work = (passwords.pool().stats().work - before) / 15;
            times.sort_by(f64::total_cmp);
            let time = times[times.len() / 2];
            let unit = time / work as f64;
            let ratio = unit / *yescrypt.get_or_insert(unit);
            let (length, time) = (password.len(), time * 1e3);
            println!("{like:60} {length:3} bytes {work:>12} units {time:8.3} ms {ratio:6.2}");
        }
    }
    Ok(())
}

/// Processor time of the threads of this process, in seconds.
fn processor_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let counts = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    counts.sum::<u64>() as f64 / 1e9
}
