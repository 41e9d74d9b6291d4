//! The engine with real files: what it computes, what it refuses, what failing reads do.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saltern_rom::{
    Answer, AttachOptions, Backend, Create, EngineConfig, EngineError, EngineRom,
    Error as RomError, RomFile, Seed, SsdEngine, Work, WorkRom, attach,
};
use saltern_yescrypt::{
    Error as Core, Limits, Params, RomMasks, RomParams, RomReading, RomUse, Workspace,
    derive_with_roms,
};
use tempfile::TempDir;

/// Blocks of the small ROM and of the large one.
const NROM: [u64; 2] = [256, 1024];
const R: u32 = 8;

/// Two ROMs in files.
struct Site {
    _directory: TempDir,
    paths: [PathBuf; 2],
}

impl Site {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let paths = [0, 1].map(|i| {
            let path = directory.path().join(format!("{i}.rom"));
            let seed = Seed::from_bytes(format!("seed number {i} of a test").as_bytes()).unwrap();
            Create::new(RomParams::new(NROM[i], R, 1), &seed).file(&path).unwrap();
            path
        });
        Site { _directory: directory, paths }
    }

    fn files(&self) -> Vec<EngineRom> {
        let open = |path: &PathBuf| RomFile::open(path, None).unwrap().into();
        self.paths.iter().map(open).collect()
    }

    /// What has to come out.
    fn expected(&self, work: &Work, password: &[u8], salt: &[u8]) -> Vec<u8> {
        let attached =
            self.paths.each_ref().map(|path| attach(path, &AttachOptions::new()).unwrap());
        let rom = |plan: &WorkRom| {
            let &WorkRom { nrom, masks, look_ahead, .. } = plan;
            let reading = RomReading { nrom, masks, look_ahead };
            RomUse { rom: attached[plan.rom].rom().unwrap(), reading }
        };
        let roms: Vec<_> = work.roms.iter().map(rom).collect();
        let mut out = vec![0; work.len];
        derive_with_roms(password, salt, &work.params, &roms, &mut Workspace::new(), &mut out)
            .unwrap();
        out
    }
}

fn config(backend: Backend) -> EngineConfig {
    let mut config = EngineConfig::default();
    (config.threads, config.backend, config.memory) = (2, backend, 64 << 20);
    config
}

fn work(n: u64, r: u32, roms: &[WorkRom]) -> Work {
    let params = Params::yescrypt(n, r).check(&Limits::unlimited()).unwrap();
    Work { params, roms: roms.to_vec(), len: 32 }
}

fn rom(rom: usize, r: u32, fill: u32, mix: u32, look_ahead: u32) -> WorkRom {
    let nrom = NROM[rom] * u64::from(R) / u64::from(r);
    WorkRom { rom, nrom, masks: RomMasks { fill, mix }, look_ahead }
}

/// Works of many shapes: blocks below and above a page, one ROM and two, with and without look-ahead, p > 1, a pre-hash, none at all.
fn shapes() -> Vec<Work> {
    let mut several = work(32, 8, &[rom(1, 8, 7, 3, 5), rom(0, 8, 1, 1, 63)]);
    several.params = {
        let mut params = Params::yescrypt(32, 8);
        params.p = 3;
        params.check(&Limits::unlimited()).unwrap()
    };
    vec![
        work(64, 8, &[rom(0, 8, 1, 1, 0)]),
        work(64, 8, &[rom(0, 8, 0, 15, 0)]),
        work(64, 32, &[rom(1, 32, 3, 1, 0)]),
        work(128, 1, &[rom(1, 1, 1, 1, 0)]),
        work(128, 2, &[rom(0, 2, 3, 3, 17)]),
        several,
        work(256, 512, &[rom(1, 512, 15, 15, 15)]),
        work(64, 8, &[]),
    ]
}

