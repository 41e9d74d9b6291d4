//! Files that are changed as a whole, by several programs.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::Error;
use crate::files::file_checks::open_file;
use crate::files::staged::{Staged, sync_directory};
use crate::system::filesystem::{self, owner_and_mode};
use crate::system::owner::give_to_owner_of;

/// Changes the contents of a regular file of at most `limit` bytes: what `change` makes of them
/// replaces the file when it is complete, with the same owner, permissions and access control list;
/// `None` leaves the file as it is. A symbolic link is followed. The file is locked against others
/// that change it with this function, so that no change is lost.
///
/// ```
/// use saltern_rom::{Error, new_file, update_file};
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("count");
/// new_file(path, b"1")?;
/// update_file(path, 100, |old| Ok::<_, Error>(Some([old, b"2"].concat())))?;
/// assert_eq!(std::fs::read(path)?, b"12");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of `change`; [`Error::Busy`] while another process changes the file; [`Error::Io`], also
/// for a longer file and if this user may not give the new file to the owner of the old one;
/// [`Error::NotRegular`], [`Error::Foreign`].
pub fn update_file<E: From<Error>>(
    path: &Path,
    limit: u64,
    change: impl FnOnce(&[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<(), E> {
    let place = path.canonicalize().map_err(Error::io("open", path))?;
    let mut staged = Staged::begin(&place, 0o600)?;
    let (file, found) = open_file(&place)?;
    let mut old = Vec::new();
    (&file).take(limit + 1).read_to_end(&mut old).map_err(Error::io("read", path))?;
    if old.len() as u64 > limit {
        let long =
            io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"));
        return Err(Error::io("read", path)(long).into());
    }
    let Some(new) = change(&old)? else { return Ok(()) };
    staged.mode = Some(owner_and_mode(&found).1);
    staged.write(&new)?;
    give_to_owner_of(&staged.file, &found).map_err(Error::io("keep the owner of", path))?;
    filesystem::give_access_list_of(&staged.file, &file)
        .map_err(Error::io("keep the access control list of", path))?;
    staged.commit()?;
    Ok(sync_directory(&place)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::new_file;

    /// As Linux stores it: the owner reads and writes, a user reads, the group does nothing.
    fn access_list() -> Vec<u8> {
        let none = u32::MAX;
        let entries =
            [(1_u16, 6_u16, none), (2, 4, 33), (4, 0, none), (16, 4, none), (32, 0, none)];
        let entries = entries.map(|(tag, rights, id)| {
            [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
        });
        [&2_u32.to_le_bytes()[..], &entries.concat()].concat()
    }

    #[test]
    fn an_update_keeps_the_access_control_list() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        const NAME: &str = "system.posix_acl_access";
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("users");
        let update = || update_file(path, 20, |old| Ok::<_, Error>(Some([old, b"2"].concat())));
        let list = access_list();
        new_file(path, b"1").unwrap();
        if setxattr(path, NAME, &list, XattrFlags::empty()).is_err() {
            return saltern_testing::skipped("access control lists: the file system has none");
        }
        update().unwrap();
        let mut found = [0; 100];
        let len = getxattr(path, NAME, &mut found[..]).unwrap();
        assert_eq!(found[..len], list);
        assert_eq!(owner_and_mode(&fs::metadata(path).unwrap()).1 & 0o777, 0o640);
        // Nor does it get one that its directory has for new files.
        rustix::fs::removexattr(path, NAME).unwrap();
        setxattr(folder.path(), "system.posix_acl_default", &list, XattrFlags::empty()).unwrap();
        update().unwrap();
        assert!(getxattr(path, NAME, &mut found[..]).is_err());
    }

    #[test]
    fn an_update_keeps_the_permissions_and_loses_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("users");
        new_file(path, b"").unwrap();
        filesystem::set_mode(&fs::File::open(path).unwrap(), 0o640).unwrap();
        let append = |byte: u8| {
            move |old: &[u8]| {
                std::thread::sleep(Duration::from_millis(1));
                Ok::<_, Error>(Some([old, &[byte]].concat()))
            }
        };
        std::thread::scope(|scope| {
            for byte in 0..20 {
                scope.spawn(move || {
                    while let Err(error) = update_file(path, 20, append(byte)) {
                        assert!(matches!(error, Error::Busy { .. }), "{error}");
                    }
                });
            }
        });
        let mut bytes = fs::read(path).unwrap();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..20).collect::<Vec<u8>>());
        assert!(update_file(path, 19, append(0)).unwrap_err().to_string().contains("more than 19"));
        update_file(path, 20, |_| Ok::<_, Error>(None)).unwrap();
        assert_eq!(owner_and_mode(&fs::metadata(path).unwrap()).1 & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside it");
        assert!(update_file(&folder.path().join("none"), 1, append(0)).is_err());
        assert!(update_file(folder.path(), 1, append(0)).is_err());
    }
}
