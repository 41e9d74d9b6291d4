//! ROMs whose blocks are read, from a source that the test controls.

#[path = "reads/stage.rs"]
mod stage;

use std::ops::RangeBounds;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use saltern_pool::{Derive, Error, Pool, PoolConfig, Terms, Ticket, WipePolicy};
use saltern_yescrypt::{
    Error as Hash, Limits, Params, Workspace,
    hazmat::Pages,
    rom::{Rom, RomImage, RomMasks, RomMemory, RomParams, RomReading, RomUse, derive_with_roms},
};

use self::stage::{Gate, Sources, Stage, at_gate};

const TERMS: Terms = Terms::interactive();

fn config(threads: usize) -> PoolConfig {
    let mut config = PoolConfig::default();
    (config.threads, config.pages) = (threads, Pages::Standard);
    config.sources = Some(Arc::new(Sources::default()));
    config
}

/// Waits until so many threads have nothing to do.
fn await_idle(pool: &Pool, threads: impl RangeBounds<usize>) {
    while !threads.contains(&pool.stats().idle) {
        std::thread::yield_now();
    }
}

fn reading(nrom: u64, fill: u32, mix: u32, look_ahead: u32) -> RomReading {
    RomReading { nrom, masks: RomMasks { fill, mix }, look_ahead }
}

/// Hashes with the ROMs of these stages.
fn what(params: Params, roms: &[(&Stage, RomReading)]) -> Derive {
    let params = params.check(&Limits::unlimited()).unwrap();
    let rom = |(stage, reading): &(&Stage, RomReading)| RomUse {
        rom: stage.rom.clone(),
        reading: *reading,
    };
    Derive { params, roms: roms.iter().map(rom).collect(), len: 32 }
}

/// One of the usual shape.
fn plain(stage: &Stage) -> Derive {
    what(Params::yescrypt(64, 8), &[(stage, reading(256, 1, 1, 0))])
}

/// The same hash with the ROMs in memory.
fn expected(what: &Derive, stages: &[&Stage], input: (&str, &str)) -> Vec<u8> {
    let views = stages.iter().zip(&what.roms);
    let roms: Vec<_> =
        views.map(|(stage, used)| RomUse { rom: stage.view(), reading: used.reading }).collect();
    let mut out = vec![0; what.len];
    let (password, salt) = (input.0.as_bytes(), input.1.as_bytes());
    derive_with_roms(password, salt, &what.params, &roms, &mut Workspace::new(), &mut out).unwrap();
    out
}

#[test]
fn blocks_that_are_read_give_the_same_hashes_as_those_in_memory() {
    let (one, two) = (Stage::new("one"), Stage::new("two"));
    let parallel = {
        let mut params = Params::yescrypt(32, 8);
        params.p = 3;
        params
    };
    let cases = [
        (what(Params::yescrypt(64, 8), &[(&one, reading(256, 1, 1, 0))]), vec![&one]),
        (what(Params::yescrypt(64, 8), &[(&one, reading(256, 0, 15, 0))]), vec![&one]),
        (what(Params::yescrypt(64, 32), &[(&two, reading(64, 3, 1, 0))]), vec![&two]),
        (what(Params::yescrypt(128, 1), &[(&two, reading(2048, 1, 1, 0))]), vec![&two]),
        (what(Params::yescrypt(128, 2), &[(&one, reading(1024, 3, 3, 17))]), vec![&one]),
        (
            what(parallel, &[(&two, reading(256, 7, 3, 5)), (&one, reading(256, 1, 1, 63))]),
            vec![&two, &one],
        ),
        (what(Params::yescrypt(512, 32), &[(&two, reading(64, 15, 15, 15))]), vec![&two]),
        (what(Params::yescrypt(64, 8), &[]), vec![]),
    ];
    let items: Vec<_> =
        (0..7).map(|i| (format!("password {i}"), format!("salt {}", i % 3))).collect();
    for (threads, in_flight) in [(2, 6), (1, 1), (1, 3)] {
        let mut config = config(threads);
        config.in_flight = in_flight;
        let pool = Pool::new(config).unwrap();
        // All at once, so that groups of different shapes are in flight together.
        let submit = |(what, _): &(Derive, _)| pool.derive(what, items.clone(), TERMS).unwrap();
        let tickets: Vec<_> = cases.iter().map(submit).collect();
        for ((what, stages), ticket) in cases.iter().zip(tickets) {
            for (found, (password, salt)) in ticket.wait().into_iter().zip(&items) {
                assert_eq!(*found.unwrap(), expected(what, stages, (password, salt)));
            }
        }
        let stats = pool.stats();
        assert_eq!((stats.hashes, stats.failed, stats.reads.repeated), (8 * 7, 0, 0));
        assert!(stats.reads.blocks > 1000 && stats.reads.bytes >= 128 * stats.reads.blocks);
        assert!(stats.reads.mean_depth() >= 1.0);
    }
}

