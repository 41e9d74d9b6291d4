//! A stored string, parsed once: what is before it, and what it is.

use std::sync::Arc;

use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::rom::RomId;
use saltern_yescrypt::{HashString, Scheme as Ours};

use crate::error::Error;
use crate::foreign::{self, Foreign, Setting};
use crate::scheme::Scheme;

/// What stands in the place of a stored string.
#[derive(Clone)]
pub(crate) struct Stored<'t> {
    /// What is before the string and stays where it is: `!` or `*` of a locked account, and
    /// `{CRYPT}`.
    pub(crate) before: &'t str,
    pub(crate) locked: bool,
    /// `None` only for a locked account whose marks have no string after them.
    pub(crate) hash: Option<Hash>,
}

/// A complete hash.
#[derive(Clone)]
pub(crate) enum Hash {
    Ours(HashString),
    Foreign(Foreign),
    /// `{over=…}`: our hash over the digest of another one.
    Wrapped(Arc<dyn Setting>, HashString),
}

/// What begins a wrapped one.
const OVER: &str = "{over=";
/// What LDAP writes before strings of crypt(3).
const CRYPT: &str = "{CRYPT}";

/// The marks of a locked account: any number of them, before or after `{CRYPT}`.
const MARKS: [char; 2] = ['!', '*'];

impl<'t> Stored<'t> {
    /// A string, or one behind the marks of a locked account. What follows such marks and is no
    /// string (`*LK*`, `!!`, Django's `!` and random characters) is none, unless it begins as one
    /// does: a damaged string may need a key, and is not to be overlooked.
    pub(crate) fn parse(text: &'t str) -> Result<Self, Error> {
        let (before, rest) = split(text);
        let locked = before.contains(MARKS);
        match Hash::parse(rest) {
            Ok(hash) => Ok(Stored { before, locked, hash: Some(hash) }),
            Err(_) if locked && !rest.starts_with(['$', '{']) => {
                Ok(Stored { before: text, locked, hash: None })
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether it is that of a locked account, whatever follows.
pub(crate) fn locked(text: &str) -> bool {
    split(text).0.contains(MARKS)
}

/// What is before a string, and the string.
fn split(text: &str) -> (&str, &str) {
    let unmarked = text.trim_start_matches(MARKS);
    let rest = strip_crypt(unmarked).map_or(unmarked, |rest| rest.trim_start_matches(MARKS));
    text.split_at(text.len() - rest.len())
}

/// The rest, if it begins so, in any case of letters.
fn strip_crypt(text: &str) -> Option<&str> {
    let (head, rest) = text.split_at_checked(CRYPT.len())?;
    head.eq_ignore_ascii_case(CRYPT).then_some(rest)
}

impl Hash {
    fn parse(text: &str) -> Result<Self, Error> {
        if let Some(rest) = text.strip_prefix(OVER) {
            let unclosed = Error::malformed("{over=…}", "a setting, } and a yescrypt string");
            let (setting, outer) = rest.split_once('}').ok_or(unclosed.clone())?;
            let outer = HashString::parse(outer)?;
            if !matches!(outer.setting().scheme(), Ours::Yescrypt | Ours::Extended) {
                return Err(unclosed);
            }
            return Ok(Hash::Wrapped(foreign::setting(setting)?, outer));
        }
        if Ours::of(text).is_some() || text.starts_with("{rom=") || text.starts_with("{key=") {
            return Ok(Hash::Ours(HashString::parse(text)?));
        }
        let unknown = || match known_elsewhere(text) {
            Some(scheme) => Err(Error::NotAccepted { scheme }),
            None => Err(Error::malformed("stored string", "a scheme that is known")),
        };
        Foreign::parse(text).unwrap_or_else(unknown).map(Hash::Foreign)
    }

    /// Its scheme; of a wrapped one, that of the hash within.
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

    /// The name of the key that it is encrypted with.
    pub(crate) fn key(&self) -> Option<KeyId> {
        self.ours()?.setting().key_id()
    }

    /// The ids of the ROMs that it names.
    pub(crate) fn roms(&self) -> Vec<RomId> {
        let Some(setting) = self.ours().map(HashString::setting) else { return Vec::new() };
        setting.rom_id().into_iter().chain(setting.roms().iter().map(|rom| rom.id)).collect()
    }

    /// Bytes of its salt; of a wrapped one, that of the hash around it.
    pub(crate) fn salt(&self) -> usize {
        match self {
            Hash::Ours(ours) | Hash::Wrapped(_, ours) => ours.setting().salt().len(),
            Hash::Foreign(foreign) => foreign.setting.salt(),
        }
    }

    /// The same with another string of ours in it.
    pub(crate) fn with_ours(&self, ours: &str) -> String {
        match self {
            Hash::Wrapped(inner, _) => wrapped(&**inner, ours),
            Hash::Ours(_) | Hash::Foreign(_) => ours.to_owned(),
        }
    }
}

/// Our hash over a digest of this setting.
pub(crate) fn wrapped(inner: &dyn Setting, ours: &str) -> String {
    format!("{OVER}{inner}}}{ours}")
}

/// The scheme of a string that another build could read.
fn known_elsewhere(text: &str) -> Option<Scheme> {
    let hex =
        matches!(text.len(), 32 | 40 | 64 | 128) && text.bytes().all(|c| c.is_ascii_hexdigit());
    let known: [(&[&str], Scheme); 6] = [
        (&["$argon2"], Scheme::Argon2),
        (&["$2a$", "$2b$", "$2x$", "$2y$"], Scheme::Bcrypt),
        (&["$5$", "$6$"], Scheme::ShaCrypt),
        (&["$pbkdf2", "pbkdf2_sha"], Scheme::Pbkdf2),
        (&["{SSHA", "{SHA}", "{MD5}", "{SMD5}"], Scheme::Ldap),
        (&["$1$", "$gy$", "$sha1$", "$md5", "$3$", "_"], Scheme::Libcrypt),
    ];
    let found = known.iter().find(|(all, _)| all.iter().any(|one| text.starts_with(one)));
    let scheme = found.map(|(_, scheme)| *scheme).or(hex.then_some(Scheme::Hex));
    scheme.filter(|scheme| scheme.missing_feature().is_some())
}
