//! Keys for hash encryption, read only from files.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::builder::{OsStringValueParser, TypedValueParser};
use saltern::Policy;
use saltern::policy::{Key, KeySource};
use saltern_yescrypt::keys::KeyId;

/// The options `--key` and `--assume-unnamed-key`.
#[derive(clap::Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyArgs {
    /// Named key for hash encryption; strings carry its name; may be given several times
    ///
    /// `saltern key new` makes such files: 64 hexadecimal digits with or without a newline after
    /// them, or 32 bytes. A name has 1 to 32 letters, digits, dots and hyphens; with the
    /// fingerprint after it, as in 2026+00ff1122334455aa, a file with another key is refused.
    /// Strings carry the fingerprint too, so a different key under the same name causes an error,
    /// never a mismatch. To verify, give all the keys that are needed.
    #[arg(long = "key", value_name = "NAME=FILE", conflicts_with = "policy", value_parser = NamedFile::parser())]
    named: Vec<NamedFile>,

    /// Assume that strings without a key name are encrypted with the key in this file
    ///
    /// This cannot be checked: if they are not encrypted, or are encrypted with another key, no
    /// password matches.
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    assume_unnamed_key: Option<PathBuf>,
}

/// A key file and the name of the key in it.
#[derive(Clone)]
struct NamedFile {
    id: KeyId,
    path: PathBuf,
}

impl NamedFile {
    /// The parser for the option.
    fn parser() -> impl TypedValueParser<Value = NamedFile> {
        OsStringValueParser::new().try_map(|text: OsString| {
            let expected = "expected the name of the key, `=` and a file";
            let bytes = text.as_encoded_bytes();
            let at = bytes.iter().position(|&byte| byte == b'=').ok_or(expected)?;
            let name = str::from_utf8(&bytes[..at]).map_err(|_| expected)?;
            let id = name.parse().map_err(|error: saltern_yescrypt::Error| error.to_string())?;
            // The rest of a path after an ASCII character is a valid path.
            let rest = text.to_str().map(|text| OsString::from(&text[at + 1..]));
            let path = rest.filter(|path| !path.is_empty()).ok_or(expected)?;
            Ok::<_, String>(NamedFile { id, path: path.into() })
        })
    }
}

impl KeyArgs {
    /// Whether any key is given.
    pub(crate) fn is_given(&self) -> bool {
        self.assume_unnamed_key.is_some() || !self.named.is_empty()
    }

    /// Whether strings that name no key are assumed to be encrypted.
    pub(crate) fn assumes_unnamed(&self) -> bool {
        self.assume_unnamed_key.is_some()
    }

    /// The given keys, with the key of this name active.
    fn keys(&self, active: Option<KeyId>) -> anyhow::Result<Vec<Key>> {
        let mut keys: Vec<Key> = Vec::new();
        for NamedFile { id, path } in &self.named {
            let is = |other: &KeyId| other.as_str() == id.as_str();
            ensure!(!keys.iter().any(|key| is(&key.name)), "the key {id} is given twice");
            let source = KeySource::File(path.clone());
            keys.push(Key { name: *id, source, active: active.is_some_and(|id| is(&id)) });
        }
        Ok(keys)
    }

    /// Adds the keys to a policy, to verify with.
    pub(crate) fn add_to(&self, policy: &mut Policy, active: Option<KeyId>) -> anyhow::Result<()> {
        policy.keys = self.keys(active)?;
        policy.assume_unnamed_key = self.assume_unnamed_key.clone().map(KeySource::File);
        Ok(())
    }

    /// Adds the key for new strings: at most one. With `omit_ids`, strings do not name it.
    pub(crate) fn add_new_to(&self, policy: &mut Policy, omit_ids: bool) -> anyhow::Result<()> {
        match (&self.named[..], &self.assume_unnamed_key) {
            ([], _) => self.add_to(policy, None),
            ([one], None) => {
                self.add_to(policy, Some(one.id).filter(|_| !omit_ids))?;
                let unnamed = Some(KeySource::File(one.path.clone()));
                policy.assume_unnamed_key = unnamed.filter(|_| omit_ids);
                Ok(())
            }
            _ => bail!("a new string can have only one key: give --key once"),
        }
    }
}
