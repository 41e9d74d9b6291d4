//! Whose a file is.

use std::fs::{File, Metadata};
use std::io;

/// Gives a new file the owner and the group of another one, if it does not have them. Where there
/// are no users as Unix has them, files keep theirs.
#[cfg_attr(not(unix), allow(unused_variables, clippy::unnecessary_wraps))]
pub(crate) fn give_to_owner_of(file: &File, other: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (other.uid(), other.gid()) {
            fchown(file, Some(other.uid()), Some(other.gid()))?;
        }
    }
    Ok(())
}
