//! `saltern-bench ssd`: hashes with a ROM in a file, as a section that the command line describes.

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use saltern_bench::case::{RomFile, Section};
use saltern_bench::record::Kind;
use saltern_bench::ssd::Access;
use saltern_rom::Manifest;
use saltern_yescrypt::rom::RomReading;

use super::run::{Run, measure};

const EXAMPLES: &str = "\
Each way is measured once a round, one after the other. Before each
measurement the system is asked to forget the file (as root it has to).
A ROM in memory is copied there first, of which there has to be enough.

Examples:
  saltern-bench ssd --size 8 --n 256 --r 512
  saltern-bench ssd /srv/site.rom --ways none,ram,ram-4k,ram-2m
  saltern-bench ssd /srv/site.rom --ways uring,pread,map,map-2x,map-3x";

/// Hashes with a ROM in a file: overlapped reads beside the same ROM in memory, a mapped file, and
/// no ROM
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The image of a ROM; without it, one is made in /var/tmp and removed again
    file: Option<PathBuf>,

    /// The size of the ROM that is made, in GiB
    #[arg(long, value_name = "GIB", default_value_t = 1.0, conflicts_with = "file")]
    size: f64,

    /// Number of blocks of a hash, a power of two
    #[arg(long, default_value_t = 256)]
    n: u64,

    /// Size of a block in units of 128 bytes
    #[arg(long, default_value_t = 512)]
    r: u32,

    /// Steps of the first loop that read the ROM: those with `i & MASK == 1`
    #[arg(long, value_name = "MASK", default_value_t = 0)]
    fill: u32,

    /// Steps of the second loop that read the ROM: those with `i & MASK == 1`
    #[arg(long, value_name = "MASK", default_value_t = 15)]
    mix: u32,

    /// How many steps before a read its block is chosen
    #[arg(long, value_name = "STEPS", default_value_t = 0)]
    look_ahead: u32,

    /// Hashes in flight in each thread, where reads overlap with hashes
    #[arg(long, value_name = "N")]
    in_flight: Option<NonZero<u16>>,

    /// Length of a measurement
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,

    /// How often everything is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,

    /// none, ram, ram-4k, ram-2m, ram-1g, uring, pread, map, map-2x, map-3x, random, random-2x,
    /// random-3x, one
    #[arg(
        long,
        value_name = "WAYS",
        value_delimiter = ',',
        default_value = "none,ram,uring,pread,map,map-2x,map-3x,random,random-2x,random-3x"
    )]
    ways: Vec<Access>,

    #[command(flatten)]
    run: Run,
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Args { seconds, rounds, .. } = *args;
    ensure!(seconds > 0.0 && seconds <= 3600.0, "--seconds is above 0 and at most 3600");
    ensure!((1..=1000).contains(&rounds), "--rounds is from 1 to 1000");
    let bytes = match &args.file {
        Some(file) => Manifest::read(file)?.size(),
        None => (args.size * f64::from(1 << 30)) as u64,
    };
    let whole = RomReading::whole(bytes, args.r);
    let nrom =
        whole.context("the ROM is not a power of two of blocks: choose another size or r")?.nrom;
    let file = RomFile {
        shape: (args.n, args.r),
        nrom,
        fill: args.fill,
        mix: args.mix,
        look_ahead: args.look_ahead,
        in_flight: args.in_flight.map(|n| n.get().into()),
        seconds,
        rounds,
        ways: args.ways.clone(),
        image: args.file.clone(),
    };
    let section = Section {
        id: "ssd".to_owned(),
        title: "A ROM in a file".to_owned(),
        about: format!(
            "N = {}, r = {}; masks {} and {}, look-ahead {}.",
            args.n, args.r, args.fill, args.mix, args.look_ahead
        ),
        kind: Kind::Threads,
        cells: Vec::new(),
        pairs: Vec::new(),
        curves: Vec::new(),
        files: vec![file],
    };
    measure(&[section], &args.run)
}
