//! Regular files: how they are opened, and whose they are.

use std::fs::{File, Metadata};
use std::path::Path;

use crate::Error;
use crate::system::filesystem::{self, own_user};

/// Opens a file to be read. It has to be a regular one, and its name no link, which somebody else
/// could have put there; nothing is waited for, as a pipe would be.
pub(crate) fn open_file(path: &Path) -> Result<(File, Metadata), Error> {
    let opened = filesystem::open_regular(path).map_err(Error::io("open", path))?;
    opened.ok_or_else(|| Error::NotRegular { path: path.to_owned() })
}

pub(crate) fn is_regular_file(path: &Path, found: &Metadata) -> Result<(), Error> {
    if found.is_file() { Ok(()) } else { Err(Error::NotRegular { path: path.to_owned() }) }
}

/// Whether only root and this user can have written to something since it was made: who owns it,
/// and who may write to it.
pub(crate) fn check_owner(path: &Path, owners: &[u32], mode: u32) -> Result<(), Error> {
    let own = [0, own_user()];
    let foreign = owners.iter().find(|owner| !own.contains(owner));
    if foreign.is_none() && mode & 0o022 == 0 {
        return Ok(());
    }
    let owner = *foreign.or(owners.first()).unwrap_or(&0);
    Err(Error::Untrusted { path: path.to_owned(), owner, mode: mode & 0o777 })
}