#[test]
fn every_backend_computes_what_is_computed_in_memory() {
    let site = Site::new();
    let inputs: Vec<_> =
        (0..7).map(|i| (format!("password {i}"), format!("salt {}", i % 3))).collect();
    let mut compared = 0;
    for backend in [Backend::IoUring, Backend::Pread, Backend::Map, Backend::Auto] {
        let engine = match SsdEngine::new(&config(backend), site.files()) {
            Err(error) if backend == Backend::IoUring => {
                eprintln!("SKIPPED: no io_uring here: {error}");
                continue;
            }
            engine => engine.unwrap(),
        };
        assert!(engine.backend() == backend || backend == Backend::Auto);
        let works = shapes();
        // All at once, so that groups of different shapes are in flight together.
        let tickets: Vec<_> =
            works.iter().map(|work| engine.derive(work, inputs.clone()).unwrap()).collect();
        for (work, ticket) in works.iter().zip(tickets) {
            for (answer, (password, salt)) in ticket.wait().into_iter().zip(&inputs) {
                let expected = site.expected(work, password.as_bytes(), salt.as_bytes());
                assert_eq!(*answer.unwrap(), expected, "{backend:?} {work:?}");
                compared += 1;
            }
        }
        let stats = engine.stats();
        assert_eq!((stats.hashes, stats.failed, stats.repeated), (8 * 7, 0, 0));
        let reading = backend != Backend::Map;
        assert_eq!(stats.reads > 1000, reading, "{stats:?}");
        assert!(stats.bytes >= 128 * stats.reads && stats.mean_depth() >= 0.0);
        assert!(stats.peak_reserved <= 64 << 20 && stats.peak_reserved > 0);
    }
    assert!(compared >= 3 * 8 * 7, "{compared}");
}

#[test]
fn a_rom_in_memory_and_one_in_a_file_go_together() {
    let site = Site::new();
    let small = attach(&site.paths[0], &AttachOptions::new()).unwrap();
    let large = RomFile::open(&site.paths[1], None).unwrap();
    let engine = SsdEngine::new(&config(Backend::Auto), vec![small.into(), large.into()]).unwrap();
    let work = work(64, 8, &[rom(1, 8, 0, 15, 8), rom(0, 8, 1, 1, 0)]);
    let answers = engine.derive(&work, [("password", "salt")]).unwrap().wait();
    assert_eq!(**answers[0].as_ref().unwrap(), site.expected(&work, b"password", b"salt"));
    let reads = engine.stats().reads;
    assert!(
        (1..=4).contains(&reads),
        "22 steps of the second loop, of which 1 and 17 read: {reads}"
    );
}

#[test]
fn several_threads_submit_and_each_gets_its_own_answers() {
    let site = Site::new();
    let engine = Arc::new(SsdEngine::new(&config(Backend::Auto), site.files()).unwrap());
    let works = [work(64, 8, &[rom(0, 8, 1, 1, 0)]), work(32, 32, &[rom(1, 32, 3, 3, 2)])];
    let threads: Vec<_> = (0..4)
        .map(|t| {
            let (engine, work) = (Arc::clone(&engine), works[t % 2].clone());
            std::thread::spawn(move || {
                let submit =
                    |i: usize| engine.derive(&work, [(format!("{t}"), format!("{i}"))]).unwrap();
                let tickets: Vec<_> = (0..20).map(submit).collect();
                tickets.into_iter().map(|ticket| ticket.wait().remove(0).unwrap()).collect()
            })
        })
        .collect();
    for (t, thread) in threads.into_iter().enumerate() {
        let answers: Vec<_> = thread.join().unwrap();
        for i in [0, 7, 19] {
            let (password, salt) = (format!("{t}"), format!("{i}"));
            let expected = site.expected(&works[t % 2], password.as_bytes(), salt.as_bytes());
            assert_eq!(*answers[i], expected);
        }
    }
}

/// One hash of 8 MiB fits and two do not, beside four of other shapes: all are computed, one after the other if need be.
#[test]
fn the_budget_is_kept_and_what_does_not_fit_at_all_is_refused() {
    let site = Site::new();
    let mut config = config(Backend::Auto);
    (config.memory, config.pages) = (10 << 20, saltern_yescrypt::Pages::Standard);
    let engine = SsdEngine::new(&config, site.files()).unwrap();
    let large = work(512, 128, &[rom(1, 128, 3, 3, 0)]);
    let small = work(256, 16, &[rom(0, 16, 3, 3, 0)]);
    let inputs = [("a", "b"), ("c", "d"), ("e", "f")];
    let tickets: Vec<_> = [&large, &small, &large, &small, &small]
        .map(|work| (work, engine.derive(work, inputs).unwrap()))
        .into_iter()
        .collect();
    for (work, ticket) in tickets {
        for (answer, (password, salt)) in ticket.wait().into_iter().zip(inputs) {
            let expected = site.expected(work, password.as_bytes(), salt.as_bytes());
            assert_eq!(*answer.unwrap(), expected);
        }
    }
    let stats = engine.stats();
    assert!(stats.peak_reserved > 8 << 20 && stats.peak_reserved <= 10 << 20, "{stats:?}");
    let huge = work(1024, 128, &[rom(1, 128, 3, 3, 0)]);
    let refused = engine.derive(&huge, inputs).unwrap_err();
    let EngineError::Memory { needed, limit } = refused else { panic!("{refused}") };
    assert!(needed > 16 << 20 && limit == 10 << 20);
}

