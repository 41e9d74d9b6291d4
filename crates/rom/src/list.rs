//! What ROMs there are in a directory.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::Error;
use crate::attach::{AttachOptions, attach};
use crate::image::{check_size, check_tail};
use crate::manifest::Manifest;
use crate::staged::{open_regular, part_of, remove_leftover};
use crate::sums;

/// A ROM that was found, or what is left of one.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The path to give to [`attach`]: that of the manifest without `.json`.
    pub image: PathBuf,
    /// What there is.
    pub state: State,
}

/// What there is of a ROM.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
    /// Manifest and image fit together, by size, tag and digest, and there is a table of checksums.
    Ready(Box<Manifest>),
    /// There is a manifest, and the image is missing or not what it says.
    Bad(Box<Manifest>, Error),
    /// The manifest cannot be used.
    Unusable(Error),
    /// It is being made right now, by another process.
    InProgress,
    /// A process that was making it has ended; [`clean`] removes what it left.
    Interrupted,
}

/// What ROMs there are in a directory, /dev/shm for instance, by name. Files that have nothing to do with ROMs are passed over.
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
                    let state = match check(&image, &manifest) {
                        Ok(()) => State::Ready(Box::new(manifest)),
                        Err(error) => State::Bad(Box::new(manifest), error),
                    };
                    found.push(Found { image, state });
                }
                // Any other JSON may lie there too.
                Err(error) if image.exists() => {
                    found.push(Found { image, state: State::Unusable(error) });
                }
                Err(_) => {}
            }
        } else if let Some(image) = unfinished(&name) {
            let image = directory.join(image);
            let state =
                if is_locked(&part_of(&image)) { State::InProgress } else { State::Interrupted };
            found.push(Found { image, state });
        }
    }
    Ok(found)
}

/// Removes what killed creators have left in a directory; returns how many files that were.
///
/// # Errors
/// [`Error::Io`].
pub fn clean(directory: &Path) -> Result<usize, Error> {
    let mut removed = 0;
    for name in names(directory)? {
        let place = name.strip_prefix('.').and_then(|name| name.strip_suffix(".part"));
        if let Some(place) = place.filter(|place| !place.is_empty()) {
            removed += usize::from(remove_leftover(&directory.join(place))?);
        }
        if let Some(image) = name.strip_suffix(".sums").filter(|image| !image.is_empty()) {
            removed += usize::from(sums::remove_stray(&directory.join(image))?);
        }
    }
    Ok(removed)
}

/// The image that a file's name says is unfinished.
fn unfinished(name: &str) -> Option<&str> {
    let image = name.strip_prefix('.')?.strip_suffix(".part")?;
    let beside = image.ends_with(".json") || image.ends_with(".sums");
    (!image.is_empty() && !beside).then_some(image)
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

/// Whether a writer holds its lock. Asked for shared, and given back in so many words: a process that another thread is just starting has the
/// descriptor, too, for a moment after it is closed here.
fn is_locked(part: &Path) -> bool {
    let Ok(file) = File::open(part) else { return false };
    let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    let _ = rustix::fs::flock(&file, FlockOperation::Unlock);
    locked
}

/// The quick checks, without copying anything.
fn check(image: &Path, manifest: &Manifest) -> Result<(), Error> {
    let Some(path) = manifest.image_path(image) else {
        return attach(image, &AttachOptions::new()).map(|_| ());
    };
    let file = open_regular(&path).map_err(Error::io("open", &path))?;
    check_size(&path, manifest, &file)?;
    check_tail(&path, manifest, &file)?;
    sums::check_presence(image, manifest)
}
