//! ROMs that a subcommand hashes with: where they are, and the sets and lists that come of the options.

mod direct;
mod doubt;
mod name;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use rustix::fs::{FsWord, statfs};
use rustix::process::geteuid;
use saltern_rom::{
    Access, AttachOptions, Attached, EngineRom, Error, Manifest, Medium, RomFile, attach,
};
use saltern_yescrypt::{NamedRom, Params, RomMasks, RomReading, RomSet};

pub(crate) use self::direct::{Direct, DirectHasher, DirectTicket};
pub(crate) use self::doubt::{Doubts, RomChecks};
pub(crate) use self::name::{RomName, SHM};
use crate::output::tell;

/// Options for hashing with ROMs.
#[derive(clap::Args)]
#[command(next_help_heading = "ROM")]
pub(crate) struct RomArgs {
    /// Attach this ROM: the path of its image, shm:NAME or sysv:KEY; may be given several times
    ///
    /// The manifest has to be beside the image, as `saltern rom` makes it. With one ROM, strings that do not name
    /// theirs are taken to need that one; with several, such strings are an error.
    #[arg(long = "rom", value_name = "ROM", value_parser = RomName::parser())]
    roms: Vec<RomName>,

    /// How the image of a file gets into memory
    #[arg(long, value_name = "HOW", requires = "roms", default_value = "auto")]
    rom_access: AccessName,

    /// Take it that images are whole, which are not read through then
    ///
    /// Without this, an image that is mapped from a disk is compared with the hash in its manifest before the first
    /// new hash, and one that is mapped from anywhere before the first mismatch. What is copied is checked in any case.
    #[arg(long, requires = "roms")]
    rom_trust: bool,
}

/// How an image gets into memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AccessName {
    /// Map what is in shared memory or cannot be shortened, copy everything else
    Auto,
    /// Map it: the program is killed if somebody shortens the file
    Map,
    /// Copy it, and check all of it
    Copy,
    /// Leave it in its file and read blocks from there while other hashes go on, for images larger than memory; what is in
    /// shared memory is mapped
    Direct,
}

/// The same for new hashes.
#[derive(clap::Args)]
pub(crate) struct NewRomArgs {
    #[command(flatten)]
    roms: RomArgs,

    /// When the ROM is read: in the steps i of each loop with (i AND mask) = 1; once for each --rom
    ///
    /// Masks of the first and of the second loop, 0 for never, and perhaps how many steps before a read its block is
    /// chosen. Makes an extended string. Without it the ROM is read in every odd step, as yescrypt has it.
    #[arg(long = "rom-mask", value_name = "FILL,MIX[,AHEAD]", requires = "roms", conflicts_with = "setting", value_parser = parse_reads)]
    masks: Vec<Reads>,

    /// Do not put the names of the ROM and the key before the string
    #[arg(long, conflicts_with_all = ["masks", "setting"])]
    no_names: bool,
}

/// When a ROM is read.
#[derive(Clone, Copy)]
pub(crate) struct Reads {
    pub(crate) masks: RomMasks,
    pub(crate) look_ahead: u32,
}

/// For the options that take masks.
pub(crate) fn parse_reads(text: &str) -> Result<Reads, String> {
    let expected = "expected two or three numbers with commas between, such as 0,63 or 1,1,4";
    let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[fill, mix]) => Ok(Reads { masks: RomMasks { fill, mix }, look_ahead: 0 }),
        Ok(&[fill, mix, look_ahead]) => Ok(Reads { masks: RomMasks { fill, mix }, look_ahead }),
        _ => Err(expected.to_owned()),
    }
}

impl RomArgs {
    /// Attach all of them, to the end of the program. With one, it is also for strings that name none.
    pub(crate) fn load(&self) -> anyhow::Result<OldRoms> {
        let (set, all) = self.attach()?;
        let checks = RomChecks::new(if self.rom_trust { Vec::new() } else { in_memory(&all) });
        Ok(OldRoms { set, checks, direct: self.direct(all) })
    }

    /// Those that are left in files, with the others, if that was asked for.
    fn direct(&self, all: Vec<EngineRom>) -> Option<Direct> {
        (self.rom_access == AccessName::Direct).then(|| Direct::new(all))
    }

    fn attach(&self) -> anyhow::Result<(RomSet, Vec<EngineRom>)> {
        let (mut set, mut all) = (RomSet::new(), Vec::new());
        for name in &self.roms {
            warn_if_foreign(name);
            let rom = self.rom_access.open(name.image());
            let rom = rom.with_context(|| format!("the ROM {name} is unavailable"))?;
            let notes = match &rom {
                EngineRom::File(file) => file.notes(),
                EngineRom::Memory(attached) => attached.notes(),
            };
            for note in notes {
                tell(format_args!("note: ROM {name}: {note}"));
            }
            let held = rom.rom()?;
            if self.roms.len() == 1 {
                set.set_unnamed(held.clone());
            }
            set.attach(rom.manifest().id(), held)?;
            all.push(rom);
        }
        Ok((set, all))
    }
}

/// Those of a list that are in memory.
fn in_memory(all: &[EngineRom]) -> Vec<Arc<Attached>> {
    let attached = |rom: &EngineRom| match rom {
        EngineRom::Memory(attached) => Some(attached.clone()),
        EngineRom::File(_) => None,
    };
    all.iter().filter_map(attached).collect()
}

impl AccessName {
    fn open(self, image: &Path) -> Result<EngineRom, Error> {
        if self == AccessName::Direct && is_in_file(image) {
            return Ok(RomFile::open(image, None)?.into());
        }
        let mut options = AttachOptions::new();
        options.access = self.of(image);
        Ok(attach(image, &options)?.into())
    }

