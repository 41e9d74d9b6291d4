//! Hashing and verifying passwords: the value that a server keeps.

mod keys;
mod plan;
#[cfg(feature = "password-hash")]
mod shelf;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use saltern_wipe::Zeroizing;

pub use self::plan::Plan;
#[cfg(feature = "password-hash")]
use self::shelf::WorkspaceCache;

use crate::core::kdf::run;
use crate::core::params::{Mode, Params, block_bytes};
use crate::core::pass::Derivation;
use crate::core::reading::{Reads, RomMasks, RomReading, RomUse};
use crate::core::rom::Rom;
use crate::core::workspace::Workspace;
use crate::error::Error;
use crate::site::encrypt::HashKey;
use crate::site::keys::KeySet;
use crate::site::limits::Limits;
use crate::site::rom_set::RomSet;
use crate::text::HASH;
use crate::text::ascii;
use crate::text::encoding::{HashString, Setting};
use crate::text::roms::NamedRom;

/// Limits, parameters for new hashes, and hash keys and ROMs, if any.
///
/// A hasher is immutable; clones are cheap and share everything. A service that changes its ROMs,
/// keys or costs makes a new hasher from the old one and hashes with it from then on.
///
/// ```
/// use saltern_yescrypt::{Hasher, Params, Workspace};
/// let hasher = Hasher::new().with_params(Params::from_cost(1)?);
/// let mut workspace = Workspace::new(); // one for each thread, kept
/// let stored = hasher.hash(&mut workspace, b"correct horse")?;
/// assert!(hasher.verify(&mut workspace, b"correct horse", &stored)?);
/// assert!(!hasher.verify(&mut workspace, b"battery staple", &stored)?);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Hasher {
    config: Arc<Config>,
    /// For hashes through the traits, which have no workspaces.
    #[cfg(feature = "password-hash")]
    memory: Arc<WorkspaceCache>,
}

#[derive(Clone, Default, Debug)]
struct Config {
    params: Params,
    /// For new hashes.
    named_roms: Vec<NamedRom>,
    limits: Limits,
    keys: KeySet,
    roms: RomSet,
    /// With its mask.
    escrypt_rom: Option<(Rom, u32)>,
}

impl Hasher {
    /// Cost 5 (N = 4096, r = 32: 16 MiB), [`Limits::server`], no key, no ROM.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[cfg(feature = "password-hash")]
    pub(crate) fn memory(&self) -> &WorkspaceCache {
        &self.memory
    }

    fn config(&mut self) -> &mut Config {
        Arc::make_mut(&mut self.config)
    }

    /// Sets the parameters for new hashes. They are checked when hashing, against the same limits
    /// as those of stored hashes.
    #[must_use]
    pub fn with_params(mut self, params: Params) -> Self {
        self.config().params = params;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.config().limits = limits;
        self
    }

    /// Encrypts new hashes with this key and assumes that stored ones are encrypted with it: see
    /// [`KeySet::assume_unnamed`]. Nothing checks the assumption; [`Hasher::with_keys`] takes named
    /// keys.
    #[must_use]
    pub fn assuming_unnamed_key(mut self, key: HashKey) -> Self {
        self.config().keys.assume_unnamed(key);
        self
    }

    /// Sets the named keys; strings contain the name of the key they need. Replaces all others.
    #[must_use]
    pub fn with_keys(mut self, keys: KeySet) -> Self {
        self.config().keys = keys;
        self
    }

    /// Sets the ROM for parameters with NROM; those without are hashed without it. Strings do not
    /// name this ROM: it is assumed ([`RomSet::assume_unnamed`]), and with another ROM of the same
    /// size, right passwords do not match. [`Hasher::with_roms`] takes ROMs with ids.
    #[must_use]
    pub fn with_rom(mut self, rom: Rom) -> Self {
        self.config().roms.assume_unnamed(rom);
        self
    }

    /// Sets the ROMs with their ids; strings contain the id of the ROM they need. Replaces all
    /// others.
    #[must_use]
    pub fn with_roms(mut self, roms: RomSet) -> Self {
        self.config().roms = roms;
        self
    }

    /// Hashes new passwords with this list of ROMs, as
    /// [`derive_with_roms`](crate::rom::derive_with_roms) does, into extended strings. NROM in the
    /// parameters must then be 0.
    #[must_use]
    pub fn with_named_roms(mut self, list: &[NamedRom]) -> Self {
        self.config().named_roms = list.to_vec();
        self
    }

