//! `saltern rom verify`: check the image of a ROM.

use std::num::NonZero;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use saltern_rom::{RomHash, check, rebuild_sums, recompute, verify};

use super::create::threads;
use super::seed::SeedArgs;
use super::work::Work;
use crate::number::{FROM_ONE, number};
use crate::output::print;
use crate::rom::RomName;

const EXAMPLES: &str = "\
Examples:
  saltern rom verify /srv/site.rom                 immediate
  saltern rom verify --full /srv/site.rom          reads all of it
  saltern rom verify --recompute --seed-file site.seed /srv/site.rom
  saltern rom verify --rebuild-sums /srv/site.rom  rebuilds .sums
  saltern rom verify --full --expect $HASH shm:site.rom

Exit status: 0 the image is good; 2 it is not, or cannot be checked.";

/// Check the image of a ROM
///
/// Without options, checks the size, tag, digest and table of hashes. This detects a different, an
/// unfinished and a truncated ROM.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The ROM: the path of its image, shm:NAME or sysv:KEY
    #[arg(value_name = "ROM", value_parser = RomName::parser())]
    rom: RomName,

    /// Read the image and compare its hash with the manifest: finds damage anywhere
    #[arg(long, conflicts_with = "recompute")]
    full: bool,

    /// Compute the ROM again from its seed and compare every byte: proof that the seed is the right
    /// one
    #[arg(long, requires = "seed")]
    recompute: bool,

    /// Read the image and, if it is good, rebuild its lost or damaged table of hashes
    #[arg(long, conflicts_with_all = ["recompute", "full"])]
    rebuild_sums: bool,

    #[command(flatten)]
    seed: SeedArgs,

    /// Require the ROM with this hash (64 digits); --full then proves every byte
    #[arg(long, value_name = "HASH")]
    expect: Option<RomHash>,

    /// Threads for --recompute (default: one for each processor)
    #[arg(long, value_name = "N", requires = "recompute", value_parser = number(FROM_ONE))]
    threads: Option<NonZero<u16>>,

    /// Print nothing; the exit status is the answer
    #[arg(long, short)]
    quiet: bool,
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let image = args.rom.image();
    let seed = args.seed.read()?;
    ensure!(seed.is_none() || args.recompute, "a seed is used only with --recompute");
    let work = Work::begin()?;
    let watch = |progress| work.watch(progress);
    let result = match seed {
        Some(seed) => recompute(image, args.expect, &seed, threads(args.threads), &watch),
        None if args.full => verify(image, args.expect, &watch),
        None if args.rebuild_sums => rebuild_sums(image, args.expect, &watch),
        None => check(image, args.expect),
    };
    let manifest = work.end(result).with_context(|| format!("{} does not pass", args.rom))?;
    if !args.quiet {
        let what = match (args.recompute, args.full) {
            (true, _) => "every byte is as computed from the seed",
            (_, true) => "every byte is as it was made",
            _ if args.rebuild_sums => "every byte is as it was made; table of hashes rebuilt",
            _ => "size, tag, digest and table of hashes match",
        };
        print(format!("{}: {what}\n", manifest.hash))?;
    }
    Ok(ExitCode::SUCCESS)
}
