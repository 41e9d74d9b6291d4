//! Reading and checking images.

use std::fs::File;
use std::path::Path;

use saltern_yescrypt::rom::RomView;

use crate::Error;
use crate::format::identity::RomHash;
use crate::format::manifest::Manifest;
use crate::format::sums::Sums;
use crate::progress::{PIECE, Progress, Stage, Watch, tell};
use crate::system::filesystem::read_exact_at;
use crate::system::map::Mapping;

/// The last sub-block of an image, which holds its tag and its digest.
#[repr(align(64))]
struct End([u8; 64]);

/// The digest at the end of an image, if it has a tag.
pub(crate) fn digest_of(image: &[u8]) -> Option<[u8; 32]> {
    let end = End(*image.last_chunk()?);
    Some(RomView::from_bytes(&end.0).ok()?.digest())
}

/// Compares tag and digest of an image in memory, or of its end, with the manifest.
pub(crate) fn check_image(path: &Path, manifest: &Manifest, image: &[u8]) -> Result<(), Error> {
    let digest = digest_of(image).ok_or_else(|| Error::NotFilled { path: path.to_owned() })?;
    if digest == manifest.digest {
        return Ok(());
    }
    Err(Error::WrongRom { path: path.to_owned(), expected: manifest.hash, actual: None })
}

/// Checks that a ROM is the expected one, if one is expected.
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
    let (mut end, size) = ([0; 64], manifest.size());
    read_exact(file, path, &mut end, size.saturating_sub(64), size)?;
    check_image(path, manifest, &end)
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
            let actual = file.metadata().map_err(Error::io("access", path))?.len();
            Err(Error::Size { path: path.to_owned(), expected: size, actual })
        }
        other => other.map_err(Error::io("read", path)),
    }
}

/// Reads a whole image into memory and checks every chunk there.
pub(crate) fn read_image(
    file: &File,
    path: &Path,
    mapping: &mut Mapping,
    sums: &Sums,
    watch: Watch<'_>,
) -> Result<(), Error> {
    let bytes = mapping.bytes_mut()?;
    let (mut done, total) = (0, bytes.len() as u64);
    for piece in bytes.chunks_mut(PIECE) {
        read_exact(file, path, piece, done, total)?;
        sums.check(done, piece, || path.to_owned())?;
        done += piece.len() as u64;
        tell(watch, Progress { stage: Stage::Read, done, total })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::sums::ImageHasher;
    use crate::progress::no_progress;
    use crate::system::pages::RomPages;

    /// Its first pages are never there, so that reading them fails (EIO).
    #[test]
    fn read_errors_are_errors() {
        let (file, path) = (File::open("/proc/self/mem").unwrap(), Path::new("image"));
        let mut mapping = Mapping::anonymous(1 << 16, RomPages::Base).unwrap();
        let sums = ImageHasher::with_chunk(0, 4096).unwrap().finish();
        let whole = read_image(&file, path, &mut mapping, &sums, &no_progress).unwrap_err();
        let piece = read_exact(&file, path, &mut [0; 48], 4096, 65536).unwrap_err();
        for error in [whole, piece] {
            let Error::Io { source, .. } = &error else { panic!("{error}") };
            assert_eq!(source.raw_os_error(), Some(libc::EIO), "{error}");
        }
    }

    /// Wherever it lies.
    #[test]
    fn the_end_of_an_image_is_words_of_this_machine() {
        let mut image = [0; 193];
        image[145..161].copy_from_slice(b"yescrypt-ROMhash");
        image[161..].copy_from_slice(&core::array::from_fn::<u8, 32, _>(|i| i as u8));
        if cfg!(target_endian = "big") {
            image[145..].chunks_mut(8).for_each(<[u8]>::reverse);
        }
        assert_eq!(digest_of(&image[1..]), Some(core::array::from_fn(|i| i as u8)));
        image[145] ^= 1;
        assert_eq!(digest_of(&image[1..]), None);
    }
}
