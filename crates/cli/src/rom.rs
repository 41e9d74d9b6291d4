//! ROMs that a subcommand hashes with: where they are, and the sets and lists that come of the
//! options.

mod media;
mod name;

use std::path::Path;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use saltern_rom::{Access, AttachOptions, Error, Manifest, OpenRom, RomFile, attach, is_in_memory};
use saltern_yescrypt::{
    Params,
    rom::{NamedRom, Rom, RomMasks, RomReading, RomSet},
};

pub(crate) use self::media::Media;
pub(crate) use self::name::{RomName, SHM};
use crate::output::tell;

/// Options for hashing with ROMs.
#[derive(clap::Args)]
#[command(next_help_heading = "ROM")]
pub(crate) struct RomArgs {
    /// Attach this ROM: the path of its image, shm:NAME or sysv:KEY; may be given several times
    ///
    /// The manifest has to be beside the image, as `saltern rom` makes it. With one ROM, strings
    /// that do not name theirs are taken to need that one; with several, such strings are an error.
    #[arg(long = "rom", value_name = "ROM", value_parser = RomName::parser())]
    roms: Vec<RomName>,

    /// How the image of a file gets into memory
    #[arg(long, value_name = "HOW", requires = "roms", default_value = "auto")]
    rom_access: AccessName,
}

/// How an image gets into memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AccessName {
    /// Map what is in shared memory or cannot be shortened, copy everything else; what is mapped
    /// has to belong to root or this user, and nobody else may be allowed to write to it
    Auto,
    /// Map it: the program is killed if somebody shortens the file
    Map,
    /// Copy it, and check all of it
    Copy,
    /// Leave it in its file and read blocks from there while other hashes go on, for images larger
    /// than memory; what is in shared memory is mapped
    Direct,
}

/// The same for new hashes.
#[derive(clap::Args)]
pub(crate) struct NewRomArgs {
    #[command(flatten)]
    roms: RomArgs,

    /// When the ROM is read: in the steps i of each loop with (i AND mask) = 1; once for each --rom
    ///
    /// Masks of the first and of the second loop, 0 for never, and perhaps how many steps before a
    /// read its block is chosen. Makes an extended string. Without it the ROM is read in every odd
    /// step, as yescrypt has it.
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
    /// Attach all of them, to the end of the program. With one, it is also for strings that name
    /// none.
    pub(crate) fn load(&self) -> anyhow::Result<OldRoms> {
        let (set, all) = self.attach()?;
        Ok(OldRoms { set, media: Media::new(&all)? })
    }

    fn attach(&self) -> anyhow::Result<(RomSet, Vec<(Rom, OpenRom)>)> {
        let (mut set, mut all) = (RomSet::new(), Vec::new());
        for name in &self.roms {
            let rom = self.rom_access.open(name.image());
            let rom = rom.with_context(|| format!("the ROM {name} is unavailable"))?;
            for note in rom.notes() {
                tell(format_args!("note: ROM {name}: {note}"));
            }
            let held = rom.rom()?;
            if self.roms.len() == 1 {
                set.set_unnamed(held.clone());
            }
            set.attach(rom.manifest().id(), held.clone())?;
            all.push((held, rom));
        }
        Ok((set, all))
    }
}

impl AccessName {
    fn open(self, image: &Path) -> Result<OpenRom, Error> {
        if self == AccessName::Direct && is_in_file(image) {
            return Ok(RomFile::open(image, None)?.into());
        }
        let mut options = AttachOptions::new();
        options.access = match self {
            AccessName::Map => Access::Map,
            AccessName::Copy => Access::Copy,
            AccessName::Auto | AccessName::Direct => Access::Auto,
        };
        Ok(attach(image, &options)?.into())
    }
}

/// Whether the manifest says that an image is in a file of a disk. Only how it is read depends on
/// that: what is done with it, the library decides by the file that it opens.
fn is_in_file(image: &Path) -> bool {
    let place = Manifest::read(image).ok().and_then(|manifest| manifest.image_path(image));
    place.is_some_and(|place| is_in_memory(&place).is_ok_and(|memory| !memory))
}

/// What stored hashes are verified with.
pub(crate) struct OldRoms {
    /// All that are attached.
    pub(crate) set: RomSet,
    /// Where they are.
    pub(crate) media: Media,
}

/// What new hashes are made with.
pub(crate) struct NewRoms {
    /// All that are attached.
    pub(crate) set: RomSet,
    /// The list of an extended string; empty for others.
    pub(crate) list: Vec<NamedRom>,
    /// Where they are.
    pub(crate) media: Media,
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

    /// Attach the ROMs and decide how hashes with these parameters use them, whose NROM is set if
    /// they do so by that. Without parameters they are for a setting that says so itself.
    pub(crate) fn load(&self, params: Option<&mut Params>) -> anyhow::Result<NewRoms> {
        let (mut set, all) = self.roms.attach()?;
        let list = match params {
            Some(params) => self.arrange(&all, &mut set, params)?,
            None => Vec::new(),
        };
        Ok(NewRoms { set, list, media: Media::new(&all)? })
    }

    /// The list for an extended string; otherwise NROM and the active ROM are set.
    fn arrange(
        &self,
        all: &[(Rom, OpenRom)],
        set: &mut RomSet,
        params: &mut Params,
    ) -> anyhow::Result<Vec<NamedRom>> {
        let mut list = Vec::new();
        let blocks = |rom: &OpenRom| blocks(rom.manifest(), params.r);
        match (all, &self.masks[..]) {
            ([], _) => {}
            ([(_, one)], []) => {
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
                for ((_, rom), &Reads { masks, look_ahead }) in roms.iter().zip(masks) {
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
    let size = manifest.size();
    let whole = RomReading::whole(size, r).map(|whole| whole.nrom);
    whole.with_context(|| {
        format!(
            "ROM {} has {size} bytes, which is no power of two of blocks of r={r} (the ROM was made with r={})",
            manifest.id(),
            manifest.params.r
        )
    })
}
