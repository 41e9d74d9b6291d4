//! Manifests and tables in their files, beside the image.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::file_checks::{check_file_owner, is_regular_file, open_file, open_if_there};
use crate::files::staged::{Staged, sync_directory};
use crate::format::manifest::{Location, MAX_BYTES, Manifest};
use crate::format::paths::beside;
use crate::format::sums::{Bytes, ImageHasher, MAGIC, Sums};
use crate::system::filesystem::{self, Kind, own_user, owner_and_mode};

impl Bytes for File {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        filesystem::read_exact_at(self, into, at)
    }
}

impl Manifest {
    /// Reads the manifest of the image at `image` (from `image.json`; the image itself is not
    /// touched).
    ///
    /// # Errors
    /// [`Error::NoManifest`], [`Error::Manifest`], [`Error::Io`].
    pub fn read(image: &Path) -> Result<Self, Error> {
        Self::read_with(image).map(|(manifest, _)| manifest)
    }

    /// [`Manifest::read`] for callers that open or write to the image it names: a manifest that
    /// names an image not beside itself, and any manifest in shared memory, must belong to root or
    /// to this user, and nobody else may have write permission. Otherwise anybody could choose the
    /// file.
    ///
    /// # Errors
    /// Those of [`Manifest::read`]; [`Error::Untrusted`].
    pub fn read_to_follow(image: &Path) -> Result<Self, Error> {
        Self::followed(image).map(|(manifest, _)| manifest)
    }

    /// The manifest as [`Manifest::read_to_follow`] reads it, with the metadata of its file.
    pub(crate) fn followed(image: &Path) -> Result<(Self, Metadata), Error> {
        let (manifest, found, kind) = Self::read_from(image)?;
        if manifest.location != Location::Beside || kind != Kind::Disk {
            check_file_owner(&Self::path_for(image), &found)?;
        }
        Ok((manifest, found))
    }

    /// The manifest, with the metadata of its file.
    pub(crate) fn read_with(image: &Path) -> Result<(Self, Metadata), Error> {
        Self::read_from(image).map(|(manifest, found, _)| (manifest, found))
    }

    fn read_from(image: &Path) -> Result<(Self, Metadata, Kind), Error> {
        let path = &Self::path_for(image);
        let none = || Error::NoManifest { path: path.to_owned() };
        let (file, found) = open_if_there(path)?.ok_or_else(none)?;
        let (kind, _) = filesystem::kind_and_page(&file, path)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(Error::io("read", path))?;
        let refused = |reason| Error::Manifest { path: path.to_owned(), reason };
        if text.len() as u64 > MAX_BYTES {
            return Err(refused(format!("it is longer than {MAX_BYTES} bytes")));
        }
        Ok((Self::parse(&text).map_err(refused)?, found, kind))
    }

    /// Writes the table of its image and then the manifest to their places, replacing existing
    /// ones: each atomically.
    ///
    /// Between the two there is a table without its manifest, which the next creation replaces, or,
    /// if one ROM replaces another, a table that does not match the old manifest, which is detected
    /// when blocks are read.
    pub(crate) fn write(&self, image: &Path, sums: &Sums) -> Result<(), Error> {
        let path = Self::path_for(image);
        Self::check_paths(image, &self.seed, &self.location)?;
        let staged = Staged::begin(&path, 0o644)?;
        staged.write(self.to_json().as_bytes())?;
        let sums = sums.stage(image)?;
        staged.sync()?;
        sums.commit()?;
        staged.commit()?;
        sync_directory(image)
    }
}

impl ImageHasher {
    /// [`ImageHasher::finish`] for an image that must be the one of a manifest. If it is not, the
    /// table beside `known`, if there is one, shows where it differs.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(crate) fn finish_as(
        self,
        manifest: &Manifest,
        known: Option<&Path>,
        name: PathBuf,
    ) -> Result<Sums, Error> {
        let found = self.finish();
        if found.root(&manifest.params) == manifest.hash {
            return Ok(found);
        }
        let known = known.and_then(|image| Sums::open(image, manifest).ok());
        let offset = known.and_then(|known| known.difference(&found).ok().flatten());
        Err(Error::Damaged { path: name, offset })
    }
}

impl Sums {
    /// Opens the table of a ROM; refuses one that does not match the manifest's hash.
    pub(crate) fn open(image: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let path = path_for(image);
        let bad = |reason| Error::Sums { path: path.clone(), reason };
        let missing = || bad("it is missing".to_owned());
        let (file, found) = open_if_there(&path)?.ok_or_else(missing)?;
        let mut sums = Self::parse(Box::new(file), found.len(), manifest).map_err(bad)?;
        sums.path = path;
        Ok(sums)
    }

    /// Writes it to the file that will be renamed.
    fn stage(&self, image: &Path) -> Result<Staged, Error> {
        let path = path_for(image);
        let staged = Staged::begin(&path, 0o644)?;
        let mut file = io::BufWriter::new(&staged.file);
        let written = self.write(&mut file).and_then(|()| file.flush());
        written.map_err(Error::io("write", &path))?;
        drop(file);
        staged.sync()?;
        Ok(staged)
    }
}

/// The table's file for an image `NAME`: `NAME.sums`, beside the manifest.
pub(crate) fn path_for(image: &Path) -> PathBuf {
    beside(image, ".sums")
}

/// Whether a file begins like a table, of this or an earlier version.
fn is_table(path: &Path) -> bool {
    let mut magic = [0; 16];
    let read = open_file(path).is_ok_and(|(mut file, _)| file.read_exact(&mut magic).is_ok());
    read && (magic == MAGIC || magic == *b"saltern-sums-1\n\0")
}

/// Refuses to overwrite a file with the table's name that is not a table, another image for
/// instance, unless there is a manifest to which it belongs.
pub(crate) fn check_place(image: &Path) -> Result<(), Error> {
    let path = path_for(image);
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    is_regular_file(&path, &found)?;
    if is_table(&path) || Manifest::read(image).is_ok() {
        return Ok(());
    }
    Err(Error::Exists { path })
}

/// Removes the table of a creator that was killed before it wrote the manifest; returns whether
/// there was one.
pub(crate) fn remove_stray(image: &Path) -> Result<bool, Error> {
    let path = path_for(image);
    let own = |found: Metadata| owner_and_mode(&found).0 == own_user();
    let found = path.symlink_metadata().is_ok_and(own);
    if !found || !is_table(&path) {
        return Ok(false);
    }
    // A writer of a table holds this lock until the manifest is in its place.
    let lock = match Staged::begin(&Manifest::path_for(image), 0o644) {
        Err(Error::Busy { .. }) => return Ok(false),
        other => other?,
    };
    if Manifest::path_for(image).symlink_metadata().is_ok() || !is_table(&path) {
        return Ok(false);
    }
    std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    drop(lock);
    sync_directory(&path)?;
    Ok(true)
}
