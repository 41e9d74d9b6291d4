//! What a pool computes, of either generation.

use zeroize::Zeroizing;

use super::worker::need;
use crate::core::batch::derive_all;
use crate::core::reading::RomUse;
use crate::core::workspace::Workspace;
use crate::escrypt;
use crate::text::encoding::{HashString, Setting};
use crate::{CheckedParams, Derivation, Error, Pages, Rom};

/// The parameters of an item.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Recipe {
    Current(CheckedParams),
    Escrypt(escrypt::CheckedParams),
}

/// A setting or a stored hash of one generation or the other.
pub enum Either<C, E> {
    #[doc(hidden)]
    Current(C),
    #[doc(hidden)]
    Escrypt(E),
}

impl<C, E> Either<C, E> {
    pub(super) fn as_ref(&self) -> Either<&C, &E> {
        match self {
            Either::Current(current) => Either::Current(current),
            Either::Escrypt(escrypt) => Either::Escrypt(escrypt),
        }
    }
}

impl Either<HashString, escrypt::HashString> {
    pub(super) fn setting(&self) -> Either<&Setting, &escrypt::Setting> {
        match self {
            Either::Current(hash) => Either::Current(hash.setting()),
            Either::Escrypt(hash) => Either::Escrypt(hash.setting()),
        }
    }
}

/// The ROMs of an item, likewise.
#[derive(Clone)]
pub(super) enum RomsOf {
    Current(Vec<RomUse>),
    Escrypt(Option<(Rom, u32)>),
}

/// What an item without ROMs has.
pub(super) static NO_ROMS: RomsOf = RomsOf::Current(Vec::new());

impl From<CheckedParams> for Recipe {
    fn from(params: CheckedParams) -> Self {
        Recipe::Current(params)
    }
}

impl Recipe {
    /// How many hashes advance together in one thread.
    pub(super) fn degree(&self) -> usize {
        match self {
            Recipe::Current(params) => params.degree(),
            Recipe::Escrypt(_) => 1,
        }
    }

    /// Bytes that an arena has for so many at once.
    pub(super) fn need(&self, pages: Pages, hashes: usize) -> u64 {
        match self {
            Recipe::Current(params) => need(params, pages, hashes),
            Recipe::Escrypt(params) => Workspace::bytes_for_escrypt(params, pages),
        }
    }

    /// Computes up to [`Recipe::degree`] items with the ROMs of the first.
    pub(super) fn compute(
        &self,
        jobs: &mut [Derivation<'_>],
        roms: &RomsOf,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        match (self, roms) {
            (Recipe::Current(params), RomsOf::Current(roms)) => {
                derive_all(jobs, params, roms, workspace)
            }
            (Recipe::Escrypt(params), RomsOf::Escrypt(rom)) => {
                let rom = rom.as_ref().map(|(rom, mask)| escrypt::Rom::of(rom, *mask));
                let rom = rom.transpose()?;
                jobs.iter_mut().try_for_each(|job| {
                    let rom = rom.as_ref();
                    escrypt::derive(job.password, job.salt, params, rom, workspace, job.out)
                })
            }
            // No item is made like that.
            _ => Err(Error::RomNotUsed),
        }
    }
}

/// The 32 bytes of a hash that no key encrypts.
pub(super) fn plain(hash: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    bytes.copy_from_slice(hash);
    bytes
}
