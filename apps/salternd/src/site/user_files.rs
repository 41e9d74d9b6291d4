//! Files of users, for `GET /v1/forward-auth`: each is read anew when it has changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use saltern::users::{MAX, Users};
use saltern::{Error, policy::Invalid};
use serde_json::json;

use super::log::Log;

/// A file that has just changed may change again without another time of change: the system's
/// clock for files has ticks.
const TICK: Duration = Duration::from_millis(100);

/// The files of a configuration.
#[derive(Default)]
pub(crate) struct UserFiles(pub(crate) Vec<Arc<UserFile>>);

impl UserFiles {
    /// The file with this name; without one, the first.
    pub(crate) fn named(&self, name: Option<&str>) -> Option<&Arc<UserFile>> {
        match name {
            None => self.0.first(),
            Some(name) => self.0.iter().find(|file| file.name == name),
        }
    }
}

/// A file of users.
pub(crate) struct UserFile {
    pub(crate) name: String,
    /// For the challenge to browsers.
    pub(crate) realm: String,
    path: PathBuf,
    /// Whether outdated strings are replaced in the file.
    pub(crate) update: bool,
    state: Mutex<Loaded>,
}

/// What was read last.
struct Loaded {
    users: Arc<Users>,
    /// The version of the file that was read, whether it could be used or not.
    stamp: Option<Stamp>,
}

/// What tells one version of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// `None` for a file that has changed just now, so that it is read again.
    fn of(found: &Metadata) -> Option<Self> {
        let changed = (found.ctime(), found.ctime_nsec());
        let time = Duration::new(changed.0.try_into().ok()?, changed.1.try_into().ok()?);
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + time).ok()?;
        let stamp = Stamp { file: (found.dev(), found.ino()), length: found.len(), changed };
        (age > TICK).then_some(stamp)
    }
}

impl UserFile {
    /// Reads a file for the first time.
    ///
    /// # Errors
    /// If it cannot be read, or is not a file of users.
    pub(crate) fn open(
        name: String,
        realm: String,
        path: PathBuf,
        update: bool,
    ) -> Result<Self, Error> {
        let (users, stamp) = read(&path)?;
        let state = Mutex::new(Loaded { users: Arc::new(users), stamp });
        Ok(UserFile { name, realm, path, update, state })
    }

    /// The users, if the file has not changed since they were read.
    pub(crate) fn unchanged(&self) -> Option<Arc<Users>> {
        let now = stamp(&self.path)?;
        let loaded = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (loaded.stamp == Some(now)).then(|| Arc::clone(&loaded.users))
    }

    /// Reads the file anew. If it cannot be read, or is not complete, the users that it had before
    /// stay, and the log says why.
    pub(crate) fn read_anew(&self, log: &Log) -> Arc<Users> {
        let before = stamp(&self.path);
        let new = read(&self.path);
        let mut loaded = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match new {
            Ok((users, stamp)) => *loaded = Loaded { users: Arc::new(users), stamp },
            Err(error) => {
                loaded.stamp = before;
                let fields = [("users", json!(self.name)), ("detail", json!(error.to_string()))];
                log.warn_seldom("users", "users-stay", &fields);
            }
        }
        Arc::clone(&loaded.users)
    }

    /// Replaces the string of a user in the file, if the old one is still there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn replace(
        &self,
        name: &str,
        old: &str,
        new: &str,
    ) -> Result<(), saltern_rom::Error> {
        let invalid = |invalid: Invalid| {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, invalid.to_string());
            saltern_rom::Error::Io { action: "change", path: self.path.clone(), source }
        };
        saltern_rom::update_file(&self.path, MAX as u64, |text| {
            let text = std::str::from_utf8(text)
                .map_err(|error| invalid(Invalid::new("", "", format!("UTF-8 text ({error})"))))?;
            let mut users = Users::parse(text).map_err(invalid)?;
            if users.find(name) != Some(old) {
                return Ok(None);
            }
            users.set(name, new).map_err(invalid)?;
            Ok(Some(users.text().as_bytes().to_vec()))
        })
    }
}

/// The users of a file, and the stamp of the version that was read, unless it changed meanwhile.
fn read(path: &Path) -> Result<(Users, Option<Stamp>), Error> {
    let before = stamp(path);
    let users = Users::read(path)?;
    Ok((users, before.filter(|before| stamp(path) == Some(*before))))
}

/// The stamp of the version that is there now.
fn stamp(path: &Path) -> Option<Stamp> {
    std::fs::metadata(path).ok().and_then(|found| Stamp::of(&found))
}
