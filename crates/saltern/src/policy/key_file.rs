//! Key files.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use saltern_wipe::{Zeroize, Zeroizing};
use saltern_yescrypt::keys::{HashKey, KeyId, KeySet};

use super::{Key, KeySource};
use crate::error::Error;

/// The longest content: 64 digits and an end of line.
const MAX: usize = 64 + 2;
/// The longest fingerprint with the white space around it.
const MAX_FINGERPRINT: usize = 256;

/// The file beside a key file that contains the fingerprint of the key: `NAME.fingerprint`.
#[must_use]
pub fn fingerprint_path(key: &Path) -> PathBuf {
    let mut name = OsString::from(key);
    name.push(".fingerprint");
    name.into()
}

/// 32 secret bytes, wiped on drop. `Debug` does not show them.
#[derive(Clone)]
pub struct Secret(Box<Zeroizing<[u8; 32]>>);

impl Secret {
    /// Takes the bytes, and wipes the parameter.
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

    /// The hash encryption key with these bytes.
    ///
    /// # Errors
    /// Those of [`HashKey::from_slice`], which accepts any 32 bytes.
    pub fn key(&self) -> Result<HashKey, Error> {
        Ok(HashKey::from_slice(self.bytes())?)
    }

    /// Reads a key file, as [`KeySource::File`] describes it. Remarks for the operator, such as
    /// permissions that let others read the file, are added to the notes.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the file cannot be read or does not hold a key, or if its
    /// fingerprint file ([`fingerprint_path`]) has another fingerprint. Errors never contain any of
    /// the content.
    pub fn read(path: impl Into<PathBuf>, notes: &mut Vec<String>) -> Result<Self, Error> {
        read_key(&KeySource::File(path.into()), notes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Reads the keys of a policy, and the one of strings that name none. Remarks for the operator are
/// added to the notes.
pub(crate) fn key_set(
    keys: &[Key],
    unnamed: Option<&KeySource>,
    notes: &mut Vec<String>,
) -> Result<KeySet, Error> {
    let mut set = KeySet::new();
    for key in keys {
        let (name, secret) = read_named(key, notes)?;
        set.add(name, secret.key()?)?;
        if key.active {
            set.activate(name)?;
        }
    }
    if let Some(source) = unnamed {
        set.assume_unnamed(read_key(source, notes)?.key()?);
    }
    Ok(set)
}

/// A key with its name, which has the fingerprint in any case.
pub(crate) fn read_named(key: &Key, notes: &mut Vec<String>) -> Result<(KeyId, Secret), Error> {
    let Key { name, source, .. } = key;
    let secret = read_key(source, notes)?;
    let is = name.with_fingerprint(secret.key()?.fingerprint());
    if name.fingerprint().is_none() || *name == is {
        return Ok((is, secret));
    }
    let holder = match source {
        KeySource::File(path) => path.display().to_string(),
        KeySource::Value(_) => "the given value".to_owned(),
    };
    Err(Error::unavailable(format!("the key {name}"), format!("{holder} holds the key {is}")))
}

/// The key, from its source. Remarks for the operator about its file are added to the notes.
pub(crate) fn read_key(source: &KeySource, notes: &mut Vec<String>) -> Result<Secret, Error> {
    let path = match source {
        KeySource::Value(secret) => return Ok(secret.clone()),
        KeySource::File(path) => path,
    };
    let unavailable =
        |why: &dyn fmt::Display| Error::unavailable(format!("the key in {}", path.display()), why);
    let (file, content) = content(path, MAX).map_err(|error| unavailable(&error))?;
    notes.extend(loose(&file, path, "key", false));
    let wrong = "it must hold 32 bytes or 64 hexadecimal digits";
    let bytes = parse(&content).ok_or_else(|| unavailable(&wrong))?;
    let secret = Secret::copied(&bytes);
    let beside = fingerprint_path(path);
    match self::content(&beside, MAX_FINGERPRINT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(secret),
        // A check that cannot be made counts as failed.
        Err(error) => Err(unavailable(&format!("{}: {error}", beside.display()))),
        Ok((_, said)) => {
            let own = secret.key()?.fingerprint().to_string();
            if said.trim_ascii() == own.as_bytes() {
                return Ok(secret);
            }
            let (said, beside) = (String::from_utf8_lossy(said.trim_ascii()), beside.display());
            Err(unavailable(&format!(
                "its fingerprint, {own}, is not the one in the file beside it: {beside} has \
                 {said:?}; restore the right key or fingerprint"
            )))
        }
    }
}

/// The content of a file of at most `most` bytes; of a longer one, one byte more. Only regular
/// files are opened: opening a pipe would block.
pub(crate) fn content(path: &Path, most: usize) -> io::Result<(File, Zeroizing<Vec<u8>>)> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut file = File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(most).min(most);
    // Memory that grows would leave copies of a key behind.
    let mut content = Zeroizing::new(Vec::with_capacity(length + 1));
    file.by_ref().take(most as u64 + 1).read_to_end(&mut content)?;
    Ok((file, content))
}

fn parse(content: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    if content.len() == key.len() {
        key.copy_from_slice(content);
        return Some(key);
    }
    let digits = content.strip_suffix(b"\n").unwrap_or(content);
    let digits = digits.strip_suffix(b"\r").unwrap_or(digits);
    if digits.len() != 2 * key.len() {
        return None;
    }
    base16ct::mixed::decode(digits, &mut key[..]).ok()?;
    Some(key)
}

/// A warning if others may read or change an open file, for files with secrets. Such a file is not
/// refused: access by a group may be intended.
///
/// `what` is the kind of file, for example `key`. If `group` is true, the file is meant to be read
/// by its group, of which there is no warning either. There is no warning for files that are not
/// regular, and none on systems without Unix permissions.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("site.seed");
/// # std::fs::write(path, "")?;
/// let file = std::fs::File::open(path)?;
/// if let Some(warning) = saltern::policy::loose(&file, path, "seed", false) {
///     eprintln!("{warning}");
/// }
/// # Ok(()) }
/// ```
#[must_use]
pub fn loose(file: &File, path: &Path, what: &str, group: bool) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().ok()?;
        let mode = metadata.permissions().mode() & 0o7777;
        let (path, others) = (path.display(), if group { 0o037 } else { 0o077 });
        (metadata.is_file() && mode & others != 0)
            .then(|| format!("others can read or change the {what} file {path} (mode {mode:o})"))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path, what, group);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key in a file, and what is said of it otherwise.
    fn key(path: &Path) -> Result<[u8; 32], String> {
        let key = read_key(&KeySource::File(path.to_owned()), &mut Vec::new());
        key.map(|secret| *secret.bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn only_regular_files_of_the_right_size_are_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        assert!(key(&path).unwrap_err().contains("is unavailable"));
        assert!(key(folder.path()).unwrap_err().contains("not a regular file"));
        #[cfg(unix)]
        assert!(key(Path::new("/dev/zero")).unwrap_err().contains("not a regular file"));
        for length in [0, 31, 33, MAX + 1, 1 << 20] {
            std::fs::write(&path, vec![b'7'; length]).unwrap();
            assert!(key(&path).unwrap_err().contains("32 bytes or 64"), "{length}");
        }
        std::fs::write(&path, [7; 32]).unwrap();
        assert_eq!(key(&path), Ok([7; 32]));
    }

    /// A pipe to which nobody writes is refused, and not waited for.
    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(key(&path).unwrap_err().contains("not a regular file"));
    }

    #[test]
    fn a_fingerprint_that_cannot_be_read_is_no_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, [7; 32]).unwrap();
        let right = Secret::new([7; 32]).key().unwrap().fingerprint().to_string();
        let beside = fingerprint_path(&path);
        std::fs::write(&beside, format!("{right}\n")).unwrap();
        assert_eq!(key(&path), Ok([7; 32]));
        for wrong in ["", "00", "0011223344556677", &right.repeat(2), &right.repeat(100)] {
            std::fs::write(&beside, wrong).unwrap();
            assert!(key(&path).unwrap_err().contains("not the one in the file beside"), "{wrong}");
        }
        std::fs::write(&beside, b"\xff\xff").unwrap();
        assert!(key(&path).is_err());
        std::fs::remove_file(&beside).unwrap();
        std::fs::create_dir(&beside).unwrap();
        assert!(key(&path).unwrap_err().contains("not a regular file"));
    }

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
