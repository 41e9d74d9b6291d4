//! Hashes per second with a ROM in memory, on disk, and without one.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::fs::Advice;
use saltern_yescrypt::{
    CheckedParams, Progress, Resumable, Rom, RomMasks, RomReading, RomUse, Workspace,
};

use crate::engine::{Backend, EngineConfig, EngineError, EngineStats, SsdEngine, Work, WorkRom};
use crate::map::Mapping;
use crate::{AttachOptions, Attached, Error, Pages, RomFile, attach};

/// What is measured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BenchOptions {
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
    /// Threads and memory for the engine; the number of threads is also what the others are given multiples of.
    pub engine: EngineConfig,
}

impl BenchOptions {
    /// One step in 16 of the second loop reads the ROM; five rounds of two seconds.
    #[must_use]
    pub fn new(params: CheckedParams) -> Self {
        BenchOptions {
            params,
            masks: RomMasks { fill: 0, mix: 15 },
            look_ahead: 0,
            time: Duration::from_secs(2),
            rounds: 5,
            engine: EngineConfig::default(),
        }
    }
}

/// How hashes get at the ROM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BenchCase {
    /// They have none.
    None,
    /// It is in memory, of these pages, and each thread hashes as many passwords together as is best.
    Memory(Pages),
    /// [`SsdEngine`].
    Engine(Backend),
    /// The file is mapped: hashes wait for the system to read what they touch. With or without telling it not to read ahead
    /// (madvise); this many times as many threads as processors.
    Mapped {
        /// madvise(MADV_RANDOM).
        random: bool,
        /// Multiple of the number of threads.
        threads: usize,
    },
    /// The engine with one hash in flight in one thread: what one login waits for.
    One,
}

impl fmt::Display for BenchCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchCase::None => f.write_str("no ROM"),
            BenchCase::Memory(pages) => write!(f, "ROM in memory, {pages:?} pages"),
            BenchCase::Engine(backend) => write!(f, "overlapped, {backend:?}"),
            BenchCase::Mapped { random, threads } => {
                let advice = if *random { "random" } else { "plain" };
                write!(f, "mapped, {advice}, {threads}x threads")
            }
            BenchCase::One => f.write_str("one hash alone"),
        }
    }
}

/// What was measured for one case: medians over the rounds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BenchRow {
    /// The case.
    pub case: BenchCase,
    /// Hashes per second.
    pub rate: f64,
    /// The lowest and the highest rate of a round.
    pub range: [f64; 2],
    /// Milliseconds of processor time for each hash, the system's included.
    pub cpu_ms: f64,
    /// What the engine counted in the last round.
    pub stats: Option<EngineStats>,
    /// What could not be had.
    pub notes: Vec<String>,
}

impl fmt::Display for BenchRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.range;
        let BenchRow { case, rate, cpu_ms, .. } = self;
        let case = case.to_string();
        write!(f, "{case:<32} {rate:>9.1} c/s ({low:.1} to {high:.1}), {cpu_ms:.2} ms CPU")?;
        if let Some(stats) = self.stats.filter(|stats| stats.reads > 0) {
            let seconds = stats.elapsed.as_secs_f64().max(1e-9);
            write!(
                f,
                ", {:.0} reads/s, {:.0} MB/s, depth {:.1}, stalled {:.1} %",
                stats.reads as f64 / seconds,
                stats.bytes as f64 / seconds / 1e6,
                stats.mean_depth(),
                100.0 * stats.stalled.as_secs_f64() / seconds
            )?;
        }
        Ok(())
    }
}

/// Measures all cases with the ROM whose manifest is `image.json`, and tells of each measurement with `told`.
///
/// Before each measurement the file is dropped from the page cache, as far as this user may. Each case with the ROM in memory takes as much memory as
/// the image has, during all of it. The ROM's number of blocks for the r of the hashes has to be a power of two.
///
/// # Errors
/// Those of [`attach`], [`RomFile::open`] and [`SsdEngine::new`].
pub fn bench(
    image: &Path,
    options: &BenchOptions,
    cases: &[BenchCase],
    told: &mut dyn FnMut(BenchCase, f64),
) -> Result<Vec<BenchRow>, EngineError> {
    let mut rows = Vec::new();
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); cases.len()];
    // Loaded once, for all rounds.
    let load = |case: &BenchCase| {
        let BenchCase::Memory(pages) = *case else { return Ok(None) };
        let mut how = AttachOptions::new();
        (how.access, how.pages) = (crate::Access::Copy, pages);
        attach(image, &how).map(|rom| Some(Arc::new(rom)))
    };
    let loaded: Vec<Option<Arc<Attached>>> = cases.iter().map(load).collect::<Result<_, _>>()?;
    for _ in 0..options.rounds {
        for index in 0..cases.len() {
            drop_cache(image)?;
            let run = match cases[index] {
                BenchCase::None | BenchCase::Memory(_) => {
                    direct_or_none(loaded[index].clone(), options)?
                }
                BenchCase::Mapped { random, threads } => mapped(image, options, random, threads)?,
                BenchCase::Engine(backend) => {
                    overlapped(image, options, EngineConfig { backend, ..options.engine.clone() })?
                }
                BenchCase::One => {
                    let config =
                        EngineConfig { threads: 1, in_flight: 1, ..options.engine.clone() };
                    overlapped(image, options, config)?
                }
            };
            told(cases[index], run.rate);
            runs[index].push(run);
        }
    }
    for (case, runs) in cases.iter().zip(runs) {
        let median = |value: fn(&Run) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        let rates = || runs.iter().map(|run| run.rate);
        rows.push(BenchRow {
            case: *case,
            rate: median(|run| run.rate),
            range: [rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max)],
            cpu_ms: median(|run| run.cpu_ms),
            stats: runs.last().and_then(|run| run.stats),
            notes: runs.last().map(|run| run.notes.clone()).unwrap_or_default(),
        });
    }
    Ok(rows)
}