#[test]
fn wrong_bytes_are_read_again_and_what_stays_wrong_makes_the_rom_unavailable() {
    let (good, bad) = (Stage::new("one"), Stage::new("two"));
    let pool = Pool::new(config(2)).unwrap();
    let items = [("a", "s"), ("b", "s"), ("c", "s")];
    bad.say(|orders| orders.wrong_once = true);
    let found = pool.derive(&plain(&bad), items, TERMS).unwrap().wait();
    for (found, input) in found.into_iter().zip(items) {
        assert_eq!(*found.unwrap(), expected(&plain(&bad), &[&bad], input));
    }
    assert!(pool.stats().reads.repeated > 0);
    bad.say(|orders| orders.wrong = true);
    let broken = pool.derive(&plain(&bad), items, TERMS).unwrap();
    let others = pool.derive(&plain(&good), items, TERMS).unwrap();
    for found in broken.wait() {
        let error = found.unwrap_err();
        assert!(matches!(error, Error::RomUnavailable { .. }), "{error}");
        assert!(error.to_string().contains("as the test wants"), "{error}");
    }
    for (found, input) in others.wait().into_iter().zip(items) {
        assert_eq!(*found.unwrap(), expected(&plain(&good), &[&good], input));
    }
    assert_eq!(pool.stats().failed, 3);
    bad.say(|orders| orders.wrong = false);
    assert!(pool.derive(&plain(&bad), items, TERMS).unwrap().wait().iter().all(Result::is_ok));
}

