//! The keys and ROMs that options ask for, and settings that would not use them.

use anyhow::{bail, ensure};
use saltern_yescrypt::{Scheme, Setting};

use crate::key::KeyArgs;
use crate::rom::NewRomArgs;

/// What options ask for, beside the setting of a new string.
#[derive(Clone, Copy, Default)]
pub(crate) struct Protection {
    key: bool,
    /// One of the keys is for strings that name none.
    unnamed_key: bool,
    rom: bool,
}

impl Protection {
    /// The keys and ROMs of these options.
    pub(crate) fn new(key: &KeyArgs, rom: &NewRomArgs) -> Self {
        let unnamed_key = key.assumes_unnamed() || (rom.omit_ids() && key.is_given());
        Protection { key: key.is_given(), unnamed_key, rom: rom.is_given() }
    }

    /// Keys and ROMs go with no other scheme than yescrypt.
    pub(crate) fn check_scheme(self, yescrypt: bool) -> anyhow::Result<()> {
        ensure!(yescrypt || !self.rom, "a ROM works with yescrypt strings only");
        ensure!(yescrypt || !self.key, "a key works with yescrypt strings only");
        Ok(())
    }

    /// Checks that a setting uses them. Otherwise the string would be made without, and the user
    /// would rely on a protection that does not exist.
    ///
    /// # Errors
    ///
    /// If it does not; the message says what to do.
    pub(crate) fn check(self, setting: &Setting) -> anyhow::Result<()> {
        self.check_scheme(matches!(setting.scheme(), Scheme::Yescrypt | Scheme::Extended))?;
        if self.key && !self.unnamed_key && setting.key_id().is_none() {
            bail!(
                "the setting names no key, so the string would not be encrypted: put {{key=NAME}} before the setting, or leave out --key"
            );
        }
        ensure!(
            setting.reads_rom() || !self.rom,
            "the setting uses no ROM, so the string would not need one: leave out --rom or the setting"
        );
        Ok(())
    }
}
