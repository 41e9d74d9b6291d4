//! Copying images with a check, and adopting them from elsewhere.

use std::path::Path;

use saltern_yescrypt::rom::RomParams;

use crate::Error;
use crate::files::destination::{Made, Place, Sink};
use crate::files::image::{check_hash, digest_of};
use crate::files::located::{Image, ImageFile, Opened, trusted_segment};
use crate::files::manifest_file::check_place;
use crate::format::identity::RomHash;
use crate::format::manifest::{Location, Manifest, SeedSource};
use crate::format::sums::ImageHasher;
use crate::progress::{Watch, no_progress};
use crate::system::filesystem::{Kind, write_all_at};
use crate::system::pages::RomPages;

/// How to copy.
#[derive(Clone)]
#[non_exhaustive]
pub struct CopyOptions<'a> {
    /// Where the copy will be; its manifest is always beside the given path.
    pub location: Location,
    /// Whether an existing image may be replaced.
    pub replace: bool,
    /// Permissions of the copy.
    pub mode: u32,
    /// The pages of a segment.
    pub pages: RomPages,
    /// Receives progress, and can cancel the work.
    pub watch: Watch<'a>,
}

impl CopyOptions<'_> {
    /// A copy to a file beside its manifest, no replacing, mode 0440, transparent huge pages.
    #[must_use]
    pub fn new() -> Self {
        CopyOptions {
            location: Location::Beside,
            replace: false,
            mode: 0o440,
            pages: RomPages::default(),
            watch: &no_progress,
        }
    }
}

impl Default for CopyOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Copies the ROM `from`, with its manifest, to `to` or to [`CopyOptions::location`], and checks
/// every byte against the hash in the manifest: a damaged image does not get its name.
///
/// Use this after a boot to copy a ROM from a disk into shared memory: to a file in /dev/shm or on
/// a hugetlbfs, or to a segment. The copy appears atomically, as with
/// [`Create::file`](crate::Create::file).
///
/// # Errors
/// Those of [`verify`](crate::verify()) for `from` and of [`Create::file`](crate::Create::file) for
/// `to`.
pub fn copy(from: &Path, to: &Path, options: &CopyOptions<'_>) -> Result<Manifest, Error> {
    let opened = Opened::open(from, None)?;
    let source = &opened.manifest;
    let CopyOptions { location, replace, mode, pages, watch } = options;
    let (params, replace, mode, pages) = (source.params, *replace, *mode, *pages);
    let location = &location.absolute()?;
    Manifest::check_paths(to, &source.seed, location)?;
    let place = Place { image: to, location, params, replace, mode, pages };
    let name = place.name();
    place.put(false, |mut sink| {
        let mut hasher = ImageHasher::with_chunk(source.size(), source.chunk)?;
        let mut at = 0;
        let mut write = |piece: &[u8]| {
            hasher.update(piece);
            match &mut sink {
                Sink::File(file) => {
                    let written = write_all_at(file, piece, at as u64);
                    written.map_err(Error::io("write", &name))?;
                }
                Sink::Memory(memory) => {
                    memory.bytes_mut()?[at..at + piece.len()].copy_from_slice(piece);
                }
            }
            at += piece.len();
            Ok(())
        };
        opened.image.each_piece(source.size(), *watch, &mut write)?;
        let sums = hasher.finish_as(source, Some(from), opened.image.name())?;
        Ok(Made { manifest: Manifest { location: location.clone(), ..source.clone() }, sums })
    })
}

/// Writes a manifest for an image that was made elsewhere, for instance by the C implementation, in
/// the file `image` or, with a key, in a System V segment. Only the size can be checked against the
/// parameters, so they must be known. Any image is accepted: to require a certain ROM, pass
/// `expect`, or compare the hash in the manifest with a known one.
///
/// # Errors
/// [`Error::Untrusted`] for a segment that belongs to somebody else or that others may write to;
/// [`Error::Exists`] if there is a manifest; [`Error::Size`], [`Error::NotFilled`],
/// [`Error::WrongRom`]; [`Error::Yescrypt`] for parameters that do not define a ROM;
/// [`Error::Cancelled`], [`Error::Io`].
pub fn adopt(
    image: &Path,
    params: &RomParams,
    segment: Option<i32>,
    expect: Option<RomHash>,
    watch: Watch<'_>,
) -> Result<Manifest, Error> {
    params.check()?;
    let manifest_path = Manifest::path_for(image);
    if manifest_path.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: manifest_path });
    }
    let expected = params.size();
    check_place(image)?;
    let (location, found) = match segment {
        Some(key) => (Location::Sysv { key }, Image::Segment(trusted_segment(key)?)),
        None => (Location::Beside, Image::File(ImageFile::open(image)?)),
    };
    if let Image::File(ImageFile { kind: Kind::Hugetlbfs, .. }) = &found {
        let what = "files cannot be written to a hugetlbfs, so the image cannot have a manifest there: \
                    copy it to a tmpfs or a disk";
        return Err(Error::Unsupported { what });
    }
    found.check_size(expected)?;
    let mut hasher = ImageHasher::new(params)?;
    let mut last = None;
    found.each_piece(expected, watch, &mut |piece| {
        hasher.update(piece);
        last = digest_of(piece);
        Ok(())
    })?;
    let digest = last.ok_or_else(|| Error::NotFilled { path: found.name() })?;
    let made = Made::new(*params, hasher.finish(), digest, SeedSource::Unknown, location);
    check_hash(&found.name(), expect, made.manifest.hash)?;
    made.manifest.write(image, &made.sums)?;
    Ok(made.manifest)
}
