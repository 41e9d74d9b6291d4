//! What is looked at in an image, and read of it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::Error;
use crate::create::{PIECE, check_digest, finish, tail};
use crate::filesystem;
use crate::manifest::Manifest;
use crate::map::Mapping;
use crate::progress::{Progress, Stage, Watch};

pub(crate) fn length(manifest: &Manifest) -> Result<usize, Error> {
    let refused = Error::NoMemory { needed: manifest.size(), available: None };
    usize::try_from(manifest.size()).map_err(|_| refused)
}

pub(crate) fn file_size(file: &File, path: &Path) -> Result<u64, Error> {
    Ok(file.metadata().map_err(Error::io("look at", path))?.len())
}

/// Compares the size of an image's file with the manifest. A file of huge pages is as long as these are whole.
pub(crate) fn check_size(path: &Path, manifest: &Manifest, file: &File) -> Result<(), Error> {
    let (expected, actual) = (manifest.size(), file_size(file, path)?);
    let page = filesystem::page_size_of(file, path)?;
    let whole = if page > rustix::param::page_size() { page as u64 } else { 1 };
    if actual == expected.next_multiple_of(whole) {
        return Ok(());
    }
    Err(Error::Size { path: path.to_owned(), expected, actual })
}

/// Compares tag and digest of an image in memory with the manifest.
pub(crate) fn check_image(path: &Path, manifest: &Manifest, image: &[u8]) -> Result<(), Error> {
    let digest = tail(image).ok_or_else(|| Error::NotFilled { path: path.to_owned() })?;
    check_digest(path, &manifest.digest, &digest)
}

/// [`check_image`] for an image in a file.
pub(crate) fn check_tail(path: &Path, manifest: &Manifest, file: &File) -> Result<(), Error> {
    let (mut bytes, size) = ([0; 48], manifest.size());
    read_exact(file, path, &mut bytes, size.saturating_sub(48), size)?;
    check_image(path, manifest, &bytes)
}

/// Reads from an image of `size` bytes.
pub(crate) fn read_exact(
    file: &File,
    path: &Path,
    piece: &mut [u8],
    at: u64,
    size: u64,
) -> Result<(), Error> {
    match file.read_exact_at(piece, at) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            let actual = file_size(file, path)?;
            Err(Error::Size { path: path.to_owned(), expected: size, actual })
        }
        other => other.map_err(Error::io("read", path)),
    }
}

/// Reads a whole image into memory, and its hash.
pub(crate) fn read_image(
    file: &File,
    path: &Path,
    mapping: &mut Mapping,
    watch: Watch<'_>,
) -> Result<[u8; 64], Error> {
    let Some(bytes) = mapping.bytes_mut() else {
        return Err(Error::Unsupported { what: "the memory for the image is read-only" });
    };
    let (mut done, total) = (0, bytes.len() as u64);
    let mut hasher = saltern_blake2::blake2bp::Params::new().to_hasher();
    for piece in bytes.chunks_mut(PIECE) {
        read_exact(file, path, piece, done, total)?;
        hasher.update(piece);
        done += piece.len() as u64;
        if watch(Progress { stage: Stage::Read, done, total }).is_break() {
            return Err(Error::Cancelled);
        }
    }
    Ok(finish(hasher))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Pages;
    use crate::progress::unwatched;

    /// Its first pages are never there, so that reading them fails (EIO).
    #[test]
    fn read_errors_are_errors() {
        let (file, path) = (File::open("/proc/self/mem").unwrap(), Path::new("image"));
        let mut mapping = Mapping::anonymous(1 << 16, Pages::Base).unwrap();
        let whole = read_image(&file, path, &mut mapping, &unwatched).unwrap_err();
        let piece = read_exact(&file, path, &mut [0; 48], 4096, 65536).unwrap_err();
        for error in [whole, piece] {
            assert_eq!(error.os().unwrap().raw_os_error(), Some(libc::EIO), "{error}");
        }
    }
}
