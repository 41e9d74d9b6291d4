//! `saltern rom attach` and `detach`: a ROM for all processes of the host, in shared memory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::ArgGroup;
use saltern_rom::{
    Access, AttachOptions, Attached, CopyOptions, Error, Location, Lock, Manifest, RomHash, copy,
    is_in_memory, set_immutable,
};

use super::{PageSize, or_replace, work::Work};
use crate::output::{print, tell};
use crate::rom::RomName;

const EXAMPLES: &str = "\
Copies the image to shared memory, checking every byte on the way. Any
process then attaches it by its name in about a millisecond. It stays
until it is detached or the machine is shut down. Attaching a ROM that
is already there is not an error if it is the same ROM and only root and
this user could have written to it.

Examples:
  saltern rom attach /srv/site.rom                   as shm:site.rom
  saltern rom attach /srv/site.rom --huge            on huge pages
  saltern rom attach /srv/site.rom --as sysv:0x7965730a
  saltern rom attach /srv/site.rom --hold --lock     until Ctrl-C";

/// Put a ROM into shared memory, for all processes
///
/// Prints the name by which processes attach it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("medium").args(["huge", "at"]))]
pub(super) struct Args {
    /// The ROM to copy: the path of its image
    #[arg(value_name = "ROM", value_parser = RomName::parser())]
    rom: RomName,

    /// What to call the copy: shm:NAME or sysv:KEY (default: shm: and the name of the image's file)
    #[arg(long = "as", value_name = "NAME", value_parser = RomName::parser())]
    name: Option<RomName>,

    /// Put the image on the first hugetlbfs that is mounted; its manifest remains in /dev/shm
    #[arg(long)]
    huge: bool,

    /// Put the image here, on a hugetlbfs or tmpfs, and only the manifest into /dev/shm
    #[arg(long, value_name = "PATH")]
    at: Option<PathBuf>,

    /// Page size of a segment
    #[arg(long, value_name = "SIZE", default_value = "transparent")]
    pages: PageSize,

    /// Replace another ROM of this name
    #[arg(long)]
    replace: bool,

    /// Make the file of the copy immutable, so that nobody can shorten it (needs root)
    #[arg(long)]
    immutable: bool,

    /// Permissions of the copy, in octal
    #[arg(long, value_name = "MODE", default_value = "440", value_parser = super::create::parse_mode)]
    mode: u32,

    /// Keep running until Ctrl-C or SIGTERM, then detach, even if the ROM was attached before
    #[arg(long)]
    hold: bool,

    /// Lock the ROM in memory; needs --hold, since the lock ends with the process
    #[arg(long, requires = "hold")]
    lock: bool,
}

/// Remove a ROM from shared memory
///
/// Attached processes keep it until they end or detach. Only the copy in shared memory is removed,
/// never an image on disk.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  saltern rom detach shm:site.rom\n  saltern rom detach sysv:0x7965730a"
)]
pub(super) struct DetachArgs {
    /// The ROM: shm:NAME, sysv:KEY, or the path of an image in memory
    #[arg(value_name = "ROM", value_parser = RomName::parser())]
    rom: RomName,
}

