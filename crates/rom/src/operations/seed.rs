//! The seed of a ROM: the secret from which it can be made again.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use saltern_wipe::Zeroizing;

use crate::Error;
use crate::files::staged::new_private_file;
use crate::format::manifest::SeedSource;

/// The seed of a ROM. Wiped on drop; `Debug` does not show it.
///
/// Anyone who has it can make the ROM without copying it, so keep it like a key. With it and the
/// manifest, a lost image can be made again.
pub struct Seed {
    bytes: Zeroizing<Vec<u8>>,
    source: SeedSource,
}

/// The minimum length of a seed that is read, in bytes.
const MIN: usize = 16;
/// The maximum length.
const MAX: usize = 1 << 20;

impl Seed {
    /// Reads a seed from a file: 16 bytes to 1 MiB, without a final line feed.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::SeedLength`].
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        Self::from_open_file(std::fs::File::open(path).map_err(Error::io("open", path))?, path)
    }

    /// [`Seed::from_file`] for a file that is already open, for example to check its mode first.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::SeedLength`].
    pub fn from_open_file(file: impl Read, path: &Path) -> Result<Self, Error> {
        let bytes = read(file, path)?;
        Ok(Seed { bytes, source: SeedSource::File { path: absolute(path) } })
    }

    /// Reads a seed from a descriptor or another reader, to its end: 16 bytes to 1 MiB, without a
    /// final line feed.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::SeedLength`].
    pub fn from_reader(reader: impl Read) -> Result<Self, Error> {
        let bytes = read(reader, Path::new("the seed's descriptor"))?;
        Ok(Seed { bytes, source: SeedSource::Descriptor })
    }

    /// A seed from any bytes, at least one: for seeds chosen elsewhere. A seed that can be guessed
    /// gives no protection.
    ///
    /// ```
    /// use saltern_rom::Seed;
    /// let refused = Seed::from_bytes(b"").unwrap_err().to_string();
    /// assert_eq!(refused, "the seed has 0 bytes: it must have at least 1");
    /// ```
    ///
    /// # Errors
    /// [`Error::SeedLength`] for an empty one.
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Result<Self, Error> {
        let bytes = bytes.as_ref();
        if bytes.is_empty() {
            return Err(Error::SeedLength { actual: 0, least: 1, most: usize::MAX });
        }
        Ok(Seed { bytes: Zeroizing::new(bytes.to_vec()), source: SeedSource::Descriptor })
    }

    /// Generates a new seed of 256 random bits, as 64 hexadecimal digits, which can be kept on
    /// paper too. It is first written to `backup`, a new file that only its owner may read, and is
    /// on the disk when this returns.
    ///
    /// # Errors
    /// Those of [`new_private_file`](crate::new_private_file).
    pub fn generate(backup: &Path) -> Result<Self, Error> {
        let mut random = Zeroizing::new([0; 32]);
        let failed = |_| saltern_yescrypt::Error::Random;
        getrandom::fill(&mut *random).map_err(failed)?;
        let bytes = base16ct::lower::encode_string(&*random);
        let bytes = Zeroizing::new(bytes.into_bytes());
        new_private_file(backup, &bytes)?;
        Ok(Seed { bytes, source: SeedSource::Generated { path: absolute(backup) } })
    }

    /// Where it came from.
    #[must_use]
    pub fn source(&self) -> &SeedSource {
        &self.source
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed {{ from {:?} }}", self.source)
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Reads everything into memory that never moves and is wiped.
fn read(reader: impl Read, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    // A growing buffer would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX + 4));
    let read = reader.take(MAX as u64 + 3).read_to_end(&mut bytes);
    let mut len = read.map_err(Error::io("read", path))?;
    let line = bytes[..len].strip_suffix(b"\n");
    len = line.map_or(len, |line| line.strip_suffix(b"\r").unwrap_or(line).len());
    if !(MIN..=MAX).contains(&len) {
        return Err(Error::SeedLength { actual: len, least: MIN, most: MAX });
    }
    Ok(Zeroizing::new(bytes[..len].to_vec()))
}
