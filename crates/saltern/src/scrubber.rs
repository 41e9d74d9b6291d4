//! Repeated whole checks of the ROMs in memory while a site runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::opened::OpenedPolicy;

/// The text of an error for each damaged ROM, by its id.
type Damage = Mutex<BTreeMap<String, String>>;

/// Runs until it is dropped.
pub(crate) struct SiteScrubber {
    damage: Arc<Damage>,
    #[cfg(feature = "rom")]
    _thread: Option<saltern_rom::RomScrubber>,
}

impl SiteScrubber {
    /// Begins to check the ROMs of a site, if it has any in memory. If no thread can be started,
    /// there are no such checks; no answer depends on them.
    pub(crate) fn start(opened: &OpenedPolicy) -> Self {
        let damage = Arc::new(Damage::default());
        #[cfg(feature = "rom")]
        {
            let found = Arc::clone(&damage);
            let tell = move |rom: &saltern_rom::Attached, error: &saltern_rom::Error| {
                lock(&found).insert(rom.id().to_string(), error.to_string());
            };
            SiteScrubber { damage, _thread: opened.roms.recheck(opened.policy.check_roms, tell) }
        }
        #[cfg(not(feature = "rom"))]
        {
            let _ = opened;
            SiteScrubber { damage }
        }
    }

    /// The ROMs that a check has found damaged, each with its id and where.
    pub(crate) fn damaged_roms(&self) -> Vec<String> {
        lock(&self.damage).iter().map(|(id, error)| format!("the ROM {id}: {error}")).collect()
    }
}

fn lock(damage: &Damage) -> MutexGuard<'_, BTreeMap<String, String>> {
    damage.lock().unwrap_or_else(PoisonError::into_inner)
}
