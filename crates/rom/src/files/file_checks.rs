//! Regular files: opening them, and checking their owners.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::Error;
use crate::system::filesystem::{self, own_user, owner_and_mode};

/// The result, or `None` if nothing was found.
pub(crate) fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Opens a file for reading, if there is one. It must be a regular file and not a symbolic link,
/// which somebody else could have put there. Never blocks, as opening a pipe would.
pub(crate) fn open_if_there(path: &Path) -> Result<Option<(File, Metadata)>, Error> {
    let opened = if_there(filesystem::open_regular(path)).map_err(Error::io("open", path))?;
    let regular = |opened: Option<_>| opened.ok_or_else(|| not_regular(path));
    opened.map(regular).transpose()
}

/// Opens a regular file that must exist.
pub(crate) fn open_file(path: &Path) -> Result<(File, Metadata), Error> {
    let opened = filesystem::open_regular(path).map_err(Error::io("open", path))?;
    opened.ok_or_else(|| not_regular(path))
}

pub(crate) fn is_regular_file(path: &Path, found: &Metadata) -> Result<(), Error> {
    if found.is_file() { Ok(()) } else { Err(not_regular(path)) }
}

fn not_regular(path: &Path) -> Error {
    Error::NotRegular { path: path.to_owned() }
}

/// Checks that only root and this user can have written to a file since it was made.
pub(crate) fn check_file_owner(path: &Path, found: &Metadata) -> Result<(), Error> {
    let (owner, mode) = owner_and_mode(found);
    check_owner(path, &[owner], mode)
}

/// Checks that only root and this user can have written to an object with these owners and this
/// mode.
pub(crate) fn check_owner(path: &Path, owners: &[u32], mode: u32) -> Result<(), Error> {
    let own = [0, own_user()];
    let foreign = owners.iter().find(|owner| !own.contains(owner));
    if foreign.is_none() && mode & 0o022 == 0 {
        return Ok(());
    }
    let owner = *foreign.or(owners.first()).unwrap_or(&0);
    Err(Error::Untrusted { path: path.to_owned(), owner, mode: mode & 0o777 })
}
