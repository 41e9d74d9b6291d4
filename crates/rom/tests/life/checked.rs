//! A mismatch is never said because of a ROM, and no hash is stored that was made with a damaged
//! one.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use saltern_pool::{Error as Unanswered, Pool, PoolConfig, Terms};
use saltern_rom::{
    Access, AttachOptions, Backend, Create, Error, OpenRom, RomFile, RomReaders, RomScrubber,
    attach, no_progress,
};
use saltern_testing::damage::flip;
use saltern_yescrypt::{
    HashString, Hasher, Limits, Params, Setting, Workspace,
    hazmat::{Advance, Resumable},
    rom::{NamedRom, RomMasks, RomParams, RomReading, RomSet, RomUse},
};

use super::super::{Scratch, seed};

/// The ROM mapped, so that what is done to the file is done to the memory, and in its file.
fn sources(path: &Path) -> [OpenRom; 2] {
    let mut options = AttachOptions::new();
    options.access = Access::Map;
    [attach(path, &options).unwrap().into(), RomFile::open(path, None).unwrap().into()]
}

/// A hasher with one ROM.
fn hasher(source: &OpenRom, params: Params) -> Arc<Hasher> {
    let (rom, id) = (source.rom().unwrap(), source.manifest().id());
    let mut set = RomSet::new();
    set.attach(id, rom).unwrap();
    set.activate(id).unwrap();
    let hasher = Hasher::new().with_limits(Limits::unlimited()).with_params(params);
    Arc::new(hasher.with_roms(set))
}

fn pool() -> Pool {
    let mut config = PoolConfig::default();
    config.threads = 1;
    config.sources = Some(Arc::new(RomReaders::new(Backend::Auto)));
    Pool::new(config).unwrap()
}

fn hash(pool: &Pool, hasher: &Arc<Hasher>, setting: &Setting) -> Result<HashString, Unanswered> {
    pool.hash_one_with_setting(hasher, "right", setting.clone(), Terms::bulk())?.wait()
}

fn verify(
    pool: &Pool,
    hasher: &Arc<Hasher>,
    password: &str,
    stored: &HashString,
) -> Result<bool, Unanswered> {
    pool.verify_one(hasher, password, stored.clone(), Terms::bulk())?.wait()
}

#[test]
fn checked_hashes_are_the_same_hashes() {
    let (scratch, pool) = (Scratch::new(), pool());
    let mut workspace = Workspace::new();
    let mut count = 0;
    // Blocks that are chunks, parts of them, some of them, and that lie across their bounds.
    for (nrom, r) in [(1024, 8), (256, 12), (256, 32), (32, 96), (16, 1000)] {
        let (path, of_rom) = (scratch.path("site.rom"), RomParams::new(nrom, r, 1));
        let seed = seed();
        let mut create = Create::new(of_rom, &seed);
        create.replace = true;
        create.file(&path).unwrap();
        let sources = sources(&path);
        for (p, t) in [(1, 0), (2, 1), (3, 0)] {
            let mut params = Params::yescrypt(64, r);
            (params.p, params.t, params.nrom) = (p, t, nrom);
            let [memory, file] = sources.each_ref().map(|source| hasher(source, params));
            let setting = memory.setting(b"a salt of bytes").unwrap();
            let expected = memory.hash_with_setting(&mut workspace, b"right", setting.as_bytes());
            let expected = expected.unwrap();
            for hasher in [&memory, &file] {
                assert_eq!(hash(&pool, hasher, &setting).unwrap(), expected, "{r} {p}");
                assert_eq!(verify(&pool, hasher, "right", &expected), Ok(true));
                assert_eq!(verify(&pool, hasher, "Right", &expected), Ok(false));
                count += 1;
            }
            // Read in another way, half of the image, with a look-ahead.
            let reading =
                RomReading { nrom: nrom / 2, masks: RomMasks { fill: 0, mix: 3 }, look_ahead: 5 };
            let named = NamedRom { reading, ..NamedRom::new(sources[0].manifest().id(), nrom) };
            let listed = Arc::new(Hasher::clone(&memory).with_named_roms(&[named]));
            let Ok(setting) = listed.setting(b"salt") else { continue };
            let expected = listed.hash_with_setting(&mut workspace, b"right", setting.as_bytes());
            let found = hash(&pool, &listed, &setting);
            assert_eq!(found.ok(), expected.ok(), "r = {r}, p = {p}");
        }
    }
    assert_eq!(count, 30);
}

