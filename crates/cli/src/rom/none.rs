//! Nothing of ROMs, on systems where there is no way to attach them.

use saltern_yescrypt::{NamedRom, Params, RomSet};

/// No options.
#[derive(clap::Args)]
pub(crate) struct RomArgs {}

/// No options.
#[derive(clap::Args)]
pub(crate) struct NewRomArgs {}

/// No ROMs.
pub(crate) struct NewRoms {
    pub(crate) set: RomSet<'static>,
    pub(crate) list: Vec<NamedRom>,
}

impl RomArgs {
    pub(crate) fn load(&self) -> anyhow::Result<RomSet<'static>> {
        Ok(RomSet::new())
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
        Ok(NewRoms { set: RomSet::new(), list: Vec::new() })
    }
}
