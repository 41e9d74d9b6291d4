//! Files that appear atomically: written beside their place under a temporary name, synced, and
//! renamed.
//!
//! The temporary name is always the same, `.NAME.saltern-part`, which no other program uses, and
//! its writer holds a lock (flock) on it. So there is never more than one writer of a file; a
//! leftover of a killed writer is recognised because it is not locked, and the next writer takes it
//! over. An unnamed file (O_TMPFILE) would leave nothing, but it cannot replace a file, and file
//! systems such as hugetlbfs and NFS lack it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::files::file_checks::{if_there, is_regular_file};
use crate::format::paths::directory_of;
use crate::system::filesystem::{self, names, own_user, owner_and_mode, plainly, privately};

/// An unfinished file. If it is dropped before it is committed, it is removed.
pub(crate) struct Staged {
    pub(crate) file: File,
    place: PathBuf,
    part: PathBuf,
    /// Permissions once it is complete, whatever the process's umask is: before that only the owner
    /// can open it, and so hold its lock. Without them it has those of the umask from the start.
    pub(crate) mode: Option<u32>,
    committed: bool,
    /// The beginning of what another writer left behind.
    pub(crate) left: Vec<u8>,
}

/// How often to try for the lock, and how long to wait in between: a process that only checks
/// whether it is held, as listing does, holds it for a moment.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// The suffix of unfinished files.
const PART: &str = ".saltern-part";
/// How many bytes of a leftover are read.
const LEFT: u64 = 64;

/// The name under which a file is written.
pub(crate) fn part_of(place: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(PART);
    place.with_file_name(name)
}

/// The file that it belongs to, by its name.
pub(crate) fn place_of(part: &str) -> Option<&str> {
    let place = part.strip_prefix('.')?.strip_suffix(PART)?;
    (!place.is_empty()).then_some(place)
}

/// Syncs the names in the directory of `path`.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    let directory = directory_of(path);
    let synced = filesystem::sync_directory(directory);
    match synced {
        // Some file systems have nothing to sync there.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other.map_err(Error::io("sync", directory)),
    }
}

impl Staged {
    /// Begins to write the file that will be `place`, with these permissions or those of the umask;
    /// a leftover of another writer is emptied.
    pub(crate) fn begin(place: &Path, mode: impl Into<Option<u32>>) -> Result<Self, Error> {
        let mode = mode.into();
        if place.file_name().is_none() {
            let source = io::Error::from(ErrorKind::InvalidInput);
            return Err(Error::io("create", place)(source));
        }
        let (part, mut attempts) = (part_of(place), 1);
        loop {
            let file = open_own(&part, mode.is_some())?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if attempts < ATTEMPTS => {
                    attempts += 1;
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Busy { path: place.to_owned() });
                }
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", &part)(error)),
            }
            // The file may have been renamed or removed between opening and locking it: then it is
            // not ours to change.
            if !is_at(&file, &part)? {
                continue;
            }
            let mut left = Vec::new();
            // Only a record of a creator is useful; if it cannot be read, no segment is attributed
            // to it.
            let _ = (&file).take(LEFT).read_to_end(&mut left);
            (&file).rewind().map_err(Error::io("read", &part))?;
            let place = place.to_owned();
            let staged = Staged { file, place, part, mode, committed: false, left };
            staged.file.set_len(0).map_err(Error::io("empty", &staged.part))?;
            return Ok(staged);
        }
    }

    /// Where it is written.
    pub(crate) fn path(&self) -> &Path {
        &self.part
    }

    /// Writes its contents.
    pub(crate) fn write(&self, content: &[u8]) -> Result<(), Error> {
        (&self.file).write_all(content).map_err(Error::io("write", &self.place))
    }

    /// Makes it `len` bytes long, all of them backed by the file system, so that no later write can
    /// fail for lack of space.
    pub(crate) fn allocate(&self, len: u64) -> Result<(), Error> {
        check_room(&self.place, len)?;
        let full = |error: io::Error| match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                check_room(&self.place, len).err().unwrap_or_else(|| no_space(&self.place, len, 0))
            }
            _ => Error::io("allocate", &self.part)(error),
        };
        if filesystem::allocate(&self.file, len).map_err(full)? {
            return Ok(());
        }
        let zeros = vec![0; 1 << 20];
        let mut at = 0;
        while at < len {
            let piece = zeros.len().min(usize::try_from(len - at).unwrap_or(usize::MAX));
            filesystem::write_all_at(&self.file, &zeros[..piece], at).map_err(full)?;
            at += piece as u64;
        }
        Ok(())
    }

    /// Syncs the contents, so that giving the file its name takes no time.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        match self.file.sync_all() {
            Err(error) if error.kind() != ErrorKind::InvalidInput => {
                Err(Error::io("sync", &self.part)(error))
            }
            _ => Ok(()),
        }
    }

    /// Gives the file its permissions.
    fn protect(&self) -> Result<(), Error> {
        let Some(mode) = self.mode else { return Ok(()) };
        filesystem::set_mode(&self.file, mode).map_err(Error::io("protect", &self.part))
    }

    /// Syncs the contents and gives the file its permissions and its name, replacing an existing
    /// file. The caller must sync the directory.
    pub(crate) fn commit(mut self) -> Result<(), Error> {
        self.protect()?;
        self.sync()?;
        if let Ok(found) = self.place.symlink_metadata() {
            is_regular_file(&self.place, &found)?;
        }
        std::fs::rename(&self.part, &self.place).map_err(Error::io("rename", &self.part))?;
        self.committed = true;
        Ok(())
    }

    /// Gives the file its name if no file has it yet. A hard link never replaces a file; on file
    /// systems without hard links, a file that somebody else creates at the same moment is lost.
    fn commit_new(self) -> Result<(), Error> {
        let exists = || Error::Exists { path: self.place.clone() };
        self.protect()?;
        self.sync()?;
        match std::fs::hard_link(&self.part, &self.place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists()),
            Err(_) if self.place.symlink_metadata().is_ok() => Err(exists()),
            Err(_) => self.commit(),
            // Dropping this removes its other name.
            Ok(()) => Ok(()),
        }
    }
}

