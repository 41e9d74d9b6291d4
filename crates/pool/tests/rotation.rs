//! A ROM that is replaced repeatedly while a service hashes: no wrong answer, no memory left
//! behind.
//!
//! The service is a separate process, so that its memory can be measured: this program again, with
//! the name of a test that otherwise does nothing.
#![cfg(feature = "getrandom")]

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use saltern_pool::{Error, Pool, PoolConfig, Terms};
use saltern_testing::process::memory;
use saltern_yescrypt::{
    Hasher, Params, Workspace,
    rom::{Rom, RomImage, RomParams, RomSet},
};

const ROTATIONS: u64 = 200;
/// Blocks of 1 KiB: 4 MiB, of which 200 would be 800 MiB.
const NROM: u64 = 4096;
const SERVICE: &str = "SALTERN_TEST_ROTATION_SERVICE";

/// What the service has now: its ROM, and a string that was made with it.
struct Site {
    hasher: Arc<Hasher>,
    stored: String,
}

fn image(number: u64) -> Rom {
    let params = RomParams::new(NROM, 8, 1);
    let seed = format!("seed number {number} of a test");
    Rom::new(RomImage::init(&params, seed.as_bytes(), &mut Workspace::new()).unwrap()).unwrap()
}

/// Adds the next ROM to those of the last, makes it active, makes a string with it, and then takes
/// the last one out.
fn rotate(pool: &Pool, roms: &mut RomSet, number: u64) -> Site {
    let old = roms.active();
    let new = format!("{number:016x}").parse().unwrap();
    roms.attach(new, image(number)).unwrap();
    roms.activate(new).unwrap();
    let mut params = Params::yescrypt(64, 8);
    params.nrom = NROM;
    let with = |roms: &RomSet| Arc::new(Hasher::new().with_params(params).with_roms(roms.clone()));
    let stored = pool.hash_one(&with(roms), "password", Terms::interactive()).unwrap().wait();
    if let Some(old) = old {
        assert!(roms.detach(old));
    }
    Site { hasher: with(roms), stored: stored.unwrap() }
}

/// Verifies until told to stop, several at once. Strings belong to the ROM of the hasher that came
/// with them, so all answers are known.
fn load(pool: &Pool, site: &RwLock<Site>, ended: &AtomicBool, verified: &AtomicU64) {
    while !ended.load(Relaxed) {
        let (hasher, stored) = {
            let site = site.read().unwrap();
            (Arc::clone(&site.hasher), site.stored.clone())
        };
        let items = [("password", &stored), ("Password", &stored), ("password", &stored)];
        match pool.verify(&hasher, items, Terms::interactive()) {
            Ok(ticket) => {
                // The ROM may be replaced before this is computed.
                drop(hasher);
                assert_eq!(ticket.wait(), [Ok(true), Ok(false), Ok(true)]);
                verified.fetch_add(3, Relaxed);
            }
            Err(Error::Overloaded { .. }) => std::thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    }
}

/// The service. Does nothing if this is not its process.
#[test]
fn service() {
    if std::env::var_os(SERVICE).is_none() {
        return;
    }
    let mut config = PoolConfig::default();
    (config.threads, config.memory) = (2, 16 << 20);
    let pool = Pool::new(config).unwrap();
    let mut roms = RomSet::new();
    let site = RwLock::new(rotate(&pool, &mut roms, 0));
    let (ended, verified) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut early, mut late) = (0, 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| load(&pool, &site, &ended, &verified));
        }
        let stop = Stop(&ended);
        for number in 1..=ROTATIONS {
            let next = rotate(&pool, &mut roms, number);
            let before = verified.load(Relaxed);
            *site.write().unwrap() = next;
            // Something is verified with each.
            let begin = Instant::now();
            while verified.load(Relaxed) < before + 24 && begin.elapsed() < Duration::from_secs(60)
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(verified.load(Relaxed) > before);
            let highest = if number <= ROTATIONS / 4 { &mut early } else { &mut late };
            *highest = memory("self", "VmRSS").max(*highest);
        }
        drop(stop);
    });
    assert_eq!(roms.ids().count(), 1);
    println!("{} verified; at most {early} bytes, later {late}", verified.load(Relaxed));
    assert!(verified.load(Relaxed) >= 24 * ROTATIONS);
    // Four images are in use at most, and the allocator may keep some.
    assert!(late <= early + (24 << 20), "at most {early} bytes, and later {late}");
    assert_eq!((pool.stats().failed, pool.stats().panics), (0, 0));
}

/// Tells the load to end, also when a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn two_hundred_rotations_under_load() {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", "service", "--nocapture"]).env(SERVICE, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(" verified; "), "the service did not run: {text}");
}
