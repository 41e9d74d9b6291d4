//! Passwords and strings, for an engine.

use std::fmt;
use std::sync::Arc;

use saltern_yescrypt::{
    Error as Core, HashString, Hasher, Plan, RomReading, RomSet, RomUse, Setting,
};
use zeroize::Zeroizing;

use super::rom::Loaded;
use super::{EngineError, EngineTicket, Input, SsdEngine, Work, WorkRom};

/// Bytes of the hash in a string.
const HASH: usize = 32;

/// Hashes and verifies passwords with ROMs that stay in their files: a [`Hasher`] whose strings an [`SsdEngine`] computes.
///
/// The hasher has the limits, the keys, the parameters of new strings and the names of the ROMs, as [`SsdEngine::rom_set`] makes them; strings are those
/// that it makes with the same ROMs in memory.
///
/// ```
/// use saltern_rom::{Create, EngineConfig, RomFile, Seed, SsdEngine, SsdHasher};
/// use saltern_yescrypt::{Hasher, Params, RomParams};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("site.rom");
/// let seed = Seed::from_bytes(b"not a seed for real use")?;
/// Create::new(RomParams::new(64, 32, 1), &seed).file(&path)?;
/// let rom = RomFile::open(&path, None)?;
/// let id = rom.id();
/// let engine = SsdEngine::new(&EngineConfig::default(), vec![rom.into()])?;
/// let mut roms = engine.rom_set();
/// roms.activate(id)?; // for new strings
/// let mut params = Params::yescrypt(64, 32);
/// params.nrom = 64;
/// let hasher = SsdHasher::new(Hasher::new().with_params(params).with_roms(roms), engine);
///
/// let stored = hasher.hash(["correct horse"])?.wait().remove(0)?;
/// assert!(stored.starts_with(format!("{{rom={id}}}$y$").as_bytes()));
/// let answers = hasher.verify([("correct horse", &stored), ("battery staple", &stored)])?.wait();
/// assert!(answers[0].as_ref().is_ok_and(|matches| *matches));
/// assert!(answers[1].as_ref().is_ok_and(|matches| !*matches));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors of items
/// Each item has its own answer. What [`Hasher::plan`] refuses, [`EngineError::Memory`], and whatever [`SsdEngine::derive`] says of ROMs is told there; a
/// ROM that the engine does not have is [`RomNotLoaded`](Core::RomNotLoaded), one that cannot be read
/// [`EngineError::RomUnavailable`]. None of these is a mismatch.
#[derive(Debug)]
pub struct SsdHasher {
    hasher: Arc<Hasher>,
    engine: SsdEngine,
}

impl SsdEngine {
    /// The names of its ROMs, as a [`Hasher`] needs them to make strings and to understand them.
    #[must_use]
    pub fn rom_set(&self) -> RomSet {
        let mut set = RomSet::new();
        for rom in self.shared.roms.iter() {
            // The same ROM twice is one.
            let _ = set.attach(rom.id(), rom.rom().clone());
        }
        set
    }
}

impl SsdHasher {
    /// From both.
    #[must_use]
    pub fn new(hasher: Hasher, engine: SsdEngine) -> Self {
        SsdHasher { hasher: Arc::new(hasher), engine }
    }

    /// The hasher, for settings and for what is outdated.
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// The engine, for what it has done.
    #[must_use]
    pub fn engine(&self) -> &SsdEngine {
        &self.engine
    }

