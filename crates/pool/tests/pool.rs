//! The pool through its public interface: every item gets the answer that it would get alone.
#![cfg(feature = "getrandom")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use saltern_pool::{Derive, Error, Pool, PoolConfig, Terms, Ticket, WipePolicy};
use saltern_yescrypt::{
    Error as Hash, Hasher, Limits, Params, Setting, Workspace, derive, escrypt,
    hazmat::{Level, Pages},
    keys::HashKey,
    params::{CheckedParams, FlavorPolicy, Mode},
    rom::{Rom, RomImage, RomParams},
};

const TERMS: Terms = Terms::interactive();

fn config(threads: usize, mib: u64) -> PoolConfig {
    let mut config = PoolConfig::default();
    // Tests that count bytes leave no room for alignment.
    (config.threads, config.memory, config.pages) = (threads, mib << 20, Pages::Standard);
    config
}

fn check(params: Params) -> CheckedParams {
    params.check(&Limits::unlimited()).unwrap()
}

/// Settings of many shapes: every mode, several sizes, p and t, another flavour.
fn settings() -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    for (i, (n, r)) in [(16, 8), (1024, 1), (64, 8), (512, 2), (2048, 4)].into_iter().enumerate() {
        for p in [1, 3] {
            let mut params = Params::yescrypt(n, r);
            (params.p, params.t) = (p, i as u32 % 3);
            list.push(Setting::new(&params, b"some salt").unwrap().as_bytes().to_vec());
            let scrypt = Setting::scrypt(&Params::scrypt(n, r, p), b"other salt").unwrap();
            list.push(scrypt.as_bytes().to_vec());
        }
        let worm = Params::new(Mode::Worm, n, r);
        list.push(Setting::new(&worm, b"worm").unwrap().as_bytes().to_vec());
        let (_, flavor) = Params::from_flags(2).unwrap();
        let mut flavored = Params::yescrypt(n, r.max(flavor.min_r()));
        flavored.flavor = flavor;
        list.push(Setting::new(&flavored, b"flavour").unwrap().as_bytes().to_vec());
    }
    list
}

fn any_flavor() -> Arc<Hasher> {
    let mut limits = Limits::server();
    limits.flavors = FlavorPolicy::Any;
    Arc::new(Hasher::new().with_limits(limits))
}

#[test]
fn mixed_sizes_and_errors_in_the_middle_get_their_own_answers() {
    let hasher = any_flavor();
    let mut items = Vec::new();
    for (i, setting) in settings().iter().cycle().take(150).enumerate() {
        let setting = match i % 11 {
            3 => b"$y$?".to_vec(),
            5 => b"$y$jWT$expensive".to_vec(),
            7 => b"$6$sha512".to_vec(),
            _ => setting.clone(),
        };
        let password = if i % 13 == 2 { vec![b'x'; 5000] } else { format!("{i}").into_bytes() };
        items.push((password, setting));
    }
    let mut workspace = Workspace::new();
    let expected: Vec<_> = items
        .iter()
        .map(|(password, setting)| hasher.hash_with_setting(&mut workspace, password, setting))
        .map(|answer| answer.map_err(Error::from))
        .collect();
    assert!(expected.iter().filter(|answer| answer.is_err()).count() > 40);
    for threads in [1, 2, 5] {
        let pool = Pool::new(config(threads, 64)).unwrap();
        let found =
            pool.hash_with_settings(&hasher, items.iter().map(|(p, s)| (p, s)), TERMS).unwrap();
        assert_eq!((found.len(), found.is_empty()), (150, false));
        assert_eq!(found.wait(), expected, "{threads} threads");
    }
}

