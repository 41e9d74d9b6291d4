//! Checking whole images.

use std::path::Path;

use crate::Error;
use crate::attach::{AttachOptions, attach};
use crate::create::{PIECE, check_digest, compute};
use crate::direct::BlockBuffer;
use crate::image::{check_size, check_tail};
use crate::manifest::Manifest;
use crate::map::Mapping;
use crate::memory::{acquire, available};
use crate::pages::Pages;
use crate::progress::{Progress, Stage, Watch};
use crate::seed::Seed;
use crate::staged::{Staged, check_room, open_regular};
use crate::sums::{ImageHasher, Table};

/// Checks every byte of the image whose manifest is `image.json` against the hash in it. The image is read, not mapped.
///
/// Attaching compares size, tag and digest, which finds a wrong or unfinished ROM; this finds damage anywhere in it, and in the table of
/// checksums of an image in a file.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`], [`Error::Size`], [`Error::NotFilled`], [`Error::WrongRom`]; [`Error::Damaged`], with the chunk
/// if the table tells it; [`Error::Sums`] if the image is good and the table is not; [`Error::Cancelled`], [`Error::Io`].
pub fn verify(image: &Path, watch: Watch<'_>) -> Result<Manifest, Error> {
    let manifest = Manifest::read(image)?;
    let found = hash_all(image, &manifest, watch)?;
    if manifest.sums.is_some() && Table::read(image, &manifest)? != found {
        let path = crate::sums::path_for(image);
        return Err(Error::Sums { path, reason: "it is that of another image".to_owned() });
    }
    Ok(manifest)
}

/// Makes the table of checksums of an image in a file anew, after it was lost or damaged, when all of the image has been found to be good.
///
/// # Errors
/// Those of [`verify`] but for [`Error::Sums`]; [`Error::Unsupported`] for a segment, [`Error::Busy`].
pub fn rebuild_sums(image: &Path, watch: Watch<'_>) -> Result<Manifest, Error> {
    let mut manifest = Manifest::read(image)?;
    if manifest.sums.is_none() {
        return Err(Error::Unsupported { what: "a System V segment has no table of checksums" });
    }
    let table = hash_all(image, &manifest, watch)?;
    manifest.sums = Some(table.describe()?);
    manifest.write(image, Some(&table))?;
    Ok(manifest)
}

/// The checksums of an image whose hash is that in the manifest.
fn hash_all(image: &Path, manifest: &Manifest, watch: Watch<'_>) -> Result<Table, Error> {
    let mut hasher = match manifest.sums {
        Some(known) => ImageHasher::with_chunk(manifest.size(), known.chunk.into())?,
        None => ImageHasher::new(&manifest.params)?,
    };
    let mut update = |piece: &[u8]| {
        hasher.update(piece);
        Ok(())
    };
    let path = each_piece(image, manifest, watch, &mut update)?;
    let (hash, found) = hasher.finish();
    if hash != manifest.image_hash {
        let known = Table::read(image, manifest).ok();
        let offset = known.and_then(|known| known.difference(&found));
        return Err(Error::Damaged { path, offset });
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
    let manifest = Manifest::read(image)?;
    let size = manifest.size();
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
    check_digest("what the seed gives".as_ref(), &manifest.digest, &digest)?;
    let (mut at, path) = (0, image.to_owned());
    let mut compare = |piece: &[u8]| {
        let expected = &memory.bytes()[at..at + piece.len()];
        if expected != piece {
            let differs = expected.iter().zip(piece).position(|(a, b)| a != b).unwrap_or(0);
            let offset = Some((at + differs) as u64);
            return Err(Error::Damaged { path: path.clone(), offset });
        }
        at += piece.len();
        Ok(())
    };
    each_piece(image, &manifest, watch, &mut compare)?;
    Ok(manifest)
}

fn map_new(staged: &Staged, size: u64) -> Result<Mapping, Error> {
    let refused = Error::NoMemory { needed: size, available: None };
    let len = usize::try_from(size).map_err(|_| refused)?;
    let page = rustix::param::page_size();
    Mapping::file(&staged.file, len, page, true).map_err(Error::io("map", staged.path()))
}

/// Hands out all pieces of an image in order, after the quick checks. Returns what to call the image.
pub(crate) fn each_piece(
    image: &Path,
    manifest: &Manifest,
    watch: Watch<'_>,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<std::path::PathBuf, Error> {
    let total = manifest.size();
    let mut done = 0;
    let mut told = |bytes: usize| {
        done += bytes as u64;
        match watch(Progress { stage: Stage::Read, done, total }).is_break() {
            true => Err(Error::Cancelled),
            false => Ok(done),
        }
    };
    let Some(path) = manifest.image_path(image) else {
        // A segment cannot be shortened, so that it may be mapped.
        let attached = attach(image, &AttachOptions::new())?;
        for piece in attached.as_bytes().chunks(PIECE) {
            take(piece)?;
            told(piece.len())?;
        }
        return Ok(attached.medium().to_string().into());
    };
    let file = open_regular(&path).map_err(Error::io("open", &path))?;
    check_size(&path, manifest, &file)?;
    check_tail(&path, manifest, &file)?;
    let mut buffer = BlockBuffer::new(PIECE)?;
    let mut at = 0;
    while at < total {
        let len = PIECE.min(usize::try_from(total - at).unwrap_or(PIECE));
        crate::image::read_exact(&file, &path, &mut buffer[..len], at, total)?;
        take(&buffer[..len])?;
        at = told(len)?;
    }
    Ok(path)
}
