//! Hashes of which every block of a ROM is checked: before a mismatch is told, and for every new
//! hash.

use std::sync::Arc;
use std::time::Duration;

use saltern_rom::{Attached, CheckedRoms, Error, OpenRom, Recheck};
use saltern_yescrypt::{HashString, Hasher, Setting, Workspace, hazmat::Level, rom::Rom};

use crate::effort::explain;
use crate::output::tell;
use crate::password::Password;

/// How old the check of a whole ROM may be in a process that runs for long.
const AGE: Duration = Duration::from_secs(600);

/// The ROMs of a subcommand, as they are checked.
#[derive(Clone, Default)]
pub(crate) struct RomChecks {
    roms: CheckedRoms,
    in_memory: Vec<Arc<Attached>>,
}

/// The same for one hasher.
#[derive(Clone)]
pub(crate) struct Checks {
    hasher: Hasher,
    roms: RomChecks,
    level: Option<Level>,
}

/// One password with the setting or the hash that goes with it, to be computed by whoever has the
/// time.
pub(crate) struct Again {
    checks: Checks,
    password: Password,
    text: Vec<u8>,
}

impl RomChecks {
    pub(super) fn new(roms: Vec<(Rom, OpenRom)>) -> Self {
        let in_memory = roms.iter().filter_map(|(_, source)| match source {
            OpenRom::Memory(attached) => Some(attached.clone()),
            OpenRom::File(_) => None,
        });
        RomChecks { in_memory: in_memory.collect(), roms: CheckedRoms::new(roms) }
    }

    pub(crate) fn with(self, hasher: &Hasher, level: Option<Level>) -> Checks {
        Checks { hasher: hasher.clone(), roms: self, level }
    }
}

impl Checks {
    /// The string under a setting, if hashes under that read a ROM that is in memory; what is read
    /// of files is always checked.
    pub(crate) fn hash(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        setting: &[u8],
    ) -> Option<Result<HashString, String>> {
        let setting = self.concerned(setting)?;
        let hash = self.roms.roms.hash(&self.hasher, workspace, password, &setting);
        Some(hash.map_err(text))
    }

    /// What is to be computed again, or in the first place, if hashes under this setting read a ROM
    /// that is in memory.
    pub(crate) fn again(&self, password: &Password, text: &[u8]) -> Option<Again> {
        self.concerned(text)?;
        let (checks, password) = (self.clone(), password.clone());
        Some(Again { checks, password, text: text.to_vec() })
    }

    /// The setting, if hashes under it read a ROM that is in memory.
    fn concerned(&self, setting: &[u8]) -> Option<Setting> {
        let setting = Setting::parse(setting).ok().filter(|_| !self.roms.in_memory.is_empty())?;
        let concern = self.roms.roms.concern(&self.hasher, &setting);
        concern.is_ok_and(|concern| concern).then_some(setting)
    }

    /// Whether a password matches after all that seemed not to: not before every block of a ROM
    /// that its hash reads is known to be good.
    pub(crate) fn confirm(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        hash: &[u8],
    ) -> Result<bool, String> {
        let stored = HashString::parse(hash).ok().filter(|_| !self.roms.in_memory.is_empty());
        let concern = |stored: &HashString| self.roms.roms.concern(&self.hasher, stored.setting());
        match stored {
            Some(stored) if concern(&stored).map_err(text)? => {
                self.roms.roms.verify(&self.hasher, workspace, password, &stored).map_err(text)
            }
            _ => Ok(false),
        }
    }

    /// Check whole ROMs from time to time while this lives, and say so if one is damaged.
    pub(crate) fn watch(&self) -> Option<Recheck> {
        let roms = self.roms.in_memory.clone();
        let said = |rom: &Attached, error: &Error| {
            tell(format_args!("warning: the ROM {} is not what was made: {error}", rom.id()));
        };
        // Without a thread for it, hashes are checked all the same.
        (!roms.is_empty()).then(|| Recheck::start(roms, AGE, said).ok()).flatten()
    }
}

impl Again {
    fn workspace(&self) -> Result<Workspace, String> {
        let workspace =
            self.checks.level.map_or_else(|| Ok(Workspace::new()), Workspace::with_level);
        workspace.map_err(|error| error.to_string())
    }

    /// The string of the password.
    pub(crate) fn hash(self) -> Result<HashString, String> {
        let mut workspace = self.workspace()?;
        let hash = self.checks.hash(&mut workspace, &self.password, &self.text);
        hash.unwrap_or_else(|| Err("the ROM of this hash is gone".to_owned()))
    }

    /// Whether the password matches after all.
    pub(crate) fn matches(self) -> Result<bool, String> {
        self.checks.confirm(&mut self.workspace()?, &self.password, &self.text)
    }
}

fn text(error: Error) -> String {
    match error {
        Error::Yescrypt(error) => explain(error).to_string(),
        other => other.to_string(),
    }
}
