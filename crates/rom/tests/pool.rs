//! A pool with ROMs in real files: what it computes, what it refuses, what failing reads do.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saltern_pool::{Derive, Error, Pool, PoolConfig, Results, Terms};
use saltern_rom::{
    AttachOptions, Backend, Create, Error as RomError, OpenRom, RomFile, RomReaders, Seed, attach,
};
use saltern_testing::{damage::flip, skipped};
use saltern_wipe::Zeroizing;
use saltern_yescrypt::{
    Error as Hash, Limits, Params, Workspace,
    rom::{Rom, RomMasks, RomParams, RomReading, RomUse, derive_with_roms},
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

    fn files(&self) -> [Rom; 2] {
        let open = |path: &PathBuf| Arc::new(RomFile::open(path, None).unwrap()).rom().unwrap();
        self.paths.each_ref().map(open)
    }

    /// What has to come out.
    fn expected(&self, work: &Work, password: &[u8], salt: &[u8]) -> Vec<u8> {
        let attached = self
            .paths
            .each_ref()
            .map(|path| OpenRom::from(attach(path, &AttachOptions::new()).unwrap()).rom().unwrap());
        let what = work.with(&attached);
        let r = what.params.params().r;
        let roms: Vec<_> = what.roms.iter().map(|used| used.view(r).unwrap()).collect();
        let mut out = vec![0; what.len];
        derive_with_roms(password, salt, &what.params, &roms, &mut Workspace::new(), &mut out)
            .unwrap();
        out
    }
}

/// What to derive with the ROMs of a site.
#[derive(Clone, Debug)]
struct Work {
    params: Params,
    /// Which of the ROMs, and how it is read.
    roms: Vec<(usize, RomReading)>,
}

impl Work {
    fn with(&self, roms: &[Rom]) -> Derive {
        let params = self.params.check(&Limits::unlimited()).unwrap();
        let used = |(index, reading): &(usize, RomReading)| RomUse {
            rom: roms[*index].clone(),
            reading: *reading,
        };
        Derive { params, roms: self.roms.iter().map(used).collect(), len: 32 }
    }
}

/// A pool that reads in this way, if that is to be had.
fn pool(backend: Backend, change: impl FnOnce(&mut PoolConfig)) -> Option<Pool> {
    let readers = Arc::new(RomReaders::new(backend));
    let mut config = PoolConfig::default();
    (config.threads, config.memory) = (2, 64 << 20);
    config.sources = Some(readers.clone());
    change(&mut config);
    match Pool::new(config) {
        Err(error) if backend == Backend::IoUring => {
            skipped(&format!("no io_uring here: {error}"));
            None
        }
        pool => {
            assert!(backend == Backend::Auto || readers.backend() == backend);
            Some(pool.unwrap())
        }
    }
}

fn auto() -> Pool {
    pool(Backend::Auto, |_| {}).unwrap()
}

const TERMS: Terms = Terms::interactive();

fn work(n: u64, r: u32, roms: &[(usize, RomReading)]) -> Work {
    Work { params: Params::yescrypt(n, r), roms: roms.to_vec() }
}

fn rom(rom: usize, r: u32, fill: u32, mix: u32, look_ahead: u32) -> (usize, RomReading) {
    let nrom = NROM[rom] * u64::from(R) / u64::from(r);
    (rom, RomReading { nrom, masks: RomMasks { fill, mix }, look_ahead })
}

/// Works of many shapes: blocks below and above a page, one ROM and two, with and without
/// look-ahead, p > 1, a pre-hash, none at all.
fn shapes() -> Vec<Work> {
    let mut several = work(32, 8, &[rom(1, 8, 7, 3, 5), rom(0, 8, 1, 1, 63)]);
    several.params.p = 3;
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
    let files = site.files();
    let inputs: Vec<_> =
        (0..7).map(|i| (format!("password {i}"), format!("salt {}", i % 3))).collect();
    let mut compared = 0;
    for backend in [Backend::IoUring, Backend::Threads, Backend::Auto] {
        let Some(pool) = pool(backend, |_| {}) else { continue };
        let works = shapes();
        // All at once, so that groups of different shapes are in flight together.
        let submit = |work: &Work| pool.derive(&work.with(&files), inputs.clone(), TERMS).unwrap();
        let tickets: Vec<_> = works.iter().map(submit).collect();
        for (work, ticket) in works.iter().zip(tickets) {
            for (answer, (password, salt)) in ticket.wait().into_iter().zip(&inputs) {
                let expected = site.expected(work, password.as_bytes(), salt.as_bytes());
                assert_eq!(*answer.unwrap(), expected, "{backend:?} {work:?}");
                compared += 1;
            }
        }
        let stats = pool.stats();
        assert_eq!((stats.hashes, stats.failed, stats.reads.repeated), (8 * 7, 0, 0));
        assert!(stats.reads.blocks > 1000 && stats.reads.mean_depth() >= 1.0, "{stats:?}");
        assert!(stats.reads.bytes >= 128 * stats.reads.blocks);
        assert!(stats.peak_reserved <= 64 << 20 && stats.peak_reserved > 0);
    }
    assert!(compared >= 2 * 8 * 7, "{compared}");
}

