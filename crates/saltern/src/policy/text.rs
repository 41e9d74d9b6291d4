//! Policies as text for files.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use base64ct::{Base64, Encoding};
use saltern_yescrypt::hazmat::Pages;
use saltern_yescrypt::{Limit, Limits};

#[cfg(feature = "rom")]
use super::words::ACCESS;
use super::words::{FLAVORS, SYNTAXES, WIPES, quoted, word};
use super::{
    DecoyCost, Firebase, FirebaseParameters, Key, KeySource, Params, Policy, Remember, RomSource,
    SignerKeySource, memory_text, size_text,
};
use crate::invalid::Invalid;

impl Policy {
    /// The text of a policy file with every value of this policy: [`Policy::parse`] makes the same
    /// policy from it, in any folder. Times are in whole milliseconds, rounded up.
    ///
    /// What a file cannot express is left out: the level of the kernels and the sources of
    /// [`PoolConfig`](super::PoolConfig), and parameters other than n, r, p and t. If memory is
    /// prepared, the text says to prepare it for new hashes.
    ///
    /// ```
    /// use saltern::{Policy, policy::Params};
    /// let mut policy = Policy::default();
    /// policy.params = Params::from_cost(4)?;
    /// let text = policy.to_toml()?;
    /// assert!(text.starts_with("schemes = [\"yescrypt\"]\n"));
    /// assert_eq!(Policy::parse(&text, "")?.params, policy.params);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Policy::check`], and [`Invalid`] for a key or a ROM that is not in a file, or in
    /// one whose name is not UTF-8, and for a value that files have no word for (`Access::Memfd`).
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    pub fn to_toml(&self) -> Result<String, Invalid> {
        self.check()?;
        let mut out = self.top()?;
        let (new, least) = (self.params.memory(), self.floor.memory());
        let (new, least) = (memory_text(new), memory_text(least));
        let _ = write!(out, "\n# New hashes: {new} each.\n[params]\n{}", costs(&self.params));
        let about = format!("# What is weaker is reported: {least}.");
        let (floor, salt) = (costs(&self.floor), self.min_salt);
        let _ = write!(out, "\n{about}\n[floor]\n{floor}salt = {salt}\n");
        write_limits(&mut out, &self.limits)?;
        write_keys(&mut out, "keys", &self.keys)?;
        if !self.seal.keys.is_empty() {
            let _ = write!(out, "\n[seal]\nrequired = {}\n", self.seal.required);
        }
        write_keys(&mut out, "seal.keys", &self.seal.keys)?;
        self.write_firebase(&mut out)?;
        self.write_roms(&mut out)?;
        self.write_pool(&mut out)?;
        if let Some(source) = &self.decoy.key {
            let _ = write!(out, "\n[decoy]\nkey = {}\n", key_file("decoy.key", source)?);
        }
        for cost in &self.decoy.costs {
            let _ = write!(out, "\n{}", cost.to_toml());
        }
        if let Some(Remember { time: keep, entries }) = &self.remember {
            let keep = time(*keep);
            let _ = write!(out, "\n[remember]\ntime = {keep}\nentries = {entries}\n");
        }
        Ok(out)
    }

    fn top(&self) -> Result<String, Invalid> {
        let schemes: Vec<_> = self.schemes.iter().map(|scheme| quoted(scheme.name())).collect();
        let mut out = format!("schemes = [{}]\n", schemes.join(", "));
        let _ = writeln!(out, "replace = {}", self.replace);
        if let Some(source) = &self.assume_unnamed_key {
            let file = key_file("assume_unnamed_key", source)?;
            let _ = writeln!(out, "assume_unnamed_key = {file}");
        }
        if let Some(id) = &self.assume_unnamed_rom {
            let _ = writeln!(out, "assume_unnamed_rom = \"{id}\"");
        }
        let _ = writeln!(out, "check_roms = {}", time(self.check_roms));
        Ok(out)
    }

    fn write_firebase(&self, out: &mut String) -> Result<(), Invalid> {
        let Some(Firebase { signer_key, parameters }) = &self.firebase else { return Ok(()) };
        let key = "firebase.signer_key";
        let SignerKeySource::File(path) = signer_key else {
            return Err(Invalid::new(key, "", "the name of a file: this key is in none"));
        };
        let FirebaseParameters { key: id, separator, rounds, mem_cost } = parameters;
        let (file, separator) = (file(key, path)?, Base64::encode_string(separator));
        let fingerprint = id.fingerprint().map(|digits| digits.to_string()).unwrap_or_default();
        let _ = write!(
            out,
            "\n[firebase]\nsigner_key = {file}\nfingerprint = \"{fingerprint}\"\n\
             salt_separator = \"{separator}\"\nrounds = {rounds}\nmem_cost = {mem_cost}\n"
        );
        Ok(())
    }

    fn write_roms(&self, out: &mut String) -> Result<(), Invalid> {
        for (at, rom) in self.roms.iter().enumerate() {
            let image = image(&format!("roms[{at}]"), &rom.source)?;
            let _ = write!(out, "\n[[roms]]\n{image}active = {}\n", rom.active);
        }
        Ok(())
    }

