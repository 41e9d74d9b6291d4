//! Files of users, for `GET /v1/forward-auth`: each is read anew when it has changed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use saltern::Error;
use saltern::users::Users;

/// A file that has just changed may change again without another time of change: the system's
/// clock for files has ticks.
const TICK: Duration = Duration::from_millis(100);

/// How many ticks to wait, at most, for users that are missing from a file that has just changed.
const REWRITE: u32 = 5;

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
    /// Held by whoever reads the file: one at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// What was read last.
struct Loaded {
    users: Arc<Users>,
    /// The version of the file that was read, whether it could be used or not.
    stamp: Option<Stamp>,
    /// When that reading began.
    begun: Instant,
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
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + time);
        // A time in the future is that of another clock.
        let age = age.unwrap_or_else(|ahead| ahead.duration());
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
        let begun = Instant::now();
        let (users, stamp) = read(&path)?;
        let state = Mutex::new(Loaded { users: Arc::new(users), stamp, begun });
        Ok(UserFile { name, realm, path, update, state, turn: Arc::default() })
    }

    /// The users as the file has them now. It is read by one request at a time, and whoever asked
    /// before a reading began takes its result. `failed` is told why a file cannot be read, or is
    /// not complete: then the users that it had before stay.
    ///
    /// # Errors
    /// If the reading panicked.
    pub(crate) async fn users(
        self: &Arc<Self>,
        failed: impl FnOnce(&Error) + Send + 'static,
    ) -> Result<Arc<Users>, tokio::task::JoinError> {
        if let Some(users) = self.unchanged() {
            return Ok(users);
        }
        let asked = Instant::now();
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if let Some(users) = self.read_since(asked).or_else(|| self.unchanged()) {
            return Ok(users);
        }
        let file = Arc::clone(self);
        // The turn goes with the reading: clients that disconnect must not start another.
        let read = move || {
            let _turn = turn;
            file.read_anew(failed)
        };
        tokio::task::spawn_blocking(read).await
    }

    /// All users and their strings, as they were last read.
    pub(crate) fn as_read(&self) -> Arc<Users> {
        Arc::clone(&self.loaded().users)
    }

    /// The users, if the file has not changed since they were read.
    fn unchanged(&self) -> Option<Arc<Users>> {
        let now = stamp(&self.path)?;
        let loaded = self.loaded();
        (loaded.stamp == Some(now)).then(|| Arc::clone(&loaded.users))
    }

    /// The users, if a reading has begun since then and ended.
    fn read_since(&self, asked: Instant) -> Option<Arc<Users>> {
        let loaded = self.loaded();
        (loaded.begun >= asked).then(|| Arc::clone(&loaded.users))
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the file anew.
    fn read_anew(&self, failed: impl FnOnce(&Error)) -> Arc<Users> {
        let had = self.as_read().count();
        let mut begun = Instant::now();
        let mut before = stamp(&self.path);
        let mut new = read(&self.path);
        // htpasswd empties a file and fills it again: who is missing may still be written.
        for _ in 0..REWRITE {
            if !matches!(&new, Ok((users, None)) if users.count() < had) {
                break;
            }
            std::thread::sleep(TICK);
            begun = Instant::now();
            before = stamp(&self.path);
            new = read(&self.path);
        }
        let mut loaded = self.loaded();
        match new {
            Ok((users, stamp)) => *loaded = Loaded { users: Arc::new(users), stamp, begun },
            Err(error) => {
                (loaded.stamp, loaded.begun) = (before, begun);
                failed(&error);
            }
        }
        Arc::clone(&loaded.users)
    }

    /// Replaces the string of a user in the file, if the old one is still there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn replace(&self, name: &str, old: &str, new: &str) -> anyhow::Result<()> {
        Users::edit(&self.path, |users| {
            let is_there = users.find(name) == Some(old);
            if is_there {
                users.set(name, new)?;
            }
            Ok(is_there)
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
