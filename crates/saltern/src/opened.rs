//! A policy whose files have been read: keys, ROMs, and the form of new hashes.

use std::sync::Arc;

use saltern_pool::Error as PoolError;
#[cfg(feature = "rom")]
use saltern_rom::OpenRoms;
use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::rom::{RomId, RomSet};
use saltern_yescrypt::{Hasher, Limits, Params};

use crate::error::Error;
use crate::policy::{Policy, RomSource, SiteRom, key_set};
use crate::rehash::{ActiveRom, NewHashForm, Reasons};
use crate::scheme::Scheme;
use crate::seal::Sealed;
use crate::seal_keys::SealKeys;
use crate::signer_key::SignerKey;
use crate::stored::{Hash, Stored};
use crate::strength::Strength;

/// A policy whose files have been read.
pub(crate) struct OpenedPolicy {
    pub(crate) policy: Policy,
    /// With the keys, and with the ROMs if they were attached.
    pub(crate) hasher: Arc<Hasher>,
    /// The same for what wrapped strings are made of: a digest is no password, and is longer than
    /// some policies allow for those.
    pub(crate) over_digests: Arc<Hasher>,
    pub(crate) target: NewHashForm,
    pub(crate) seals: SealKeys,
    firebase: Option<(KeyId, SignerKey)>,
    /// Those from images, once they are attached.
    #[cfg(feature = "rom")]
    pub(crate) roms: OpenRoms,
    /// Remarks for the operator.
    pub(crate) notes: Vec<String>,
}

impl OpenedPolicy {
    /// Reads the keys, and the manifest of the active ROM.
    pub(crate) fn open(policy: &Policy) -> Result<Self, Error> {
        policy.check()?;
        let mut notes = Vec::new();
        let keys = key_set(&policy.keys, policy.assume_unnamed_key.as_ref(), &mut notes)?;
        let seals = SealKeys::open(&policy.seal.keys, &mut notes)?;
        let firebase =
            policy.firebase.as_ref().map(|project| project.open(&mut notes)).transpose()?;
        // One file may hold several of the keys.
        notes.dedup();
        let active = policy.roms.iter().find(|rom| rom.active).map(measure).transpose()?;
        let mut params = policy.params;
        if let Some(rom) = active {
            let why = format!("its size is not a power of two of blocks of r = {}", params.r);
            let blocks = rom.blocks(params.r);
            params.nrom = blocks.ok_or_else(|| Error::unavailable(named(rom.id), why))?;
        }
        let target = NewHashForm {
            params,
            floor: Strength::of_params(&policy.floor),
            min_salt: policy.min_salt,
            replace: policy.replace.clone(),
            key: keys.active(),
            assumes_key: policy.assume_unnamed_key.is_some(),
            rom: active,
        };
        let hasher = Hasher::new().with_params(params).with_limits(policy.limits.clone());
        let hasher = Arc::new(hasher.with_keys(keys));
        Ok(OpenedPolicy {
            policy: policy.clone(),
            over_digests: over_digests(&hasher),
            hasher,
            target,
            seals,
            firebase,
            #[cfg(feature = "rom")]
            roms: OpenRoms::default(),
            notes,
        })
    }

    /// Attaches the ROMs as well. Those that a present site has in memory are taken from there.
    pub(crate) fn attach(policy: &Policy, present: Option<&OpenedPolicy>) -> Result<Self, Error> {
        let mut opened = Self::open(policy)?;
        let mut set = RomSet::new();
        for rom in &policy.roms {
            let held = attach(rom, &mut opened, present)?;
            if policy.assume_unnamed_rom == Some(rom.id) {
                set.assume_unnamed(held.clone());
            }
            set.attach(rom.id, held)?;
            if rom.active {
                set.activate(rom.id)?;
            }
        }
        opened.hasher = Arc::new(Arc::unwrap_or_clone(opened.hasher).with_roms(set));
        opened.over_digests = over_digests(&opened.hasher);
        #[cfg(feature = "rom")]
        opened.notes.extend_from_slice(opened.roms.notes());
        // Anything refused now would be refused at every login.
        opened.hasher.setting([0; 16])?;
        Ok(opened)
    }
}

