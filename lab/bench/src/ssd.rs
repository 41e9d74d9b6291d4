//! Hashes per second with a ROM in memory, in a file that is read or mapped, and without one.
#![allow(unsafe_code, reason = "advice about mapped memory")]

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::fs::Advice;
use saltern_pool::{Derive, Pool, PoolConfig, ReadStats, Terms, Ticket};
use saltern_rom::{AttachOptions, Attached, Backend, RomFile, RomPages, RomReaders, attach};
use saltern_tune::process_seconds;
use saltern_yescrypt::{
    Workspace,
    hazmat::{Advance, Resumable},
    params::CheckedParams,
    rom::{Rom, RomMasks, RomReading, RomUse},
};
use serde::Deserialize;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Load {
    /// The parameters of the hashes, without ROM.
    pub params: CheckedParams,
    /// When the ROM is read.
    pub masks: RomMasks,
    /// How many steps before a read its block is chosen.
    pub look_ahead: u32,
    /// How long each measurement takes.
    pub time: Duration,
    /// How often all measurements are made, one after the other in each round; the medians count.
    pub rounds: usize,
    /// Threads and memory of the pool; the number of threads is also what the others are given
    /// multiples of.
    pub pool: PoolConfig,
}

/// How hashes get at the ROM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub enum Access {
    /// They have none.
    None,
    /// It is in memory, of these pages, and each thread hashes as many passwords together as is
    /// best.
    Memory(RomPages),
    /// It is read from the file while other hashes go on.
    Overlapped(Backend),
    /// The file is mapped: hashes wait for the system to read what they touch. With or without
    /// telling it not to read ahead (madvise); this many times as many threads as processors.
    Mapped {
        /// madvise(MADV_RANDOM).
        random: bool,
        /// Multiple of the number of threads.
        threads: usize,
    },
    /// As overlapped, with one hash in flight in one thread: what one login waits for.
    One,
}

const NAMES: [(&str, Access); 14] = [
    ("none", Access::None),
    ("ram", Access::Memory(RomPages::Transparent)),
    ("ram-4k", Access::Memory(RomPages::Base)),
    ("ram-2m", Access::Memory(RomPages::Huge2M)),
    ("ram-1g", Access::Memory(RomPages::Huge1G)),
    ("uring", Access::Overlapped(Backend::IoUring)),
    ("pread", Access::Overlapped(Backend::Threads)),
    ("map", Access::Mapped { random: false, threads: 1 }),
    ("map-2x", Access::Mapped { random: false, threads: 2 }),
    ("map-3x", Access::Mapped { random: false, threads: 3 }),
    ("random", Access::Mapped { random: true, threads: 1 }),
    ("random-2x", Access::Mapped { random: true, threads: 2 }),
    ("random-3x", Access::Mapped { random: true, threads: 3 }),
    ("one", Access::One),
];

impl FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, access)| *access).ok_or_else(|| format!("no access is called {text:?}"))
    }
}

impl TryFrom<String> for Access {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, access)| access == self).map(|(name, _)| *name);
        f.write_str(name.unwrap_or("overlapped"))
    }
}

/// What was measured for one access: medians over the rounds.
#[derive(Clone, Debug)]
pub struct Row {
    /// How the ROM was read.
    pub access: Access,
    /// Hashes per second.
    pub rate: f64,
    /// The lowest and the highest rate of a round.
    pub range: [f64; 2],
    /// Milliseconds of processor time for each hash, the system's included.
    pub cpu_ms: f64,
    /// What the pool read in the last round and how long that took, if it read anything.
    pub reads: Option<(ReadStats, Duration)>,
    /// What could not be had.
    pub notes: Vec<String>,
}

impl Row {
    /// What the device did; none if nothing was read in pieces.
    #[must_use]
    pub fn device(&self) -> Option<String> {
        let (stats, elapsed) = self.reads.filter(|(stats, _)| stats.blocks > 0)?;
        let seconds = elapsed.as_secs_f64().max(1e-9);
        Some(format!(
            "{}: {:.0} reads/s, {:.0} MB/s, queue depth {:.1}, stalled {:.1} %",
            self.access,
            stats.blocks as f64 / seconds,
            stats.bytes as f64 / seconds / 1e6,
            stats.mean_depth(),
            100.0 * stats.stalled.as_secs_f64() / seconds
        ))
    }
}