#[test]
fn verification_is_as_one_by_one_with_and_without_a_key() {
    for key in [None, Some(HashKey::new([7; 32]))] {
        let mut hasher = Hasher::new().with_params(Params::yescrypt(64, 8));
        if let Some(key) = key {
            hasher = hasher.assuming_unnamed_key(key);
        }
        let hasher = Arc::new(hasher);
        let pool = Pool::new(config(2, 8)).unwrap();
        let stored: Vec<_> = pool.hash(&hasher, ["a", "b", "c", "d", "e"], TERMS).unwrap().wait();
        let stored: Vec<String> = stored.into_iter().map(Result::unwrap).collect();
        let cut = &stored[0][..stored[0].len() - 1];
        let items = [
            ("a", &*stored[0]),
            ("x", &stored[1]),
            ("c", cut),
            ("d", &stored[3]),
            ("", &stored[4]),
        ];
        let found = pool.verify(&hasher, items, TERMS).unwrap().wait();
        assert_eq!(
            [&found[0], &found[1], &found[3], &found[4]],
            [&Ok(true), &Ok(false), &Ok(true), &Ok(false)]
        );
        assert!(matches!(found[2], Err(Error::Hash(Hash::Malformed { .. }))));
        let mut workspace = Workspace::new();
        for (password, hash) in items {
            let one = hasher.verify(&mut workspace, password.as_bytes(), hash.as_bytes());
            assert!(found.contains(&one.map_err(Error::from)));
        }
        assert!(pool.hash(&hasher, [""; 0], TERMS).unwrap().wait().is_empty());
    }
}

#[test]
fn keys_of_any_length_are_those_of_derive() {
    let pool = Pool::new(config(3, 64)).unwrap();
    let mut workspace = Workspace::new();
    for params in [Params::yescrypt(128, 8), Params::scrypt(64, 8, 2), Params::yescrypt(4096, 32)] {
        for len in [0, 1, 32, 100] {
            let params = check(params);
            let items: Vec<_> = (0..7).map(|i| (format!("password {i}"), [i; 5])).collect();
            let what = Derive { params, roms: Vec::new(), len };
            let keys = pool.derive(&what, items.iter().map(|(p, s)| (p, s)), TERMS).unwrap().wait();
            for ((password, salt), key) in items.iter().zip(keys) {
                let mut expected = vec![0; len];
                derive(password.as_bytes(), salt, &params, None, &mut workspace, &mut expected)
                    .unwrap();
                assert_eq!(*key.unwrap(), expected);
            }
        }
    }
}

