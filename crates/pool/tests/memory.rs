//! The budget of a pool, compared with the memory of the process as counted by the system.
#![cfg(target_os = "linux")]

use saltern_pool::{Derive, Pool, PoolConfig, Terms, Ticket};
use saltern_testing::process;
use saltern_yescrypt::{Limits, Params, hazmat::Pages};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// What a pool takes beside arenas, as SECURITY.md states it: stacks, items and answers, and
/// what the allocator keeps for a thread.
fn beside(threads: usize) -> u64 {
    4 * MIB + 256 * KIB * threads as u64
}

/// Resident memory now, from which its peak is counted from here on.
fn start() -> u64 {
    // Clears the peak (proc(5)).
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    process::memory("self", "VmRSS")
}

/// One test alone in this program, since memory is counted for all of it.
#[test]
fn resident_memory_stays_within_the_budget_whatever_is_asked() {
    for (threads, pages, memory) in [
        (4, Pages::Standard, 9 * MIB),
        (4, Pages::Standard, 40 * MIB),
        (4, Pages::Huge, 24 * MIB),
        (16, Pages::Huge, 64 * MIB),
    ] {
        let before = start();
        let mut config = PoolConfig::default();
        (config.threads, config.memory, config.pages) = (threads, memory, pages);
        let pool = Pool::new(config).unwrap();
        let mut tickets = Vec::new();
        for i in 0..240 {
            // Six shapes of 256 KiB to 8 MiB, many of them above a thread's share.
            let mut params = Params::yescrypt(256 << (i * 5 % 6), 8);
            params.p = 1 + i % 2;
            let params = params.check(&Limits::server()).unwrap();
            let what = Derive { params, roms: Vec::new(), len: 32 };
            let items = [("p", "s"), ("q", "s"), ("r", "s")];
            tickets.push(pool.derive(&what, items, Terms::bulk()).unwrap());
        }
        let answers = tickets.into_iter().flat_map(Ticket::wait);
        assert_eq!(answers.filter(Result::is_ok).count(), 720);
        let (peak, stats) = (process::memory("self", "VmHWM") - before, pool.stats());
        println!("{threads} threads, {memory} bytes: {peak} at most");
        assert!(peak <= memory + beside(threads), "{peak} of {memory}: {stats:?}");
        assert!(peak >= stats.peak_reserved / 2, "measured {peak}: {stats:?}");
        assert!(stats.peak_reserved <= memory);
        drop(pool);
        let left = process::memory("self", "VmRSS").saturating_sub(before);
        assert!(left <= beside(threads), "{left} bytes are left after the pool");
    }
}
