//! Hashing and verifying passwords: what a server holds.

use alloc::string::String;
use alloc::vec::Vec;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::encoding::{HASH, HashString, Scheme, Setting};
use crate::encrypt::HashKey;
use crate::escrypt;
use crate::kdf::derive;
use crate::rom::Rom;
use crate::workspace::Workspace;
use crate::{CheckedParams, Error, Limits, Params};

/// Limits, parameters for new hashes, and, where there are any, the hash key and the ROM.
///
/// ```
/// use saltern_yescrypt::{Hasher, Params, Workspace};
/// let hasher = Hasher::new().with_params(Params::from_cost(1)?);
/// let mut workspace = Workspace::new(); // one for each thread, kept
/// let stored = hasher.hash(&mut workspace, b"correct horse")?;
/// assert!(hasher.verify(&mut workspace, b"correct horse", stored.as_bytes())?);
/// assert!(!hasher.verify(&mut workspace, b"battery staple", stored.as_bytes())?);
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hasher<'a> {
    params: Params,
    limits: Limits,
    key: Option<HashKey>,
    rom: Option<Rom<'a>>,
    escrypt_rom: Option<escrypt::Rom<'a>>,
}

impl<'a> Hasher<'a> {
    /// Cost 5 (N = 4096, r = 32: 16 MiB), [`Limits::server`], no key, no ROM.
    #[must_use]
    pub fn new() -> Self {
        let params = Params::default();
        Hasher { params, limits: Limits::server(), key: None, rom: None, escrypt_rom: None }
    }

    /// Other parameters for new hashes. They are checked when hashing, by the same limits as those of stored hashes.
    #[must_use]
    pub fn with_params(mut self, params: Params) -> Self {
        self.params = params;
        self
    }

