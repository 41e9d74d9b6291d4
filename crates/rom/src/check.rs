//! Checking whole images.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::create::compute;
use crate::image::PIECE;
use crate::manifest::Manifest;
use crate::map::Mapping;
use crate::memory::{acquire, available};
use crate::opened::Opened;
use crate::pages::Pages;
use crate::progress::Watch;
use crate::seed::Seed;
use crate::staged::{Staged, check_room};
use crate::sums::{ImageHasher, Table};

/// Checks every byte of the image whose manifest is `image.json` against the hash in it. The image is read, not mapped.
///
/// Attaching compares size, tag, digest and the table of hashes, which finds a wrong or unfinished ROM; this finds damage anywhere in it.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`], [`Error::Size`], [`Error::NotFilled`], [`Error::WrongRom`]; [`Error::Damaged`], with the chunk
/// if the table tells it; [`Error::Sums`] if the image is good and the table is not; [`Error::Cancelled`], [`Error::Io`].
pub fn verify(image: &Path, watch: Watch<'_>) -> Result<Manifest, Error> {
    let opened = Opened::open(image, None)?;
    let found = hash_all(image, &opened, watch)?;
    let known = Table::open(image, &opened.manifest)?;
    if known.difference(&found)?.is_some() {
        let path = crate::sums::path_for(image);
        return Err(Error::Sums { path, reason: "it is that of another image".to_owned() });
    }
    Ok(opened.manifest)
}

/// Makes the table of an image anew, after it was lost or damaged, when all of the image has been found to be good.
///
/// # Errors
/// Those of [`verify`] but for [`Error::Sums`]; [`Error::Busy`].
pub fn rebuild_sums(image: &Path, watch: Watch<'_>) -> Result<Manifest, Error> {
    let opened = Opened::open(image, None)?;
    let table = hash_all(image, &opened, watch)?;
    opened.manifest.write(image, &table)?;
    Ok(opened.manifest)
}

/// The table of an image whose hash is that in the manifest.
fn hash_all(image: &Path, opened: &Opened, watch: Watch<'_>) -> Result<Table, Error> {
    let manifest = &opened.manifest;
    let mut hasher = ImageHasher::with_chunk(manifest.size(), manifest.chunk)?;
    opened.each_piece(watch, &mut |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    let found = hasher.finish();
    if found.root(&manifest.params)? != manifest.hash {
        let known = Table::open(image, manifest).ok();
        let offset = known.and_then(|known| known.difference(&found).ok().flatten());
        return Err(Error::Damaged { path: opened.name(), offset });
    }
    Ok(found)
}

/// Computes the ROM again from its seed, and compares every byte: proof that the seed is the right one and that the image could be
/// made again. In memory if as much is available, otherwise in an unfinished file beside the image that is gone afterwards.
///
/// # Errors
/// Those of [`verify`]; [`Error::WrongRom`] with the id that the seed gives if it is another seed; [`Error::Damaged`] with the place of
/// the first difference; [`Error::NoMemory`], [`Error::NoSpace`], [`Error::Busy`].
pub fn recompute(
    image: &Path,
    seed: &Seed,
    threads: usize,
    watch: Watch<'_>,
) -> Result<Manifest, Error> {
    let opened = Opened::open(image, None)?;
    let (manifest, size) = (&opened.manifest, opened.manifest.size());
    let mut beside = image.as_os_str().to_owned();
    beside.push(".check");
    let mut memory = match available() {
        Some(available) if size > available => {
            check_room(image, size)?;
            let staged = Staged::begin(beside.as_ref(), 0o600)?;
            staged.allocate(size)?;
            // The mapping keeps the file, which loses its name here.
            map_new(&staged, size)?
        }
        _ => acquire(size, Pages::default(), false, &mut Vec::new())?.mapping,
    };
    let Some(bytes) = memory.bytes_mut() else {
        return Err(Error::Unsupported { what: "the memory for the image is read-only" });
    };
    let digest = compute(&manifest.params, seed, threads, bytes, watch)?;
    if digest != manifest.digest {
        let mut hasher = ImageHasher::with_chunk(size, manifest.chunk)?;
        memory.bytes().chunks(PIECE).for_each(|piece| hasher.update(piece));
        let (path, actual) = (PathBuf::from("what the seed gives"), hasher.finish());
        let actual = Some(actual.root(&manifest.params)?);
        return Err(Error::WrongRom { path, expected: manifest.hash, actual });
    }
    let (mut at, path) = (0, opened.name());
    opened.each_piece(watch, &mut |piece| {
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

fn map_new(staged: &Staged, size: u64) -> Result<Mapping, Error> {
    let refused = Error::NoMemory { needed: size, available: None };
    let len = usize::try_from(size).map_err(|_| refused)?;
    let page = rustix::param::page_size();
    Mapping::file(&staged.file, len, page, true).map_err(Error::io("map", staged.path()))
}