/// Run the subcommand.
pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let name = args.name()?;
    let work = Work::begin()?;
    let source = Manifest::read(args.rom.image())?;
    let mut there = if args.replace { None } else { Some(look(&name, &source)) };
    if !matches!(there, Some(Ok(_))) {
        let watch = |progress| work.watch(progress);
        let mut options = CopyOptions::new();
        options.location = args.location(&name)?;
        (options.replace, options.mode) = (args.replace, args.mode);
        (options.pages, options.watch) = (args.pages.into(), &watch);
        let copied = copy(args.rom.image(), name.image(), &options);
        // Another process may have been quicker. If the existing ROM is not this one, the error
        // says why.
        there = matches!(copied, Err(Error::Exists { .. })).then(|| look(&name, &source));
        match &there {
            Some(Ok(_)) => {}
            Some(Err(Error::WrongRom { .. } | Error::NoManifest { .. })) | None => {
                work.end(copied).map_err(or_replace)?;
            }
            Some(Err(reason)) => bail!(
                "{name} cannot be used: {reason} (`saltern rom detach {name}` removes it, --replace replaces it)"
            ),
        }
    }
    let found = there.is_some();
    if found {
        tell(format_args!("{name} is attached already"));
    }
    let held = match args.keep(&name, source.hash) {
        Ok(held) => held,
        Err(error) => {
            // It is not as requested, which would otherwise go unnoticed.
            if !found && !args.replace {
                let _ = saltern_rom::detach(name.image(), name.is_shared());
            }
            return Err(error);
        }
    };
    print(format!("{name}\n"))?;
    if let Some(held) = held {
        while work.check().is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
        drop(held);
        saltern_rom::detach(name.image(), name.is_shared())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The same ROM at its destination, if it exists there and can be trusted: the library refuses
/// images that others may have written.
fn look(name: &RomName, source: &Manifest) -> Result<Attached, Error> {
    saltern_rom::attach(name.image(), &mapped(source.hash))
}

/// How the ROM with this hash is attached at its destination.
fn mapped(hash: RomHash) -> AttachOptions<'static> {
    let mut options = AttachOptions::new();
    (options.access, options.expect) = (Access::Map, Some(hash));
    options
}

impl Args {
    fn name(&self) -> anyhow::Result<RomName> {
        if let Some(name) = &self.name {
            ensure!(name.is_shared(), "{name} is a path: give shm:NAME or sysv:KEY");
            return Ok(name.clone());
        }
        let file = self.rom.image().file_name().and_then(|name| name.to_str());
        let name = file.with_context(|| format!("{} has no file name: give --as", self.rom))?;
        RomName::shared(name).map_err(|error| anyhow::anyhow!("{error}: give --as"))
    }

    fn location(&self, name: &RomName) -> anyhow::Result<Location> {
        let path = match (&self.at, self.huge) {
            (Some(path), _) => {
                let path = std::path::absolute(path)?;
                ensure!(
                    is_in_memory(&path)?,
                    "{} is not on a hugetlbfs or tmpfs: `saltern rom copy` copies to disks",
                    path.display()
                );
                path
            }
            (None, true) => {
                let mounts = std::fs::read_to_string("/proc/self/mounts");
                let mounts = mounts.context("cannot read /proc/self/mounts")?;
                let Some(mount) = hugetlbfs(&mounts) else {
                    bail!("no hugetlbfs is mounted: mount one, or leave out --huge");
                };
                mount.join(name.image().file_name().unwrap_or_default())
            }
            (None, false) => return Ok(name.location().clone()),
        };
        ensure!(*name.location() == Location::Beside, "a System V segment takes no --at or --huge");
        Ok(Location::File { path })
    }

    /// The remaining requests once the copy exists: locking, and holding it.
    fn keep(&self, name: &RomName, hash: RomHash) -> anyhow::Result<Option<Attached>> {
        if self.immutable {
            set_immutable(name.image(), true)?;
        }
        if !self.hold {
            return Ok(None);
        }
        let mut options = mapped(hash);
        options.lock = if self.lock { Lock::Require } else { Lock::No };
        Ok(Some(saltern_rom::attach(name.image(), &options)?))
    }
}

/// The first hugetlbfs among the lines of /proc/self/mounts.
fn hugetlbfs(mounts: &str) -> Option<&Path> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let place = fields.next()?;
        (fields.next()? == "hugetlbfs").then_some(Path::new(place))
    })
}

/// Run the subcommand `detach`.
pub(super) fn detach(args: &DetachArgs) -> anyhow::Result<ExitCode> {
    saltern_rom::detach(args.rom.image(), args.rom.is_shared())
        .with_context(|| format!("cannot detach {}", args.rom))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_found_among_mounts() {
        let mounts =
            "proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n";
        assert_eq!(hugetlbfs(mounts), Some(Path::new("/dev/hugepages")));
        assert_eq!(hugetlbfs("tmpfs /hugetlbfs tmpfs rw 0 0\n"), None);
    }
}
