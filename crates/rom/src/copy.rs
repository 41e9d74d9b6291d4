//! Images on their way: copied with a check, adopted from elsewhere, removed.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use saltern_yescrypt::RomParams;

use crate::attach::Medium;
use crate::check::each_piece;
use crate::create::{PIECE, tail};
use crate::direct::BlockBuffer;
use crate::filesystem;
use crate::image::{file_size, read_exact};
use crate::manifest::{Location, Manifest};
use crate::map::Mapping;
use crate::pages::Pages;
use crate::place::{Made, Place, Sink};
use crate::progress::{Progress, Stage, Watch, unwatched};
use crate::seed::SeedSource;
use crate::staged::{Staged, open_regular, open_unlinked, remove_leftover, sync_directory};
use crate::sums::{self, ImageHasher, Table};
use crate::sysv::Segment;
use crate::{Error, timestamp};

/// How to copy.
#[derive(Clone)]
#[non_exhaustive]
pub struct CopyOptions<'a> {
    /// Where the copy will be; its manifest is always beside the path that is given.
    pub location: Location,
    /// Whether an image that exists may be replaced.
    pub replace: bool,
    /// Permissions of the copy.
    pub mode: u32,
    /// The pages of a segment.
    pub pages: Pages,
    /// Is told of progress, and can end it.
    pub watch: Watch<'a>,
}

impl CopyOptions<'_> {
    /// To a file beside its manifest, no replacing, mode 0440, transparent huge pages.
    #[must_use]
    pub fn new() -> Self {
        CopyOptions {
            location: Location::Beside,
            replace: false,
            mode: 0o440,
            pages: Pages::default(),
            watch: &unwatched,
        }
    }
}

impl Default for CopyOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Copies the ROM `from`, with its manifest, to `to` or where [`CopyOptions::location`] says, checking every byte against the hash in the
/// manifest on the way: a damaged image is not copied.
///
/// This is how a ROM that is kept on a disk gets into shared memory after a boot: to a file in /dev/shm or on a hugetlbfs, or to a
/// segment. The copy appears whole or not at all, as with [`Create::file`](crate::Create::file).
///
/// # Errors
/// Those of [`verify`](crate::verify()) for `from` and of [`Create::file`](crate::Create::file) for `to`.
pub fn copy(from: &Path, to: &Path, options: &CopyOptions<'_>) -> Result<Manifest, Error> {
    let source = Manifest::read(from)?;
    let CopyOptions { location, replace, mode, pages, watch } = options;
    let (params, replace, mode, pages) = (source.params, *replace, *mode, *pages);
    let location = &location.absolute()?;
    Manifest::check_paths(to, &source.seed, location)?;
    let place = Place { image: to, location, params, replace, mode, pages };
    let name = place.name();
    place.put(false, |mut sink| {
        let mut hasher = ImageHasher::new(&source.params)?;
        let mut at = 0;
        let mut write = |piece: &[u8]| {
            hasher.update(piece);
            match &mut sink {
                Sink::File(file) => {
                    let written = file.write_all_at(piece, at as u64);
                    written.map_err(Error::io("write", &name))?;
                }
                Sink::Memory(memory) => {
                    let bytes = memory.bytes_mut().unwrap_or_default();
                    bytes[at..at + piece.len()].copy_from_slice(piece);
                }
            }
            at += piece.len();
            Ok(())
        };
        let path = each_piece(from, &source, *watch, &mut write)?;
        let (hash, table) = hasher.finish();
        if hash != source.image_hash {
            return Err(Error::Damaged { path, offset: None });
        }
        let (location, sums) = (location.clone(), Some(table.describe()?));
        Ok(Made { manifest: Manifest { location, sums, ..source.clone() }, table })
    })
}

/// Writes a manifest for an image that was made elsewhere, for instance by the C implementation, in the file `image` or, with a key,
/// in a System V segment. Of the parameters only the size can be checked, so that they have to be known.
///
/// # Errors
/// [`Error::Exists`] if there is a manifest; [`Error::Size`], [`Error::NotFilled`]; [`Error::Yescrypt`] for parameters that define no
/// ROM; [`Error::Cancelled`], [`Error::Io`].
pub fn adopt(
    image: &Path,
    params: &RomParams,
    segment: Option<i32>,
    watch: Watch<'_>,
) -> Result<Manifest, Error> {
    params.check()?;
    let manifest_path = Manifest::path_for(image);
    if manifest_path.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: manifest_path });
    }
    let expected = u64::try_from(params.size()).unwrap_or(u64::MAX);
    if segment.is_none() {
        sums::check_place(image)?;
    }
    let mut hasher = ImageHasher::new(params)?;
    let mut last = None;
    let mut done = 0;
    let mut take = |piece: &[u8]| {
        hasher.update(piece);
        last = tail(piece);
        done += piece.len() as u64;
        match watch(Progress { stage: Stage::Read, done, total: expected }).is_break() {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    };
    let (name, location) = match segment {
        Some(key) => (Medium::segment_name(key), Location::Sysv { key }),
        None => (image.to_owned(), Location::Beside),
    };
    let sized = |actual: u64| match actual == expected {
        true => Ok(()),
        false => Err(Error::Size { path: name.clone(), expected, actual }),
    };
    if let Some(key) = segment {
        let segment = Segment::find(key).map_err(Error::io("attach", &name))?;
        sized(segment.size)?;
        let memory = Mapping::segment(&segment, false).map_err(Error::io("attach", &name))?;
        memory.bytes().chunks(PIECE).try_for_each(&mut take)?;
    } else {
        let file = open_regular(image).map_err(Error::io("open", image))?;
        sized(file_size(&file, image)?)?;
        each_piece_of(&file, image, expected, &mut take)?;
    }
    let (image_hash, table) = hasher.finish();
    let table = Some(table).filter(|_| segment.is_none());
    let manifest = Manifest {
        params: *params,
        digest: last.ok_or(Error::NotFilled { path: name })?,
        image_hash,
        seed: SeedSource::Unknown,
        created: timestamp::now(),
        location,
        sums: table.as_ref().map(Table::describe).transpose()?,
    };
    manifest.write(image, table.as_ref())?;
    Ok(manifest)
}