/// What one hash needs with a pool, as a pool that has next to nothing says.
fn arena(what: Derive) -> u64 {
    let mut nothing = config(1, 0);
    nothing.memory = 1;
    let pool = Pool::new(nothing).unwrap();
    match pool.derive(&what, [("p", "s")], TERMS).unwrap().wait()[0] {
        Err(Error::OverBudget { needed, limit: 1 }) => needed,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_batch_above_the_budget_is_computed_in_smaller_groups() {
    // 4 MiB each: one for each of two threads, then one in all.
    let params = check(Params::yescrypt(4096, 8));
    let what = Derive { params, roms: Vec::new(), len: 32 };
    let items = [("a", "s"), ("b", "s"), ("c", "s"), ("d", "s"), ("e", "s")];
    let one = arena(what.clone());
    // Beside the memory of the hash: its spare block, and less than a page to begin at one.
    assert!(one > params.memory() && one < params.memory() + 4096 + 2048);
    let mut answers = Vec::new();
    for (memory, groups) in [(64 << 20, None), (2 * one, Some([5, 0])), (one, Some([5, 0]))] {
        let mut config = config(2, 0);
        config.memory = memory;
        let pool = Pool::new(config).unwrap();
        answers.push(pool.derive(&what, items, TERMS).unwrap().wait());
        let stats = pool.stats();
        assert!(stats.peak_reserved <= memory, "{stats:?}");
        assert!(groups.is_none_or(|groups| stats.groups[..2] == groups), "{stats:?}");
        assert_eq!((stats.hashes, stats.failed), (5, 0));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.iter().all(Result::is_ok)));

    let mut small = config(2, 0);
    small.memory = one - 1;
    let pool = Pool::new(small.clone()).unwrap();
    let refused = Error::OverBudget { needed: one, limit: one - 1 };
    assert_eq!(
        pool.derive(&what, items, TERMS).unwrap().wait(),
        [const { Err(()) }; 5].map(|e| e.map_err(|()| refused.clone()))
    );
    // In the middle of others it is refused alone.
    let hasher = Arc::new(Hasher::new());
    let setting = |n| Setting::new(&Params::yescrypt(n, 8), b"salt").unwrap().as_bytes().to_vec();
    let items = [64, 4096, 128].map(|n| ("password", setting(n)));
    let found = pool.hash_with_settings(&hasher, items, TERMS).unwrap().wait();
    assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(found[1], Err(refused));
    // What is to be prepared has to fit for all threads.
    small.prepare = Some(params);
    let refused = Pool::new(small).map(drop).unwrap_err();
    assert_eq!(refused, Error::OverBudget { needed: 2 * one, limit: one - 1 });
}

/// Hashes above a thread's share, among smaller ones, in a budget that holds one of them: nothing
/// waits for ever.
#[test]
fn large_hashes_take_turns_with_small_ones() {
    let (large, small) = (check(Params::yescrypt(8192, 8)), check(Params::yescrypt(1024, 8)));
    let memory = large.memory() + (1 << 20);
    let mut config = config(4, 0);
    config.memory = memory;
    let pool = Pool::new(config).unwrap();
    let mut tickets = Vec::new();
    for round in 0..40 {
        let params = if round % 4 == 1 { large } else { small };
        let what = Derive { params, roms: Vec::new(), len: 32 };
        tickets.push((
            params,
            pool.derive(&what, [(format!("{round}"), "s"), (String::new(), "s")], TERMS).unwrap(),
        ));
    }
    let mut workspace = Workspace::new();
    for (round, (params, ticket)) in tickets.into_iter().enumerate() {
        let mut expected = [0; 32];
        derive(format!("{round}").as_bytes(), b"s", &params, None, &mut workspace, &mut expected)
            .unwrap();
        let keys = ticket.wait();
        assert_eq!(keys[0].as_deref().unwrap()[..], expected);
        assert!(keys[1].is_ok());
    }
    let stats = pool.stats();
    assert!(stats.peak_reserved <= memory && stats.evictions > 0, "{stats:?}");
    assert_eq!(stats.hashes, 80);
}

#[test]
fn many_callers_at_once() {
    let pool = Pool::new(config(2, 8)).unwrap();
    let hasher = Arc::new(Hasher::new().with_params(Params::yescrypt(64, 8)));
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let (pool, hasher) = (&pool, &hasher);
            scope.spawn(move || {
                for round in 0..20 {
                    let passwords: Vec<_> =
                        (0..round % 5).map(|i| format!("{caller} {round} {i}")).collect();
                    let stored = pool.hash(hasher, &passwords, TERMS).unwrap().wait();
                    let items = passwords.iter().zip(stored.into_iter().map(Result::unwrap));
                    let found = pool.verify(hasher, items, TERMS).unwrap().wait();
                    assert_eq!(found, vec![Ok(true); passwords.len()]);
                }
            });
        }
    });
    let stats = pool.stats();
    assert_eq!((stats.hashes, stats.failed, stats.waiting), (8 * 2 * 4 * 10, 0, 0));
}

#[test]
fn callers_that_give_up_and_pools_that_go_away() {
    for round in 0..30 {
        let pool = Pool::new(config(1 + round % 3, 8)).unwrap();
        let what = Derive { params: check(Params::yescrypt(256, 8)), roms: Vec::new(), len: 32 };
        let tickets: Vec<_> =
            (0..10).map(|_| pool.derive(&what, [("p", "s"); 7], TERMS).unwrap()).collect();
        let mut kept = Vec::new();
        for (i, ticket) in tickets.into_iter().enumerate() {
            match i % 3 {
                0 => drop(ticket),
                1 => kept.push((ticket.cancel(), ticket)),
                _ => kept.push((0, ticket)),
            }
        }
        let expected = pool.derive(&what, [("p", "s")], TERMS).unwrap().wait();
        drop(pool);
        for (cancelled, ticket) in kept {
            let answers = ticket.wait();
            assert_eq!(answers.len(), 7);
            let given_up = answers.iter().filter(|a| **a == Err(Error::Cancelled)).count();
            assert!(given_up >= cancelled);
            assert!(answers.iter().all(|a| *a == expected[0] || *a == Err(Error::Cancelled)));
        }
    }
}

