//! Hashes with a ROM in a file, in every way that a section names. [`crate::ssd`] measures, since
//! hashes wait for a device here and not for a processor.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use saltern_pool::PoolConfig;
use saltern_rom::{Backend, Create, RomPages, Seed};
use saltern_yescrypt::{
    Limits, Params,
    rom::{RomMasks, RomParams},
};
use tempfile::TempDir;

use super::Bench;
use super::Options;
use crate::case::RomFile;
use crate::engine::rom::SEED;
use crate::record::{self, Bandwidth, Estimate};
use crate::runner::Effort;
use crate::ssd::{self, Access, Load, Row};
use crate::stats::digits;
use crate::work::{Work, ensure_memory};

/// About how long it takes.
pub(super) fn length(file: &RomFile, options: &Options) -> Duration {
    let (time, rounds) = effort(file, options);
    time * (rounds * file.ways.len()) as u32
}

fn effort(file: &RomFile, options: &Options) -> (Duration, usize) {
    if options.effort == Effort::SMOKE {
        return (Duration::from_millis(20), 1);
    }
    (Duration::from_secs_f64(file.seconds), file.rounds)
}

impl Bench<'_> {
    /// Measures all ways, with the ROM that is named or one that is made.
    ///
    /// # Errors
    /// No room for the ROM on disk or in memory, and a ROM that is not as its manifest says.
    pub(super) fn file(
        &mut self,
        section: &str,
        file: &RomFile,
    ) -> anyhow::Result<Vec<record::Cell>> {
        let (n, r) = file.shape;
        let copies = file.ways.iter().filter(|access| matches!(access, Access::Memory(_))).count();
        ensure_memory(copies as u64 * 128 * u64::from(r) * file.nrom)?;
        let made = file.image.is_none().then(|| make(file)).transpose()?;
        let made = made.as_ref().map(|(_, image)| image);
        let image = file.image.as_ref().or(made).context("an image")?;
        let (time, rounds) = effort(file, self.options);
        let mut pool = PoolConfig::default();
        pool.threads = self.options.threads.unwrap_or(pool.threads);
        pool.in_flight = file.in_flight.unwrap_or(pool.in_flight);
        let load = Load {
            params: Params::yescrypt(n, r).check(&Limits::unlimited())?,
            masks: RomMasks { fill: file.fill, mix: file.mix },
            look_ahead: file.look_ahead,
            time,
            rounds,
            pool,
        };
        let rows = ssd::measure(image, &load, &file.ways)?;
        for row in &rows {
            let notes = row.notes.iter().map(|note| format!("{}: {note}", row.access));
            notes.chain(row.device()).for_each(|note| self.note(note));
        }
        Ok(rows.iter().map(|row| cell(section, file, &load, row)).collect())
    }
}

/// A ROM in a temporary file, and the directory that goes with it.
fn make(file: &RomFile) -> anyhow::Result<(TempDir, PathBuf)> {
    // Not /tmp, which may be memory.
    let kept = Path::new("/var/tmp");
    let directory = if kept.is_dir() { tempfile::tempdir_in(kept) } else { tempfile::tempdir() };
    let directory = directory.context("a temporary directory")?;
    let image = directory.path().join("bench.rom");
    let seed = Seed::from_bytes(SEED)?;
    let rom = RomParams::new(file.nrom, file.shape.1, 4);
    Create::new(rom, &seed).file(&image).context("a ROM in a temporary file")?;
    Ok((directory, image))
}

/// Where the ROM is, who hashes, and with how many times as many threads.
fn words(access: Access) -> (Option<&'static str>, &'static str, usize) {
    match access {
        Access::None => (None, "saltern", 1),
        Access::Memory(RomPages::Transparent) => (Some("RAM"), "saltern", 1),
        Access::Memory(RomPages::Base) => (Some("RAM, 4 KiB pages"), "saltern", 1),
        Access::Memory(RomPages::Huge1G) => (Some("RAM, 1 GiB pages"), "saltern", 1),
        Access::Memory(_) => (Some("RAM, 2 MiB pages"), "saltern", 1),
        Access::Overlapped(Backend::Threads) => (Some("SSD"), "saltern, reading threads", 1),
        Access::Overlapped(_) => (Some("SSD"), "saltern, io_uring", 1),
        Access::Mapped { random: true, threads } => (Some("SSD"), "mapped file", threads),
        Access::Mapped { random: false, threads } => {
            (Some("SSD"), "mapped file, read ahead", threads)
        }
        Access::One => (Some("SSD"), "saltern, one hash", 1),
    }
}

fn cell(section: &str, file: &RomFile, how: &Load, row: &Row) -> record::Cell {
    let (n, r) = file.shape;
    let work = Work::Yescrypt(Params::yescrypt(n, r), None);
    let bandwidth = work.traffic().0;
    let bytes = work.memory() as f64;
    let mut work = work.record();
    let (medium, engine, times) = words(row.access);
    work.rom_kib = medium.map(|_| (128 * u64::from(r) * file.nrom) >> 10);
    work.rom_medium = medium.map(str::to_owned);
    let threads = if row.access == Access::One { 1 } else { how.pool.threads * times };
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