/// Measures every way with the ROM whose manifest is `image.json`.
///
/// Before each measurement the file is dropped from the page cache, as far as this user may. Each
/// way with the ROM in memory takes as much memory as the image has, during all of it. The ROM's
/// number of blocks for the r of the hashes has to be a power of two.
///
/// # Errors
/// A ROM that cannot be attached or read, and a lack of memory.
pub fn measure(image: &Path, load: &Load, ways: &[Access]) -> anyhow::Result<Vec<Row>> {
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); ways.len()];
    // Loaded once, for all rounds.
    let copy = |access: &Access| {
        let Access::Memory(pages) = *access else { return Ok(None) };
        let mut how = AttachOptions::new();
        (how.access, how.pages) = (saltern_rom::Access::Copy, pages);
        attach(image, &how).map(|rom| Some(Arc::new(rom)))
    };
    let loaded: Vec<Option<Arc<Attached>>> = ways.iter().map(copy).collect::<Result<_, _>>()?;
    for _ in 0..load.rounds {
        for (index, access) in ways.iter().enumerate() {
            drop_cache(image)?;
            runs[index].push(match *access {
                Access::None | Access::Memory(_) => in_memory(loaded[index].clone(), load)?,
                Access::Mapped { random, threads } => mapped(image, load, random, threads)?,
                Access::Overlapped(backend) => {
                    overlapped(image, load, (backend, load.pool.clone()))?
                }
                Access::One => {
                    let mut alone = load.pool.clone();
                    (alone.threads, alone.in_flight) = (1, 1);
                    overlapped(image, load, (Backend::Auto, alone))?
                }
            });
        }
    }
    Ok(ways.iter().zip(runs).map(|(access, runs)| row(*access, &runs)).collect())
}

fn row(access: Access, runs: &[Run]) -> Row {
    let median =
        |value: fn(&Run) -> f64| crate::stats::median(&runs.iter().map(value).collect::<Vec<_>>());
    let rates = || runs.iter().map(|run| run.rate);
    let last = runs.last();
    Row {
        access,
        rate: median(|run| run.rate),
        range: [rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max)],
        cpu_ms: median(|run| run.cpu_ms),
        reads: last.and_then(|run| run.reads),
        notes: last.map(|run| run.notes.clone()).unwrap_or_default(),
    }
}

#[derive(Clone)]
struct Run {
    rate: f64,
    cpu_ms: f64,
    reads: Option<(ReadStats, Duration)>,
    notes: Vec<String>,
}

/// Lets the system forget what it keeps of the file; all of it if this user may do that.
fn drop_cache(image: &Path) -> anyhow::Result<()> {
    let file = File::open(image).with_context(|| image.display().to_string())?;
    // Refused where nothing is kept.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    let _ = std::fs::write("/proc/sys/vm/drop_caches", "1");
    Ok(())
}

fn in_memory(rom: Option<Arc<Attached>>, load: &Load) -> anyhow::Result<Run> {
    let notes = rom.as_ref().map(|rom| rom.notes().to_vec()).unwrap_or_default();
    let used = rom.map(|rom| whole(rom, load)).transpose()?;
    let run = direct(&load.params, used.as_slice(), load.pool.threads, load.time)?;
    Ok(Run { notes, ..run })
}

/// All blocks of a ROM.
fn whole(rom: Arc<Attached>, load: &Load) -> anyhow::Result<RomUse> {
    let whole =
        RomReading::whole(rom.size(), load.params.params().r).context("a ROM of odd size")?;
    let (masks, look_ahead) = (load.masks, load.look_ahead);
    Ok(RomUse { rom: Rom::new(rom)?, reading: RomReading { masks, look_ahead, ..whole } })
}

fn mapped(image: &Path, load: &Load, random: bool, threads: usize) -> anyhow::Result<Run> {
    let mut how = AttachOptions::new();
    how.access = saltern_rom::Access::Map;
    let rom = attach(image, &how)?;
    if random {
        let (bytes, advice) = (rom.as_bytes(), rustix::mm::Advice::Random);
        // SAFETY: this advice changes no contents, and the mapping begins with a page.
        unsafe { rustix::mm::madvise(bytes.as_ptr().cast_mut().cast(), bytes.len(), advice)? };
    }
    let source = whole(Arc::new(rom), load)?;
    direct(&load.params, &[source], threads * load.pool.threads, load.time)
}

