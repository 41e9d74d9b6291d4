//! Policies in files.

use std::io;
use std::path::{Path, PathBuf};

use base64ct::{Base64, Encoding};
use saltern_yescrypt::hazmat::Pages;
use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::{Limit, Params};

use super::document::{Document, MAX};
use super::key_file::content;
use super::units::TIME;
use super::words::{FLAVORS, SYNTAXES, WIPES, Words};
use super::{
    DecoyCost, Firebase, FirebaseParameters, Key, KeySource, Policy, Remember, SignerKeySource,
    units, words,
};
use crate::error::Error;
use crate::invalid::Invalid;
use crate::rehash::Replace;
use crate::scheme::Scheme;
use crate::strength::Strength;

const SIZE: &str = "bytes, or a size such as \"256MiB\"";
const COUNT: &str = "a number, at least 0";

/// Reads the text of a settings file as a policy is read: a regular file of at most 1 MiB, in
/// UTF-8. Never reads more than that, whatever its reported size, and never waits for a pipe.
///
/// ```
/// let error = saltern::policy::read_text("/dev/null").unwrap_err();
/// assert_eq!(error.to_string(), "it is not a regular file");
/// ```
///
/// # Errors
/// Those of opening and reading, and [`InvalidData`](io::ErrorKind) or
/// [`InvalidInput`](io::ErrorKind) for any other file.
#[cfg_attr(docsrs, doc(cfg(feature = "file")))]
pub fn read_text(file: impl AsRef<Path>) -> io::Result<String> {
    let (_, bytes) = content(file.as_ref(), MAX)?;
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if bytes.len() > MAX {
        return Err(wrong("it is too long: expected at most 1 MiB".to_owned()));
    }
    let text =
        str::from_utf8(&bytes).map_err(|error| wrong(format!("it is not UTF-8 text: {error}")))?;
    Ok(text.to_owned())
}

impl Invalid {
    /// Adds the line where the key stands in the text of a file of settings, and its value as
    /// written there. If there is no such key, the line is that of the table that lacks it; nothing
    /// is added if there is no such table either or the text is not TOML.
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    #[must_use]
    pub fn placed(self, text: &str) -> Self {
        match Document::parse(text) {
            Ok(document) => document.placed(self),
            Err(_) => self,
        }
    }
}

impl Policy {
    /// Reads a policy from a regular file of at most 1 MiB. Names of other files in it are relative
    /// to its folder. An empty file is refused: it would mean the default policy, and is what a
    /// full disk leaves behind.
    ///
    /// # Errors
    /// [`Error::Policy`] with the file, the line, the key, the value and what is allowed;
    /// [`Error::Unavailable`] if the file cannot be read or is empty.
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    pub fn read(file: impl AsRef<Path>) -> Result<Self, Error> {
        let file = file.as_ref();
        let unavailable = |why| Error::unavailable(format!("the policy {}", file.display()), why);
        let text = read_text(file).map_err(unavailable)?;
        if text.is_empty() {
            let why = "the file is empty; for a policy of defaults, add a comment";
            return Err(unavailable(io::Error::new(io::ErrorKind::InvalidData, why)));
        }
        let beside = file.parent().unwrap_or(Path::new(""));
        let with_file = |invalid| Invalid { file: Some(file.to_owned()), ..invalid };
        Ok(Self::parse(&text, beside).map_err(with_file)?)
    }