    /// Other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Encrypt new hashes with this key, and take stored ones to be encrypted with it.
    #[must_use]
    pub fn with_key(mut self, key: HashKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The ROM for parameters that name one. Those that name none are hashed without it.
    #[must_use]
    pub fn with_rom(mut self, rom: Rom<'a>) -> Self {
        self.rom = Some(rom);
        self
    }

    /// The ROM for `$7X` strings, and its mask: they name neither, so it serves all of them, and without it none has one.
    #[must_use]
    pub fn with_escrypt_rom(mut self, rom: escrypt::Rom<'a>) -> Self {
        self.escrypt_rom = Some(rom);
        self
    }

    /// The parameters for new hashes.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Hashes a password with a random salt of 16 bytes into a `$y$` string.
    ///
    /// # Errors
    /// [`Error::Random`], and those of [`Hasher::hash_with_setting`].
    #[cfg(feature = "getrandom")]
    pub fn hash(&self, workspace: &mut Workspace, password: &[u8]) -> Result<String, Error> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_| Error::Random)?;
        self.hash_with_salt(workspace, password, &salt)
    }

    /// Hashes a password with a given salt of at most 64 bytes into a `$y$` string. Salts have to be unique: prefer [`Hasher::hash`].
    ///
    /// # Errors
    /// Those of [`Setting::new`] and of [`Hasher::hash_with_setting`].
    pub fn hash_with_salt(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        salt: &[u8],
    ) -> Result<String, Error> {
        // Refuse before hashing what could not be verified afterwards.
        self.params.check(&self.limits)?;
        let setting = Setting::new(&self.params, salt)?;
        let hash = self.compute(workspace, password, &setting)?;
        Ok(crate::encoding::ascii(setting.with_hash(&hash)))
    }

    /// What crypt(3) does: hashes a password under a setting, `$y$` or `$7$` (or `$7X`, see [`escrypt`]), and returns the complete string. A complete
    /// hash serves as its own setting.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a string that is no setting; [`Error::InvalidParameter`] or [`Error::OverLimit`] (and the other refusals
    /// of [`Params::check`]) for its parameters; [`Error::RomUnavailable`] and other `Rom…` if it names a ROM; [`Error::KeyNotApplicable`] for a `$7$` or `$7X` setting
    /// where there is a key; [`Error::OutOfMemory`].
    pub fn hash_with_setting(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        setting: &[u8],
    ) -> Result<Vec<u8>, Error> {
        if escrypt::is_escrypt(setting) {
            let setting = escrypt::Setting::parse(setting)?;
            let hash = self.compute_escrypt(workspace, password, &setting)?;
            return Ok(setting.with_hash(&hash));
        }
        let setting = Setting::parse(setting)?;
        let hash = self.compute(workspace, password, &setting)?;
        Ok(setting.with_hash(&hash))
    }

    /// Whether a password matches a stored hash, compared in constant time.
    ///
    /// # Errors
    /// As [`Hasher::hash_with_setting`]; also [`Error::Malformed`] for a hash that is not exactly 32 bytes. None of these is a mismatch: the
    /// password was not tried.
    pub fn verify(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        hash: &[u8],
    ) -> Result<bool, Error> {
        if escrypt::is_escrypt(hash) {
            let stored = escrypt::HashString::parse(hash)?;
            let computed = self.compute_escrypt(workspace, password, stored.setting())?;
            return Ok(computed.ct_eq(stored.hash()).into());
        }
        let stored = HashString::parse(hash)?;
        let computed = self.compute(workspace, password, stored.setting())?;
        Ok(computed.ct_eq(stored.hash()).into())
    }

    /// The 32 bytes of a hash, encrypted if there is a key.
    fn compute(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        setting: &Setting,
    ) -> Result<Zeroizing<[u8; HASH]>, Error> {
        let (params, salt) = self.admit(password, setting)?;
        let rom = self.rom_for(setting.params());
        let mut hash = Zeroizing::new([0; HASH]);
        derive(password, &salt, &params, rom, workspace, &mut *hash)?;
        Ok(self.seal(hash))
    }

    /// The 32 bytes of a hash of the older generation.
    fn compute_escrypt(
        &self,
        workspace: &mut Workspace,
        password: &[u8],
        setting: &escrypt::Setting,
    ) -> Result<Zeroizing<[u8; HASH]>, Error> {
        self.limits.admit_password(password)?;
        self.limits.admit_output(HASH as u64)?;
        let params = setting.params().check(&self.limits)?;
        if self.key.is_some() {
            return Err(Error::KeyNotApplicable);
        }
        let mut hash = Zeroizing::new([0; HASH]);
        let rom = self.escrypt_rom.as_ref();
        escrypt::derive(password, setting.salt(), &params, rom, workspace, &mut *hash)?;
        Ok(hash)
    }

    /// Decides whether a hash may be computed; its parameters, and its salt as it goes into the KDF.
    pub(crate) fn admit(
        &self,
        password: &[u8],
        setting: &Setting,
    ) -> Result<(CheckedParams, Zeroizing<Vec<u8>>), Error> {
        self.limits.admit_password(password)?;
        self.limits.admit_output(HASH as u64)?;
        let params = setting.params().check(&self.limits)?;
        let mut salt = Zeroizing::new(setting.salt().to_vec());
        if let Some(key) = &self.key {
            if setting.scheme() != Scheme::Yescrypt {
                return Err(Error::KeyNotApplicable);
            }
            key.encrypt(&mut salt);
        }
        Ok((params, salt))
    }

    /// The ROM, for parameters that name one.
    pub(crate) fn rom_for(&self, params: &Params) -> Option<&Rom<'a>> {
        self.rom.as_ref().filter(|_| params.nrom != 0)
    }

    /// Encrypts a computed hash if there is a key.
    pub(crate) fn seal(&self, mut hash: Zeroizing<[u8; HASH]>) -> Zeroizing<[u8; HASH]> {
        if let Some(key) = &self.key {
            key.encrypt(&mut *hash);
        }
        hash
    }
}

impl Default for Hasher<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Hashes a password with the defaults of [`Hasher::new`] and a random salt. Allocates 16 MiB for the time of the call: a
/// program that hashes more than now and then keeps a [`Workspace`].
///
/// # Errors
/// [`Error::Random`], [`Error::OutOfMemory`], and [`Error::OverLimit`] for a password of more than 4096 bytes.
#[cfg(feature = "getrandom")]
pub fn hash(password: &[u8]) -> Result<String, Error> {
    Hasher::new().hash(&mut Workspace::new(), password)
}

/// Whether a password matches a stored `$y$`, `$7$` or `$7X` hash, under [`Limits::server`].
///
/// # Errors
/// Those of [`Hasher::verify`]: a hash that cannot be computed is an error, never a mismatch.
pub fn verify(password: &[u8], hash: &str) -> Result<bool, Error> {
    Hasher::new().verify(&mut Workspace::new(), password, hash.as_bytes())
}
