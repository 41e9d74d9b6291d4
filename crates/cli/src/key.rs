//! Keys of hash encryption, read from files only.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use saltern_yescrypt::{HashKey, KeyId, KeySet};
use zeroize::Zeroizing;

use crate::hex;
use crate::output::tell;

/// Longest content: 64 digits and a newline; one byte more shows that there is too much.
const MAX: usize = 64 + 2;

/// The options `--key-file` and `--key`.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// Hash encryption with the key in this file (yescrypt only)
    ///
    /// The file holds 32 bytes, or 64 hexadecimal digits with or without a newline after them. A string does not
    /// show whether it is encrypted or with which key; without the right one no password matches.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Hash encryption with a key that has a name, which strings then carry; to verify, any number of them
    ///
    /// The file is as with --key-file. A name has 1 to 32 letters, digits, dots and hyphens.
    #[arg(long = "key", value_name = "NAME=FILE", value_parser = NamedFile::parser())]
    named: Vec<NamedFile>,
}

/// A key file and the name of the key in it.
#[derive(Clone)]
pub(crate) struct NamedFile {
    id: KeyId,
    path: PathBuf,
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
        self.key_file.is_some() || !self.named.is_empty()
    }

    /// The keys to verify with.
    pub(crate) fn read(&self) -> anyhow::Result<KeySet> {
        let mut keys = read_all(&self.named)?;
        if let Some(path) = &self.key_file {
            keys.set_unnamed(read(path)?);
        }
        Ok(keys)
    }

    /// The key for new strings: at most one. Without names it stands in no string.
    pub(crate) fn read_for_new(&self, no_names: bool) -> anyhow::Result<KeySet> {
        let mut keys = self.read()?;
        match (&self.named[..], &self.key_file) {
            ([], _) => {}
            ([one], None) if no_names => keys.set_unnamed(read(&one.path)?),
            ([one], None) => keys.activate(one.id)?,
            _ => bail!("a new string has one key: give --key or --key-file once"),
        }
        Ok(keys)
    }
}

/// Keys with names.
pub(crate) fn read_all(named: &[NamedFile]) -> anyhow::Result<KeySet> {
    let mut keys = KeySet::new();
    for NamedFile { id, path } in named {
        keys.add(*id, read(path)?).with_context(|| format!("the key {id} is given twice"))?;
    }
    Ok(keys)
}

/// Read a key file.
pub(crate) fn read(path: &Path) -> anyhow::Result<HashKey> {
    let context = || format!("cannot read the key file {}", path.display());
    let mut file = File::open(path).with_context(context)?;
    warn_if_shared(&file, path);
    let mut content = Zeroizing::new([0; MAX + 1]);
    let mut length = 0;
    while length < content.len() {
        match file.read(&mut content[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(context),
        }
    }
    let Some(key) = parse(&content[..length]) else {
        let size = if length > MAX { format!("more than {MAX}") } else { length.to_string() };
        bail!(
            "the key file {} is not a key ({size} bytes): it has to hold 32 bytes or 64 hexadecimal digits",
            path.display()
        );
    };
    Ok(HashKey::new(*key))
}

/// The key in a file's content.
fn parse(content: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    if content.len() == key.len() {
        key.copy_from_slice(content);
        return Some(key);
    }
    let digits = content.strip_suffix(b"\n").unwrap_or(content);
    let digits = digits.strip_suffix(b"\r").unwrap_or(digits);
    hex::decode_into(digits, &mut *key).map(|()| key)
}

/// Say so when others can read a key; refusing would break set-ups where a group is meant to.
fn warn_if_shared(file: &File, path: &Path) {
    #[cfg(unix)]
    if let Ok(metadata) = file.metadata() {
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_file() && mode & 0o077 != 0 {
            let path = path.display();
            tell(format_args!(
                "warning: others can read or change the key file {path} (mode {mode:o})"
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_digits_are_keys() {
        let digits = b"000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
        let bytes: Vec<u8> = (0..32).collect();
        let newline = [&digits[..], b"\n"].concat();
        let windows = [&digits[..], b"\r\n"].concat();
        for content in [&digits[..], &newline, &windows, &bytes] {
            assert_eq!(parse(content).unwrap().to_vec(), bytes);
        }
    }

    #[test]
    fn anything_else_is_not() {
        for length in (0..=MAX + 1).filter(|&length| length != 32 && length != 64) {
            assert!(parse(&vec![b'0'; length]).is_none(), "{length}");
        }
        assert!(parse(&[b'g'; 64]).is_none() && parse(&[b'\n'; 33]).is_none());
    }
}
