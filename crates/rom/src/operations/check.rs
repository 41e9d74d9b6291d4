//! Checking images, quickly or completely.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::image::check_image;
use crate::files::located::{Image, Opened, map_segment};
use crate::files::staged::{Staged, check_room};
use crate::format::identity::RomHash;
use crate::format::manifest::Manifest;
use crate::format::paths::beside;
use crate::format::sums::{ImageHasher, Sums};
use crate::operations::create::compute;
use crate::operations::seed::Seed;
use crate::progress::{PIECE, Watch};
use crate::system::filesystem::{is_in_memory, page_size_of_memory};
use crate::system::map::Mapping;
use crate::system::memory::{acquire, check_memory, length};
use crate::system::pages::RomPages;

/// Quickly compares the size, the tag and the digest of an image, and the head of its table of
/// hashes, with its manifest: this finds a wrong, an unfinished or a truncated image. If others may
/// have written the files, the table is not read: it could have any length.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`], [`Error::Size`], [`Error::NotFilled`];
/// [`Error::WrongRom`], also if the ROM is not the expected one; [`Error::Sums`];
/// [`Error::Untrusted`] for an image in shared memory to which others may write; [`Error::Io`].
pub fn check(image: &Path, expect: Option<RomHash>) -> Result<Manifest, Error> {
    let opened = Opened::open(image, expect)?;
    opened.check_shared()?;
    if let Image::Segment(segment) = &opened.image {
        let memory = map_segment(segment)?;
        check_image(&segment.name(), &opened.manifest, memory.bytes())?;
    }
    if opened.check_trust().is_ok() {
        Sums::open(image, &opened.manifest)?;
    }
    Ok(opened.manifest)
}

/// Checks every byte of the image whose manifest is `image.json` against the hash in it. The image
/// is read, not mapped; a ROM other than the expected one is refused without reading it.
///
/// [`check()`] and attaching compare size, tag, digest and the table of hashes, which finds a wrong
/// or unfinished ROM; this finds damage anywhere in it.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`], [`Error::Size`], [`Error::NotFilled`],
/// [`Error::WrongRom`]; [`Error::Damaged`], with the chunk if the table shows it; [`Error::Sums`]
/// if the image is good and the table is not; [`Error::Cancelled`], [`Error::Io`].
pub fn verify(image: &Path, expect: Option<RomHash>, watch: Watch<'_>) -> Result<Manifest, Error> {
    let opened = Opened::open(image, expect)?;
    let found = hash_all(image, &opened, watch)?;
    let known = Sums::open(image, &opened.manifest)?;
    if known.difference(&found)?.is_some() {
        let path = crate::files::manifest_file::path_for(image);
        return Err(Error::Sums { path, reason: "it is that of another image".to_owned() });
    }
    Ok(opened.manifest)
}

/// Makes a new table for an image whose table was lost or damaged, after checking that the whole
/// image is good.
///
/// # Errors
/// Those of [`verify`] except [`Error::Sums`]; [`Error::Busy`].
pub fn rebuild_sums(
    image: &Path,
    expect: Option<RomHash>,
    watch: Watch<'_>,
) -> Result<Manifest, Error> {
    let opened = Opened::open(image, expect)?;
    let sums = hash_all(image, &opened, watch)?;
    opened.manifest.write(image, &sums)?;
    Ok(opened.manifest)
}

/// The table of an image, whose hash must be that in the manifest.
fn hash_all(image: &Path, opened: &Opened, watch: Watch<'_>) -> Result<Sums, Error> {
    let manifest = &opened.manifest;
    let mut hasher = ImageHasher::with_chunk(manifest.size(), manifest.chunk)?;
    opened.image.each_piece(manifest.size(), watch, &mut |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    hasher.finish_as(manifest, Some(image), opened.image.name())
}

/// Computes the ROM again from its seed, and compares every byte: proof that the seed is right and
/// that the image could be made again. Uses memory if enough is available, otherwise a temporary
/// file beside the image, if that is not in memory itself.
///
/// # Errors
/// Those of [`verify`]; [`Error::WrongRom`] with the id that the seed gives if it is the wrong
/// seed; [`Error::Damaged`] with the offset of the first difference; [`Error::NoMemory`],
/// [`Error::NoSpace`], [`Error::Busy`].
pub fn recompute(
    image: &Path,
    expect: Option<RomHash>,
    seed: &Seed,
    threads: usize,
    watch: Watch<'_>,
) -> Result<Manifest, Error> {
    let opened = Opened::open(image, expect)?;
    let (manifest, size) = (&opened.manifest, opened.manifest.size());
    let mut memory = if check_memory(size).is_err() && !is_in_memory(image)? {
        check_room(image, size)?;
        let staged = Staged::begin(&beside(image, ".check"), 0o600)?;
        staged.allocate(size)?;
        // The mapping keeps the file, whose name is removed here.
        let mapped = Mapping::file(&staged.file, length(size)?, page_size_of_memory(), true);
        mapped.map_err(Error::io("map", staged.path()))?
    } else {
        acquire(size, RomPages::default(), false, &mut Vec::new())?.mapping
    };
    compute(&manifest.params, seed, threads, memory.bytes_mut()?, watch)?;
    // The digest would detect another seed, but not a manifest with another hash.
    let mut hasher = ImageHasher::with_chunk(size, manifest.chunk)?;
    memory.bytes().chunks(PIECE).for_each(|piece| hasher.update(piece));
    let actual = hasher.finish().root(&manifest.params);
    if actual != manifest.hash {
        let path = PathBuf::from("the ROM computed from the seed");
        return Err(Error::WrongRom { path, expected: manifest.hash, actual: Some(actual) });
    }
    let (mut at, path) = (0, opened.image.name());
    opened.image.each_piece(size, watch, &mut |piece| {
        let expected = &memory.bytes()[at..at + piece.len()];
        if expected != piece {
            let differs = expected.iter().zip(piece).position(|(a, b)| a != b).unwrap_or(0);
            let offset = Some((at + differs) as u64);
            return Err(Error::Damaged { path: path.clone(), offset });
        }
        at += piece.len();
        Ok(())
    })?;
    Ok(opened.manifest)
}