/// Notes that it was woken.
struct Flag(AtomicBool, std::thread::Thread);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        self.1.unpark();
        // The pool has to survive this.
        panic!("a waker that panics, as the test wants");
    }
}

#[test]
fn a_ticket_is_a_future() {
    let pool = Pool::new(config(1, 64)).unwrap();
    let what = Derive { params: check(Params::yescrypt(8192, 8)), roms: Vec::new(), len: 32 };
    let mut future = pin!(pool.derive(&what, [("p", "s"), ("q", "s")], TERMS).unwrap());
    let flag = Arc::new(Flag(AtomicBool::new(false), std::thread::current()));
    let waker = Waker::from(flag.clone());
    let mut context = Context::from_waker(&waker);
    let mut polls = 0;
    let answers = loop {
        polls += 1;
        if let std::task::Poll::Ready(answers) = future.as_mut().poll(&mut context) {
            break answers;
        }
        while !flag.0.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_secs(20));
        }
    };
    assert_eq!((answers.len(), polls), (2, 2));
    assert!(answers.iter().all(Result::is_ok));
    assert!(pool.derive(&what, [("p", "s")], TERMS).unwrap().wait()[0].is_ok());
}

#[test]
fn hashes_with_different_roms_are_not_computed_together() {
    let image = |seed: &[u8]| {
        let image = RomImage::init(&RomParams::new(64, 8, 1), seed, &mut Workspace::new());
        Rom::new(image.unwrap()).unwrap()
    };
    let mut params = Params::yescrypt(16, 8);
    params.nrom = 64;
    let with = |rom| Arc::new(Hasher::new().with_params(params).with_rom(rom));
    let (first, second) = (with(image(b"seed")), with(image(b"other")));
    let none = Arc::new(Hasher::new());
    let setting = Setting::new(&params, b"salt").unwrap();
    let settings = [("password", setting.as_bytes()); 4];
    let pool = Pool::new(config(2, 8)).unwrap();
    // All three have one shape but for the ROM.
    let found = [&first, &second, &none]
        .map(|hasher| pool.hash_with_settings(hasher, settings, TERMS).unwrap())
        .map(Ticket::wait);
    let mut workspace = Workspace::new();
    for (hasher, found) in [&first, &second, &none].into_iter().zip(&found) {
        let expected = hasher.hash_with_setting(&mut workspace, b"password", setting.as_bytes());
        assert_eq!(*found, vec![expected.map_err(Error::from); 4]);
    }
    let unavailable = Err(Hash::RomUnavailable { nrom: 64 }.into());
    assert!(found[0] != found[1] && found[2][0] == unavailable);
}

