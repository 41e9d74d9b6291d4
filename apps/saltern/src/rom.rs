//! ROMs that a subcommand hashes with: where they are, and the sets and lists from the options.

mod name;

use anyhow::{Context, bail, ensure};
use clap::{ArgGroup, ValueEnum};
use saltern::Policy;
use saltern::policy::{RomSource, SiteRom};
use saltern_rom::{Access, Manifest, RomHash};
use saltern_yescrypt::{
    Params,
    rom::{NamedRom, RomId, RomMasks, RomReading},
};

pub(crate) use self::name::{RomName, SHM};

/// Options for hashing with ROMs.
#[derive(clap::Args)]
#[command(next_help_heading = "ROM")]
#[command(group = ArgGroup::new("any_rom").args(["roms", "assume_unnamed_rom"]).multiple(true))]
pub(crate) struct RomArgs {
    /// Attach this ROM: the path of its image, shm:NAME or sysv:KEY; may be given several times
    ///
    /// The manifest must be beside the image, where `saltern rom` puts it. Strings name the ROM
    /// that they need; for those that do not, see --assume-unnamed-rom.
    #[arg(long = "rom", value_name = "ROM", conflicts_with = "policy", value_parser = RomName::parser())]
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
    #[arg(long, value_name = "ROM", conflicts_with = "policy", value_parser = RomName::parser())]
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
    #[arg(long, conflicts_with_all = ["masks", "setting", "policy"])]
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
    /// Whether there is one for strings that name none.
    pub(crate) fn assumes_unnamed(&self) -> bool {
        self.assume_unnamed_rom.is_some()
    }

    /// Adds them to a policy. Returns their manifests: those with `--rom` come first, in their
    /// order.
    pub(crate) fn add_to(&self, policy: &mut Policy) -> anyhow::Result<Vec<Manifest>> {
        let (given, expected) = (self.roms.len(), self.expected.len());
        ensure!(
            expected == 0 || expected == given,
            "{given} --rom and {expected} --rom-expect are given: each ROM needs one"
        );
        let assumed = self.assume_unnamed_rom.as_ref();
        let further = assumed.filter(|assumed| !self.roms.contains(assumed));
        let mut manifests = Vec::new();
        for (at, name) in self.roms.iter().chain(further).enumerate() {
            let manifest = Manifest::read(name.image());
            let manifest = manifest.with_context(|| format!("the ROM {name} is unavailable"))?;
            let hash = self.expected.get(at).copied().unwrap_or(manifest.hash);
            if assumed == Some(name) {
                policy.assume_unnamed_rom = Some(hash.id());
            }
            let (path, access) = (name.image().to_owned(), self.rom_access.access());
            // Of a second copy of a ROM there is no need.
            if policy.roms.iter().all(|rom| rom.id != hash.id()) {
                let source = RomSource::Image { path, hash, access };
                policy.roms.push(SiteRom { id: hash.id(), source, active: false });
            }
            manifests.push(manifest);
        }
        Ok(manifests)
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

/// How new strings use ROMs.
#[derive(Default)]
pub(crate) struct NewRoms {
    /// The list of an extended string; empty for others.
    pub(crate) named: Vec<NamedRom>,
    /// The ROM that any other string names.
    pub(crate) active: Option<RomId>,
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

    /// Adds the ROMs to a policy and decides how hashes with these parameters use them; sets their
    /// NROM if needed. Without parameters, the ROMs are for a setting that determines this itself.
    pub(crate) fn add_to(
        &self,
        policy: &mut Policy,
        params: Option<&mut Params>,
    ) -> anyhow::Result<NewRoms> {
        let manifests = self.roms.add_to(policy)?;
        let (mut new, Some(params)) = (NewRoms::default(), params) else {
            return Ok(NewRoms::default());
        };
        match (&manifests[..self.roms.roms.len()], &self.masks[..]) {
            // Only the assumed ROM, which the string does not name either.
            ([], _) => {
                for assumed in &manifests {
                    params.nrom = blocks(assumed, params.r)?;
                }
            }
            ([one], []) => {
                params.nrom = blocks(one, params.r)?;
                match self.omit_ids {
                    true => policy.assume_unnamed_rom = Some(one.id()),
                    false => new.active = Some(one.id()),
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
                for (rom, &Reads { masks, look_ahead }) in roms.iter().zip(masks) {
                    let named = NamedRom::new(rom.id(), blocks(rom, params.r)?);
                    let reading = RomReading { masks, look_ahead, ..named.reading };
                    new.named.push(NamedRom { reading, ..named });
                }
            }
        }
        Ok(new)
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