    fn write_pool(&self, out: &mut String) -> Result<(), Invalid> {
        let pool = &self.pool;
        let (memory, patience) = (size_text(pool.memory), time(pool.patience));
        let _ = write!(
            out,
            "\n[pool]\nthreads = {}\nmemory = \"{memory}\"\nqueue = {}\nin_flight = {}\n\
             patience = {patience}\n",
            pool.threads, pool.max_waiting, pool.in_flight
        );
        if let Some(deadline) = self.deadline {
            let _ = writeln!(out, "deadline = {}", time(deadline));
        }
        let (wipe, huge) = (word("pool.wipe", WIPES, &pool.wipe)?, pool.pages == Pages::Huge);
        let (prepare, processors) = (pool.prepare.is_some(), &pool.processors);
        let _ = write!(
            out,
            "wipe = {wipe}\nhuge_pages = {huge}\nprepare = {prepare}\n\
             processors = {processors:?}\n"
        );
        Ok(())
    }
}

impl DecoyCost {
    /// The entry in a policy file, as [`Policy::to_toml`] writes it.
    ///
    /// ```
    /// use saltern::policy::DecoyCost;
    /// let cost = DecoyCost { like: "$y$j9T$......................".to_owned(), share: 3 };
    /// let entry = "[[decoy.costs]]\nlike = \"$y$j9T$......................\"\nshare = 3\n";
    /// assert_eq!(cost.to_toml(), entry);
    /// ```
    #[must_use]
    #[cfg_attr(docsrs, doc(cfg(feature = "file")))]
    pub fn to_toml(&self) -> String {
        format!("[[decoy.costs]]\nlike = {}\nshare = {}\n", quoted(&self.like), self.share)
    }
}

fn write_keys(out: &mut String, list: &str, keys: &[Key]) -> Result<(), Invalid> {
    for (at, key) in keys.iter().enumerate() {
        let (name, path) = (quoted(key.name.as_str()), format!("{list}[{at}].file"));
        let file = key_file(&path, &key.source)?;
        let missing = || Invalid::new(format!("{list}[{at}].fingerprint"), "", "one in the name");
        let fingerprint = key.name.fingerprint().ok_or_else(missing)?;
        let _ = write!(
            out,
            "\n[[{list}]]\nname = {name}\nfile = {file}\nfingerprint = \"{fingerprint}\"\n\
             active = {}\n",
            key.active
        );
    }
    Ok(())
}

fn write_limits(out: &mut String, limits: &Limits) -> Result<(), Invalid> {
    out.push_str("\n[limits]\n");
    let usual = Limits::server();
    for limit in Limit::ALL {
        let (key, ceiling) = (limit.key(), limits.ceiling(limit));
        // A missing value means the default.
        let none = ceiling == usual.ceiling(limit) && ceiling >= u32::MAX.into();
        let _ = match limit {
            Limit::Memory | Limit::Work => writeln!(out, "{key} = \"{}\"", size_text(ceiling)),
            _ if none => writeln!(out, "# {key}: no limit"),
            _ => writeln!(out, "{key} = {ceiling}"),
        };
    }
    let flavors = word("limits.flavors", FLAVORS, &limits.flavors)?;
    let syntax = word("limits.syntax", SYNTAXES, &limits.syntax)?;
    let _ = write!(out, "rom = {}\nflavors = {flavors}\nsyntax = {syntax}\n", limits.rom);
    Ok(())
}

fn image(rom: &str, source: &RomSource) -> Result<String, Invalid> {
    match source {
        #[cfg(feature = "rom")]
        RomSource::Image { path, hash, access } => {
            let image = file(&format!("{rom}.image"), path)?;
            let access = word(&format!("{rom}.access"), ACCESS, access)?;
            Ok(format!("image = {image}\nhash = \"{hash}\"\naccess = {access}\n"))
        }
        RomSource::Value(_) => {
            let key = format!("{rom}.image");
            Err(Invalid::new(key, "", "the name of a file: this ROM is in none"))
        }
    }
}

fn key_file(key: &str, source: &KeySource) -> Result<String, Invalid> {
    match source {
        KeySource::File(path) => file(key, path),
        KeySource::Value(_) => {
            Err(Invalid::new(key, "", "the name of a file: this key is in none"))
        }
    }
}

/// A file name that is valid wherever the text will be.
fn file(key: &str, path: &Path) -> Result<String, Invalid> {
    let full = std::path::absolute(path);
    let wrong = |why| Invalid::new(key, path.display(), why);
    let full =
        full.map_err(|error| wrong(format!("a name that can be made a full one: {error}")))?;
    full.to_str().map(quoted).ok_or_else(|| wrong("a name in UTF-8".to_owned()))
}

fn time(time: Duration) -> String {
    format!("\"{}ms\"", time.as_nanos().div_ceil(1_000_000))
}

fn costs(params: &Params) -> String {
    let Params { n, r, p, t, .. } = params;
    format!("n = {n}\nr = {r}\np = {p}\nt = {t}\n")
}
