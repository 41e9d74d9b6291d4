//! Whether a ROM is whole: with a damaged one, a right password gives another hash, which looks like a wrong password.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use saltern_rom::Attached;
use saltern_yescrypt::{HashString, RomId};

/// The ROMs of a subcommand that compares: each is read through at most once, and only when there is a mismatch with it.
#[derive(Clone)]
pub(crate) struct RomChecks(Arc<Vec<Suspect>>);

struct Suspect {
    rom: Arc<Attached>,
    verdict: OnceLock<Result<(), String>>,
}

/// Those of one string.
pub(crate) struct Doubts {
    all: RomChecks,
    needed: Vec<usize>,
}

impl RomChecks {
    pub(super) fn new(roms: Vec<Arc<Attached>>) -> Self {
        let suspect = |rom| Suspect { rom, verdict: OnceLock::new() };
        RomChecks(Arc::new(roms.into_iter().map(suspect).collect()))
    }

    /// What a mismatch with this string could come of.
    pub(crate) fn of(&self, hash: &[u8]) -> Doubts {
        let string = HashString::parse(hash).ok();
        let setting = string.as_ref().map(HashString::setting);
        let used = |id: RomId| {
            setting.is_some_and(|setting| match setting.rom_id() {
                Some(named) => named == id,
                // One that names no ROM has that of all the process, if it has any.
                None if setting.roms().is_empty() => setting.params().nrom > 0,
                None => setting.roms().iter().any(|rom| rom.id == id),
            })
        };
        let roms = self.0.iter().enumerate();
        let needed = roms.filter(|(_, suspect)| used(suspect.rom.id())).map(|(index, _)| index);
        Doubts { needed: needed.collect(), all: self.clone() }
    }
}

impl Doubts {
    /// Whether the ROMs are whole, so that it is the password that is wrong.
    pub(crate) fn settle(&self) -> Result<(), String> {
        for Suspect { rom, verdict } in self.needed.iter().map(|&index| &self.all.0[index]) {
            let look = || check(rom).map_err(|error| format!("{error:#}"));
            verdict.get_or_init(look).clone()?;
        }
        Ok(())
    }
}

/// Reads an image through unless this process has done so.
pub(super) fn check(rom: &Attached) -> Result<()> {
    let checked = rom.check_all(&|_| ControlFlow::Continue(()));
    checked.with_context(|| format!("the ROM {} is unavailable", rom.id()))
}