    /// Sets the ROM for `$7X` strings, and its mask. The strings name neither, so it is used for
    /// all of them that have RW (the others never use a ROM); without it, none uses one. Nothing
    /// can check it: if it is damaged, right passwords do not match.
    #[must_use]
    pub fn with_escrypt_rom(mut self, rom: Rom, mask: u32) -> Self {
        self.config().escrypt_rom = Some((rom, mask));
        self
    }

    /// The parameters for new hashes.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.config.params
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// The ROMs, for making a changed copy.
    #[must_use]
    pub fn roms(&self) -> &RomSet {
        &self.config.roms
    }

    /// The setting of a new hash with this salt: `$7$` for classic scrypt; `$y$` wherever that
    /// suffices, preceded by the ROM id and key name that are active, if any; otherwise extended
    /// (for a list of ROMs, or a flavour that `$y$` cannot express).
    ///
    /// # Errors
    /// Those of the limits; those of [`Setting::new`] or [`Setting::extended`];
    /// [`Error::RomNotLoaded`] for a ROM of the list that is not attached;
    /// [`Error::KeyNotApplicable`] for a `$7$` string with a key, or an extended one with an
    /// unnamed key.
    pub fn setting(&self, salt: impl AsRef<[u8]>) -> Result<Setting, Error> {
        let Config { params, named_roms, limits, keys, roms, .. } = &*self.config;
        // Refuse what could not be verified afterwards, before hashing.
        params.check(limits)?;
        let key = keys.active();
        let unnamed = key.is_none() && keys.unnamed().is_some();
        if params.is_plain_scrypt() && named_roms.is_empty() {
            // Such a string names no key, and there is none to encrypt it with.
            if key.is_some() || unnamed {
                return Err(Error::KeyNotApplicable);
            }
            let setting = Setting::scrypt(params, salt)?;
            limits.admit_crypt3(setting.refused_by_crypt())?;
            return Ok(setting);
        }
        if named_roms.is_empty() && params.flags().is_some() {
            let setting = Setting::new(params, salt)?;
            limits.admit_crypt3(setting.refused_by_crypt())?;
            return setting.with_ids(roms.active().filter(|_| params.nrom != 0), key);
        }
        if unnamed {
            return Err(Error::KeyNotApplicable);
        }
        named_roms.iter().try_for_each(|rom| roms.rom(rom.id).map(drop))?;
        Setting::extended(params, named_roms, key, salt)
    }