#[cfg(feature = "rom")]
impl OpenedPolicy {
    /// A ROM of a new policy, if it is in memory here, from the same image with the same access.
    fn held(&self, rom: &SiteRom) -> Option<Arc<saltern_rom::Attached>> {
        let RomSource::Image { path, hash, access } = &rom.source else { return None };
        let same = |other: &&SiteRom| {
            matches!(&other.source, RomSource::Image { path: of, hash: with, access: by }
                if (of, with, by) == (path, hash, access))
        };
        self.policy.roms.iter().find(same)?;
        self.roms.in_memory().iter().find(|attached| attached.manifest().hash == *hash).cloned()
    }
}

/// The replacement for a stored string after a match.
pub(crate) enum Replacement {
    /// The same hash under another key.
    Rekeyed(String),
    /// A new hash with these parameters.
    Hashed(Params),
}

impl OpenedPolicy {
    /// Reads the manifests that [`OpenedPolicy::open`] does not: those of inactive ROMs.
    pub(crate) fn check_inactive(&self) -> Result<(), Error> {
        let mut inactive = self.policy.roms.iter().filter(|rom| !rom.active);
        inactive.try_for_each(|rom| measure(rom).map(drop))
    }

    /// The hash with what a password is compared with: a digest of Firebase without the signer key
    /// that encrypts it.
    pub(crate) fn unsigned(&self, hash: Hash) -> Result<Hash, Error> {
        let Hash::Foreign(foreign) = hash else { return Ok(hash) };
        let Some(id) = foreign.signed_with else { return Ok(Hash::Foreign(foreign)) };
        let known = self.firebase.as_ref().filter(|(known, _)| *known == id);
        let unknown = || Error::unavailable(format!("the signer key {id}"), "the policy lacks it");
        let without = foreign.without(&known.ok_or_else(unknown)?.1);
        let why = "the signer key could not be applied";
        without.map(Hash::Foreign).ok_or(Error::Failed { scheme: Scheme::Firebase, why })
    }

    /// Whether a hash can be computed here, as far as that is known in advance. Only libcrypt knows
    /// what it refuses, so it is asked.
    pub(crate) fn can_compute(&self, hash: &Hash) -> Result<(), Error> {
        if let Some(setting) = hash.foreign()
            && setting.scheme() == Scheme::Libcrypt
        {
            setting.compute(b"")?;
        }
        self.unsigned(hash.clone())?;
        if let Some(ours) = hash.ours() {
            self.hasher.plan([], ours.setting())?;
        }
        Ok(())
    }

    /// Whether a hash could be computed once ROMs are attached: one of the policy counts as
    /// attached.
    pub(crate) fn could_compute(&self, hash: &Hash) -> Result<(), Error> {
        use saltern_yescrypt::Error::{RomNotLoaded, RomUnavailable};
        let assumed = self.policy.assume_unnamed_rom.is_some();
        let known = |id: RomId| self.policy.roms.iter().any(|rom| rom.id == id);
        match self.can_compute(hash) {
            Err(Error::Pool(PoolError::Hash(RomUnavailable { .. }))) if assumed => Ok(()),
            Err(Error::Pool(PoolError::Hash(RomNotLoaded { .. })))
                if hash.roms().into_iter().all(known) =>
            {
                Ok(())
            }
            result => result,
        }
    }

