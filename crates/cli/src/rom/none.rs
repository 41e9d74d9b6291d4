//! Nothing of ROMs, on systems where there is no way to attach them.

use std::convert::Infallible;
use std::marker::PhantomData;

use saltern_yescrypt::{Hasher, Level, NamedRom, Params, PoolConfig, RomSet, Workspace};

use crate::password::Password;

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
    pub(crate) direct: Option<Direct>,
}

/// No ROMs.
pub(crate) struct OldRoms {
    pub(crate) set: RomSet,
    pub(crate) checks: RomChecks,
    pub(crate) direct: Option<Direct>,
}

/// There is none.
pub(crate) enum Direct {}

/// There is none.
pub(crate) enum DirectHasher {}

/// There is none.
pub(crate) struct DirectTicket<T>(Infallible, PhantomData<T>);

impl Direct {
    pub(crate) fn one(self, _: Hasher, _: Option<Level>) -> anyhow::Result<DirectHasher> {
        match self {}
    }

    pub(crate) fn many(self, _: Hasher, _: &PoolConfig) -> anyhow::Result<DirectHasher> {
        match self {}
    }
}

impl DirectHasher {
    pub(crate) fn hash(&self, _: &[u8], _: &[u8]) -> Result<DirectTicket<Vec<u8>>, String> {
        match *self {}
    }

    pub(crate) fn verify(&self, _: &[u8], _: &[u8]) -> Result<DirectTicket<bool>, String> {
        match *self {}
    }
}

impl<T> DirectTicket<T> {
    pub(crate) fn wait(self) -> Result<T, String> {
        match self.0 {}
    }
}

impl RomArgs {
    pub(crate) fn load(&self) -> anyhow::Result<OldRoms> {
        Ok(OldRoms { set: RomSet::new(), checks: RomChecks, direct: None })
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
        Ok(NewRoms { set: RomSet::new(), list: Vec::new(), checks: RomChecks, direct: None })
    }
}
