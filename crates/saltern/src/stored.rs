//! A stored string, parsed once: its prefix and its hash.

use std::sync::Arc;

use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::rom::RomId;
use saltern_yescrypt::{HashString, Scheme as Ours};

use crate::error::Error;
use crate::foreign::{self, Foreign, Setting};
use crate::formats::{self, Kind};
use crate::scheme::Scheme;
use crate::seal::Sealed;

/// A stored string.
pub(crate) struct Stored<'t> {
    /// Marks of a locked account before the seal; empty if there is no seal.
    pub(crate) marks: &'t str,
    /// The key of the seal, which is not checked here.
    pub(crate) sealed_with: Option<KeyId>,
    /// The beginning before the hash of what the seal covers, which is always kept: `!` or `*` of a
    /// locked account, and `{CRYPT}`.
    pub(crate) before: &'t str,
    pub(crate) locked: bool,
    /// `None` only for a locked account without a string after its marks.
    pub(crate) hash: Option<Hash>,
}

/// A stored string whose hash has not been parsed.
pub(crate) struct Parts<'t> {
    pub(crate) marks: &'t str,
    pub(crate) sealed_with: Option<KeyId>,
    /// What the seal covers; without a seal the whole string.
    pub(crate) text: &'t str,
    pub(crate) before: &'t str,
    /// The hash, or what follows the marks of a locked account.
    rest: &'t str,
    pub(crate) locked: bool,
}

/// A complete hash.
#[derive(Clone)]
pub(crate) enum Hash {
    Ours(HashString),
    Foreign(Foreign),
    /// `{over=…}`: our hash over the digest of another one.
    Wrapped(Arc<dyn Setting>, HashString),
}

impl<'t> Stored<'t> {
    /// Parses a string, or one after the marks of a locked account. Text after such marks that is
    /// not a string (`*LK*`, `!!`, Django's `!` and random characters) is ignored, unless it begins
    /// like a string: a damaged string may need a key, and must not be overlooked.
    pub(crate) fn parse(stored: &'t str) -> Result<Self, Error> {
        Self::of(Sealed::parse(stored)?)
    }

    /// What is left of a string once its seal has been looked at.
    pub(crate) fn of(sealed: Sealed<'t>) -> Result<Self, Error> {
        let parts = Parts::of(sealed);
        let Parts { marks, sealed_with, text, mut before, rest, locked } = parts;
        let hash = match Hash::parse(rest) {
            Ok(hash) => Some(hash),
            Err(_) if locked && !rest.starts_with(['$', '{']) => {
                before = text;
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Stored { marks, sealed_with, before, locked, hash })
    }
}

impl<'t> Parts<'t> {
    pub(crate) fn of(sealed: Sealed<'t>) -> Self {
        let Sealed { marks, seal, text } = sealed;
        let (before, rest) = formats::split(text);
        let locked = !marks.is_empty() || formats::is_locked(before);
        Parts { marks, sealed_with: seal.map(|seal| seal.key), text, before, rest, locked }
    }

    /// The hash that a password is compared with.
    pub(crate) fn hash(&self) -> Result<Hash, Error> {
        Hash::parse(self.rest)
    }
}

/// Whether it is that of a locked account, whatever follows the marks.
pub(crate) fn locked(text: &str) -> bool {
    formats::is_locked(formats::split(text).0)
}

impl Hash {
    fn parse(text: &str) -> Result<Self, Error> {
        match formats::kind(text)? {
            Kind::Ours(_, text) => Ok(Hash::Ours(HashString::parse(text)?)),
            Kind::Wrapped { inner, outer } => {
                let outer = HashString::parse(outer)?;
                let around = matches!(outer.setting().scheme(), Ours::Yescrypt | Ours::Extended);
                let inner = foreign::setting(inner);
                if around { Ok(Hash::Wrapped(inner?, outer)) } else { Err(formats::UNCLOSED) }
            }
            Kind::Foreign(known, text) => {
                if let Some(scheme) = known.scheme.filter(|one| one.missing_feature().is_some()) {
                    return Err(Error::NotAccepted { scheme });
                }
                let (known, text) = formats::plain(known, text)?;
                if known.scheme.is_some_and(Scheme::is_ours) {
                    return Ok(Hash::Ours(HashString::parse(&*text)?));
                }
                let expected = "a complete string of this scheme";
                let parsed = Foreign::parse(&text);
                let parsed = parsed.unwrap_or(Err(Error::malformed(known.name, expected)));
                parsed.map(Hash::Foreign)
            }
            Kind::Shadowed => {
                let expected = "the string itself; `x` means that it is in the shadow file";
                Err(Error::malformed("stored string", expected))
            }
            Kind::Empty | Kind::Locked => Err(Error::malformed("stored string", "a hash")),
        }
    }

