//! ROMs that a subcommand hashes with: where they are, and the sets and lists from the options.

mod name;

use anyhow::{Context, bail, ensure};
use clap::{ArgGroup, ValueEnum};
use saltern_rom::{Access, Manifest, OpenRom, OpenRoms, RomHash};
use saltern_yescrypt::{
    Params,
    rom::{NamedRom, Rom, RomMasks, RomReading, RomSet},
};

pub(crate) use self::name::{RomName, SHM};
use crate::output::warn;

/// Options for hashing with ROMs.
#[derive(clap::Args)]
#[command(next_help_heading = "ROM")]
#[command(group = ArgGroup::new("any_rom").args(["roms", "assume_unnamed_rom"]).multiple(true))]
pub(crate) struct RomArgs {
    /// Attach this ROM: the path of its image, shm:NAME or sysv:KEY; may be given several times
    ///
    /// The manifest must be beside the image, where `saltern rom` puts it. Strings name the ROM
    /// that they need; for those that do not, see --assume-unnamed-rom.
    #[arg(long = "rom", value_name = "ROM", value_parser = RomName::parser())]
    roms: Vec<RomName>,

    /// The hash that the ROM must have; one for each --rom, in the same order
    ///
    /// `saltern rom info` shows it. A different ROM is an error, whatever its manifest says.
    #[arg(long = "rom-expect", value_name = "HASH", requires = "roms")]
    expected: Vec<RomHash>,

    /// Assume that strings that need a ROM and do not name it need this one
    ///
    /// crypt(3) with a ROM makes such strings, and so does --omit-ids. This cannot be checked: if
    /// they need another ROM of the same size, no password matches. --rom may name it as well.
    #[arg(long, value_name = "ROM", value_parser = RomName::parser())]
    assume_unnamed_rom: Option<RomName>,

    /// How an image in a file gets into memory
    #[arg(long, value_name = "HOW", requires = "any_rom", default_value = "auto")]
    rom_access: AccessName,
}

/// How an image gets into memory.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessName {
    /// Map images in shared memory and those that cannot be truncated, copy all others; a mapped
    /// image must belong to root or this user, and no one else may have write permission
    Auto,
    /// Map it: the program is killed if the file is truncated
    Map,
    /// Copy it, and check every byte
    Copy,
    /// Leave it in its file and read blocks from there while other hashes go on, for images larger
    /// than memory; images in shared memory are mapped
    Direct,
}

/// Options for the ROMs of new hashes.
#[derive(clap::Args)]
pub(crate) struct NewRomArgs {
    #[command(flatten)]
    roms: RomArgs,

    /// When to read the ROM: in steps i of each loop where (i AND mask) = 1; one for each --rom
    ///
    /// Masks for the first and the second loop (0 for never) and, optionally, how many steps before
    /// a read its block is chosen. The result is an extended string. Without this option the ROM is
    /// read in every odd step, as in yescrypt.
    #[arg(long = "rom-mask", value_name = "FILL,MIX[,AHEAD]", requires = "roms", conflicts_with = "setting", value_parser = parse_reads)]
    masks: Vec<Reads>,

    /// Do not put the ROM's id and the key's name before the string
    #[arg(long, conflicts_with_all = ["masks", "setting"])]
    omit_ids: bool,
}

/// When a ROM is read.
#[derive(Clone, Copy)]
pub(crate) struct Reads {
    pub(crate) masks: RomMasks,
    pub(crate) look_ahead: u32,
}

/// The parser for options that take masks.
pub(crate) fn parse_reads(text: &str) -> Result<Reads, String> {
    let expected = "expected two or three numbers separated by commas, such as 0,63 or 1,1,4";
    let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[fill, mix]) => Ok(Reads { masks: RomMasks { fill, mix }, look_ahead: 0 }),
        Ok(&[fill, mix, look_ahead]) => Ok(Reads { masks: RomMasks { fill, mix }, look_ahead }),
        _ => Err(expected.to_owned()),
    }
}

