//! Files with keys.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use saltern_yescrypt::keys::HashKey;
use zeroize::{Zeroize, Zeroizing};

use super::KeySource;
use crate::error::Error;

/// The longest content: 64 digits and an end of line; one byte more shows that there is too much.
const MAX: usize = 64 + 2;

/// The file beside a key file that says what the key's fingerprint is: `NAME.fingerprint`.
#[must_use]
pub fn fingerprint_path(key: &Path) -> PathBuf {
    let mut name = OsString::from(key);
    name.push(".fingerprint");
    name.into()
}

/// 32 secret bytes. Wiped on drop; `Debug` shows nothing.
#[derive(Clone)]
pub struct Secret(Box<Zeroizing<[u8; 32]>>);

impl Secret {
    /// Out of these bytes.
    #[must_use]
    pub fn new(mut bytes: [u8; 32]) -> Self {
        let secret = Self::copied(&bytes);
        bytes.zeroize();
        secret
    }

    fn copied(bytes: &[u8; 32]) -> Self {
        let mut secret = Box::new(Zeroizing::new([0; 32]));
        secret.copy_from_slice(bytes);
        Secret(secret)
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key of hash encryption with these bytes.
    pub(crate) fn key(&self) -> Result<HashKey, Error> {
        Ok(HashKey::from_slice(self.bytes())?)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The key, wherever it is. What people should know about its file is added to the notes.
pub(crate) fn read_key(source: &KeySource, notes: &mut Vec<String>) -> Result<Secret, Error> {
    let path = match source {
        KeySource::Value(secret) => return Ok(secret.clone()),
        KeySource::File(path) => path,
    };
    let secret = read(path, notes)?;
    match std::fs::read_to_string(fingerprint_path(path)) {
        Ok(said) if said.trim() != secret.key()?.fingerprint().to_string() => {
            let why = "its fingerprint is not the one in the file beside it";
            Err(Error::unavailable(format!("the key in {}", path.display()), why))
        }
        _ => Ok(secret),
    }
}

fn read(path: &Path, notes: &mut Vec<String>) -> Result<Secret, Error> {
    let unavailable =
        |why: &dyn fmt::Display| Error::unavailable(format!("the key in {}", path.display()), why);
    let file = File::open(path).map_err(|error| unavailable(&error))?;
    notes.extend(loose(&file, path));
    let mut content = Zeroizing::new(Vec::with_capacity(MAX + 1));
    let all = file.take(MAX as u64 + 1).read_to_end(&mut content);
    all.map_err(|error| unavailable(&error))?;
    let wrong = "it has to hold 32 bytes or 64 hexadecimal digits";
    parse(&content).map(|bytes| Secret::copied(&bytes)).ok_or_else(|| unavailable(&wrong))
}

fn parse(content: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    if content.len() == key.len() {
        key.copy_from_slice(content);
        return Some(key);
    }
    let digits = content.strip_suffix(b"\n").unwrap_or(content);
    let digits = digits.strip_suffix(b"\r").unwrap_or(digits);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let value = |digit: u8| char::from(digit).to_digit(16);
    for (byte, [high, low]) in key.iter_mut().zip(pairs) {
        *byte = (value(*high)? << 4 | value(*low)?) as u8;
    }
    (pairs.len() == key.len()).then_some(key)
}

/// What is to be said of a file that others may read or change.
fn loose(file: &File, path: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().ok()?;
        let mode = metadata.permissions().mode() & 0o7777;
        let path = path.display();
        (metadata.is_file() && mode & 0o077 != 0)
            .then(|| format!("others can read or change the key file {path} (mode {mode:o})"))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_digits_are_keys_and_nothing_else_is() {
        let digits = b"000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
        let bytes: Vec<u8> = (0..32).collect();
        for content in
            [&digits[..], &[&digits[..], b"\n"].concat(), &[&digits[..], b"\r\n"].concat()]
        {
            assert_eq!(parse(content).unwrap()[..], bytes);
        }
        for length in (0..=MAX + 1).filter(|length| ![32, 64].contains(length)) {
            assert!(parse(&vec![b'0'; length]).is_none(), "{length}");
        }
        assert!(parse(&[b'g'; 64]).is_none());
    }
}
