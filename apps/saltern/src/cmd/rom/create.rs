//! `saltern rom create`: fill a ROM from a seed.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, ensure};
use clap::{ArgGroup, ValueEnum};
use saltern::policy::size_text;
use saltern_rom::{ComputeIn, Create, Location, Manifest};
use saltern_yescrypt::{
    Params,
    params::Flavor,
    rom::{RomParams, RomReading},
};

use super::seed::NewSeedArgs;
use super::{PageSize, exists, or_replace, size, work::Work};
use crate::number::{FROM_ONE, number};
use crate::output::print;
use crate::rom::RomName;

const EXAMPLES: &str = "\
A ROM is computed from its seed and its parameters, and the same seed
and parameters always give the same ROM. Progress is shown on the
terminal. A creation that fails or is interrupted leaves nothing behind,
not even a seed that was generated for it; the next one reuses or removes
what a killed one left. If only the image is lost,
--again recreates it as the manifest describes.

Examples:
  saltern rom create site.rom --size 64GiB --generate-seed site.seed
  saltern rom create site.rom --again --seed-file site.seed
  saltern rom create shm:test --size 1GiB --seed-file test.seed
  saltern rom create sysv:0x7965730a --size 8GiB --seed-file site.seed";

/// Create a ROM from a seed, using all processors
///
/// Prints the hash of the ROM, whose first 16 digits are its id in strings.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("seed").required(true))]
#[command(group = ArgGroup::new("extent").args(["size", "nrom", "again"]).required(true))]
pub(super) struct Args {
    /// The ROM to make: the path of its image, shm:NAME or sysv:KEY
    #[arg(value_name = "ROM", value_parser = RomName::parser())]
    rom: RomName,

    /// Size of the image, such as 64GiB: 128 · r bytes times a power of two
    #[arg(long, value_parser = size)]
    size: Option<u64>,

    /// Number of blocks (NROM), a power of two, at least 4; instead of --size
    #[arg(long, value_name = "BLOCKS", value_parser = number(0..=u64::MAX))]
    nrom: Option<u64>,

    /// Recreate the image that the manifest describes
    #[arg(long, conflicts_with_all = ["r", "p", "t", "flags", "at"])]
    again: bool,

    /// Size of a block in units of 128 bytes: the r of the hashes that will use it
    #[arg(long, default_value_t = 32, value_parser = number(1..=u32::MAX))]
    r: u32,

    /// Number of slices, which are filled independently (default: 64, or NROM / 4 for a small ROM)
    #[arg(long, value_parser = number(1..=u32::MAX))]
    p: Option<u32>,

    /// Additional time
    #[arg(long, default_value_t = 0, value_parser = number(0..=u32::MAX))]
    t: u32,

    /// Flavour, as a yescrypt flags word; hashes may use another one
    #[arg(long, default_value_t = 182, value_parser = number(0..=u32::MAX))]
    flags: u32,

    #[command(flatten)]
    seed: NewSeedArgs,

    /// Put the image here, such as on a hugetlbfs, and only the manifest beside ROM
    #[arg(long, value_name = "PATH")]
    at: Option<PathBuf>,

    /// Replace an existing image
    #[arg(long)]
    replace: bool,

    /// Number of threads (default: one per processor)
    #[arg(long, value_name = "N", value_parser = number(FROM_ONE))]
    threads: Option<NonZero<u16>>,

    /// Page size of the memory that it is computed in, and of a segment
    #[arg(long, value_name = "SIZE", default_value = "transparent")]
    pages: PageSize,

    /// Where to compute an image that goes into a file
    #[arg(long, value_name = "WHERE", default_value = "auto")]
    compute_in: ComputeInName,

    /// Permissions of the image, in octal; anyone who can read it can copy it
    #[arg(long, value_name = "MODE", default_value = "440", value_parser = parse_mode)]
    mode: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum ComputeInName {
    /// In memory if it fits comfortably, otherwise in the file
    Auto,
    /// In memory, and written when it is complete
    Memory,
    /// In the mapped file: for images larger than memory
    File,
}

pub(super) fn parse_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    let mode = mode.ok_or("expected permissions in octal, such as 440")?;
    if mode & 0o022 != 0 {
        return Err("an image that others may write to could not be attached".to_owned());
    }
    Ok(mode)
}

/// The threads to compute with.
pub(super) fn threads(wanted: Option<NonZero<u16>>) -> usize {
    wanted.map_or_else(|| available_parallelism().map_or(1, NonZero::get), |n| n.get().into())
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let known = args.again.then(|| Manifest::read_to_follow(args.rom.image())).transpose()?;
    let params = match &known {
        Some(known) => known.params,
        None => args.params()?,
    };
    params.check().context("these parameters do not define a ROM")?;
    args.refuse_existing()?;
    // From before there is a seed, which Ctrl-C must not leave behind.
    let work = Work::begin()?;
    let seed = args.seed.read(args.rom.image(), &work)?;
    let watch = |progress| work.watch(progress);
    let mut create = Create::new(params, &seed.seed);
    create.threads = threads(args.threads);
    create.replace = args.replace;
    create.location = match (&args.at, &known) {
        (Some(at), _) => Location::File { path: std::path::absolute(at)? },
        (None, Some(known)) => known.location.clone(),
        (None, None) => args.rom.location().clone(),
    };
    create.compute_in = match args.compute_in {
        ComputeInName::Auto => ComputeIn::Auto,
        ComputeInName::Memory => ComputeIn::Memory,
        ComputeInName::File => ComputeIn::Mapping,
    };
    create.expect = known.as_ref().map(|known| known.hash);
    (create.pages, create.mode, create.watch) = (args.pages.into(), args.mode, &watch);
    let manifest = work.end(create.file(args.rom.image())).map_err(or_replace)?;
    seed.keep();
    print(format!("{}\n", manifest.hash))?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Where the image will be.
    fn image(&self) -> &Path {
        self.at.as_deref().unwrap_or(self.rom.image())
    }

    /// Checked before a seed is made in vain. The library checks again when it claims the place.
    fn refuse_existing(&self) -> anyhow::Result<()> {
        let path = self.image();
        if !self.replace && path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        Ok(())
    }

    fn params(&self) -> anyhow::Result<RomParams> {
        let nrom = match (self.nrom, self.size) {
            (Some(nrom), _) => nrom,
            (None, size) => blocks(size.unwrap_or_default(), self.r)?,
        };
        let p = self.p.unwrap_or_else(|| u32::try_from(nrom / 4).unwrap_or(u32::MAX).clamp(1, 64));
        let mut params = RomParams::new(nrom, self.r, p);
        params.t = self.t;
        params.flavor = flavor(self.flags)?;
        Ok(params)
    }
}

/// NROM for a size in bytes.
pub(super) fn blocks(bytes: u64, r: u32) -> anyhow::Result<u64> {
    let whole = RomReading::whole(bytes, r).map(|whole| whole.nrom);
    whole.with_context(|| {
        format!(
            "{} is not a power of two, 2 or more, of {} blocks (r={r}): choose another size or r",
            size_text(bytes),
            size_text(128 * u64::from(r))
        )
    })
}

/// The flavour for a flags word.
pub(super) fn flavor(flags: u32) -> anyhow::Result<Flavor> {
    let (mode, flavor) = Params::from_flags(flags)?;
    ensure!(mode == saltern_yescrypt::params::Mode::Rw, "flags {flags} select a mode without ROMs");
    Ok(flavor)
}