fn each_piece_of(
    file: &File,
    path: &Path,
    size: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut buffer = BlockBuffer::new(PIECE)?;
    for at in (0..size).step_by(PIECE) {
        let len = PIECE.min(usize::try_from(size - at).unwrap_or(PIECE));
        read_exact(file, path, &mut buffer[..len], at, size)?;
        take(&buffer[..len])?;
    }
    Ok(())
}

/// Makes the file of an image immutable, or no longer so: then nobody can change, shorten, replace or remove it, and
/// [`Access::Auto`](crate::Access::Auto) maps it instead of copying it. Needs CAP_LINUX_IMMUTABLE, which root has, and a file system with this
/// attribute: ext4, XFS, Btrfs, and since Linux 6.6 tmpfs.
///
/// # Errors
/// [`Error::NoManifest`], [`Error::Manifest`]; [`Error::Foreign`] as [`remove`]; [`Error::Io`] where it is not permitted or not there, or is a link.
pub fn set_immutable(image: &Path, immutable: bool) -> Result<(), Error> {
    let manifest = Manifest::read(image)?;
    let Some(path) = manifest.image_path(image) else {
        return Err(Error::Unsupported {
            what: "a System V segment has no attributes: nobody can shorten one",
        });
    };
    check_owner(image, &manifest)?;
    let file = open_unlinked(&path).map_err(Error::io("open", &path))?;
    filesystem::set_immutable(&file, immutable)
        .map_err(Error::io("change the attributes of", &path))
}

/// Removes an image, its manifest and its table of checksums, and what an interrupted creation left. Processes that are attached keep it until they detach.
///
/// Hashes that were made with a ROM can be verified with no other: keep the seed and the manifest, or a copy, as long as there are any.
///
/// # Errors
/// [`Error::NoManifest`] if there is none and nothing was left, [`Error::Manifest`], [`Error::Busy`] while it is being made, [`Error::Io`];
/// [`Error::Foreign`] if the manifest says that the image is elsewhere and is neither root's nor this user's: in a directory where all may write
/// anybody could name any file so.
pub fn remove(image: &Path) -> Result<(), Error> {
    let manifest = match Manifest::read(image) {
        Err(error @ Error::NoManifest { .. }) => {
            // Both, whatever comes of the other.
            let found = [remove_leftover(image)?, sums::remove_stray(image)?];
            return if found.contains(&true) { Ok(()) } else { Err(error) };
        }
        other => other?,
    };
    check_owner(image, &manifest)?;
    // Whoever is making this ROM would otherwise be left without the manifest that it has just put into its place. Where no lock can be
    // had (a full disk, say), nothing is being made either.
    let place = manifest.image_path(image).unwrap_or_else(|| image.to_owned());
    let alone = match Staged::begin(&place, 0o600) {
        Err(busy @ Error::Busy { .. }) => return Err(busy),
        other => other.ok(),
    };
    if let Location::Sysv { key } = manifest.location {
        let name = Medium::segment_name(key);
        match Segment::find(key) {
            Ok(segment) => segment.remove().map_err(Error::io("remove", &name))?,
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(Error::io("look at", &name)(error)),
        }
    }
    // The image first: a manifest alone is a state that creation knows.
    let table = manifest.sums.map(|_| sums::path_for(image));
    let files: Vec<PathBuf> = manifest.image_path(image).into_iter().chain(table).collect();
    for path in files.iter().chain([&Manifest::path_for(image)]) {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", path)(error));
            }
            _ => {}
        }
        // Its own is gone with the lock.
        if *path != place || alone.is_none() {
            remove_leftover(path)?;
        }
    }
    sync_directory(image)
}

/// Whether a manifest may say what else is to be removed than the files beside it. A link to one may not either.
fn check_owner(image: &Path, manifest: &Manifest) -> Result<(), Error> {
    let path = Manifest::path_for(image);
    if manifest.location == Location::Beside {
        return Ok(());
    }
    let found = path.symlink_metadata().map_err(Error::io("look at", &path))?;
    let own = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
    if own && found.is_file() { Ok(()) } else { Err(Error::Foreign { path }) }
}