#[test]
fn a_rom_in_memory_and_one_in_a_file_go_together() {
    let site = Site::new();
    let small = OpenRom::from(attach(&site.paths[0], &AttachOptions::new()).unwrap());
    let large = OpenRom::from(RomFile::open(&site.paths[1], None).unwrap());
    let roms = [small.rom().unwrap(), large.rom().unwrap()];
    let pool = auto();
    let work = work(64, 8, &[rom(1, 8, 0, 15, 8), rom(0, 8, 1, 1, 0)]);
    let answers = pool.derive(&work.with(&roms), [("password", "salt")], TERMS).unwrap().wait();
    assert_eq!(**answers[0].as_ref().unwrap(), site.expected(&work, b"password", b"salt"));
    let reads = pool.stats().reads.blocks;
    assert!(
        (1..=4).contains(&reads),
        "22 steps of the second loop, of which 1 and 17 read: {reads}"
    );
}

#[test]
fn several_threads_submit_and_each_gets_its_own_answers() {
    let site = Site::new();
    let (pool, files) = (Arc::new(auto()), site.files());
    let works = [work(64, 8, &[rom(0, 8, 1, 1, 0)]), work(32, 32, &[rom(1, 32, 3, 3, 2)])];
    let threads: Vec<_> = (0..4)
        .map(|t| {
            let (pool, what) = (Arc::clone(&pool), works[t % 2].with(&files));
            std::thread::spawn(move || {
                let submit = |i: usize| {
                    pool.derive(&what, [(format!("{t}"), format!("{i}"))], TERMS).unwrap()
                };
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

/// One hash of 8 MiB fits and two do not, beside four of other shapes: all are computed, one after
/// the other if need be.
#[test]
fn the_budget_is_kept_and_what_does_not_fit_at_all_is_refused() {
    let site = Site::new();
    let files = site.files();
    let small_budget = |config: &mut PoolConfig| {
        (config.memory, config.pages) = (10 << 20, saltern_yescrypt::hazmat::Pages::Standard);
    };
    let pool = pool(Backend::Auto, small_budget).unwrap();
    let large = work(512, 128, &[rom(1, 128, 3, 3, 0)]);
    let small = work(256, 16, &[rom(0, 16, 3, 3, 0)]);
    let inputs = [("a", "b"), ("c", "d"), ("e", "f")];
    let tickets = [&large, &small, &large, &small, &small]
        .map(|work| (work, pool.derive(&work.with(&files), inputs, TERMS).unwrap()));
    for (work, ticket) in tickets {
        for (answer, (password, salt)) in ticket.wait().into_iter().zip(inputs) {
            let expected = site.expected(work, password.as_bytes(), salt.as_bytes());
            assert_eq!(*answer.unwrap(), expected);
        }
    }
    let stats = pool.stats();
    assert!(stats.peak_reserved > 8 << 20 && stats.peak_reserved <= 10 << 20, "{stats:?}");
    let huge = work(1024, 128, &[rom(1, 128, 3, 3, 0)]).with(&files);
    let refused = pool.derive(&huge, inputs, TERMS).unwrap().wait().remove(0).unwrap_err();
    let Error::OverBudget { needed, limit } = refused else { panic!("{refused}") };
    assert!(needed > 16 << 20 && limit == 10 << 20);
}

#[test]
fn a_part_of_a_rom_in_a_file_is_refused() {
    let site = Site::new();
    let (pool, files) = (auto(), site.files());
    let (_, whole) = rom(0, 8, 1, 1, 0);
    for nrom in [512, 85, 0] {
        let what = work(16, 8, &[(0, RomReading { nrom, ..whole })]).with(&files);
        let found = pool.derive(&what, [("a", "b")], TERMS).unwrap().wait().remove(0);
        let Err(Error::Hash(Hash::InvalidParameter { name: "NROM", value, .. })) = found else {
            panic!("{found:?}")
        };
        assert_eq!(value, nrom);
    }
}

/// Sets the size of an image that is open elsewhere.
fn truncate(path: &Path, size: u64) {
    saltern_testing::chmod(path, 0o600);
    OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
}

#[test]
fn a_truncated_file_makes_the_rom_unavailable_and_nothing_else() {
    let site = Site::new();
    for backend in [Backend::Auto, Backend::Threads] {
        let (pool, files) = (pool(backend, |_| {}).unwrap(), site.files());
        let works = [work(64, 8, &[rom(0, 8, 1, 1, 4)]), work(64, 8, &[rom(1, 8, 1, 1, 0)])];
        let size = 1024 * NROM[0];
        let mut image = vec![0; size as usize];
        File::open(&site.paths[0]).unwrap().read_exact_at(&mut image, 0).unwrap();
        let inputs: Vec<_> = (0..9).map(|i| (format!("{i}"), "salt")).collect();
        let expected: Vec<_> = inputs
            .iter()
            .map(|(p, s)| site.expected(&works[1], p.as_bytes(), s.as_bytes()))
            .collect();
        truncate(&site.paths[0], size / 8);
        let derive = |work: &Work| pool.derive(&work.with(&files), inputs.clone(), TERMS).unwrap();
        let [broken, good] = works.each_ref().map(derive);
        for answer in broken.wait() {
            let error = answer.expect_err("most blocks are gone");
            assert!(matches!(error, Error::RomUnavailable { .. }), "{error}");
            assert!(error.to_string().contains("bytes, but its manifest says"), "{error}");
        }
        for (answer, expected) in good.wait().into_iter().zip(expected) {
            assert_eq!(*answer.unwrap(), expected);
        }
        assert_eq!(pool.stats().failed, 9);
        // With the image whole again, the same pool goes on.
        truncate(&site.paths[0], size);
        OpenOptions::new()
            .write(true)
            .open(&site.paths[0])
            .unwrap()
            .write_all_at(&image, 0)
            .unwrap();
        let again = pool.derive(&works[0].with(&files), [("7", "salt")], TERMS).unwrap().wait();
        assert_eq!(**again[0].as_ref().unwrap(), site.expected(&works[0], b"7", b"salt"));
    }
}

/// How many answers are that the ROM is damaged where it is; the others have to be right.
fn refused_or_right(answers: Results<Zeroizing<Vec<u8>>>, expected: &[Vec<u8>]) -> u64 {
    let mut failed = 0;
    for (answer, expected) in answers.into_iter().zip(expected) {
        let error = match answer {
            Ok(output) => {
                assert_eq!(*output, *expected);
                continue;
            }
            Err(error) => error,
        };
        let Error::RomUnavailable { fault, .. } = &error else { panic!("{error}") };
        let damaged = fault.error().downcast_ref();
        assert!(matches!(damaged, Some(RomError::Damaged { offset: Some(99_328), .. })), "{error}");
        failed += 1;
    }
    failed
}

#[test]
fn a_flipped_bit_makes_the_rom_unavailable_and_never_gives_another_hash() {
    let site = Site::new();
    for backend in [Backend::IoUring, Backend::Threads] {
        let Some(pool) = pool(backend, |_| {}) else { continue };
        let files = site.files();
        // Many reads of few chunks, so that every hash comes across the bad one; blocks below, of
        // and above a chunk.
        let inputs: Vec<_> = (0..9).map(|i| (format!("{i}"), "salt")).collect();
        let shapes = [
            (1024, 8, rom(0, 8, 0, 1, 4)),
            (512, 32, rom(0, 32, 1, 1, 0)),
            (2048, 1, rom(0, 1, 1, 1, 0)),
        ];
        for (n, r, plan) in shapes {
            let works = [work(n, r, &[plan]), work(64, 8, &[rom(1, 8, 1, 1, 0)])];
            let expected =
                |(p, s): &(String, &str)| site.expected(&works[0], p.as_bytes(), s.as_bytes());
            let expected: Vec<_> = inputs.iter().map(expected).collect();
            flip(&site.paths[0], 100_001);
            let before = pool.stats();
            let derive =
                |work: &Work| pool.derive(&work.with(&files), inputs.clone(), TERMS).unwrap();
            let [broken, good] = works.each_ref().map(derive);
            let failed = refused_or_right(broken.wait(), &expected);
            assert!(failed >= 6, "{backend:?} r = {r}: only {failed} of 9 found it");
            for answer in good.wait() {
                answer.unwrap();
            }
            let stats = pool.stats();
            assert!(stats.reads.repeated > before.reads.repeated, "{stats:?}");
            assert_eq!(stats.failed - before.failed, failed);
            // Mended, it is read again.
            flip(&site.paths[0], 100_001);
            for (answer, expected) in derive(&works[0]).wait().into_iter().zip(&expected) {
                assert_eq!(*answer.unwrap(), *expected);
            }
        }
    }
}

/// The end of the image is kept in memory from the start on.
#[test]
fn a_rom_with_a_damaged_end_is_none() {
    let site = Site::new();
    let size = 1024 * NROM[0];
    flip(&site.paths[0], size - 500);
    let refused = Arc::new(RomFile::open(&site.paths[0], None).unwrap()).rom().unwrap_err();
    assert!(refused.to_string().contains("is damaged at byte 261120"), "{refused}");
}

#[test]
fn dropping_a_pool_cancels_what_waits_and_finishes_what_is_in_flight() {
    let site = Site::new();
    let (pool, files) = (auto(), site.files());
    let work = work(1024, 8, &[rom(0, 8, 1, 1, 0)]);
    let ticket = pool.derive(&work.with(&files), vec![("a", "b"); 400], TERMS).unwrap();
    while pool.stats().hashes == 0 {
        std::thread::yield_now();
    }
    drop(pool);
    let expected = site.expected(&work, b"a", b"b");
    let (computed, cancelled): (Vec<_>, Vec<_>) =
        ticket.wait().into_iter().partition(Result::is_ok);
    assert!(computed.into_iter().all(|answer| *answer.unwrap() == expected));
    assert!(!cancelled.is_empty() && cancelled.iter().all(|a| *a == Err(Error::Cancelled)));
}
