//! Keys of hash encryption, read from files only.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use saltern::policy::Secret;
use saltern_yescrypt::keys::{HashKey, KeyId, KeySet};

use crate::policy;

/// The options `--key` and `--assume-unnamed-key`.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// Named key for hash encryption; strings carry its name. To verify, give all that are needed
    ///
    /// `saltern key new` makes such files: 64 hexadecimal digits with or without a newline after
    /// them, or 32 bytes. A name has 1 to 32 letters, digits, dots and hyphens; with the
    /// fingerprint after it, as in 2026+00ff1122334455aa, a file with another key is refused.
    /// Strings carry the fingerprint too, so a different key under the same name causes an error,
    /// never a mismatch.
    #[arg(long = "key", value_name = "NAME=FILE", value_parser = NamedFile::parser())]
    named: Vec<NamedFile>,

    /// Assume that strings without a key name are encrypted with the key in this file
    ///
    /// This cannot be checked: if they are not encrypted, or are encrypted with another key, no
    /// password matches.
    #[arg(long, value_name = "FILE")]
    assume_unnamed_key: Option<PathBuf>,
}

/// A key file and the name of the key in it.
#[derive(Clone)]
pub(crate) struct NamedFile {
    pub(crate) id: KeyId,
    pub(crate) path: PathBuf,
}

impl NamedFile {
    /// For the options that take one.
    pub(crate) fn parser() -> impl TypedValueParser<Value = NamedFile> {
        OsStringValueParser::new().try_map(|text: OsString| {
            let expected = "expected the name of the key, `=` and a file";
            let bytes = text.as_encoded_bytes();
            let at = bytes.iter().position(|&byte| byte == b'=').ok_or(expected)?;
            let name = str::from_utf8(&bytes[..at]).map_err(|_| expected)?;
            let id = name.parse().map_err(|error: saltern_yescrypt::Error| error.to_string())?;
            // What is left of a path after an ASCII character is a path.
            let rest = text.to_str().map(|text| OsString::from(&text[at + 1..]));
            let path = rest.filter(|path| !path.is_empty()).ok_or(expected)?;
            Ok::<_, String>(NamedFile { id, path: path.into() })
        })
    }
}

impl KeyArgs {
    /// Whether there is any key.
    pub(crate) fn is_given(&self) -> bool {
        self.assume_unnamed_key.is_some() || !self.named.is_empty()
    }

    /// Whether strings that name no key are taken to be encrypted.
    pub(crate) fn assumes_unnamed(&self) -> bool {
        self.assume_unnamed_key.is_some()
    }

    /// The keys to verify with.
    pub(crate) fn read(&self) -> anyhow::Result<KeySet> {
        let mut keys = read_all(&self.named)?;
        if let Some(path) = &self.assume_unnamed_key {
            keys.assume_unnamed(read(path)?);
        }
        Ok(keys)
    }

    /// The key for new strings: at most one. Without names it stands in no string.
    pub(crate) fn read_for_new(&self, no_names: bool) -> anyhow::Result<KeySet> {
        let mut keys = self.read()?;
        match (&self.named[..], &self.assume_unnamed_key) {
            ([], _) => {}
            ([one], None) if no_names => keys.assume_unnamed(read(&one.path)?),
            ([one], None) => keys.activate(one.id)?,
            _ => bail!("a new string can have only one key: give --key once"),
        }
        Ok(keys)
    }
}

/// Keys with names.
fn read_all(named: &[NamedFile]) -> anyhow::Result<KeySet> {
    let mut keys = KeySet::new();
    for NamedFile { id, path } in named {
        let key = read(path)?;
        let is = KeyId::with_fingerprint(*id, key.fingerprint());
        if id.fingerprint().is_some_and(|wanted| wanted != key.fingerprint()) {
            bail!("the file {} holds the key {is}, not {id}", path.display());
        }
        keys.add(*id, key).with_context(|| format!("the key {id} is given twice"))?;
    }
    Ok(keys)
}

/// Read a key file.
pub(crate) fn read(path: &Path) -> anyhow::Result<HashKey> {
    let mut notes = Vec::new();
    let secret = Secret::read(path, &mut notes);
    policy::warn(&notes);
    Ok(secret?.key()?)
}