#[derive(Clone)]
struct Run {
    rate: f64,
    cpu_ms: f64,
    stats: Option<EngineStats>,
    notes: Vec<String>,
}

/// Lets the system forget what it keeps of the file; all of it if this user may do that.
fn drop_cache(image: &Path) -> Result<(), EngineError> {
    let file = File::open(image).map_err(Error::io("open", image))?;
    // Refused where nothing is kept.
    let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
    let _ = std::fs::write("/proc/sys/vm/drop_caches", "1");
    Ok(())
}

fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec as u32)
}

fn direct_or_none(rom: Option<Arc<Attached>>, options: &BenchOptions) -> Result<Run, EngineError> {
    let notes = rom.as_ref().map(|rom| rom.notes().to_vec()).unwrap_or_default();
    let used = rom.map(|rom| Ok::<_, EngineError>(whole(Rom::new(rom)?, options)));
    let used = used.transpose()?;
    let run = direct(&options.params, used.as_slice(), options.engine.threads, options.time)?;
    Ok(Run { notes, ..run })
}

/// All blocks of a ROM.
fn whole(rom: Rom, options: &BenchOptions) -> RomUse {
    let nrom = rom.size() / (128 * u64::from(options.params.params().r));
    let (masks, look_ahead) = (options.masks, options.look_ahead);
    RomUse { rom, reading: RomReading { nrom, masks, look_ahead } }
}

fn mapped(
    image: &Path,
    options: &BenchOptions,
    random: bool,
    threads: usize,
) -> Result<Run, EngineError> {
    let rom = RomFile::open(image, None)?;
    let file = File::open(rom.path()).map_err(Error::io("open", rom.path()))?;
    let len = usize::try_from(rom.size());
    let len = len.map_err(|_| Error::NoMemory { needed: rom.size(), available: None })?;
    let mapping = Mapping::file(&file, len, rustix::param::page_size(), false);
    let mapping = mapping.map_err(Error::io("map", rom.path()))?;
    if random {
        mapping.advise_random();
    }
    let source = whole(Rom::new(mapping)?, options);
    direct(&options.params, &[source], threads * options.engine.threads, options.time)
}

/// Threads that hash with ROMs in memory, or what looks like it.
fn direct(
    params: &CheckedParams,
    roms: &[RomUse],
    threads: usize,
    time: Duration,
) -> Result<Run, EngineError> {
    let (hashes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let worker = |index: usize| -> Result<(), EngineError> {
        let mut hash = Resumable::new(Workspace::new());
        let salt = (index as u64).to_le_bytes();
        while !stop.load(Relaxed) {
            let passwords: Vec<[u8; 8]> =
                (0..params.degree()).map(|_| hashes.fetch_add(0, Relaxed).to_le_bytes()).collect();
            let inputs: Vec<(&[u8], &[u8])> =
                passwords.iter().map(|password| (&password[..], &salt[..])).collect();
            hash.begin(&inputs, params, roms, 32)?;
            while hash.advance(&[])? != Progress::Done {}
            hashes.fetch_add(inputs.len() as u64, Relaxed);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let worker = &worker;
        let threads: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || worker(index))).collect();
        std::thread::sleep(time / 5);
        let mark = || (Instant::now(), processor_time(), hashes.load(Relaxed));
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

type Mark = (Instant, Duration, u64);

fn run(before: Mark, after: Mark, stats: Option<EngineStats>, notes: Vec<String>) -> Run {
    let hashes = (after.2 - before.2).max(1) as f64;
    let rate = hashes / (after.0 - before.0).as_secs_f64();
    let cpu_ms = 1e3 * (after.1 - before.1).as_secs_f64() / hashes;
    Run { rate, cpu_ms, stats, notes }
}

/// The engine under full load.
fn overlapped(
    image: &Path,
    options: &BenchOptions,
    config: EngineConfig,
) -> Result<Run, EngineError> {
    let rom = Arc::new(RomFile::open(image, None)?);
    let r = options.params.params().r;
    let (nrom, masks, look_ahead) = (rom.blocks(r)?, options.masks, options.look_ahead);
    let mut notes = rom.notes().to_vec();
    let engine = SsdEngine::new(&config, vec![crate::EngineRom::File(rom)])?;
    notes.extend_from_slice(engine.notes());
    let roms = vec![WorkRom { rom: 0, nrom, masks, look_ahead }];
    let work = Work { params: options.params, roms, len: 32 };
    // So many that there is always something waiting, in two batches.
    let batch = if config.in_flight == 1 { 1 } else { 4 * config.threads * config.in_flight };
    let mut submitted = 0u64;
    let mut submit = || {
        submitted += 1;
        let items = (0..batch).map(|i| ((i as u64).to_le_bytes(), submitted.to_le_bytes()));
        engine.derive(&work, items)
    };
    let mut ahead = if batch == 1 { None } else { Some(submit()?) };
    let start = Instant::now();
    let mark = || (Instant::now(), processor_time(), engine.stats().hashes);
    let mut before = None;
    let mut stats = engine.stats();
    loop {
        if before.is_none() && start.elapsed() >= options.time / 5 {
            before = Some(mark());
            stats = engine.stats();
        }
        let next = submit()?;
        for answer in ahead.replace(next).into_iter().flatten() {
            answer.1?;
        }
        if let Some(before) = before.filter(|_| start.elapsed() >= options.time * 6 / 5) {
            let after = mark();
            return Ok(run(before, after, Some(engine.stats().since(&stats)), notes));
        }
    }
}
