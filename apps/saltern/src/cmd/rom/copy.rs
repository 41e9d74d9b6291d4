//! `saltern rom copy` and `adopt`: images from elsewhere.

use std::process::ExitCode;

use saltern_rom::{CopyOptions, Location, RomHash, adopt as adopt_image, copy};
use saltern_yescrypt::rom::RomParams;

use super::create::{blocks, flavor, parse_mode};
use super::{or_replace, size, work::Work};
use crate::number::number;
use crate::output::print;
use crate::rom::RomName;

/// Copy a ROM with its manifest, checking every byte
///
/// The copy appears whole or not at all. A damaged image is not copied.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  saltern rom copy /srv/site.rom /mnt/site.rom")]
pub(super) struct Args {
    /// The ROM to copy
    #[arg(value_name = "FROM", value_parser = RomName::parser())]
    from: RomName,

    /// The copy
    #[arg(value_name = "TO", value_parser = RomName::parser())]
    to: RomName,

    /// Replace an existing image
    #[arg(long)]
    replace: bool,

    /// Permissions of the copy, in octal
    #[arg(long, value_name = "MODE", default_value = "440", value_parser = parse_mode)]
    mode: u32,
}

/// Write the manifest for an image that another program has made
///
/// Give the parameters that the ROM was made with: only the size can be checked. Prints the hash of
/// the ROM, whose first 16 digits are its id; compare it with a known one.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  saltern rom adopt sysv:0x7965730a --size 8GiB --r 16 --p 4")]
pub(super) struct AdoptArgs {
    /// The ROM: the path of its image, shm:NAME or sysv:KEY
    #[arg(value_name = "ROM", value_parser = RomName::parser())]
    rom: RomName,

    /// Size of the image, such as 64GiB
    #[arg(long, value_parser = size)]
    size: u64,

    /// Size of a block in units of 128 bytes
    #[arg(long, value_parser = number(1..=u32::MAX))]
    r: u32,

    /// Number of slices in which it was filled
    #[arg(long, value_parser = number(1..=u32::MAX))]
    p: u32,

    /// Additional time
    #[arg(long, default_value_t = 0, value_parser = number(0..=u32::MAX))]
    t: u32,

    /// Flavour, as a yescrypt flags word
    #[arg(long, default_value_t = 182, value_parser = number(0..=u32::MAX))]
    flags: u32,

    /// Require the ROM with this hash (64 digits)
    #[arg(long, value_name = "HASH")]
    expect: Option<RomHash>,
}

/// Run the subcommand `copy`.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let work = Work::begin()?;
    let watch = |progress| work.watch(progress);
    let mut options = CopyOptions::new();
    options.location = args.to.location().clone();
    (options.replace, options.mode, options.watch) = (args.replace, args.mode, &watch);
    work.end(copy(args.from.image(), args.to.image(), &options)).map_err(or_replace)?;
    Ok(ExitCode::SUCCESS)
}

/// Run the subcommand `adopt`.
pub(super) fn adopt(args: &AdoptArgs) -> anyhow::Result<ExitCode> {
    let mut params = RomParams::new(blocks(args.size, args.r)?, args.r, args.p);
    params.t = args.t;
    params.flavor = flavor(args.flags)?;
    let segment = match args.rom.location() {
        Location::Sysv { key } => Some(*key),
        _ => None,
    };
    let work = Work::begin()?;
    let watch = |progress| work.watch(progress);
    let manifest =
        work.end(adopt_image(args.rom.image(), &params, segment, args.expect, &watch))?;
    print(format!("{}\n", manifest.hash))?;
    Ok(ExitCode::SUCCESS)
}
