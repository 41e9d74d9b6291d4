//! Nothing of ROMs, on systems where there is no way to attach them.

use std::sync::Arc;

use saltern_pool::source::BlockSources;
use saltern_yescrypt::{
    Hasher, Params, Workspace,
    hazmat::Level,
    rom::{NamedRom, RomSet},
};

use crate::password::Password;

/// What reads ROMs that are left in their files.
pub(crate) type Sources = Option<Arc<dyn BlockSources>>;

/// No options.
#[derive(clap::Args)]
pub(crate) struct RomArgs {}

/// No options.
#[derive(clap::Args)]
pub(crate) struct NewRomArgs {}

/// Nothing to check.
#[derive(Clone, Default)]
pub(crate) struct RomChecks;

/// Nothing to check.
#[derive(Clone)]
pub(crate) struct Checks;

/// Nothing to compute again.
pub(crate) enum Again {}

impl Again {
    pub(crate) fn hash(self) -> Result<Vec<u8>, String> {
        match self {}
    }

    pub(crate) fn matches(self) -> Result<bool, String> {
        match self {}
    }
}

impl RomChecks {
    pub(crate) fn with(self, _: &Hasher, _: Option<Level>) -> Checks {
        Checks
    }
}

impl Checks {
    pub(crate) fn hash(
        &self,
        _: &mut Workspace,
        _: &[u8],
        _: &[u8],
    ) -> Option<Result<Vec<u8>, String>> {
        None
    }

    pub(crate) fn again(&self, _: &Password, _: &[u8]) -> Option<Again> {
        None
    }

    pub(crate) fn confirm(&self, _: &mut Workspace, _: &[u8], _: &[u8]) -> Result<bool, String> {
        Ok(false)
    }

    pub(crate) fn watch(&self) {}
}

/// No ROMs.
pub(crate) struct NewRoms {
    pub(crate) set: RomSet,
    pub(crate) list: Vec<NamedRom>,
    pub(crate) checks: RomChecks,
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
        Ok(NewRoms { set: RomSet::new(), list: Vec::new(), checks: RomChecks, sources: None })
    }
}