    /// Its scheme; for a wrapped hash, that of the hash within.
    pub(crate) fn scheme(&self) -> Scheme {
        match self {
            Hash::Ours(hash) => match hash.setting().scheme() {
                Ours::Scrypt | Ours::ScryptPhc => Scheme::Scrypt,
                Ours::Escrypt => Scheme::Escrypt,
                _ => Scheme::Yescrypt,
            },
            Hash::Foreign(foreign) => foreign.setting.scheme(),
            Hash::Wrapped(inner, _) => inner.scheme(),
        }
    }

    /// The yescrypt or scrypt string in it.
    pub(crate) fn ours(&self) -> Option<&HashString> {
        match self {
            Hash::Ours(hash) | Hash::Wrapped(_, hash) => Some(hash),
            Hash::Foreign(_) => None,
        }
    }

    /// The setting of another scheme in it.
    pub(crate) fn foreign(&self) -> Option<&Arc<dyn Setting>> {
        match self {
            Hash::Foreign(Foreign { setting, .. }) | Hash::Wrapped(setting, _) => Some(setting),
            Hash::Ours(_) => None,
        }
    }

    /// Bytes of memory that its computation takes; for a wrapped hash, the larger of both.
    pub(crate) fn memory(&self) -> u64 {
        let ours = self.ours().map_or(0, |ours| ours.setting().params().memory());
        let foreign = self.foreign().map_or(0, |setting| setting.cost(0).memory);
        u64::try_from(ours).unwrap_or(u64::MAX).max(foreign)
    }

    /// Its scheme, and the bytes of memory that one verification takes.
    pub(crate) fn cost(&self) -> (Scheme, u64) {
        (self.scheme(), self.memory())
    }

    /// The name of the key that it is encrypted with.
    pub(crate) fn key(&self) -> Option<KeyId> {
        self.ours()?.setting().key_id()
    }

    /// The ids of the ROMs that it names.
    pub(crate) fn roms(&self) -> Vec<RomId> {
        let Some(setting) = self.ours().map(HashString::setting) else { return Vec::new() };
        setting.rom_id().into_iter().chain(setting.roms().iter().map(|rom| rom.id)).collect()
    }

    /// Whether it needs a ROM and does not name it.
    pub(crate) fn needs_unnamed_rom(&self) -> bool {
        let setting = self.ours().map(HashString::setting);
        setting.is_some_and(|setting| setting.reads_rom() && !setting.names_rom())
    }

    /// Bytes of its salt; for a wrapped hash, that of the outer hash.
    pub(crate) fn salt(&self) -> usize {
        match self {
            Hash::Ours(ours) | Hash::Wrapped(_, ours) => ours.setting().salt().len(),
            Hash::Foreign(foreign) => foreign.setting.salt(),
        }
    }

    /// This string with another yescrypt string in it.
    pub(crate) fn with_ours(&self, ours: &str) -> String {
        match self {
            Hash::Wrapped(inner, _) => wrapped(&**inner, ours),
            Hash::Ours(_) | Hash::Foreign(_) => ours.to_owned(),
        }
    }
}

/// Our hash over a digest of this setting.
pub(crate) fn wrapped(inner: &dyn Setting, ours: &str) -> String {
    format!("{}{inner}}}{ours}", formats::OVER)
}
