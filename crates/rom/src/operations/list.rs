//! Listing the ROMs in a directory.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::file_checks::open_file;
use crate::files::manifest_file;
use crate::files::staged::{part_of, place_of, remove_leftover};
use crate::format::manifest::Manifest;
use crate::operations::check::check;

/// A ROM that was found, or the remains of one.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The path to give to [`attach`](crate::attach()): that of the manifest without `.json`.
    pub image: PathBuf,
    /// The state of the ROM.
    pub state: State,
}

/// The state of a ROM.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
    /// Manifest and image match by size, tag and digest, and the table of hashes is that of the
    /// ROM. If the ROM is on a disk and others own it or may write to it, the table was not
    /// checked.
    Ready(Box<Manifest>),
    /// There is a manifest, but the image is missing or does not match it; or the image is in
    /// shared memory and cannot be attached because others own it or may write to it.
    Bad(Box<Manifest>, Error),
    /// The manifest cannot be used.
    Unusable(Error),
    /// Another process is creating it right now.
    InProgress,
    /// The process that was creating it has ended; [`clean`] removes what it left.
    Interrupted,
}

/// Lists the ROMs in a directory, for instance /dev/shm, by name. Other files are skipped.
///
/// # Errors
/// [`Error::Io`] if the directory cannot be read.
pub fn list(directory: &Path) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for name in names(directory)? {
        if let Some(image) = name.strip_suffix(".json") {
            let image = directory.join(image);
            match Manifest::read(&image) {
                Ok(manifest) => {
                    let state = match check(&image, Some(manifest.hash)).map(drop) {
                        Ok(()) => State::Ready(Box::new(manifest)),
                        Err(error) => State::Bad(Box::new(manifest), error),
                    };
                    found.push(Found { image, state });
                }
                // There may be other JSON files, too.
                Err(error) if image.symlink_metadata().is_ok() => {
                    found.push(Found { image, state: State::Unusable(error) });
                }
                Err(_) => {}
            }
        } else if let Some(image) = unfinished(&name) {
            let image = directory.join(image);
            // Something else of this name is not ours: for instance a pipe that somebody has put
            // there.
            let Some(locked) = is_locked(&part_of(&image)) else { continue };
            let state = if locked { State::InProgress } else { State::Interrupted };
            found.push(Found { image, state });
        }
    }
    Ok(found)
}

/// The result of [`clean`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Cleaned {
    /// The number of files removed.
    pub removed: usize,
    /// What was not removed, and why: files of others, and files that could not be removed.
    pub left: Vec<Error>,
}

/// Removes what killed creators of this user have left in a directory.
///
/// # Errors
/// [`Error::Io`] if the directory cannot be read.
pub fn clean(directory: &Path) -> Result<Cleaned, Error> {
    let mut cleaned = Cleaned::default();
    for name in names(directory)? {
        let part = place_of(&name).map(|place| remove_own(&directory.join(place)));
        let image = name.strip_suffix(".sums").filter(|image| !image.is_empty());
        let sums = image.map(|image| manifest_file::remove_stray(&directory.join(image)));
        for outcome in part.into_iter().chain(sums) {
            match outcome {
                Ok(removed) => cleaned.removed += usize::from(removed),
                Err(error) => cleaned.left.push(error),
            }
        }
    }
    Ok(cleaned)
}

/// Removes an unfinished file, if it is this user's. Does not open other files for writing.
fn remove_own(place: &Path) -> Result<bool, Error> {
    open_file(&part_of(place))?;
    remove_leftover(place)
}

/// The image whose unfinished file has this name.
fn unfinished(name: &str) -> Option<&str> {
    let beside = |image: &&str| image.ends_with(".json") || image.ends_with(".sums");
    place_of(name).filter(|image| !beside(image))
}

fn names(directory: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Error::io("read", directory))? {
        let entry = entry.map_err(Error::io("read", directory))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Whether a writer holds the lock of an unfinished file, if it is one. The lock is requested as
/// shared and explicitly released: a process that another thread is just starting holds the
/// descriptor for a moment after it is closed here.
fn is_locked(part: &Path) -> Option<bool> {
    let file = match open_file(part) {
        Ok((file, _)) => file,
        // A file that may not be read is another user's.
        Err(Error::Io { .. }) => return Some(false),
        Err(_) => return None,
    };
    let locked = file.try_lock_shared().is_err();
    let _ = file.unlock();
    Some(locked)
}
