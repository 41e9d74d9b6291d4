//! The budget of a pool against what is really allocated, counted at the allocator.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use saltern_pool::{Derive, Pool, PoolConfig, Terms, Ticket};
use saltern_yescrypt::{Limits, Pages, Params};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    PEAK.fetch_max(NOW.fetch_add(bytes, SeqCst) + bytes, SeqCst);
}

// SAFETY: everything is passed on to the system's allocator as it comes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What is allocated beside arenas: items, answers, threads.
const BESIDE: usize = 512 << 10;

/// One test alone in this program, since allocations are counted for all of it.
#[test]
fn arenas_stay_within_the_budget_whatever_is_asked() {
    for (pages, memory) in
        [(Pages::Standard, 9 << 20), (Pages::Standard, 40 << 20), (Pages::Huge, 24 << 20)]
    {
        let mut config = PoolConfig::default();
        (config.threads, config.memory, config.pages) = (4, memory as u64, pages);
        let before = NOW.load(SeqCst);
        PEAK.store(before, SeqCst);
        let pool = Pool::new(config).unwrap();
        let mut tickets = Vec::new();
        let (mut large, mut refused) = (0, 0);
        for i in 0..120 {
            // 64 KiB to 8 MiB, many of them above a quarter of the budget.
            let mut params = Params::yescrypt(64 << (i * 7 % 8), 8);
            params.p = 1 + i % 2;
            let params = params.check(&Limits::server()).unwrap();
            large += usize::from(params.memory() as usize > memory / 4);
            let what = Derive { params, roms: Vec::new(), len: 32 };
            let items = [("p", "s"), ("q", "s"), ("r", "s")];
            tickets.push(pool.derive(&what, items, Terms::bulk()).unwrap());
        }
        for answer in tickets.into_iter().flat_map(Ticket::wait) {
            refused += usize::from(answer.is_err());
        }
        let (peak, stats) = (PEAK.load(SeqCst) - before, pool.stats());
        assert!(peak <= memory + BESIDE, "{peak} of {memory}: {stats:?}");
        assert!(peak as u64 >= stats.peak_reserved / 2, "measured {peak}: {stats:?}");
        assert!(stats.peak_reserved <= memory as u64);
        assert_eq!((stats.hashes, refused), (360, 0));
        assert!(large >= 15 || memory > 32 << 20, "{large}");
        drop(pool);
        let left = NOW.load(SeqCst).saturating_sub(before);
        assert!(left < BESIDE, "{left} bytes are left after the pool");
    }
}
