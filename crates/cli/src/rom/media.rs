//! What belongs to ROMs while hashes are computed: who reads them, and who checks them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use saltern_pool::source::BlockSources;
use saltern_rom::{Attached, Backend, Error, OpenRom, Recheck, RomReaders};
use saltern_yescrypt::rom::Rom;

use crate::output::tell;

/// How old the check of a whole ROM may be in a process that runs for long.
const AGE: Duration = Duration::from_secs(600);

/// Where the ROMs of a subcommand are.
#[derive(Default)]
pub(crate) struct Media {
    /// What reads those that are left in files, if there are any.
    pub(crate) sources: Option<Arc<dyn BlockSources>>,
    in_memory: Vec<Arc<Attached>>,
}

impl Media {
    /// Reading from files is tried here, to say what cannot be had.
    pub(super) fn new(roms: &[(Rom, OpenRom)]) -> anyhow::Result<Self> {
        let in_memory = roms.iter().filter_map(|(_, rom)| match rom {
            OpenRom::Memory(attached) => Some(attached.clone()),
            OpenRom::File(_) => None,
        });
        let mut media = Media { sources: None, in_memory: in_memory.collect() };
        if media.in_memory.len() < roms.len() {
            let (readers, notes) =
                RomReaders::tried(Backend::Auto).context("cannot read ROMs in files")?;
            notes.iter().for_each(|note| tell(format_args!("note: {note}")));
            media.sources = Some(Arc::new(readers));
        }
        Ok(media)
    }

    /// Check whole ROMs in memory from time to time while this lives, and say so if one is damaged.
    /// What hashes read is checked without that.
    pub(crate) fn watch(&self) -> Option<Recheck> {
        let roms = self.in_memory.clone();
        let said = |rom: &Attached, error: &Error| {
            tell(format_args!("warning: the ROM {} has failed its check: {error}", rom.id()));
        };
        // Without a thread for it, hashes are checked all the same.
        (!roms.is_empty()).then(|| Recheck::start(roms, AGE, said).ok()).flatten()
    }
}