    /// Parses the text of a policy. Names of other files in it are relative to `beside`.
    ///
    /// ```
    /// use saltern::Policy;
    /// let text = "[params]\ncost = 4\n[pool]\nthreads = 0\n";
    /// let invalid = Policy::parse(text, "/etc/saltern").unwrap_err();
    /// assert_eq!(invalid.to_string(), "policy:4: pool.threads = 0: expected 1 to 1024");
    /// ```
    ///
    /// # Errors
    /// [`Invalid`], with the line.
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    pub fn parse(text: &str, beside: impl AsRef<Path>) -> Result<Self, Invalid> {
        let mut document = Document::parse(text)?;
        let beside = beside.as_ref();
        let mut policy = Policy::default();
        policy.take_schemes(&mut document)?;
        policy.take_replace(&mut document)?;
        policy.take_params(&mut document)?;
        let check_roms = document.parsed("check_roms", TIME, units::time)?;
        policy.check_roms = check_roms.unwrap_or(policy.check_roms);
        policy.take_limits(&mut document)?;
        policy.keys = keys(&mut document, "keys", beside)?;
        let assumed = file(&mut document, "assume_unnamed_key", beside)?;
        policy.assume_unnamed_key = assumed.map(KeySource::File);
        if document.table("seal")? {
            policy.seal.keys = keys(&mut document, "seal.keys", beside)?;
            policy.seal.required = document.flag("seal.required")?.unwrap_or(false);
        }
        policy.take_firebase(&mut document, beside)?;
        policy.take_roms(&mut document, beside)?;
        policy.assume_unnamed_rom =
            document.parsed("assume_unnamed_rom", ROM_ID, |text| text.parse().ok())?;
        policy.take_pool(&mut document)?;
        policy.take_decoy(&mut document, beside)?;
        policy.take_remember(&mut document)?;
        document.finish()?;
        policy.check().map_err(|invalid| document.placed(invalid))?;
        Ok(policy)
    }

    fn take_schemes(&mut self, document: &mut Document) -> Result<(), Invalid> {
        let Some(count) = document.list_if_any("schemes")? else { return Ok(()) };
        // An empty list is refused like any that lacks yescrypt.
        self.schemes = schemes(document, "schemes", count)?;
        Ok(())
    }

    fn take_replace(&mut self, document: &mut Document) -> Result<(), Invalid> {
        const ALLOWED: &str = "\"weaker\", \"others\" or a list of schemes";
        if document.has("replace[0]") {
            let count = document.list("replace")?;
            self.replace = Replace::Schemes(schemes(document, "replace", count)?);
            return Ok(());
        }
        let word = |text: &str| match text {
            "weaker" => Some(Replace::Weaker),
            "others" => Some(Replace::Others),
            _ => None,
        };
        if let Some(replace) = document.parsed("replace", ALLOWED, word)? {
            self.replace = replace;
        }
        Ok(())
    }

    fn take_params(&mut self, document: &mut Document) -> Result<(), Invalid> {
        if document.table("params")? {
            self.params = costs(document, "params", self.params)?;
        }
        if document.table("floor")? {
            self.floor = costs(document, "floor", self.floor)?;
            let salt = document.number("floor.salt", "0 to 16")?;
            self.min_salt = salt.unwrap_or(self.min_salt);
        } else if Strength::of_params(&self.floor) > Strength::of_params(&self.params) {
            // A default floor must not cause an error.
            self.floor = self.params;
        }
        Ok(())
    }

    fn take_limits(&mut self, document: &mut Document) -> Result<(), Invalid> {
        if !document.table("limits")? {
            return Ok(());
        }
        let limits = &mut self.limits;
        for limit in Limit::ALL {
            let path = format!("limits.{}", limit.key());
            let ceiling = match limit {
                Limit::Memory | Limit::Work => document.parsed(&path, SIZE, units::size)?,
                _ => document.number(&path, COUNT)?,
            };
            if let Some(Err(_)) = ceiling.map(|ceiling| limits.set_ceiling(limit, ceiling)) {
                return Err(document.wrong(&path, COUNT));
            }
        }
        limits.flavors = word(document, "limits.flavors", FLAVORS)?.unwrap_or(limits.flavors);
        limits.syntax = word(document, "limits.syntax", SYNTAXES)?.unwrap_or(limits.syntax);
        limits.rom = document.flag("limits.rom")?.unwrap_or(limits.rom);
        Ok(())
    }

    fn take_remember(&mut self, document: &mut Document) -> Result<(), Invalid> {
        if document.table("remember")? {
            let Remember { time, entries } = Remember::default();
            let other = document.parsed("remember.time", TIME, units::time)?;
            let time = other.unwrap_or(time);
            let entries = document.number("remember.entries", COUNT)?.unwrap_or(entries);
            self.remember = Some(Remember { time, entries });
        }
        Ok(())
    }

