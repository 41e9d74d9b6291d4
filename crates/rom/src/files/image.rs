//! What is looked at in an image, and read of it.

use std::fs::File;
use std::path::Path;

use crate::Error;
use crate::format::identity::RomHash;
use crate::format::manifest::Manifest;
use crate::format::table::Table;
use crate::progress::{PIECE, Progress, Stage, Watch, tell};
use crate::system::filesystem::read_exact_at;
use crate::system::map::Mapping;

/// The tag before the digest at the end of an image.
const TAG: &[u8; 16] = b"yescrypt-ROMhash";

pub(crate) fn length(manifest: &Manifest) -> Result<usize, Error> {
    let refused = Error::NoMemory { needed: manifest.size(), available: None };
    usize::try_from(manifest.size()).map_err(|_| refused)
}

/// The digest at the end of an image, if its tag is there. Both are 64-bit words in the order of
/// this machine, as all of an image.
pub(crate) fn tail(image: &[u8]) -> Option<[u8; 32]> {
    let mut tail = *image.last_chunk::<48>()?;
    let (words, []) = tail.as_chunks_mut::<8>() else { return None };
    words.iter_mut().for_each(|word| *word = u64::from_ne_bytes(*word).to_le_bytes());
    let digest = tail.strip_prefix(TAG)?;
    digest.try_into().ok()
}

/// Compares tag and digest of an image in memory with the manifest.
pub(crate) fn check_image(path: &Path, manifest: &Manifest, image: &[u8]) -> Result<(), Error> {
    let digest = tail(image).ok_or_else(|| Error::NotFilled { path: path.to_owned() })?;
    if digest == manifest.digest {
        return Ok(());
    }
    Err(Error::WrongRom { path: path.to_owned(), expected: manifest.hash, actual: None })
}

/// Whether a ROM is the one that is expected, if one is.
pub(crate) fn check_hash(
    path: &Path,
    expected: Option<RomHash>,
    actual: RomHash,
) -> Result<(), Error> {
    match expected.filter(|expected| *expected != actual) {
        None => Ok(()),
        Some(expected) => {
            Err(Error::WrongRom { path: path.to_owned(), expected, actual: Some(actual) })
        }
    }
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
    match read_exact_at(file, piece, at) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            let actual = file.metadata().map_err(Error::io("look at", path))?.len();
            Err(Error::Size { path: path.to_owned(), expected: size, actual })
        }
        other => other.map_err(Error::io("read", path)),
    }
}

/// Reads a whole image into memory, where every chunk is checked.
pub(crate) fn read_image(
    file: &File,
    path: &Path,
    mapping: &mut Mapping,
    table: &Table,
    watch: Watch<'_>,
) -> Result<(), Error> {
    let Some(bytes) = mapping.bytes_mut() else {
        return Err(Error::Unsupported { what: "the memory for the image is read-only" });
    };
    let (mut done, total) = (0, bytes.len() as u64);
    for piece in bytes.chunks_mut(PIECE) {
        read_exact(file, path, piece, done, total)?;
        table.check(done, piece).map_err(|damage| table.error(damage, path))?;
        done += piece.len() as u64;
        tell(watch, Progress { stage: Stage::Read, done, total })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::table::ImageHasher;
    use crate::progress::unwatched;
    use crate::system::pages::Pages;

    /// Its first pages are never there, so that reading them fails (EIO).
    #[test]
    fn read_errors_are_errors() {
        let (file, path) = (File::open("/proc/self/mem").unwrap(), Path::new("image"));
        let mut mapping = Mapping::anonymous(1 << 16, Pages::Base).unwrap();
        let table = ImageHasher::with_chunk(0, 4096).unwrap().finish();
        let whole = read_image(&file, path, &mut mapping, &table, &unwatched).unwrap_err();
        let piece = read_exact(&file, path, &mut [0; 48], 4096, 65536).unwrap_err();
        for error in [whole, piece] {
            assert_eq!(error.os().unwrap().raw_os_error(), Some(libc::EIO), "{error}");
        }
    }

    /// As bytes on a little-endian machine, and word for word reversed on the others.
    #[test]
    fn the_end_of_an_image_is_words_of_this_machine() {
        let mut image = vec![0; 64];
        image[16..32].copy_from_slice(TAG);
        image[32..].copy_from_slice(&core::array::from_fn::<u8, 32, _>(|i| i as u8));
        if cfg!(target_endian = "big") {
            image[16..].chunks_mut(8).for_each(<[u8]>::reverse);
        }
        assert_eq!(tail(&image), Some(core::array::from_fn(|i| i as u8)));
        image[16] ^= 1;
        assert_eq!(tail(&image), None);
    }
}