    /// Checks that a string is the one sealed for this account, before anything else is read of it,
    /// and that it is sealed at all if that is required.
    pub(crate) fn check_seal<'t>(
        &self,
        account: Option<&[u8]>,
        stored: &'t str,
    ) -> Result<Sealed<'t>, Error> {
        let unsealed = Error::Tampered { why: "it has no seal, which the policy requires" };
        let required = self.policy.seal.required;
        let sealed = match Sealed::parse(stored) {
            // What is not spelled like a seal is none.
            Err(_) if required => return Err(unsealed),
            parsed => parsed?,
        };
        let is_mark = || Stored::parse(stored).is_ok_and(|stored| stored.hash.is_none());
        match self.seals.check(account, &sealed)? || !required || is_mark() {
            true => Ok(sealed),
            false => Err(unsealed),
        }
    }

    /// The ways in which a stored string differs from a new one, by the key of its seal and its
    /// hash.
    pub(crate) fn reasons(&self, sealed_with: Option<KeyId>, hash: &Hash) -> Reasons {
        let seal = sealed_with != self.seals.active();
        Reasons { seal, ..self.target.reasons(hash) }
    }

    /// A text in the form of new strings: sealed if a key is active, and the account is known or a
    /// seal required.
    pub(crate) fn dressed(
        &self,
        account: Option<&[u8]>,
        marks: &str,
        text: &str,
    ) -> Result<String, Error> {
        match account {
            None if !self.policy.seal.required => Ok(format!("{marks}{text}")),
            account => self.seals.dress(account, marks, text),
        }
    }

    /// The string of a new hash, up to its salt.
    pub(crate) fn new_setting(&self) -> Result<String, Error> {
        let setting = self.hasher.setting([0; 16])?;
        // The id of the ROM, which is missing while the ROM is not attached.
        let setting = setting.with_ids(self.target.rom.map(|rom| rom.id), setting.key_id())?;
        Ok(String::from_utf8_lossy(setting.as_bytes()).into_owned())
    }

    /// The replacement for a hash after a match, if it is outdated.
    pub(crate) fn successor(
        &self,
        hash: &Hash,
        outdated: Reasons,
    ) -> Result<Option<Replacement>, Error> {
        match self.target.successor(hash, outdated) {
            Some(params) => Ok(Some(Replacement::Hashed(params))),
            None => Ok(self.rekeyed(hash)?.map(Replacement::Rekeyed)),
        }
    }

    /// The same hash under the active key, or under none if none is active; `None` if it already
    /// is, or if it cannot be encrypted.
    pub(crate) fn rekeyed(&self, hash: &Hash) -> Result<Option<String>, Error> {
        let Some(ours) = hash.ours().filter(|ours| self.target.other_key(ours)) else {
            return Ok(None);
        };
        let ours = match self.target.key {
            Some(_) => self.hasher.rekey(ours)?,
            None => self.hasher.without_key(ours)?,
        };
        Ok(Some(hash.with_ours(&ours)))
    }
}

fn over_digests(hasher: &Hasher) -> Arc<Hasher> {
    let mut limits = hasher.limits().clone();
    limits.max_password = limits.max_password.max(Limits::server().max_password);
    Arc::new(hasher.clone().with_limits(limits))
}

fn named(id: RomId) -> String {
    format!("the ROM {id}")
}

/// The size of a ROM.
fn measure(rom: &SiteRom) -> Result<ActiveRom, Error> {
    let size = match &rom.source {
        RomSource::Value(value) => value.size(),
        #[cfg(feature = "rom")]
        RomSource::Image { path, hash, .. } => {
            let what = || named(rom.id);
            let manifest = saltern_rom::Manifest::read(path);
            let manifest = manifest.map_err(|error| Error::unavailable(what(), error))?;
            if manifest.hash != *hash {
                let why = format!("{} holds the ROM {}", path.display(), manifest.hash);
                return Err(Error::unavailable(what(), why));
            }
            manifest.size()
        }
    };
    Ok(ActiveRom { id: rom.id, size })
}

/// The ROM itself.
#[cfg_attr(not(feature = "rom"), allow(clippy::unnecessary_wraps, unused_variables))]
fn attach(
    rom: &SiteRom,
    opened: &mut OpenedPolicy,
    present: Option<&OpenedPolicy>,
) -> Result<saltern_yescrypt::rom::Rom, Error> {
    match &rom.source {
        RomSource::Value(value) => Ok(value.clone()),
        #[cfg(feature = "rom")]
        RomSource::Image { path, hash, access } => {
            use saltern_rom::OpenRom;
            let unavailable = |error| Error::unavailable(named(rom.id), error);
            let held = present.and_then(|present| present.held(rom));
            let open = match held {
                Some(held) => OpenRom::from(held),
                None => OpenRom::open(path, *access, Some(*hash)).map_err(unavailable)?,
            };
            opened.roms.add(&open).map_err(unavailable)
        }
    }
}
