//! `--recursive`: the files below a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

/// The regular files below some operands, directory by directory, sorted by the bytes of their
/// names so that two runs print the same list.
///
/// An operand that is not a directory is returned unchanged. Below a directory, symbolic links are
/// neither read nor followed (so there are no loops), and pipes, sockets and devices, which may
/// never end, are skipped. Memory is limited to the names in the directories on the current path.
pub(super) struct Walk {
    operands: vec::IntoIter<PathBuf>,
    open: Vec<vec::IntoIter<Found>>,
}

/// A name in a directory to visit.
struct Found {
    path: PathBuf,
    is_dir: bool,
}

/// A file to hash, or a directory that could not be read.
pub(super) type Visit = Result<PathBuf, (PathBuf, io::Error)>;

impl Walk {
    pub(super) fn new(operands: Vec<PathBuf>) -> Self {
        Self { operands: operands.into_iter(), open: Vec::new() }
    }

    /// Go into a directory, or report it.
    fn enter(&mut self, path: PathBuf) -> Option<Visit> {
        match list(&path) {
            Ok(found) => {
                self.open.push(found.into_iter());
                None
            }
            Err(error) => Some(Err((path, error))),
        }
    }
}

impl Iterator for Walk {
    type Item = Visit;

    fn next(&mut self) -> Option<Visit> {
        loop {
            let visit = match self.open.last_mut().map(Iterator::next) {
                Some(Some(found)) if found.is_dir => self.enter(found.path),
                Some(Some(found)) => Some(Ok(found.path)),
                Some(None) => {
                    self.open.pop();
                    None
                }
                None => {
                    let operand = self.operands.next()?;
                    // "-" is standard input, and a name that cannot be examined fails when it is
                    // opened.
                    let is_dir = operand.as_os_str() != "-" && operand.is_dir();
                    if is_dir { self.enter(operand) } else { Some(Ok(operand)) }
                }
            };
            if visit.is_some() {
                return visit;
            }
        }
    }
}

fn list(directory: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() || kind.is_file() {
            found.push(Found { path: entry.path(), is_dir: kind.is_dir() });
        }
    }
    found.sort_by(|a, b| a.path.file_name().cmp(&b.path.file_name()));
    Ok(found)
}
