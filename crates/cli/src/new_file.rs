//! Files that appear atomically: written under a temporary name, and renamed last. Files with
//! secrets are made by `saltern_rom::new_private_file`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Check that a new file could be written here; an existing `what` is never overwritten.
///
/// Called before hours of work, whose result would be lost.
pub(crate) fn check(path: &Path, what: &str) -> anyhow::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        bail!("{} exists, and {what} is never overwritten", path.display());
    }
    Part::new(path).map(drop).with_context(|| cannot(path))
}

/// Write a new file, which gets its name only when it is complete; an existing `what` is never
/// overwritten.
pub(crate) fn create(path: &Path, content: &[u8], what: &str) -> anyhow::Result<()> {
    let written = Part::new(path).and_then(|mut part| {
        part.write(content)?;
        part.take_new_place(path)
    });
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} exists, and {what} is never overwritten", path.display())
        }
        written => written.with_context(|| cannot(path)),
    }
}

/// Write a file, replacing an existing one. If the name is not a regular file (a pipe, a terminal),
/// write to it.
pub(crate) fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if place.metadata().is_ok_and(|there| !there.is_file()) {
        return fs::write(path, content).with_context(|| cannot(path));
    }
    let written = Part::new(&place).and_then(|mut part| {
        part.write(content)?;
        fs::rename(&part.path, &place)?;
        sync_folder(&place)
    });
    written.with_context(|| cannot(path))
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// A file under a temporary name, removed on drop.
struct Part {
    file: File,
    path: PathBuf,
}

impl Part {
    fn new(place: &Path) -> io::Result<Self> {
        let name = place.file_name().ok_or(ErrorKind::InvalidFilename)?;
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(io::Error::other)?;
        let mut part = OsString::from(".");
        part.push(name);
        part.push(format!(".{:016x}.part", u64::from_ne_bytes(number)));
        let path = place.with_file_name(part);
        Ok(Part { file: File::create_new(&path)?, path })
    }

    fn write(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        self.file.sync_all()
    }

    /// A hard link never replaces a file. On file systems without hard links, a file that somebody
    /// else creates at the same moment is lost.
    fn take_new_place(&self, place: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            Err(_) if fs::symlink_metadata(place).is_ok() => {
                return Err(ErrorKind::AlreadyExists.into());
            }
            Err(_) => fs::rename(&self.path, place)?,
            Ok(()) => {}
        }
        sync_folder(place)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have been renamed already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Syncs the name to the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_whole_and_takes_no_other_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        check(&path, "it").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left of a check");
        create(&path, b"one", "it").unwrap();
        let told = create(&path, b"two", "it").unwrap_err().to_string();
        assert!(told.ends_with("exists, and it is never overwritten"), "{told}");
        assert_eq!(check(&path, "it").unwrap_err().to_string(), told);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace(&path, b"three").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "and nothing beside it");
        let nowhere = folder.path().join("nowhere/new");
        assert!(create(&nowhere, b"", "it").is_err() && check(&nowhere, "it").is_err());
        assert!(replace(Path::new("/"), b"").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_stays_one() {
        replace(Path::new("/dev/null"), b"x").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [link, other] = ["link", "other"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(create(&link, b"x", "it").is_err() && !other.exists());
        assert!(check(&link, "it").is_err());
    }
}