    /// [`Hasher::setting`] with a random salt of 16 bytes.
    ///
    /// # Errors
    /// [`Error::Random`], and those of [`Hasher::setting`].
    #[cfg(feature = "getrandom")]
    pub fn random_setting(&self) -> Result<Setting, Error> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_| Error::Random)?;
        self.setting(salt)
    }

    /// Hashes a password with a random salt of 16 bytes into a string: see [`Hasher::setting`].
    ///
    /// # Errors
    /// [`Error::Random`], and those of [`Hasher::hash_with_setting`].
    #[cfg(feature = "getrandom")]
    pub fn hash(
        &self,
        workspace: &mut Workspace,
        password: impl AsRef<[u8]>,
    ) -> Result<String, Error> {
        self.hash_new(workspace, password.as_ref(), &self.random_setting()?)
    }

    /// Hashes a password with a given salt of at most 64 bytes into a string. Salts must be unique:
    /// prefer [`Hasher::hash`].
    ///
    /// # Errors
    /// Those of [`Hasher::setting`] and of [`Hasher::hash_with_setting`].
    pub fn hash_with_salt(
        &self,
        workspace: &mut Workspace,
        password: impl AsRef<[u8]>,
        salt: impl AsRef<[u8]>,
    ) -> Result<String, Error> {
        self.hash_new(workspace, password.as_ref(), &self.setting(salt)?)
    }

    /// A hash string under a setting from [`Hasher::setting`], which is always text.
    fn hash_new(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        setting: &Setting,
    ) -> Result<String, Error> {
        self.limits().admit_new_password(password)?;
        let hash = self.compute(workspace, password, setting)?;
        Ok(ascii(self.complete(setting, &hash)?.into_bytes()))
    }

    /// Hashes a password under a setting of any scheme, as crypt(3) does. A complete hash serves as
    /// its own setting.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a string that is no setting; [`Error::InvalidParameter`] or
    /// [`Error::OverLimit`] (and the other refusals of [`Params::check`]) for its parameters;
    /// [`Error::RomUnavailable`] and other `Rom…` if it has ROMs, [`Error::RomNotLoaded`] if it
    /// names one that is not attached, and [`Error::KeyNotLoaded`] a key;
    /// [`Error::KeyNotApplicable`] for a `$7$` or `$7X` setting where there is a key for strings
    /// that name none; [`Error::OutOfMemory`].
    pub fn hash_with_setting(
        &self,
        workspace: &mut Workspace,
        password: impl AsRef<[u8]>,
        setting: impl AsRef<[u8]>,
    ) -> Result<HashString, Error> {
        let setting = Setting::parse(setting)?;
        self.limits().admit_new_password(password.as_ref())?;
        let hash = self.compute(workspace, password.as_ref(), &setting)?;
        self.complete(&setting, &hash)
    }

    /// Whether a password matches a stored hash, compared in constant time.
    ///
    /// # Errors
    /// As [`Hasher::hash_with_setting`]; also [`Error::Malformed`] for a hash that is not exactly
    /// 32 bytes. None of these is a mismatch: the password was not checked.
    pub fn verify(
        &self,
        workspace: &mut Workspace,
        password: impl AsRef<[u8]>,
        hash: impl AsRef<[u8]>,
    ) -> Result<bool, Error> {
        let stored = HashString::parse(hash)?;
        let computed = self.compute(workspace, password.as_ref(), stored.setting())?;
        self.matches(&stored, &computed)
    }

    /// The 32 bytes of a hash, before any encryption.
    fn compute(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        setting: &Setting,
    ) -> Result<Zeroizing<[u8; HASH]>, Error> {
        let Plan { params, salt, roms } = self.admit(password, setting)?;
        let mut hash = Zeroizing::new([0; HASH]);
        let input = Derivation { password, salt: &salt, out: &mut *hash };
        run(&mut [input], &params, &Reads::of(&params, &roms)?, workspace)?;
        Ok(hash)
    }

    /// The inputs of a hash that this process computes.
    fn admit(&self, password: &[u8], setting: &Setting) -> Result<Plan, Error> {
        let plan = self.plan(password, setting)?;
        let Some(at) = plan.roms.iter().position(|used| used.rom.store().is_some()) else {
            return Ok(plan);
        };
        let nrom = plan.roms[at].reading.nrom;
        let id = setting.rom_id().or(setting.roms().get(at).map(|rom| rom.id));
        Err(id.map_or(Error::RomUnavailable { nrom }, |id| Error::RomNotLoaded { id }))
    }

    /// The ROMs that a setting needs.
    fn roms_of(&self, setting: &Setting) -> Result<Vec<RomUse>, Error> {
        let roms = &self.config.roms;
        let nrom = setting.params().nrom;
        if let Some(&NamedRom { reading, .. }) = setting.roms().first()
            && !self.config.limits.rom
        {
            return Err(Error::RomUnavailable { nrom: reading.nrom });
        }
        if let Mode::Escrypt(flags) = setting.params().mode {
            // Without RW nothing can have been hashed with a ROM.
            let rom = self.config.escrypt_rom.as_ref().filter(|_| flags.rw);
            let all = |(rom, mask): &(Rom, u32)| {
                let block = block_bytes(setting.params().r);
                let nrom = rom.size().checked_div(block).unwrap_or_default();
                let reading = RomReading { nrom, masks: RomMasks::escrypt(*mask), look_ahead: 0 };
                RomUse { rom: rom.clone(), reading }
            };
            return Ok(rom.map(all).into_iter().collect());
        }
        if nrom == 0 {
            let find = |named: &NamedRom| {
                Ok(RomUse { rom: roms.rom(named.id)?.clone(), reading: named.reading })
            };
            return setting.roms().iter().map(find).collect();
        }
        let rom = match setting.rom_id() {
            Some(id) => roms.rom(id)?,
            None => roms.unnamed().ok_or(Error::RomUnavailable { nrom })?,
        };
        Ok(alloc::vec![RomUse { rom: rom.clone(), reading: RomReading::new(nrom) }])
    }
}

/// Hashes a password with the defaults of [`Hasher::new`] and a random salt. Allocates 16 MiB for
/// the duration of the call; a program that hashes regularly should keep a [`Workspace`].
///
/// # Errors
/// [`Error::Random`], [`Error::OutOfMemory`], and [`Error::OverLimit`] for a password of more than
/// 511 bytes.
#[cfg(feature = "getrandom")]
pub fn hash(password: impl AsRef<[u8]>) -> Result<String, Error> {
    Hasher::new().hash(&mut Workspace::new(), password)
}

/// Whether a password matches a stored hash of any scheme, under [`Limits::server`].
///
/// # Errors
/// Those of [`Hasher::verify`]: a hash that cannot be computed is an error, never a mismatch.
pub fn verify(password: impl AsRef<[u8]>, hash: impl AsRef<[u8]>) -> Result<bool, Error> {
    Hasher::new().verify(&mut Workspace::new(), password, hash)
}