    fn take_firebase(&mut self, document: &mut Document, beside: &Path) -> Result<(), Invalid> {
        const SEPARATOR: &str = "base 64, as Firebase shows it";
        const NUMBER: &str = "a number, as Firebase shows it";
        if !document.table("firebase")? {
            return Ok(());
        }
        let path = |field: &str| format!("firebase.{field}");
        let file = file(document, &path("signer_key"), beside)?;
        let file = required(document, file, path("signer_key"), "the name of a file")?;
        let digits = document.text(&path("fingerprint"), FINGERPRINT)?;
        let key = digits.and_then(|digits| format!("firebase+{digits}").parse().ok());
        let key = required(document, key, path("fingerprint"), FINGERPRINT)?;
        let decode = |text: &str| Base64::decode_vec(text).ok();
        let separator = document.parsed(&path("salt_separator"), SEPARATOR, decode)?;
        let separator = required(document, separator, path("salt_separator"), SEPARATOR)?;
        let rounds = document.number(&path("rounds"), NUMBER)?;
        let rounds = required(document, rounds, path("rounds"), NUMBER)?;
        let mem_cost = document.number(&path("mem_cost"), NUMBER)?;
        let mem_cost = required(document, mem_cost, path("mem_cost"), NUMBER)?;
        let parameters = FirebaseParameters { key, separator, rounds, mem_cost };
        self.firebase = Some(Firebase { signer_key: SignerKeySource::File(file), parameters });
        Ok(())
    }

    #[cfg(feature = "rom")]
    fn take_roms(&mut self, document: &mut Document, beside: &Path) -> Result<(), Invalid> {
        use super::{Access, RomHash, RomSource, SiteRom};
        for at in 0..document.list("roms")? {
            let path = |field: &str| format!("roms[{at}].{field}");
            document.table(&format!("roms[{at}]"))?;
            let image = file(document, &path("image"), beside)?;
            let image = required(document, image, path("image"), "the name of a file")?;
            let hash =
                document.parsed(&path("hash"), ROM_HASH, |text| text.parse::<RomHash>().ok())?;
            let hash = required(document, hash, path("hash"), ROM_HASH)?;
            let access = word(document, &path("access"), words::ACCESS)?;
            let active = document.flag(&path("active"))?.unwrap_or(false);
            let access = access.unwrap_or(Some(Access::Auto));
            let source = RomSource::Image { path: image, hash, access };
            self.roms.push(SiteRom { id: hash.id(), source, active });
        }
        Ok(())
    }

    #[cfg(not(feature = "rom"))]
    fn take_roms(&mut self, document: &mut Document, _: &Path) -> Result<(), Invalid> {
        match document.list("roms")? {
            0 => Ok(()),
            _ => {
                let allowed = "no ROMs: this build lacks the feature `rom`";
                Err(document.placed(Invalid::new("roms", "", allowed)))
            }
        }
    }

    fn take_pool(&mut self, document: &mut Document) -> Result<(), Invalid> {
        if !document.table("pool")? {
            return Ok(());
        }
        let pool = &mut self.pool;
        let threads = document.number("pool.threads", "1 to 1024")?;
        pool.threads = threads.unwrap_or(pool.threads);
        pool.memory = document.parsed("pool.memory", SIZE, units::size)?.unwrap_or(pool.memory);
        pool.max_waiting =
            document.number("pool.queue", "a number, at least 1")?.unwrap_or(pool.max_waiting);
        pool.in_flight = document.number("pool.in_flight", "1 to 256")?.unwrap_or(pool.in_flight);
        let patience = document.parsed("pool.patience", TIME, units::time)?;
        pool.patience = patience.unwrap_or(pool.patience);
        self.deadline = document.parsed("pool.deadline", TIME, units::time)?;
        pool.wipe = word(document, "pool.wipe", WIPES)?.unwrap_or(pool.wipe);
        if document.flag("pool.huge_pages")? == Some(false) {
            pool.pages = Pages::Standard;
        }
        if document.flag("pool.prepare")? == Some(true) {
            pool.prepare = self.params.check(&self.limits).ok();
        }
        for at in 0..document.list("pool.processors")? {
            pool.processors
                .extend(document.number::<usize>(&format!("pool.processors[{at}]"), COUNT)?);
        }
        Ok(())
    }

    fn take_decoy(&mut self, document: &mut Document, beside: &Path) -> Result<(), Invalid> {
        if !document.table("decoy")? {
            return Ok(());
        }
        self.decoy.key = file(document, "decoy.key", beside)?.map(KeySource::File);
        for at in 0..document.list("decoy.costs")? {
            let path = |field: &str| format!("decoy.costs[{at}].{field}");
            document.table(&format!("decoy.costs[{at}]"))?;
            let like = document.text(&path("like"), "a string")?.unwrap_or_default();
            let share = document.number(&path("share"), "1 to 2^48")?.unwrap_or(0);
            self.decoy.costs.push(DecoyCost { like, share });
        }
        Ok(())
    }
}

