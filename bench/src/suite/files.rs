//! Hashes with a ROM that stays in its file: overlapped reads beside a mapped file with more and more threads, the same ROM in memory, and none.
//! The measuring is `saltern_rom`'s own, since hashes wait for a device here and not for a processor.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use saltern_rom::{Backend, BenchCase, BenchOptions, BenchRow, Create, Pages, Seed, bench};
use saltern_yescrypt::{Limits, Params, RomMasks, RomParams};

use super::Options;
use crate::case::RomFile;
use crate::record::{self, Bandwidth, Estimate};
use crate::runner::Effort;
use crate::stats::digits;
use crate::work::{Work, ensure_memory};

/// In the order in which they are measured in each round.
const CASES: [BenchCase; 7] = [
    BenchCase::None,
    BenchCase::Memory(Pages::Transparent),
    BenchCase::Engine(Backend::IoUring),
    BenchCase::Engine(Backend::Pread),
    BenchCase::Mapped { random: true, threads: 1 },
    BenchCase::Mapped { random: true, threads: 2 },
    BenchCase::Mapped { random: true, threads: 3 },
];

/// About how long it takes.
pub(super) fn length(file: &RomFile, options: &Options) -> Duration {
    let (time, rounds) = effort(file, options);
    time * (rounds * CASES.len()) as u32
}

fn effort(file: &RomFile, options: &Options) -> (Duration, usize) {
    if options.effort == Effort::SMOKE {
        return (Duration::from_millis(20), 1);
    }
    (Duration::from_secs_f64(file.seconds), file.rounds)
}

/// Makes the ROM in a temporary file and measures all cases.
///
/// # Errors
/// No room for the ROM on disk or in memory.
pub(super) fn measure(
    section: &str,
    file: &RomFile,
    options: &Options,
) -> anyhow::Result<Vec<record::Cell>> {
    let (n, r) = file.shape;
    let rom = RomParams::new(file.nrom, r, 4);
    ensure_memory(2 * u64::try_from(rom.size())?)?;
    // Not /tmp, which may be memory.
    let kept = Path::new("/var/tmp");
    let directory = if kept.is_dir() { tempfile::tempdir_in(kept) } else { tempfile::tempdir() };
    let directory = directory.context("a temporary directory")?;
    let image = directory.path().join("bench.rom");
    Create::new(rom, &Seed::from_bytes(b"saltern bench: a ROM of no secret seed")?)
        .file(&image)
        .context("a ROM in a temporary file")?;
    let params = Params::yescrypt(n, r);
    let mut how = BenchOptions::new(params.check(&Limits::unlimited())?);
    how.masks = RomMasks { fill: 0, mix: file.mix };
    (how.time, how.rounds) = effort(file, options);
    let threads = options.threads.unwrap_or(how.engine.threads);
    how.engine.threads = threads;
    let rows = bench(&image, &how, &CASES, &mut |_, _| {})?;
    Ok(rows.iter().map(|row| cell(section, file, &how, row)).collect())
}

fn cell(section: &str, file: &RomFile, how: &BenchOptions, row: &BenchRow) -> record::Cell {
    let (n, r) = file.shape;
    let work = Work::Yescrypt(Params::yescrypt(n, r), None);
    let bandwidth = work.traffic().0;
    let bytes = work.memory() as f64;
    let mut work = work.record();
    let (medium, engine, times) = match row.case {
        BenchCase::None => (None, "saltern", 1),
        BenchCase::Memory(_) => (Some("RAM"), "saltern", 1),
        BenchCase::Engine(Backend::IoUring) => (Some("SSD"), "saltern, io_uring", 1),
        BenchCase::Engine(_) => (Some("SSD"), "saltern, reading threads", 1),
        BenchCase::Mapped { threads, .. } => (Some("SSD"), "mapped file", threads),
        _ => (Some("SSD"), "saltern", 1),
    };
    work.rom_kib = medium.map(|_| (128 * u64::from(r) * file.nrom) >> 10);
    work.rom_medium = medium.map(str::to_owned);
    let threads = how.engine.threads * times;
    let seconds = how.time.as_secs_f64() * how.rounds as f64;
    let cpu = 1000.0 / row.cpu_ms;
    let hashes = row.rate * seconds;
    let estimate = |median: f64, [low, high]: [f64; 2]| {
        let [median, low, high] = [median, low, high].map(|x| digits(x, 5));
        Estimate { median, low, high, samples: how.rounds }
    };
    record::Cell {
        id: format!("{section}/{}/{engine}/{threads}", work.slug()),
        label: work.words(),
        engine: engine.to_owned(),
        threads,
        together: how.params.degree(),
        pages: None,
        hashes: hashes as u64,
        real_seconds: digits(seconds, 4),
        cpu_seconds: digits(hashes / cpu, 4),
        real: estimate(row.rate, row.range),
        cpu: estimate(cpu, [cpu, cpu]),
        bandwidth: Some(Bandwidth {
            factor: digits(bandwidth, 5),
            rom_factor: 0.0,
            gb_per_s: digits(row.rate * bytes * bandwidth / 1e9, 4),
        }),
        latency: None,
        // The engine's own tests compare it with the reference.
        agrees_with: Vec::new(),
        work,
    }
}