/// Wherever the damage is, and whether it was there before or came after a true mismatch.
#[test]
fn a_damaged_rom_is_an_error_and_never_a_mismatch() {
    let (scratch, pool) = (Scratch::new(), pool());
    let (path, _) = scratch.rom("site.rom");
    let mut workspace = Workspace::new();
    let [memory, _] = sources(&path);
    let mut params = Params::yescrypt(64, 32);
    params.nrom = 256;
    let hasher = hasher(&memory, params);
    let setting = hasher.setting(b"salt").unwrap();
    let stored = hash(&pool, &hasher, &setting).unwrap();
    // The first mismatch, with a good ROM, is one, and says nothing about the next.
    assert_eq!(verify(&pool, &hasher, "wrong", &stored), Ok(false));
    let (mut errors, mut answers, mut mismatches) = (0, 0, 0);
    for chunk in 0..1024u64 {
        flip(&path, chunk * 1024 + 17 * (chunk % 60));
        for password in ["right", "wrong"] {
            let alone = hasher.verify(&mut workspace, password.as_bytes(), &stored).unwrap();
            mismatches += u32::from(!alone);
            match verify(&pool, &hasher, password, &stored) {
                Ok(answer) => {
                    assert_eq!(answer, password == "right", "chunk {chunk}");
                    answers += 1;
                }
                Err(Unanswered::RomUnavailable { id, fault }) => {
                    assert_eq!(id, memory.manifest().id());
                    let Some(Error::Damaged { offset, .. }) = fault.error().downcast_ref() else {
                        panic!("{fault}")
                    };
                    assert_eq!(*offset, Some(chunk * 1024));
                    errors += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        match hash(&pool, &hasher, &setting) {
            Ok(hash) => assert_eq!(hash, stored, "chunk {chunk}"),
            Err(error) => assert!(matches!(error, Unanswered::RomUnavailable { .. }), "{error}"),
        }
        flip(&path, chunk * 1024 + 17 * (chunk % 60));
    }
    // Had the check not been there, these would have been right passwords that are called wrong.
    assert!(
        mismatches > 1024 + 40 && errors > 80 && answers > 800,
        "{mismatches} {errors} {answers}"
    );
    assert_eq!(verify(&pool, &hasher, "right", &stored), Ok(true));
    // The end of the image, which every hash reads.
    flip(&path, (1 << 20) - 100);
    for password in ["right", "wrong"] {
        let refused = verify(&pool, &hasher, password, &stored);
        assert!(matches!(refused, Err(Unanswered::RomUnavailable { .. })), "{refused:?}");
    }
    let refused = hash(&pool, &hasher, &setting);
    assert!(matches!(refused, Err(Unanswered::RomUnavailable { .. })), "{refused:?}");
}

/// What was read is what is checked: a ROM that was damaged while a hash read it, and is good again
/// when it is checked, makes no mismatch either.
#[test]
fn damage_that_is_gone_by_the_check_is_an_error() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    let [memory, _] = sources(&path);
    let OpenRom::Memory(attached) = &memory else { unreachable!() };
    let params = Params::yescrypt(64, 8).check(&Limits::unlimited()).unwrap();
    let used = RomUse { rom: memory.rom().unwrap(), reading: RomReading::new(1024) };
    let mut computed = Resumable::new(Workspace::new());
    let mut run = |damage: Option<u64>| {
        damage.iter().for_each(|at| flip(&path, *at));
        computed.begin(&[(b"pw", b"salt")], &params, std::slice::from_ref(&used), 32).unwrap();
        assert_eq!(computed.advance(&[]), Ok(Advance::Done));
        damage.iter().for_each(|at| flip(&path, *at));
        let output: [u8; 32] = computed.output(0).unwrap().try_into().unwrap();
        (output, computed.check(0))
    };
    let (good, checked) = run(None);
    checked.unwrap();
    // The last block, which every hash reads, and others.
    let (mut other, mut errors) = (0, 0);
    for at in (0..1024).step_by(3).map(|block| block * 1024 + 77).chain([(1 << 20) - 1000]) {
        let (output, checked) = run(Some(at));
        other += u32::from(output != good);
        if let Err((id, fault)) = checked {
            assert_eq!(id, attached.id());
            let expected = format!("damaged at byte {}", at / 1024 * 1024);
            assert!(fault.to_string().contains(&expected), "{fault}");
            errors += 1;
        } else {
            assert_eq!(output, good);
        }
    }
    assert!(other > 5 && other == errors, "{other} {errors}");
}

#[test]
fn damage_that_no_hash_reads_is_found_by_age() {
    let scratch = Scratch::new();
    let (path, _) = scratch.rom("site.rom");
    let mut options = AttachOptions::new();
    options.access = Access::Map;
    let attached = Arc::new(attach(&path, &options).unwrap());
    let (sender, receiver) = mpsc::channel();
    let tell = move |_: &saltern_rom::Attached, error: &Error| {
        let _ = sender.send(error.to_string());
    };
    let age = Duration::from_millis(20);
    let recheck = RomScrubber::start(vec![attached.clone()], age, tell).unwrap();
    while attached.last_checked().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(receiver.try_recv().is_err());
    flip(&path, 500_000);
    let told = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(told.contains("damaged at byte 499712"), "{told}");
    drop(recheck);
    attached.verify(&no_progress).unwrap_err();
}

/// Blocks of 128 bytes in a ROM of large chunks, each read of which has a whole chunk hashed.
#[test]
fn a_string_whose_check_costs_too_much_is_refused() {
    let (scratch, seed) = (Scratch::new(), seed());
    let path = scratch.path("site.rom");
    Create::new(RomParams::new(16, 512, 1), &seed).file(&path).unwrap();
    let [memory, _] = sources(&path);
    let (mut params, mut own) = (Params::yescrypt(4, 1), Params::yescrypt(64, 512));
    (params.t, params.nrom, own.nrom) = (20_000, 8192, 16);
    let plan = |params| {
        let hasher = Hasher::clone(&hasher(&memory, params)).with_limits(Limits::server());
        hasher.plan(b"password", &hasher.setting(b"salt").unwrap()).map(drop)
    };
    plan(own).unwrap();
    // Without the check it would be admitted.
    assert!(params.work() < 200 << 20);
    let refused = plan(params);
    assert!(matches!(refused, Err(saltern_yescrypt::Error::OverLimit { .. })), "{refused:?}");
}
