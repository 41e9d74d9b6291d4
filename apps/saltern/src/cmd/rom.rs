//! `saltern rom`: making, sharing, checking and finding ROMs. One module for each of its
//! subcommands.

mod attach;
mod copy;
mod create;
mod info;
mod list;
mod seed;
mod verify;
mod work;

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Subcommand, ValueEnum};
use saltern::policy::parse_size;
use saltern_rom::Error;

const EXAMPLES: &str = "\
A ROM is named by the path of its image, or as shm:NAME in POSIX shared
memory (/dev/shm), or as sysv:KEY in a System V segment. It is described
by a manifest beside the image (IMAGE.json), which says where the seed is
kept but does not contain it.

Examples:
  saltern rom create site.rom --size 64GiB --generate-seed site.seed
  saltern rom attach site.rom            share it; after each boot
  saltern hash --rom shm:site.rom        hash with it
  saltern rom verify --full site.rom
  saltern rom list
  saltern rom detach shm:site.rom

Exit status: 0 done; 2 an error, such as a ROM that is not what its
manifest says; 130 interrupted (Ctrl-C), 143 terminated (SIGTERM):
nothing incomplete is left behind.";

/// Create, share, check and list ROMs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Create(create::Args),
    Info(info::Args),
    Verify(verify::Args),
    Attach(attach::Args),
    Detach(attach::DetachArgs),
    List(list::Args),
    Copy(copy::Args),
    Adopt(copy::AdoptArgs),
}

/// Run the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Create(args) => create::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Attach(args) => attach::run(&args),
        Command::Detach(args) => attach::detach(&args),
        Command::List(args) => list::run(&args),
        Command::Copy(args) => copy::run(&args),
        Command::Adopt(args) => copy::adopt(&args),
    }
}

/// The error of a command that replaces what exists if it is told to.
fn or_replace(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Error::Exists { path }) => exists(path),
        _ => error,
    }
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!("{} already exists: choose another name, or give --replace", path.display())
}

/// A size as in policies, with its unit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let known = parse_size(text).filter(|&bytes| bytes > 0 && text.ends_with('B'));
    known.ok_or_else(|| {
        "expected a number and a unit: B, KiB, MiB, GiB or TiB, such as 64GiB".to_owned()
    })
}

/// Pages of memory to request.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PageSize {
    /// The machine's normal pages, 4 KiB on most
    Base,
    /// Transparent huge pages, where available
    Transparent,
    /// 2 MiB pages, reserved by the administrator
    #[value(name = "2MiB")]
    Huge2M,
    /// 1 GiB pages, reserved by the administrator
    #[value(name = "1GiB")]
    Huge1G,
}

impl From<PageSize> for saltern_rom::RomPages {
    fn from(size: PageSize) -> Self {
        match size {
            PageSize::Base => saltern_rom::RomPages::Base,
            PageSize::Transparent => saltern_rom::RomPages::Transparent,
            PageSize::Huge2M => saltern_rom::RomPages::Huge2M,
            PageSize::Huge1G => saltern_rom::RomPages::Huge1G,
        }
    }
}
