//! Where the seed of a ROM comes from: a file, a descriptor or the random generator; never the
//! command line.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use saltern::policy::loose;
use saltern_rom::{Error, Manifest, Seed};

use super::work::Work;
use crate::descriptor::Descriptor;
use crate::interrupt::readable;
use crate::output::{tell, warn};

/// A seed that exists.
#[derive(clap::Args)]
pub(super) struct SeedArgs {
    /// Read the seed from this file: 16 bytes to 1 MiB, not counting a final newline
    #[arg(long, value_name = "FILE", group = "seed")]
    seed_file: Option<PathBuf>,

    /// Read the seed from this open file descriptor, to its end
    #[arg(long, value_name = "N", group = "seed")]
    seed_fd: Option<Descriptor>,
}

/// A seed that exists or will be made.
#[derive(clap::Args)]
pub(super) struct NewSeedArgs {
    #[command(flatten)]
    existing: SeedArgs,

    /// Generate a random seed and write it to this new file; keep a copy elsewhere
    #[arg(long, value_name = "FILE", group = "seed")]
    generate_seed: Option<PathBuf>,

    /// Do not ask whether a copy of the new seed has been made
    #[arg(long, requires = "generate_seed")]
    yes: bool,
}

impl SeedArgs {
    /// The seed, if one of the options is given.
    pub(super) fn read(&self) -> anyhow::Result<Option<Seed>> {
        Ok(match (&self.seed_file, &self.seed_fd) {
            (Some(path), _) => {
                let open = || format!("cannot open {}", path.display());
                let file = File::open(path).with_context(open)?;
                warn(loose(&file, path, "seed", false));
                Some(Seed::from_open_file(&file, path)?)
            }
            (None, Some(fd)) => {
                let number = fd.number;
                let context = || format!("cannot read the seed from file descriptor {number}");
                Some(Seed::from_reader(fd.file().with_context(context)?)?)
            }
            (None, None) => None,
        })
    }
}

/// The seed of a ROM that is being made. If it was generated for that, its file is removed again
/// unless the ROM is made.
pub(super) struct RomSeed<'a> {
    pub(super) seed: Seed,
    /// The file that was written, and the path of the ROM.
    new: Option<(&'a Path, &'a Path)>,
}

impl RomSeed<'_> {
    /// The ROM is made: its seed stays.
    pub(super) fn keep(mut self) {
        self.new = None;
    }
}

impl Drop for RomSeed<'_> {
    fn drop(&mut self) {
        let Some((path, image)) = self.new else { return };
        // If the manifest is in its place already, the next attempt needs the seed that it names.
        let is_named = |manifest: Manifest| {
            (manifest.seed == *self.seed.source()).then_some("the manifest names it")
        };
        let kept = match Manifest::read(image).map(is_named) {
            Ok(None) | Err(Error::NoManifest { .. } | Error::Manifest { .. }) => None,
            Ok(Some(why)) => Some(why.to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let kept = kept.or_else(|| std::fs::remove_file(path).err().map(|error| error.to_string()));
        let path = path.display();
        tell(match kept {
            None => format!("{path} was removed: no ROM was made from it"),
            Some(why) => format!("the seed stays in {path}: {why}"),
        });
    }
}

impl NewSeedArgs {
    /// The seed for the ROM at this path; a new one once its backup is confirmed.
    pub(super) fn read<'a>(&'a self, image: &'a Path, work: &Work) -> anyhow::Result<RomSeed<'a>> {
        if let Some(seed) = self.existing.read()? {
            return Ok(RomSeed { seed, new: None });
        }
        let Some(path) = &self.generate_seed else {
            bail!("the seed is missing: give --seed-file, --seed-fd or --generate-seed");
        };
        // Standard input may be something else.
        let ask = || File::options().read(true).write(true).open("/dev/tty");
        let nobody = "there is no terminal to ask whether a copy of the new seed was made: give --yes to confirm it";
        let terminal = (!self.yes).then(ask).transpose().context(nobody)?;
        let seed = Seed::generate(path).map_err(|error| match error {
            Error::Exists { path } => anyhow::anyhow!(
                "{} exists, and a seed is never overwritten: give --seed-file to use it, or another name",
                path.display()
            ),
            error => error.into(),
        })?;
        let seed = RomSeed { seed, new: Some((path, image)) };
        tell(format_args!(
            "the seed is in {}: anyone who has it can make the ROM, so guard it like a key",
            path.display()
        ));
        tell("without the seed, a lost ROM cannot be recreated, nor can its passwords be verified");
        if let Some(terminal) = terminal {
            confirm(path, terminal, work)?;
        }
        Ok(seed)
    }
}

/// Asks whether there is a copy of the seed in this file.
fn confirm(path: &Path, mut terminal: File, work: &Work) -> anyhow::Result<()> {
    let path = path.display();
    let question = format!("Copy {path} to a safe place now. Type `kept` when you have a copy: ");
    terminal.write_all(question.as_bytes()).context("cannot ask on the terminal")?;
    while !readable(&terminal) {
        work.check()?;
    }
    work.check()?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer).context("cannot read the answer")?;
    ensure!(answer.trim() == "kept", "there is no copy of the seed: no ROM was made");
    Ok(())
}