#[test]
fn what_the_engine_does_not_have_is_refused() {
    let site = Site::new();
    let mut config = config(Backend::Auto);
    config.max_waiting = 3;
    let engine = SsdEngine::new(&config, site.files()).unwrap();
    let input = [("a", "b")];
    let refused = |roms: &[WorkRom], r| match engine.derive(&work(16, r, roms), input) {
        Err(EngineError::Yescrypt(error)) => error,
        other => panic!("{other:?}"),
    };
    let wrong_nrom = WorkRom { nrom: 512, ..rom(0, 8, 1, 1, 0) };
    assert!(matches!(
        refused(&[rom(1, 8, 1, 1, 0), wrong_nrom], 8),
        Core::InvalidParameter { name: "NROM", value: 512, .. }
    ));
    let other = WorkRom { rom: 2, ..rom(0, 8, 1, 1, 0) };
    assert!(matches!(refused(&[other], 8), Core::InvalidParameter { value: 2, .. }));
    let three = WorkRom { nrom: 85, ..rom(0, 8, 1, 1, 0) };
    assert!(matches!(engine.derive(&work(16, 3, &[three]), input), Err(EngineError::Rom(_))));
    for look_ahead in [64, u32::MAX] {
        let refused = refused(&[rom(0, 8, 1, 1, look_ahead)], 8);
        assert!(matches!(refused, Core::InvalidParameter { name: "look-ahead", .. }));
    }
    let five = [rom(0, 8, 1, 1, 0); 5];
    assert!(matches!(refused(&five, 8), Core::InvalidParameter { value: 5, .. }));
    let zero = WorkRom { nrom: 0, ..rom(0, 8, 1, 1, 0) };
    assert!(matches!(refused(&[zero], 8), Core::InvalidParameter { value: 0, .. }));
    let many = engine.derive(&work(16, 8, &[]), [("a", "b"); 4]);
    assert!(matches!(many, Err(EngineError::Yescrypt(Core::Overloaded { limit: 3, .. }))));
    config.in_flight = 0;
    assert!(SsdEngine::new(&config, Vec::new()).is_err());
}

/// Sets the size of an image that is open elsewhere.
fn truncate(path: &Path, size: u64) {
    let mut mode = std::fs::metadata(path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o600);
    std::fs::set_permissions(path, mode).unwrap();
    OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
}

#[test]
fn a_truncated_file_makes_the_rom_unavailable_and_nothing_else() {
    let site = Site::new();
    for backend in [Backend::Auto, Backend::Pread] {
        let engine = SsdEngine::new(&config(backend), site.files()).unwrap();
        let works = [work(64, 8, &[rom(0, 8, 1, 1, 4)]), work(64, 8, &[rom(1, 8, 1, 1, 0)])];
        let size = 1024 * NROM[0];
        let mut image = vec![0; size as usize];
        File::open(&site.paths[0]).unwrap().read_exact_at(&mut image, 0).unwrap();
        truncate(&site.paths[0], size / 8);
        let inputs: Vec<_> = (0..9).map(|i| (format!("{i}"), "salt")).collect();
        let [broken, good] = works.each_ref().map(|work| engine.derive(work, inputs.clone()));
        for answer in broken.unwrap().wait() {
            let error = answer.expect_err("most blocks are gone");
            assert!(matches!(error, EngineError::RomUnavailable { .. }), "{error}");
            assert!(error.to_string().contains("bytes and its manifest says"), "{error}");
        }
        for (answer, (password, salt)) in good.unwrap().wait().into_iter().zip(&inputs) {
            let attached = attach(&site.paths[1], &AttachOptions::new()).unwrap();
            let reading = RomReading::new(NROM[1]);
            let list = [RomUse { rom: attached.rom().unwrap(), reading }];
            let mut out = [0; 32];
            let (params, workspace) = (&works[1].params, &mut Workspace::new());
            let (password, salt) = (password.as_bytes(), salt.as_bytes());
            derive_with_roms(password, salt, params, &list, workspace, &mut out).unwrap();
            assert_eq!(answer.unwrap()[..], out);
        }
        assert_eq!(engine.stats().failed, 9);
        // With the image whole again, the same engine goes on.
        truncate(&site.paths[0], size);
        OpenOptions::new()
            .write(true)
            .open(&site.paths[0])
            .unwrap()
            .write_all_at(&image, 0)
            .unwrap();
        let again = engine.derive(&works[0], [("7", "salt")]).unwrap().wait();
        assert_eq!(*again[0].as_ref().unwrap().clone(), site.expected(&works[0], b"7", b"salt"));
    }
}