/// Makes a new file that only its owner may read, for a seed or a key. It gets its name only when
/// it is complete, and is on the disk when this returns.
///
/// # Errors
/// [`Error::Exists`] if there is anything under this name: a secret is never overwritten.
/// [`Error::Busy`], [`Error::Foreign`], [`Error::Io`].
pub fn new_private_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    new(path, Some(0o600), content)
}

/// Makes a new file in the same way, with the permissions of the umask.
///
/// ```
/// use saltern_rom::{Error, check_new_file, new_file};
/// # let folder = tempfile::tempdir()?;
/// # let path = &folder.path().join("report.txt");
/// check_new_file(path)?;
/// // After hours of work:
/// new_file(path, b"done")?;
/// assert!(matches!(new_file(path, b"again"), Err(Error::Exists { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`new_private_file`].
pub fn new_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    new(path, None, content)
}

/// Checks that [`new_file`] could make a file here, and leaves nothing behind.
///
/// # Errors
/// Those of [`new_private_file`].
pub fn check_new_file(path: &Path) -> Result<(), Error> {
    begin_new(path, None).map(drop)
}

/// Writes a file, replacing one of this name only when it is complete. A symbolic link is followed;
/// something other than a regular file, such as a pipe or a terminal, is written to.
///
/// # Errors
/// [`Error::Busy`], [`Error::Foreign`], [`Error::Io`].
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    let Some((place, staged)) = begin_replacement(path)? else {
        return std::fs::write(path, content).map_err(Error::io("write", path));
    };
    staged.write(content)?;
    staged.commit()?;
    sync_directory(&place)
}

/// Checks that [`replace_file`] could begin now, and writes nothing; for use before long work.
///
/// # Errors
/// Those of [`replace_file`].
pub fn check_replace_file(path: &Path) -> Result<(), Error> {
    begin_replacement(path).map(drop)
}

/// What will replace a regular file, and where; `None` for something else, which is written to.
fn begin_replacement(path: &Path) -> Result<Option<(PathBuf, Staged)>, Error> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Ok(found) = place.symlink_metadata()
        && found.is_symlink()
    {
        // It leads nowhere, and would be refused in the end.
        is_regular_file(path, &found)?;
    }
    match place.metadata() {
        Ok(there) if there.is_dir() => Err(Error::io("write", path)(ErrorKind::IsADirectory)),
        Ok(there) if !there.is_file() => Ok(None),
        _ => {
            let staged = Staged::begin(&place, None)?;
            Ok(Some((place, staged)))
        }
    }
}

fn new(path: &Path, mode: Option<u32>, content: &[u8]) -> Result<(), Error> {
    let staged = begin_new(path, mode)?;
    staged.write(content)?;
    staged.commit_new()?;
    sync_directory(path)
}

fn begin_new(path: &Path, mode: Option<u32>) -> Result<Staged, Error> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: path.to_owned() });
    }
    if mode.is_some() {
        // Others may have opened the leftover of a killed writer, and would read what is written to
        // it.
        remove_leftover(path)?;
    }
    Staged::begin(path, mode)
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed && is_at(&self.file, &self.part).unwrap_or(false) {
            let _ = std::fs::remove_file(&self.part);
        }
        // Closing would suffice, except that processes which another thread is just starting hold
        // the descriptor until they run their program.
        let _ = self.file.unlock();
    }
}

