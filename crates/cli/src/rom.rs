//! ROMs that a subcommand hashes with: where they are, and the sets and lists that come of the
//! options.

mod media;
mod name;

use anyhow::{Context, bail, ensure};
use clap::{ArgGroup, ValueEnum};
use saltern_rom::{Access, Manifest, OpenRom, RomHash};
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
#[command(group = ArgGroup::new("any_rom").args(["roms", "assume_unnamed_rom"]).multiple(true))]
pub(crate) struct RomArgs {
    /// Attach this ROM: the path of its image, shm:NAME or sysv:KEY; may be given several times
    ///
    /// The manifest has to be beside the image, as `saltern rom` makes it. Strings name the ROM
    /// that they need; for those that do not, see --assume-unnamed-rom.
    #[arg(long = "rom", value_name = "ROM", value_parser = RomName::parser())]
    roms: Vec<RomName>,

    /// The hash that the ROM has to have: once for each --rom, in the same order
    ///
    /// `saltern rom info` shows it. Another ROM is an error, whatever its own manifest says.
    #[arg(long = "rom-expect", value_name = "HASH", requires = "roms")]
    expected: Vec<RomHash>,

    /// Assume that strings that need a ROM and do not name it need this one
    ///
    /// crypt(3) with a ROM makes such strings, and so does --no-names. This cannot be checked: if
    /// they need another ROM of the same size, no password matches. It may be one of --rom.
    #[arg(long, value_name = "ROM", value_parser = RomName::parser())]
    assume_unnamed_rom: Option<RomName>,

    /// How the image of a file gets into memory
    #[arg(long, value_name = "HOW", requires = "any_rom", default_value = "auto")]
    rom_access: AccessName,
}

/// How an image gets into memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessName {
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
    /// Attach all of them, to the end of the program.
    pub(crate) fn load(&self) -> anyhow::Result<OldRoms> {
        let (set, all) = self.attach()?;
        Ok(OldRoms { set, media: Media::new(&all)? })
    }

    /// Whether there is one for strings that name none.
    pub(crate) fn assumes_unnamed(&self) -> bool {
        self.assume_unnamed_rom.is_some()
    }

    /// Those with `--rom` come first, in their order.
    fn attach(&self) -> anyhow::Result<(RomSet, Vec<(Rom, OpenRom)>)> {
        let (mut set, mut all) = (RomSet::new(), Vec::new());
        let (given, expected) = (self.roms.len(), self.expected.len());
        ensure!(
            expected == 0 || expected == given,
            "{given} --rom and {expected} --rom-expect are given: each ROM needs one"
        );
        let assumed = self.assume_unnamed_rom.as_ref();
        let further = assumed.filter(|assumed| !self.roms.contains(assumed));
        for (at, name) in self.roms.iter().chain(further).enumerate() {
            let expect = self.expected.get(at).copied();
            let rom = OpenRom::open(name.image(), self.rom_access.access(), expect);
            let rom = rom.with_context(|| format!("the ROM {name} is unavailable"))?;
            for note in rom.notes() {
                tell(format_args!("note: ROM {name}: {note}"));
            }
            let held = rom.rom()?;
            if assumed == Some(name) {
                set.assume_unnamed(held.clone());
            }
            set.attach(rom.manifest().id(), held.clone())?;
            all.push((held, rom));
        }
        Ok((set, all))
    }
}

impl AccessName {
    /// As policies have it.
    pub(crate) const fn access(self) -> Option<Access> {
        match self {
            AccessName::Auto => Some(Access::Auto),
            AccessName::Map => Some(Access::Map),
            AccessName::Copy => Some(Access::Copy),
            AccessName::Direct => None,
        }
    }
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
        !self.roms.roms.is_empty() || self.roms.assumes_unnamed()
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
        match (&all[..self.roms.roms.len()], &self.masks[..]) {
            // Only what is assumed, which the string does not name either.
            ([], _) => {
                for (_, assumed) in all {
                    params.nrom = blocks(assumed)?;
                }
            }
            ([(held, one)], []) => {
                params.nrom = blocks(one)?;
                match self.no_names {
                    true => set.assume_unnamed(held.clone()),
                    false => set.activate(one.manifest().id())?,
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