/// Threads that hash with ROMs in memory, or what looks like it.
fn direct(
    params: &CheckedParams,
    roms: &[RomUse],
    threads: usize,
    time: Duration,
) -> anyhow::Result<Run> {
    let (hashes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let worker = |index: usize| -> anyhow::Result<()> {
        let mut hash = Resumable::new(Workspace::new());
        let (salt, mut tried) = ((index as u64).to_le_bytes(), 0_u64);
        while !stop.load(Relaxed) {
            // Each its own: equal ones would read the same blocks at the same time.
            let passwords: Vec<[u8; 8]> =
                (0..params.degree()).map(|at| (tried + at as u64).to_le_bytes()).collect();
            tried += passwords.len() as u64;
            let inputs: Vec<(&[u8], &[u8])> =
                passwords.iter().map(|password| (&password[..], &salt[..])).collect();
            hash.begin(&inputs, params, roms, 32)?;
            while hash.advance(&[])? != Advance::Done {}
            hashes.fetch_add(inputs.len() as u64, Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let worker = &worker;
        let threads: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || worker(index))).collect();
        std::thread::sleep(time / 5);
        let mark = || (Instant::now(), process_seconds(), hashes.load(Relaxed));
        let before = mark();
        std::thread::sleep(time);
        let after = mark();
        stop.store(true, Relaxed);
        for thread in threads {
            thread.join().map_err(|_| saltern_yescrypt::Error::Panicked)??;
        }
        Ok(run(before, after, None, Vec::new()))
    })
}

type Mark = (Instant, f64, u64);

fn run(before: Mark, after: Mark, reads: Option<ReadStats>, notes: Vec<String>) -> Run {
    let hashes = (after.2 - before.2).max(1) as f64;
    let rate = hashes / (after.0 - before.0).as_secs_f64();
    let cpu_ms = 1e3 * (after.1 - before.1) / hashes;
    Run { rate, cpu_ms, reads: reads.map(|reads| (reads, after.0 - before.0)), notes }
}

/// A pool under full load.
fn overlapped(
    image: &Path,
    load: &Load,
    (backend, mut config): (Backend, PoolConfig),
) -> anyhow::Result<Run> {
    let rom = Arc::new(RomFile::open(image, None)?);
    let r = load.params.params().r;
    let (nrom, masks, look_ahead) = (rom.blocks(r)?, load.masks, load.look_ahead);
    let mut notes = rom.notes().to_vec();
    let readers = Arc::new(RomReaders::new(backend));
    config.sources = Some(readers.clone());
    // So many that there is always something waiting, in two batches.
    let batch = if config.in_flight == 1 { 1 } else { 4 * config.threads * config.in_flight };
    let pool = Pool::new(config)?;
    notes.extend(readers.notes());
    let used = RomUse { rom: rom.rom()?, reading: RomReading { nrom, masks, look_ahead } };
    let what = Derive { params: load.params, roms: vec![used], len: 32 };
    let mut submitted = 0u64;
    let mut submit = || {
        submitted += 1;
        let items = (0..batch).map(|i| ((i as u64).to_le_bytes(), submitted.to_le_bytes()));
        pool.derive(&what, items, Terms::bulk())
    };
    let mut ahead = if batch == 1 { None } else { Some(submit()?) };
    let start = Instant::now();
    let mark = || (Instant::now(), process_seconds(), pool.stats().hashes);
    let mut before = None;
    let mut reads = ReadStats::default();
    loop {
        if before.is_none() && start.elapsed() >= load.time / 5 {
            before = Some(mark());
            reads = pool.stats().reads;
        }
        let next = submit()?;
        for answer in ahead.replace(next).into_iter().flat_map(Ticket::wait) {
            answer?;
        }
        if let Some(before) = before.filter(|_| start.elapsed() >= load.time * 6 / 5) {
            let after = mark();
            return Ok(run(before, after, Some(pool.stats().reads.since(&reads)), notes));
        }
    }
}
