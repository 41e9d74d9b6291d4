//! Where the seed of a ROM comes from: a file, a descriptor or the random generator; never the
//! command line.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use saltern::policy::loose;
use saltern_rom::{Error, Manifest, Seed};

use crate::descriptor::Descriptor;
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

impl NewSeedArgs {
    /// Removes the seed that was made for a ROM that could not be made: nothing else needs it. If
    /// there is an image or a manifest after all, the seed stays: it could make the image again.
    pub(super) fn undo(&self, rom: &Path, image: &Path) {
        let Some(path) = &self.generate_seed else { return };
        let nothing = image.symlink_metadata().is_err() && Manifest::read(rom).is_err();
        if nothing && std::fs::remove_file(path).is_ok() {
            tell(format_args!("no ROM was made: its new seed {} is removed", path.display()));
        }
    }

    /// The seed; a new one once its backup is confirmed.
    pub(super) fn read(&self) -> anyhow::Result<Seed> {
        if let Some(seed) = self.existing.read()? {
            return Ok(seed);
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
        let path = path.display();
        tell(format_args!(
            "the seed is in {path}: anyone who has it can make the ROM, so guard it like a key"
        ));
        tell("without the seed, a lost ROM cannot be recreated, nor can its passwords be verified");
        if let Some(mut terminal) = terminal {
            let question =
                format!("Copy {path} to a safe place now. Type `kept` when you have a copy: ");
            terminal.write_all(question.as_bytes()).context("cannot ask on the terminal")?;
            let mut answer = String::new();
            BufReader::new(terminal).read_line(&mut answer).context("cannot read the answer")?;
            if answer.trim() != "kept" {
                bail!("no ROM was made; the seed stays in {path}, for --seed-file");
            }
        }
        Ok(seed)
    }
}
