//! What ROMs there are in a directory.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::kept;
use crate::files::regular::open_file;
use crate::files::staged::{part_of, place_of, remove_leftover};
use crate::format::manifest::Manifest;
use crate::operations::check::check;

/// A ROM that was found, or what is left of one.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The path to give to [`attach`](crate::attach()): that of the manifest without `.json`.
    pub image: PathBuf,
    /// What there is.
    pub state: State,
}

/// What there is of a ROM.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
    /// Manifest and image fit together, by size, tag and digest, and the table of hashes is that of
    /// the ROM; of a ROM on a disk that others own or may write to, the table was not looked at.
    Ready(Box<Manifest>),
    /// There is a manifest, and the image is missing or not what it says; or it is in shared memory
    /// and could not be attached, others owning it or being allowed to write to it.
    Bad(Box<Manifest>, Error),
    /// The manifest cannot be used.
    Unusable(Error),
    /// It is being made right now, by another process.
    InProgress,
    /// A process that was making it has ended; [`clean`] removes what it left.
    Interrupted,
}

/// What ROMs there are in a directory, /dev/shm for instance, by name. Files that have nothing to
/// do with ROMs are passed over.
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
                // Any other JSON may lie there too.
                Err(error) if image.symlink_metadata().is_ok() => {
                    found.push(Found { image, state: State::Unusable(error) });
                }
                Err(_) => {}
            }
        } else if let Some(image) = unfinished(&name) {
            let image = directory.join(image);
            // Something else of this name is none of ours: a pipe, for instance, that somebody has
            // put there.
            let Some(locked) = is_locked(&part_of(&image)) else { continue };
            let state = if locked { State::InProgress } else { State::Interrupted };
            found.push(Found { image, state });
        }
    }
    Ok(found)
}

/// What [`clean`] has done.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Cleaned {
    /// How many files were removed.
    pub removed: usize,
    /// What was left where it is, and why: files of others, and what could not be removed.
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
        let sums = image.map(|image| kept::remove_stray(&directory.join(image)));
        for outcome in part.into_iter().chain(sums) {
            match outcome {
                Ok(removed) => cleaned.removed += usize::from(removed),
                Err(error) => cleaned.left.push(error),
            }
        }
    }
    Ok(cleaned)
}

/// Removes an unfinished file, if it is this user's. What is none is not opened to be written to.
fn remove_own(place: &Path) -> Result<bool, Error> {
    open_file(&part_of(place))?;
    remove_leftover(place)
}

/// The image that a file's name says is unfinished.
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

/// Whether a writer holds the lock of an unfinished file, if it is one. Asked for shared, and given
/// back in so many words: a process that another thread is just starting has the descriptor, too,
/// for a moment after it is closed here.
fn is_locked(part: &Path) -> Option<bool> {
    let file = match open_file(part) {
        Ok((file, _)) => file,
        // One that may not be read is another user's.
        Err(Error::Io { .. }) => return Some(false),
        Err(_) => return None,
    };
    let locked = file.try_lock_shared().is_err();
    let _ = file.unlock();
    Some(locked)
}