/// Opens or makes an unfinished file, without emptying it: the lock is not ours yet.
///
/// In a directory where all may write, somebody else may have put a link or a file there: neither
/// is followed or written to.
fn open_own(part: &Path, private: bool) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    plainly(options.read(true).write(true));
    if private {
        privately(&mut options);
    }
    // A file that is created here is ours, regardless of its owner: some file systems have only one
    // owner.
    match options.clone().create_new(true).open(part) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made.map_err(Error::io("create", part)),
    }
    options.create(true).truncate(false);
    let own = |file: &File| {
        let found = file.metadata().map_err(Error::io("access", part))?;
        let owner = owner_and_mode(&found).0 == own_user();
        // Without a name it has just been removed, which is detected later.
        if owner && found.is_file() && names(&found) <= 1 {
            return Ok(());
        }
        Err(Error::Foreign { path: part.to_owned() })
    };
    let file = match options.open(part) {
        // Its writer was killed when it was already read-only, just before it got its name.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && part.exists() => {
            let reader = plainly(OpenOptions::new().read(true)).open(part);
            let reader = reader.map_err(Error::io("open", part))?;
            own(&reader)?;
            filesystem::set_mode(&reader, 0o600).map_err(Error::io("unprotect", part))?;
            options.open(part)
        }
        other => other,
    };
    let file = file.map_err(Error::io("create", part))?;
    own(&file)?;
    Ok(file)
}

/// Whether an open file is the one that has this name now.
fn is_at(file: &File, path: &Path) -> Result<bool, Error> {
    let open = file.metadata().map_err(Error::io("access", path))?;
    let named = if_there(path.symlink_metadata()).map_err(Error::io("access", path))?;
    Ok(named.is_some_and(|named| filesystem::is_same(&open, &named)))
}

/// Removes what a killed writer of `place` left; returns whether there was anything. Does not
/// remove a file that is being written.
pub(crate) fn remove_leftover(place: &Path) -> Result<bool, Error> {
    if part_of(place).symlink_metadata().is_err() {
        return Ok(false);
    }
    match Staged::begin(place, 0o600) {
        Ok(_removed_on_drop) => Ok(true),
        Err(Error::Busy { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Checks that the file system of `place` has room for `len` more bytes.
pub(crate) fn check_room(place: &Path, len: u64) -> Result<(), Error> {
    if let Some(limit) = filesystem::size_limit().filter(|limit| *limit < len) {
        return Err(Error::FileSizeLimit { needed: len, limit });
    }
    let directory = directory_of(place);
    let room = filesystem::room(directory).map_err(Error::io("access", directory))?;
    match room.filter(|available| *available < len) {
        Some(available) => Err(no_space(place, len, available)),
        None => Ok(()),
    }
}

fn no_space(place: &Path, needed: u64, available: u64) -> Error {
    Error::NoSpace { path: directory_of(place).to_owned(), needed, available }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn modes_and_names(folder: &Path) -> Vec<(String, u32)> {
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let mut found: Vec<_> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, owner_and_mode(&entry.metadata().unwrap()).1 & 0o777)
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn a_new_file_is_whole_and_takes_no_other_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("new");
        check_new_file(path).unwrap();
        assert_eq!(modes_and_names(folder.path()), [], "nothing is left of a check");
        new_file(path, b"one").unwrap();
        assert!(matches!(new_file(path, b"two"), Err(Error::Exists { .. })));
        assert!(matches!(check_new_file(path), Err(Error::Exists { .. })));
        assert_eq!(fs::read(path).unwrap(), b"one");
        let leftover = part_of(path);
        fs::write(&leftover, "what a writer that was killed has left").unwrap();
        replace_file(path, b"three").unwrap();
        assert_eq!(fs::read(path).unwrap(), b"three");
        assert_eq!(modes_and_names(folder.path()).len(), 1, "and nothing beside it");
        let nowhere = &folder.path().join("nowhere/new");
        assert!(new_file(nowhere, b"").is_err() && check_new_file(nowhere).is_err());
        assert!(replace_file(Path::new("/"), b"").is_err());
    }

    /// The permissions of the umask, unless the file is private.
    #[cfg(unix)]
    #[test]
    fn who_may_read_a_file_is_decided_by_the_umask() {
        let folder = tempfile::tempdir().unwrap();
        let [new, private, replaced, other] =
            ["new", "private", "replaced", "other"].map(|name| folder.path().join(name));
        fs::write(other, b"").unwrap();
        new_file(&new, b"").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(check_replace_file(&link).is_err() && replace_file(&link, b"").is_err());
        let leftover = fs::File::create(part_of(&private)).unwrap();
        new_private_file(&private, b"secret").unwrap();
        assert_eq!(leftover.metadata().unwrap().len(), 0, "nobody has it open already");
        replace_file(&replaced, b"").unwrap();
        let found = modes_and_names(folder.path());
        let mode = |name: &str| found.iter().find(|(other, _)| other == name).unwrap().1;
        assert_eq!([mode("new"), mode("replaced")], [mode("other"); 2]);
        assert_eq!(mode("private"), 0o600);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_stays_one() {
        replace_file(Path::new("/dev/null"), b"x").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [link, other] = ["link", "other"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(new_file(&link, b"x").is_err() && !other.exists());
        assert!(check_new_file(&link).is_err());
        // Nor may there be one in place of the unfinished file.
        let path = folder.path().join("new");
        std::os::unix::fs::symlink(&other, part_of(&path)).unwrap();
        assert!(new_file(&path, b"x").is_err() && !other.exists());
    }
}