impl RomArgs {
    /// Attach all of them until the end of the program.
    pub(crate) fn load(&self) -> anyhow::Result<OldRoms> {
        Ok(self.attach()?.0)
    }

    /// Whether there is one for strings that name none.
    pub(crate) fn assumes_unnamed(&self) -> bool {
        self.assume_unnamed_rom.is_some()
    }

    /// Those with `--rom` come first, in their order.
    fn attach(&self) -> anyhow::Result<(OldRoms, Vec<(Rom, OpenRom)>)> {
        let (mut set, mut open, mut all) = (RomSet::new(), OpenRoms::default(), Vec::new());
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
            let held = open.add(&rom)?;
            if assumed == Some(name) {
                set.assume_unnamed(held.clone());
            }
            set.attach(rom.manifest().id(), held.clone())?;
            all.push((held, rom));
        }
        warn(open.notes());
        Ok((OldRoms { set, open }, all))
    }
}

impl AccessName {
    /// The access as in policies.
    pub(crate) const fn access(self) -> Option<Access> {
        match self {
            AccessName::Auto => Some(Access::Auto),
            AccessName::Map => Some(Access::Map),
            AccessName::Copy => Some(Access::Copy),
            AccessName::Direct => None,
        }
    }
}

/// ROMs for verifying stored hashes.
pub(crate) struct OldRoms {
    /// All that are attached.
    pub(crate) set: RomSet,
    /// Where they are.
    pub(crate) open: OpenRoms,
}

/// ROMs for making new hashes.
pub(crate) struct NewRoms {
    /// All that are attached.
    pub(crate) set: RomSet,
    /// The list of an extended string; empty for others.
    pub(crate) list: Vec<NamedRom>,
    /// Where they are.
    pub(crate) open: OpenRoms,
}

impl NewRomArgs {
    /// Whether any ROM is given.
    pub(crate) fn is_given(&self) -> bool {
        !self.roms.roms.is_empty() || self.roms.assumes_unnamed()
    }

    /// Whether to leave out ids.
    pub(crate) fn omit_ids(&self) -> bool {
        self.omit_ids
    }

    /// Attach the ROMs and decide how hashes with these parameters use them; sets their NROM if
    /// needed. Without parameters, the ROMs are for a setting that determines this itself.
    pub(crate) fn load(&self, params: Option<&mut Params>) -> anyhow::Result<NewRoms> {
        let (OldRoms { mut set, open }, all) = self.roms.attach()?;
        let list = match params {
            Some(params) => self.arrange(&all, &mut set, params)?,
            None => Vec::new(),
        };
        Ok(NewRoms { set, list, open })
    }

    /// Returns the list for an extended string; otherwise sets NROM and the active ROM.
    fn arrange(
        &self,
        all: &[(Rom, OpenRom)],
        set: &mut RomSet,
        params: &mut Params,
    ) -> anyhow::Result<Vec<NamedRom>> {
        let mut list = Vec::new();
        let blocks = |rom: &OpenRom| blocks(rom.manifest(), params.r);
        match (&all[..self.roms.roms.len()], &self.masks[..]) {
            // Only the assumed ROM, which the string does not name either.
            ([], _) => {
                for (_, assumed) in all {
                    params.nrom = blocks(assumed)?;
                }
            }
            ([(held, one)], []) => {
                params.nrom = blocks(one)?;
                match self.omit_ids {
                    true => set.assume_unnamed(held.clone()),
                    false => set.activate(one.manifest().id())?,
                }
            }
            (_, []) => {
                bail!("several ROMs are given: give --rom-mask for each of them, or only one ROM")
            }
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

/// NROM for a whole image and hashes with this r.
fn blocks(manifest: &Manifest, r: u32) -> anyhow::Result<u64> {
    let size = manifest.size();
    let whole = RomReading::whole(size, r).map(|whole| whole.nrom);
    whole.with_context(|| {
        format!(
            "ROM {} has {size} bytes, which is not a power of two of blocks of r={r} (the ROM was made with r={})",
            manifest.id(),
            manifest.params.r
        )
    })
}