const KEY_NAME: &str = "a name of 1 to 32 letters, digits, dots and hyphens";
const ROM_ID: &str = "the 16 digits of a ROM's id, as `saltern rom info` shows them";
const FINGERPRINT: &str = "16 digits, as `saltern key fingerprint` shows them";
#[cfg(feature = "rom")]
const ROM_HASH: &str = "64 digits, as `saltern rom info` shows them";

/// The names in a list of this many schemes.
fn schemes(document: &mut Document, list: &str, count: usize) -> Result<Vec<Scheme>, Invalid> {
    let mut schemes = Vec::new();
    for at in 0..count {
        let allowed = || Scheme::ALL.map(|scheme| format!("\"{scheme}\"")).join(", ");
        schemes.extend(document.parsed(&format!("{list}[{at}]"), &allowed(), Scheme::of_name)?);
    }
    Ok(schemes)
}

/// A list of keys.
fn keys(document: &mut Document, list: &str, beside: &Path) -> Result<Vec<Key>, Invalid> {
    let mut keys = Vec::new();
    for at in 0..document.list(list)? {
        let path = |field: &str| format!("{list}[{at}].{field}");
        document.table(&format!("{list}[{at}]"))?;
        let name = document.parsed(&path("name"), KEY_NAME, |text| text.parse::<KeyId>().ok())?;
        let named = name.filter(|name| name.fingerprint().is_none());
        let name = required(document, named, path("name"), KEY_NAME)?;
        let digits = document.text(&path("fingerprint"), FINGERPRINT)?;
        // There is one way to write a fingerprint: after a name.
        let full = digits.and_then(|digits| format!("{name}+{digits}").parse::<KeyId>().ok());
        let name = required(document, full, path("fingerprint"), FINGERPRINT)?;
        let file = file(document, &path("file"), beside)?;
        let file = required(document, file, path("file"), "the name of a file")?;
        let active = document.flag(&path("active"))?.unwrap_or(false);
        keys.push(Key { name, source: KeySource::File(file), active });
    }
    Ok(keys)
}

/// A cost, or N, r, p and t.
fn costs(document: &mut Document, table: &str, default: Params) -> Result<Params, Invalid> {
    let path = |field: &str| format!("{table}.{field}");
    let mut params = default;
    if let Some(cost) = document.number(&path("cost"), "1 to 11")? {
        let known = Params::from_cost(cost).ok().filter(|_| cost > 0);
        let wrong = || document.placed(Invalid::new(path("cost"), cost, "1 to 11"));
        params = known.ok_or_else(wrong)?;
        let beside = ["n", "r", "p", "t"].into_iter().find(|field| document.has(&path(field)));
        if let Some(field) = beside {
            let allowed = format!("{} alone", path("cost"));
            return Err(document.placed(Invalid::new(path(field), "", allowed)));
        }
    }
    params.n = document.number(&path("n"), "a power of two above 1")?.unwrap_or(params.n);
    params.r = document.number(&path("r"), COUNT)?.unwrap_or(params.r);
    params.p = document.number(&path("p"), COUNT)?.unwrap_or(params.p);
    params.t = document.number(&path("t"), COUNT)?.unwrap_or(params.t);
    Ok(params)
}

/// The value of a word.
fn word<T: Copy>(
    document: &mut Document,
    path: &str,
    words: Words<T>,
) -> Result<Option<T>, Invalid> {
    document.parsed(path, &words::allowed(words), |text| words::value(words, text))
}

/// A value that has to be there.
fn required<T>(
    document: &Document,
    value: Option<T>,
    key: String,
    allowed: &str,
) -> Result<T, Invalid> {
    value.ok_or_else(|| document.placed(Invalid::new(key, "", format!("{allowed}; it is missing"))))
}

/// The name of a file, beside the policy.
fn file(document: &mut Document, path: &str, beside: &Path) -> Result<Option<PathBuf>, Invalid> {
    let name = |text: &str| (!text.is_empty()).then(|| beside.join(text));
    document.parsed(path, "the name of a file", name)
}
