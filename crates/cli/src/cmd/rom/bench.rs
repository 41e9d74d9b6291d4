//! `saltern rom bench`: hashes per second with a ROM, by where it is and how it is read.

use std::num::NonZero;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::ensure;
use clap::ValueEnum;
use saltern_rom::{Backend, BenchCase, BenchOptions, Manifest, Pages, bench};
use saltern_yescrypt::{Params, RomMasks};
use serde::Serialize;

use crate::effort::EffortArgs;
use crate::output::{Output, tell};
use crate::rom::{RomName, parse_reads};

const EXAMPLES: &str = "\
Each case is measured once a round, one after the other, and its median
counts. Before each measurement the system is asked to forget the file
(as root it has to). A ROM in memory is copied there first, of which
there has to be enough.

Examples:
  saltern rom bench /srv/site.rom
  saltern rom bench /srv/site.rom --cases none,ram,ram-4k,ram-2m
  saltern rom bench /mnt/ssd.rom --n 256 --r 512 --rom-mask 0,15
  saltern rom bench /mnt/ssd.rom --cases uring,pread,map,map-2x,map-3x";

/// Measure hashes per second with and without a ROM
///
/// Cases: no ROM; in memory on pages of several sizes; in a file that is read while other hashes go on, with io_uring or with
/// threads; in a mapped file, with 1 to 3 times as many threads as processors.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The ROM: the path of its image, or shm:NAME
    #[arg(value_name = "ROM", value_parser = RomName::parser())]
    rom: RomName,

    /// What to measure
    #[arg(
        long,
        value_name = "CASES",
        value_delimiter = ',',
        default_value = "none,ram,uring,map,map-2x,map-3x"
    )]
    cases: Vec<CaseName>,

    /// Number of blocks of a hash, a power of two
    #[arg(long, default_value_t = 4096)]
    n: u64,

    /// Size of a block in units of 128 bytes
    #[arg(long, default_value_t = 32)]
    r: u32,

    /// When the ROM is read, as with `saltern hash`
    #[arg(long, value_name = "FILL,MIX[,AHEAD]", default_value = "0,15", value_parser = parse_reads)]
    rom_mask: crate::rom::Reads,

    /// Threads (default: one for each processor)
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<u16>>,

    /// Hashes in flight for each thread, where reads overlap with hashes
    #[arg(long, value_name = "N")]
    in_flight: Option<NonZero<u16>>,

    /// Length of a measurement, in seconds
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,

    /// How often everything is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Print one JSON object for each case
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    effort: EffortArgs,
}

/// A case of the library.
#[derive(Clone, Copy, ValueEnum)]
enum CaseName {
    /// No ROM
    None,
    /// In memory, on transparent huge pages
    Ram,
    /// In memory, on pages of the machine
    #[value(name = "ram-4k")]
    Ram4k,
    /// In memory, on reserved pages of 2 MiB
    #[value(name = "ram-2m")]
    Ram2m,
    /// In memory, on reserved pages of 1 GiB
    #[value(name = "ram-1g")]
    Ram1g,
    /// In the file, overlapped with io_uring
    Uring,
    /// In the file, overlapped with reading threads
    Pread,
    /// In the mapped file
    Map,
    /// The same with twice as many threads
    #[value(name = "map-2x")]
    Map2,
    /// The same with three times as many
    #[value(name = "map-3x")]
    Map3,
    /// In the mapped file, told not to read ahead
    Random,
    /// The same with twice as many threads
    #[value(name = "random-2x")]
    Random2,
    /// The same with three times as many
    #[value(name = "random-3x")]
    Random3,
    /// One hash alone, in the file
    One,
}

impl CaseName {
    fn case(self) -> BenchCase {
        let mapped = |random, threads| BenchCase::Mapped { random, threads };
        match self {
            CaseName::None => BenchCase::None,
            CaseName::Ram => BenchCase::Memory(Pages::Transparent),
            CaseName::Ram4k => BenchCase::Memory(Pages::Base),
            CaseName::Ram2m => BenchCase::Memory(Pages::Huge2M),
            CaseName::Ram1g => BenchCase::Memory(Pages::Huge1G),
            CaseName::Uring => BenchCase::Engine(Backend::IoUring),
            CaseName::Pread => BenchCase::Engine(Backend::Pread),
            CaseName::Map => mapped(false, 1),
            CaseName::Map2 => mapped(false, 2),
            CaseName::Map3 => mapped(false, 3),
            CaseName::Random => mapped(true, 1),
            CaseName::Random2 => mapped(true, 2),
            CaseName::Random3 => mapped(true, 3),
            CaseName::One => BenchCase::One,
        }
    }
}

/// A row as `--json` shows it.
#[derive(Serialize)]
struct Record<'a> {
    case: String,
    hashes_per_second: f64,
    lowest: f64,
    highest: f64,
    cpu_milliseconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reads: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_depth: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let params = Params::yescrypt(args.n, args.r).check(&args.effort.limits())?;
    let manifest = Manifest::read(args.rom.image())?;
    let nrom = super::create::blocks(manifest.size(), args.r)?;
    ensure!(nrom > 1, "the ROM has no two blocks of r={}", args.r);
    ensure!(args.seconds > 0.0 && args.seconds <= 3600.0, "--seconds is above 0 and at most 3600");
    let mut options = BenchOptions::new(params);
    let RomMasks { fill, mix } = args.rom_mask.masks;
    options.masks = RomMasks { fill, mix };
    options.look_ahead = args.rom_mask.look_ahead;
    options.time = Duration::from_secs_f64(args.seconds);
    options.rounds = usize::try_from(args.rounds)?;
    options.engine.threads = super::create::threads(args.threads);
    if let Some(in_flight) = args.in_flight {
        options.engine.in_flight = usize::from(in_flight.get());
    }
    let cases: Vec<_> = args.cases.iter().map(|case| case.case()).collect();
    let mut told = |case: BenchCase, rate: f64| tell(format_args!("{case}: {rate:.1} hashes/s"));
    let rows = bench(args.rom.image(), &options, &cases, &mut told)?;
    let mut output = Output::new();
    for row in &rows {
        if !args.json {
            output.line(row.to_string())?;
            row.notes.iter().try_for_each(|note| output.line(format!("  note: {note}")))?;
            continue;
        }
        let stats = row.stats.filter(|stats| stats.reads > 0);
        output.json(&Record {
            case: row.case.to_string(),
            hashes_per_second: row.rate,
            lowest: row.range[0],
            highest: row.range[1],
            cpu_milliseconds: row.cpu_ms,
            reads: stats.map(|stats| stats.reads),
            read_bytes: stats.map(|stats| stats.bytes),
            queue_depth: stats.map(|stats| stats.mean_depth()),
            notes: &row.notes,
        })?;
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}