    /// Hashes passwords with random salts of 16 bytes into strings, as [`Hasher::hash`].
    ///
    /// # Errors
    /// [`Random`](Core::Random), [`Overloaded`](Core::Overloaded), [`Forked`](Core::Forked); those of [`Hasher::setting`].
    pub fn hash<P: AsRef<[u8]>>(
        &self,
        passwords: impl IntoIterator<Item = P>,
    ) -> Result<SsdTicket<Vec<u8>>, EngineError> {
        let setting = || {
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|_| Core::Random)?;
            self.hasher.setting(&salt)
        };
        let items = passwords.into_iter().map(|password| Ok((password, setting()?)));
        let items: Result<Vec<_>, Core> = items.collect();
        self.texts(items?.into_iter().map(|(password, setting)| (password, Ok(setting))))
    }

    /// Hashes passwords under settings, as [`Hasher::hash_with_setting`].
    ///
    /// # Errors
    /// [`Overloaded`](Core::Overloaded), [`Forked`](Core::Forked).
    pub fn hash_with_settings<P: AsRef<[u8]>, S: AsRef<[u8]>>(
        &self,
        items: impl IntoIterator<Item = (P, S)>,
    ) -> Result<SsdTicket<Vec<u8>>, EngineError> {
        let parsed = |(password, setting): (P, S)| {
            (password, Setting::parse(setting.as_ref()).map_err(EngineError::from))
        };
        self.texts(items.into_iter().map(parsed))
    }

    fn texts<P: AsRef<[u8]>>(
        &self,
        items: impl Iterator<Item = (P, Result<Setting, EngineError>)>,
    ) -> Result<SsdTicket<Vec<u8>>, EngineError> {
        let complete =
            |hasher: &Hasher, setting: &Setting, hash: &[u8; HASH]| hasher.complete(setting, hash);
        self.submit(items, |setting| setting, complete)
    }

    /// Verifies passwords against stored strings of any parameters, as [`Hasher::verify`].
    ///
    /// # Errors
    /// [`Overloaded`](Core::Overloaded), [`Forked`](Core::Forked).
    pub fn verify<P: AsRef<[u8]>, H: AsRef<[u8]>>(
        &self,
        items: impl IntoIterator<Item = (P, H)>,
    ) -> Result<SsdTicket<bool>, EngineError> {
        let parsed = |(password, hash): (P, H)| {
            (password, HashString::parse(hash.as_ref()).map_err(EngineError::from))
        };
        let matches =
            |hasher: &Hasher, stored: &HashString, hash: &[u8; HASH]| hasher.matches(stored, hash);
        self.submit(items.into_iter().map(parsed), HashString::setting, matches)
    }

    /// Computes what can be computed; `finish` makes an answer of a string and the bytes that belong to it.
    fn submit<P: AsRef<[u8]>, S: Send + 'static, T>(
        &self,
        items: impl Iterator<Item = (P, Result<S, EngineError>)>,
        setting: impl Fn(&S) -> &Setting,
        finish: impl Fn(&Hasher, &S, &[u8; HASH]) -> Result<T, Core> + Send + 'static,
    ) -> Result<SsdTicket<T>, EngineError> {
        let (mut inputs, mut strings, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (password, string)) in items.enumerate() {
            let input = string.and_then(|string| {
                let input = self.input(index, password.as_ref(), setting(&string))?;
                Ok((input, string))
            });
            match input {
                Ok((input, string)) => {
                    inputs.push(input);
                    strings.push(Some(string));
                }
                Err(error) => {
                    refused.push((index, error));
                    strings.push(None);
                }
            }
        }
        let (count, hasher) = (strings.len(), Arc::clone(&self.hasher));
        let computed = self.engine.submit(inputs.into_iter())?;
        let finish = Box::new(move |index: usize, hash: &[u8; HASH]| match &strings[index] {
            Some(string) => finish(&hasher, string, hash),
            None => Err(Core::Cancelled),
        });
        Ok(SsdTicket { count, refused, computed, finish })
    }

    /// What the engine is to compute for a string.
    fn input(
        &self,
        index: usize,
        password: &[u8],
        setting: &Setting,
    ) -> Result<Input, EngineError> {
        let Plan { params, salt, roms, .. } = self.hasher.plan(password, setting)?;
        let rom = |RomUse { rom, reading }: &RomUse| {
            let &RomReading { nrom, masks, look_ahead } = reading;
            let same = |known: &Loaded| known.rom().digest() == rom.digest();
            let rom = self.engine.shared.roms.iter().position(same);
            let rom = rom.ok_or(Core::RomUnavailable { nrom })?;
            Ok(WorkRom { rom, nrom, masks, look_ahead })
        };
        let roms: Result<Vec<_>, Core> = roms.iter().map(rom).collect();
        let work = Work { params, roms: roms?, len: HASH };
        self.engine.check(&work)?;
        Ok((index, Arc::new(work), Zeroizing::new(password.to_vec()), salt))
    }
}

/// A batch of strings that an engine is working on. Dropping it cancels nothing.
pub struct SsdTicket<T> {
    count: usize,
    refused: Vec<(usize, EngineError)>,
    computed: EngineTicket,
    finish: Finish<T>,
}

type Finish<T> = Box<dyn Fn(usize, &[u8; HASH]) -> Result<T, Core> + Send>;

impl<T> SsdTicket<T> {
    /// Waits for all items; answers are in their order.
    #[must_use]
    pub fn wait(self) -> Vec<Result<T, EngineError>> {
        let mut all: Vec<_> = (0..self.count).map(|_| Err(Core::Cancelled.into())).collect();
        for (index, answer) in self {
            all[index] = answer;
        }
        all
    }
}

/// Items as they are finished, in any order, those that were refused first: their places in the batch and their answers.
impl<T> Iterator for SsdTicket<T> {
    type Item = (usize, Result<T, EngineError>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((index, error)) = self.refused.pop() {
            return Some((index, Err(error)));
        }
        let (index, answer) = self.computed.next()?;
        let answer = answer.and_then(|bytes| {
            let mut hash = Zeroizing::new([0; HASH]);
            hash.copy_from_slice(&bytes);
            Ok((self.finish)(index, &hash)?)
        });
        Some((index, answer))
    }
}

impl<T> fmt::Debug for SsdTicket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SsdTicket {{ {} items }}", self.count)
    }
}