#[test]
fn what_cannot_be_read_is_refused() {
    let stage = Stage::new("one");
    let pool = Pool::new(config(1)).unwrap();
    let input = [("a", "b")];
    let refused = |params: Params, readings: &[RomReading]| {
        let roms: Vec<_> = readings.iter().map(|reading| (&stage, *reading)).collect();
        match pool.derive(&what(params, &roms), input, TERMS).unwrap().wait().remove(0) {
            Err(Error::Hash(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let y = Params::yescrypt(16, 8);
    let error = refused(y, &[reading(128, 1, 1, 0)]);
    assert!(matches!(error, Hash::InvalidParameter { name: "NROM", value: 128, .. }), "{error}");
    for look_ahead in [64, u32::MAX] {
        let error = refused(y, &[reading(256, 1, 1, look_ahead)]);
        assert!(matches!(error, Hash::InvalidParameter { name: "look-ahead", .. }), "{error}");
    }
    let error = refused(y, &[reading(256, 1, 1, 0); 5]);
    assert!(matches!(error, Hash::InvalidParameter { value: 5, .. }), "{error}");
    assert!(matches!(refused(y, &[reading(0, 1, 1, 0)]), Hash::InvalidParameter { value: 0, .. }));
    // The stage keeps 64 KiB of its end.
    let error = refused(Params::yescrypt(16, 1024), &[reading(2, 1, 1, 0)]);
    assert!(matches!(error, Hash::OverLimit { value: 1024, limit: 512, .. }), "{error}");
    let mut without = config(1);
    without.sources = None;
    let without = Pool::new(without).unwrap();
    let found = without.derive(&plain(&stage), input, TERMS).unwrap().wait();
    assert_eq!(found, [Err(Hash::RomUnavailable { nrom: 256 }.into())]);
}

/// One hash of 8 MiB fits and two do not, beside others of other shapes.
#[test]
fn the_budget_holds_arenas_and_buffers() {
    let (small, large) = (Stage::new("one"), Stage::new("two"));
    let mut config = config(2);
    config.memory = 10 << 20;
    let pool = Pool::new(config).unwrap();
    let big = what(Params::yescrypt(512, 128), &[(&large, reading(16, 3, 3, 0))]);
    let little = what(Params::yescrypt(256, 16), &[(&small, reading(128, 3, 3, 7))]);
    let items = [("a", "b"), ("c", "d"), ("e", "f")];
    let tickets = [&big, &little, &big, &little, &little]
        .map(|what| (what, pool.derive(what, items, TERMS).unwrap()));
    for (what, ticket) in tickets {
        let stage = if what.roms[0].rom == small.rom { &small } else { &large };
        for (found, input) in ticket.wait().into_iter().zip(items) {
            assert_eq!(*found.unwrap(), expected(what, &[stage], input));
        }
    }
    let stats = pool.stats();
    assert!(stats.peak_reserved > 8 << 20 && stats.peak_reserved <= 10 << 20, "{stats:?}");
    let huge = what(Params::yescrypt(1024, 128), &[(&large, reading(16, 3, 3, 0))]);
    let refused = pool.derive(&huge, items, TERMS).unwrap().wait().remove(0).unwrap_err();
    assert!(matches!(refused, Error::OverBudget { limit: 10_485_760, .. }), "{refused}");
}

/// Buffers that cannot be had end their group; afterwards the books are as if that had not been.
#[test]
fn buffers_that_cannot_be_had_leave_no_trace() {
    let stage = Stage::new("one");
    let wide = what(Params::yescrypt(64, 32), &[(&stage, reading(64, 1, 1, 7))]);
    let reserved = |exhaust: bool| {
        let exhausted = Arc::new(AtomicBool::new(false));
        let mut config = config(1);
        config.in_flight = 1;
        config.sources =
            Some(Arc::new(Sources { exhausted: exhausted.clone(), ..Sources::default() }));
        let pool = Pool::new(config).unwrap();
        let derive =
            |what: &Derive| pool.derive(what, [("p", "s")], TERMS).unwrap().wait().remove(0);
        assert!(derive(&plain(&stage)).is_ok());
        if exhaust {
            exhausted.store(true, Relaxed);
            let refused = derive(&wide).unwrap_err();
            assert!(matches!(refused, Error::Hash(Hash::OutOfMemory { .. })), "{refused}");
            exhausted.store(false, Relaxed);
        }
        for what in [&wide, &plain(&stage), &wide, &plain(&stage)] {
            assert_eq!(**derive(what).as_ref().unwrap(), expected(what, &[&stage], ("p", "s")));
        }
        await_idle(&pool, 1..);
        pool.stats().reserved
    };
    assert_eq!(reserved(true), reserved(false));
}

/// Work that waits for memory holds up nothing that comes before it and has enough.
#[test]
fn an_interactive_item_passes_one_that_waits_for_memory() {
    let (gate, stage) = (Gate::new(), Stage::new("one"));
    let mut config = config(2);
    config.memory = 10 << 20;
    let pool = Pool::new(config).unwrap();
    await_idle(&pool, 2..);
    let large = what(Params::yescrypt(8192, 8), &[(&stage, reading(256, 1, 1, 0))]);
    let held = at_gate(&pool, &large, &stage, &gate);
    let waits = pool.derive(&what(Params::yescrypt(8192, 8), &[]), [("p", "s")], Terms::bulk());
    await_idle(&pool, ..1);
    // It has looked for memory by then, most probably; otherwise this shows nothing.
    std::thread::sleep(Duration::from_millis(50));
    let small = pool.derive(&what(Params::yescrypt(16, 8), &[]), [("p", "s")], TERMS).unwrap();
    let small = small.wait_timeout(Duration::from_secs(20));
    gate.open();
    assert!(small.expect("it waits for the large ones").iter().all(Result::is_ok));
    assert!(held.wait()[0].is_ok() && waits.unwrap().wait()[0].is_ok());
}

#[test]
fn a_source_that_panics_when_it_is_opened_is_an_error() {
    let mut config = config(2);
    config.sources = Some(Arc::new(Sources { panic: true, ..Sources::default() }));
    assert_eq!(Pool::new(config).map(drop), Err(Error::Panicked));
}

#[test]
fn a_panic_hits_its_own_items_only() {
    let (good, bad) = (Stage::new("one"), Stage::new("two"));
    let pool = Pool::new(config(1)).unwrap();
    for round in 0..2 {
        bad.say(|orders| (orders.panic_at_end, orders.panic_at_check) = (round == 0, round == 1));
        let broken = pool.derive(&plain(&bad), [("p", "s"); 2], TERMS).unwrap();
        let after = pool.derive(&plain(&good), [("p", "s")], TERMS).unwrap();
        assert_eq!(broken.wait(), [Err(Error::Panicked), Err(Error::Panicked)]);
        assert_eq!(
            **after.wait()[0].as_ref().unwrap(),
            expected(&plain(&good), &[&good], ("p", "s"))
        );
    }
    let stats = pool.stats();
    assert_eq!((stats.panics, stats.failed, stats.hashes), (2, 4, 2));
    assert_eq!((stats.running, stats.waiting), (0, 0));
}

/// Whatever a source does, its thread goes on, with another source and nothing left reserved.
#[test]
fn a_source_that_panics_ends_what_it_read_and_is_exchanged() {
    let stage = Stage::new("one");
    let mut config = config(1);
    let panic_in = Arc::default();
    config.sources =
        Some(Arc::new(Sources { panic_in: Arc::clone(&panic_in), ..Sources::default() }));
    let pool = Pool::new(config).unwrap();
    let items = [("p", "s"); 5];
    let derive = || {
        let ticket = pool.derive(&plain(&stage), items, TERMS).unwrap();
        ticket.wait_timeout(Duration::from_secs(60)).expect("nobody answers")
    };
    let right = expected(&plain(&stage), &[&stage], items[0]);
    for name in
        ["memory", "keep", "submit", "flush", "collect", "answer", "short", "other", "twice"]
    {
        *panic_in.lock().unwrap() = name;
        // Not of the usual shape, so that it needs buffers of its own.
        let wide = what(Params::yescrypt(64, 32), &[(&stage, reading(64, 1, 1, 7))]);
        let ticket = pool.derive(&wide, items, TERMS).unwrap();
        let found = ticket.wait_timeout(Duration::from_secs(60)).expect(name);
        assert_eq!(found, [const { Err(Error::Panicked) }; 5], "{name}");
        *panic_in.lock().unwrap() = "";
        let found = derive();
        assert!(found.iter().all(|found| found.as_ref().is_ok_and(|key| **key == right)), "{name}");
    }
    await_idle(&pool, 1..);
    let fresh = Pool::new(pool.config().clone()).unwrap();
    assert!(fresh.derive(&plain(&stage), items, TERMS).unwrap().wait().iter().all(Result::is_ok));
    await_idle(&fresh, 1..);
    assert_eq!(pool.stats().reserved, fresh.stats().reserved);
}

/// Hashes that read and hashes that do not take the same place in turns.
#[test]
fn buffers_stay_in_the_books_of_a_place_that_has_them() {
    let stage = Stage::new("one");
    let mut config = config(1);
    config.in_flight = 1;
    let pool = Pool::new(config).unwrap();
    let (reads, other) = (plain(&stage), what(Params::yescrypt(64, 8), &[]));
    let reserved = || {
        for what in [&reads, &other] {
            assert!(pool.derive(what, [("p", "s")], TERMS).unwrap().wait()[0].is_ok());
        }
        await_idle(&pool, 1..);
        pool.stats().reserved
    };
    let first = reserved();
    for round in 0..20 {
        assert_eq!(reserved(), first, "round {round}");
    }
}

/// Which blocks were read tells something about passwords.
#[test]
fn buffers_are_wiped_before_the_source_has_them_back() {
    let stage = Stage::new("one");
    for wipe in [WipePolicy::OnDrop, WipePolicy::WhenIdle, WipePolicy::AfterEach] {
        let sources = Sources::default();
        let unwiped = sources.unwiped.clone();
        let mut config = config(1);
        (config.wipe, config.in_flight) = (wipe, 1);
        config.sources = Some(Arc::new(sources));
        let pool = Pool::new(config).unwrap();
        // Each needs buffers of another size than the one before.
        for (r, nrom) in [(8, 256), (32, 64), (64, 32), (8, 256)] {
            let what = what(Params::yescrypt(64, r), &[(&stage, reading(nrom, 1, 1, 7))]);
            let found = pool.derive(&what, [("p", "s"); 3], TERMS).unwrap().wait();
            assert!(found.iter().all(Result::is_ok), "{found:?}");
        }
        drop(pool);
        assert_eq!(unwiped.load(Relaxed), 0, "{wipe:?}");
    }
}

/// A ROM whose end asks the pool something, as a lock of its own might.
struct Curious(RomImage, Arc<OnceLock<Arc<Pool>>>, Arc<AtomicBool>);

impl RomMemory for Curious {
    fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Drop for Curious {
    fn drop(&mut self) {
        assert!(self.1.get().is_some_and(|pool| pool.stats().threads == 1));
        self.2.store(true, Relaxed);
    }
}

#[test]
fn a_rom_ends_without_a_lock_of_the_pool() {
    let (gate, stage) = (Gate::new(), Stage::new("one"));
    let pool = Arc::new(Pool::new(config(1)).unwrap());
    let (link, ended) = (Arc::new(OnceLock::from(pool.clone())), Arc::<AtomicBool>::default());
    let image = RomImage::init(&RomParams::new(64, 8, 1), b"seed", &mut Workspace::new()).unwrap();
    let rom = Rom::new(Curious(image, link, ended.clone())).unwrap();
    let params = Params::yescrypt(64, 8).check(&Limits::unlimited()).unwrap();
    let roms = vec![RomUse { rom, reading: reading(64, 1, 1, 0) }];
    let held = at_gate(&pool, &plain(&stage), &stage, &gate);
    let ticket = pool.derive(&Derive { params, roms, len: 32 }, [("p", "s")], TERMS).unwrap();
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(ticket.cancel()).unwrap());
    assert_eq!(is_done.recv_timeout(Duration::from_secs(60)), Ok(1), "the pool waits for itself");
    assert!(ended.load(Relaxed));
    gate.open();
    assert!(held.wait()[0].is_ok());
}

/// The thread goes on with what reads nothing, tries again for what does, and ends with its pool.
#[test]
fn a_source_that_cannot_be_exchanged_holds_nobody_up() {
    let stage = Stage::new("one");
    let mut config = config(1);
    let sources = Sources::default();
    let (panic_in, refused) = (sources.panic_in.clone(), sources.refused.clone());
    config.sources = Some(Arc::new(sources));
    let pool = Pool::new(config).unwrap();
    let derive = |what: &Derive| {
        let ticket = pool.derive(what, [("p", "s"); 3], TERMS).unwrap();
        ticket.wait_timeout(Duration::from_secs(60)).expect("nobody answers")
    };
    assert!(derive(&plain(&stage)).iter().all(Result::is_ok));
    *panic_in.lock().unwrap() = "collect";
    refused.store(true, Relaxed);
    assert_eq!(derive(&plain(&stage)), [const { Err(Error::Panicked) }; 3]);
    *panic_in.lock().unwrap() = "";
    for _ in 0..2 {
        for found in derive(&plain(&stage)) {
            assert!(matches!(found, Err(Error::Source(_))), "{found:?}");
        }
        assert!(derive(&what(Params::yescrypt(32, 8), &[])).iter().all(Result::is_ok));
    }
    refused.store(false, Relaxed);
    assert!(derive(&plain(&stage)).iter().all(Result::is_ok));
    // Once more, and the pool ends while there is no source.
    *panic_in.lock().unwrap() = "collect";
    refused.store(true, Relaxed);
    assert_eq!(derive(&plain(&stage)), [const { Err(Error::Panicked) }; 3]);
    *panic_in.lock().unwrap() = "";
    let (ended, has_ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(pool);
        ended.send(()).unwrap();
    });
    has_ended.recv_timeout(Duration::from_secs(60)).expect("the pool never ends");
}

#[test]
fn what_waits_is_bounded_grouped_across_batches_and_cancelled() {
    let (gate, stage) = (Gate::new(), Stage::new("one"));
    let mut config = config(1);
    config.max_waiting = 4;
    let pool = Pool::new(config).unwrap();
    let derive = |n| what(Params::yescrypt(n, 8), &[]);
    let held = at_gate(&pool, &plain(&stage), &stage, &gate);
    let one = pool.derive(&derive(32), [("1", "s")], TERMS).unwrap();
    let other = pool.derive(&derive(16), [("2", "s")], TERMS).unwrap();
    let two = pool.derive(&derive(32), [("3", "s"), ("4", "s")], TERMS).unwrap();
    let full = Err(Error::Overloaded { waiting: 4, limit: 4 });
    assert_eq!(pool.derive(&derive(16), [("5", "s")], TERMS).map(drop), full);
    assert!(!one.is_done());
    assert_eq!((other.cancel(), other.cancel()), (1, 0));
    assert_eq!(other.wait(), [Err(Error::Cancelled)]);
    drop(pool.derive(&derive(32), [("6", "s")], TERMS).unwrap());
    assert_eq!((pool.stats().waiting, pool.stats().running), (3, 1));
    let one = one.try_wait().unwrap_err();
    let one = one.wait_timeout(Duration::from_millis(1)).unwrap_err();
    gate.open();
    assert!(held.wait()[0].is_ok() && one.wait()[0].is_ok());
    assert!(two.wait().iter().all(Result::is_ok));
    let large = Err(Error::BatchTooLarge { items: 5, limit: 4 });
    assert_eq!(pool.derive(&derive(16), [("", ""); 5], TERMS).map(drop), large);
    let stats = pool.stats();
    // The gate by itself; then one item of each batch together; then the last.
    assert_eq!(stats.groups[..2], [2, 1]);
    assert_eq!((stats.cancelled, stats.peak_waiting, stats.waiting), (2, 4, 0));
    assert_eq!((stats.hashes, stats.refused, stats.batches), (4, 1, 5));
}

#[test]
fn items_beside_an_idle_thread_are_not_paired() {
    let (gate, stage) = (Gate::new(), Stage::new("one"));
    let pool = Pool::new(config(2)).unwrap();
    await_idle(&pool, 2..);
    stage.hold(&gate);
    let ticket = pool.derive(&plain(&stage), [("a", "s"), ("b", "s")], TERMS).unwrap();
    gate.wait_for(2);
    gate.open();
    assert!(ticket.wait().iter().all(Result::is_ok));
    assert_eq!(pool.stats().groups[..2], [2, 0]);
}

#[test]
fn dropping_a_pool_finishes_what_runs_and_cancels_what_waits() {
    let (gate, stage) = (Gate::new(), Stage::new("one"));
    let pool = Pool::new(config(1)).unwrap();
    let held = at_gate(&pool, &plain(&stage), &stage, &gate);
    let waiting = pool.derive(&plain(&stage), [("p", "s"); 3], TERMS).unwrap();
    let dropping = std::thread::spawn(move || drop(pool));
    assert_eq!(
        waiting.wait(),
        [Err(Error::Cancelled), Err(Error::Cancelled), Err(Error::Cancelled)]
    );
    assert!(!held.is_done());
    gate.open();
    dropping.join().unwrap();
    assert!(held.is_done() && Ticket::wait(held)[0].is_ok());
}