/// Flips one bit in the middle of an image.
fn flip(path: &Path, at: u64) {
    let size = std::fs::metadata(path).unwrap().len();
    truncate(path, size);
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x40], at).unwrap();
}

/// How many answers are that the ROM is damaged where it is; the others have to be right.
fn refused_or_right(answers: Vec<Answer>, expected: &[Vec<u8>]) -> u64 {
    let mut failed = 0;
    for (answer, expected) in answers.into_iter().zip(expected) {
        let error = match answer {
            Ok(output) => {
                assert_eq!(*output, *expected);
                continue;
            }
            Err(error) => error,
        };
        let EngineError::RomUnavailable { source, .. } = &error else { panic!("{error}") };
        assert!(matches!(**source, RomError::Damaged { offset: Some(98_304), .. }), "{error}");
        failed += 1;
    }
    failed
}

#[test]
fn a_flipped_bit_makes_the_rom_unavailable_and_never_gives_another_hash() {
    let site = Site::new();
    for backend in [Backend::IoUring, Backend::Pread] {
        let engine = match SsdEngine::new(&config(backend), site.files()) {
            Err(error) if backend == Backend::IoUring => {
                eprintln!("SKIPPED: no io_uring here: {error}");
                continue;
            }
            engine => engine.unwrap(),
        };
        // Many reads of few chunks, so that every hash comes across the bad one; blocks below, of and above a chunk.
        let inputs: Vec<_> = (0..9).map(|i| (format!("{i}"), "salt")).collect();
        let shapes = [
            (1024, 8, rom(0, 8, 0, 1, 4)),
            (512, 32, rom(0, 32, 1, 1, 0)),
            (2048, 1, rom(0, 1, 1, 1, 0)),
        ];
        for (n, r, plan) in shapes {
            let works = [work(n, r, &[plan]), work(64, 8, &[rom(1, 8, 1, 1, 0)])];
            let expected: Vec<_> = inputs
                .iter()
                .map(|(password, salt)| {
                    site.expected(&works[0], password.as_bytes(), salt.as_bytes())
                })
                .collect();
            flip(&site.paths[0], 100_001);
            let before = engine.stats();
            let [broken, good] = works.each_ref().map(|work| engine.derive(work, inputs.clone()));
            let failed = refused_or_right(broken.unwrap().wait(), &expected);
            assert!(failed >= 6, "{backend:?} r = {r}: only {failed} of 9 found it");
            for answer in good.unwrap().wait() {
                answer.unwrap();
            }
            let stats = engine.stats().since(&before);
            assert!(stats.repeated > 0 && stats.failed == failed, "{stats:?}");
            // Mended, it is read again.
            flip(&site.paths[0], 100_001);
            for (answer, expected) in
                engine.derive(&works[0], inputs.clone()).unwrap().wait().into_iter().zip(&expected)
            {
                assert_eq!(*answer.unwrap(), *expected);
            }
        }
    }
}

/// The end of the image is kept in memory from the start on.
#[test]
fn a_rom_with_a_damaged_end_gives_no_engine() {
    let site = Site::new();
    let size = 1024 * NROM[0];
    flip(&site.paths[0], size - 500);
    for backend in [Backend::Auto, Backend::Pread] {
        let refused = SsdEngine::new(&config(backend), site.files()).unwrap_err();
        assert!(refused.to_string().contains("is damaged at byte 258048"), "{refused}");
    }
}

#[test]
fn dropping_an_engine_cancels_what_waits_and_finishes_what_is_in_flight() {
    let site = Site::new();
    let engine = SsdEngine::new(&config(Backend::Auto), site.files()).unwrap();
    let work = work(1024, 8, &[rom(0, 8, 1, 1, 0)]);
    let mut ticket = engine.derive(&work, vec![("a", "b"); 400]).unwrap();
    let first = ticket.next().unwrap();
    drop(engine);
    let mut answers = vec![first];
    answers.extend(ticket);
    let expected = site.expected(&work, b"a", b"b");
    assert!(answers.iter().all(|(_, answer)| **answer.as_ref().unwrap() == expected));
    assert!(answers.len() < 400, "some were cancelled");
}