#[test]
fn every_level_policy_and_kind_of_page_computes_the_same() {
    let what = Derive { params: check(Params::yescrypt(4096, 8)), roms: Vec::new(), len: 32 };
    let mut expected = [0; 32];
    derive(b"p", b"s", &what.params, None, &mut Workspace::new(), &mut expected).unwrap();
    let mut checked = 0;
    for level in Level::available() {
        for wipe in [WipePolicy::OnDrop, WipePolicy::WhenIdle, WipePolicy::AfterEach] {
            for pages in [Pages::Standard, Pages::Huge] {
                let mut config = config(2, 64);
                (config.level, config.wipe, config.pages) = (level, wipe, pages);
                config.prepare = (checked % 2 == 0).then_some(what.params);
                let pool = Pool::new(config).unwrap();
                let prepared = pool.stats().reserved;
                assert_eq!(prepared > 0, checked % 2 == 0);
                let keys = pool.derive(&what, [("p", "s"); 5], TERMS).unwrap().wait();
                assert!(keys.iter().all(|key| key.as_deref().unwrap()[..] == expected));
                let stats = pool.stats();
                assert!(
                    prepared == 0 || stats.peak_reserved == prepared,
                    "prepared for it: {stats:?}"
                );
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 6 * Level::available().count());
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let refused = |change: fn(&mut PoolConfig)| {
        let mut config = config(2, 8);
        change(&mut config);
        Pool::new(config).map(drop).unwrap_err().to_string()
    };
    let threads = "invalid number of threads 0: it must be 1 to 1024";
    assert_eq!(refused(|config| config.threads = 0), threads);
    assert!(refused(|config| config.threads = 1025).contains("1025"));
    assert!(refused(|config| config.in_flight = 0).contains("in flight"));
    assert!(refused(|config| config.max_waiting = 0).contains("waiting"));
    assert!(refused(|config| config.processors = vec![99_999]).contains("processor 99999"));
    if let Some(level) = Level::ALL.into_iter().find(|level| !level.is_available()) {
        let mut config = config(1, 8);
        config.level = level;
        assert!(Pool::new(config).is_err());
    }
}

/// What the system gives for huge pages is up to it; that the question is answered, and within the
/// truth, is not.
#[cfg(all(feature = "os", target_os = "linux"))]
#[test]
fn pages_are_told_and_threads_are_bound() {
    let mut config = config(1, 64);
    (config.pages, config.processors) = (Pages::Huge, vec![0]);
    config.prepare = Some(check(Params::yescrypt(16384, 8)));
    let pool = Pool::new(config).unwrap();
    let huge = pool.huge_page_bytes().unwrap();
    println!("{huge} of {} bytes on huge pages", pool.stats().reserved);
    assert!(huge <= pool.stats().reserved);
}

/// Through a pool as one by one, with and without a ROM, within its memory.
#[test]
fn a_pool_takes_both_generations() {
    let mut workspace = Workspace::new();
    let rom = escrypt::EscryptRomParams::new(64, 8, 1);
    let mut image = RomImage::zeroed(rom.size() as usize).unwrap();
    escrypt::init_rom(&rom, b"seed", image.as_bytes_mut(), &mut workspace, &mut []).unwrap();
    let without = Arc::new(Hasher::new());
    let with = Arc::new(Hasher::new().with_escrypt_rom(Rom::untagged(image).unwrap(), 14));
    let mut config = PoolConfig::default();
    (config.threads, config.memory) = (2, 4 << 20);
    let setting = "$7X3$66..../....salt";
    let mut one = |hasher: &Hasher| {
        hasher.hash_with_setting(&mut workspace, b"p", setting.as_bytes()).unwrap()
    };
    let alone = [one(&without), one(&with)];
    assert_ne!(alone[0], alone[1]);
    let pool = Pool::new(config).unwrap();
    let answers = {
        let mut answers = Vec::new();
        for (hasher, stored) in [&without, &with].into_iter().zip(&alone) {
            let made = pool.hash_with_settings(hasher, [("p", setting); 3], TERMS).unwrap();
            assert!(made.wait().into_iter().all(|made| made.as_ref() == Ok(stored)));
            let large = "$7X3$A6..../....salt$".to_owned() + &".".repeat(43);
            let new = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
            let stored = stored.to_str().unwrap();
            let items =
                [("p", stored), ("q", stored), ("p", &large), ("p", &stored[..50]), ("p", new)];
            answers.push(pool.verify(hasher, items, TERMS).unwrap().wait());
        }
        answers
    };
    for answers in answers {
        assert_eq!(answers[..2], [Ok(true), Ok(false)]);
        assert!(matches!(answers[2], Err(Error::OverBudget { .. })), "{:?}", answers[2]);
        assert!(matches!(answers[3], Err(Error::Hash(Hash::Malformed { .. }))), "{:?}", answers[3]);
        assert_eq!(answers[4], Ok(false));
    }
}
