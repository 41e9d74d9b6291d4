//! Nothing of ROMs, on systems where there is no way to attach them.

use saltern_yescrypt::{NamedRom, Params, RomSet};

use crate::compute::Sources;

/// No options.
#[derive(clap::Args)]
pub(crate) struct RomArgs {}

/// No options.
#[derive(clap::Args)]
pub(crate) struct NewRomArgs {}

/// Nothing to check.
#[derive(Clone)]
pub(crate) struct RomChecks;

/// No doubts.
pub(crate) struct Doubts;

impl RomChecks {
    pub(crate) fn of(&self, _: &[u8]) -> Doubts {
        Doubts
    }
}

impl Doubts {
    pub(crate) fn settle(&self) -> Result<(), String> {
        Ok(())
    }
}

/// No ROMs.
pub(crate) struct NewRoms {
    pub(crate) set: RomSet,
    pub(crate) list: Vec<NamedRom>,
    pub(crate) sources: Sources,
}

/// No ROMs.
pub(crate) struct OldRoms {
    pub(crate) set: RomSet,
    pub(crate) checks: RomChecks,
    pub(crate) sources: Sources,
}

impl RomArgs {
    pub(crate) fn load(&self) -> anyhow::Result<OldRoms> {
        Ok(OldRoms { set: RomSet::new(), checks: RomChecks, sources: None })
    }
}

impl NewRomArgs {
    pub(crate) fn is_given(&self) -> bool {
        false
    }

    pub(crate) fn no_names(&self) -> bool {
        false
    }

    pub(crate) fn load(&self, _: Option<&mut Params>) -> anyhow::Result<NewRoms> {
        Ok(NewRoms { set: RomSet::new(), list: Vec::new(), sources: None })
    }
}