    fn of(self, image: &Path) -> Access {
        match self {
            AccessName::Map => Access::Map,
            AccessName::Copy => Access::Copy,
            AccessName::Auto | AccessName::Direct if is_memory(image) => Access::Map,
            AccessName::Auto | AccessName::Direct => Access::Auto,
        }
    }
}

/// Say so when a ROM in shared memory, where anybody can put one, is neither root's nor this user's. A service account that holds ROMs for
/// others is a good reason for that.
fn warn_if_foreign(name: &RomName) {
    let paths = [Manifest::path_for(name.image()), name.image().to_owned()];
    let owners = paths.iter().filter_map(|path| path.metadata().ok()).map(|found| found.uid());
    let foreign = |owner: &u32| ![0, geteuid().as_raw()].contains(owner);
    if let Some(owner) = owners.filter(|_| name.is_shared()).find(foreign) {
        tell(format_args!("warning: the ROM {name} belongs to user {owner}"));
    }
}

/// Whether an image is in a tmpfs or hugetlbfs, where `saltern rom attach` puts images for all to map: those are replaced and removed, never
/// shortened.
pub(crate) fn is_memory(image: &Path) -> bool {
    let place = Manifest::read(image).ok().and_then(|manifest| manifest.image_path(image));
    is_on_memory(&place.unwrap_or_else(|| image.to_owned()))
}

/// Whether a file is or would be on one of them.
pub(crate) fn is_memory_place(path: &Path) -> bool {
    is_on_memory(if path.exists() { path } else { path.parent().unwrap_or(path) })
}

fn is_on_memory(path: &Path) -> bool {
    const TMPFS: FsWord = 0x0102_1994;
    const HUGETLBFS: FsWord = 0x9584_58f6_u32 as FsWord;
    statfs(path).is_ok_and(|found| [TMPFS, HUGETLBFS].contains(&found.f_type))
}

/// Whether an image is in a file of a disk. One without a manifest is not.
fn is_in_file(image: &Path) -> bool {
    let manifest = Manifest::read(image);
    manifest.is_ok_and(|manifest| manifest.image_path(image).is_some()) && !is_memory(image)
}

/// What stored hashes are verified with.
pub(crate) struct OldRoms {
    /// All that are attached.
    pub(crate) set: RomSet,
    /// What is to be checked before a mismatch.
    pub(crate) checks: RomChecks,
    /// What computes with those that are left in files, if some may be.
    pub(crate) direct: Option<Direct>,
}

/// What new hashes are made with.
pub(crate) struct NewRoms {
    /// All that are attached.
    pub(crate) set: RomSet,
    /// The list of an extended string; empty for others.
    pub(crate) list: Vec<NamedRom>,
    /// What computes with those that are left in files, if some may be.
    pub(crate) direct: Option<Direct>,
}

impl NewRomArgs {
    /// Whether there is any ROM.
    pub(crate) fn is_given(&self) -> bool {
        !self.roms.roms.is_empty()
    }

    /// Whether names are to be left out.
    pub(crate) fn no_names(&self) -> bool {
        self.no_names
    }

    /// Attach the ROMs and decide how hashes with these parameters use them, whose NROM is set if they do so by that.
    /// Without parameters they are for a setting that says so itself.
    pub(crate) fn load(&self, params: Option<&mut Params>) -> anyhow::Result<NewRoms> {
        let (mut set, all) = self.roms.attach()?;
        // What is in shared memory was checked when `saltern rom attach` copied it there.
        let unsure = |rom: &&Arc<Attached>| matches!(rom.medium(), Medium::Mapped { path, .. } if !is_memory(path));
        for attached in in_memory(&all).iter().filter(unsure).filter(|_| !self.roms.rom_trust) {
            doubt::check(attached)?;
        }
        let list = match params {
            Some(params) => self.arrange(&all, &mut set, params)?,
            None => Vec::new(),
        };
        Ok(NewRoms { set, list, direct: self.roms.direct(all) })
    }

    /// The list for an extended string; otherwise NROM and the active ROM are set.
    fn arrange(
        &self,
        all: &[EngineRom],
        set: &mut RomSet,
        params: &mut Params,
    ) -> anyhow::Result<Vec<NamedRom>> {
        let mut list = Vec::new();
        let blocks = |rom: &EngineRom| blocks(rom.manifest(), params.r);
        match (all, &self.masks[..]) {
            ([], _) => {}
            ([one], []) => {
                params.nrom = blocks(one)?;
                if !self.no_names {
                    set.activate(one.manifest().id())?;
                }
            }
            (_, []) => bail!(
                "several ROMs are given: say with --rom-mask for each when it is read, or give one"
            ),
            (roms, masks) => {
                ensure!(
                    roms.len() == masks.len(),
                    "{} --rom and {} --rom-mask are given: each ROM needs one",
                    roms.len(),
                    masks.len()
                );
                for (rom, &Reads { masks, look_ahead }) in roms.iter().zip(masks) {
                    let named = NamedRom::new(rom.manifest().id(), blocks(rom)?);
                    let reading = RomReading { masks, look_ahead, ..named.reading };
                    list.push(NamedRom { reading, ..named });
                }
            }
        }
        Ok(list)
    }
}

/// NROM of all of an image for hashes with this r.
fn blocks(manifest: &Manifest, r: u32) -> anyhow::Result<u64> {
    let (size, block) = (manifest.size(), 128 * u64::from(r));
    let blocks = size.checked_div(block).filter(|blocks| blocks.is_power_of_two());
    let blocks = blocks.filter(|&blocks| blocks > 1 && blocks * block == size);
    blocks.with_context(|| {
        format!(
            "ROM {} has {size} bytes, which is no power of two of blocks of r={r} (the ROM was made with r={})",
            manifest.id(),
            manifest.params.r
        )
    })
}
