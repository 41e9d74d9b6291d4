//! Errors with ROMs, in groups that an operator can act on.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::identity::RomHash;

/// Why a ROM could not be made, attached or checked. None of these ever means that a password is
/// wrong.
///
/// Errors name files, sizes and ids, never seeds.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused something.
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Something exists already and replacing it was not requested.
    Exists {
        /// What.
        path: PathBuf,
    },
    /// Another process is creating this ROM right now.
    Busy {
        /// The image that it is creating.
        path: PathBuf,
    },
    /// The file in place of the unfinished file belongs to somebody else, is not a regular file, or
    /// has other names as well.
    Foreign {
        /// The unfinished file.
        path: PathBuf,
    },
    /// An image or manifest that would be used without being read in full, in shared memory or
    /// mapped, belongs neither to root nor to this user, or others may write to it.
    Untrusted {
        /// The image or its manifest.
        path: PathBuf,
        /// The user that it belongs to.
        owner: u32,
        /// Its permissions.
        mode: u32,
    },
    /// Something other than a regular file has the name: a directory, a device, a pipe, a symbolic
    /// link.
    NotRegular {
        /// What.
        path: PathBuf,
    },
    /// The file system has too little space.
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes available to this user.
        available: u64,
    },
    /// The process may not write files of this size (RLIMIT_FSIZE).
    FileSizeLimit {
        /// Bytes needed.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The machine has too little memory.
    NoMemory {
        /// Bytes needed.
        needed: u64,
        /// Bytes available, if that is known.
        available: Option<u64>,
    },
    /// The image to be replaced is immutable.
    Immutable {
        /// The file.
        path: PathBuf,
    },
    /// Pages could not be locked in memory (RLIMIT_MEMLOCK).
    NotLocked {
        /// Bytes to lock.
        needed: u64,
        /// The limit, if there is one.
        limit: Option<u64>,
    },
    /// There is no manifest at the expected path.
    NoManifest {
        /// Where.
        path: PathBuf,
    },
    /// The manifest is invalid, or has an unknown version.
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The image does not have the size in its manifest: it is truncated, or another ROM.
    Size {
        /// The image.
        path: PathBuf,
        /// Bytes that the manifest states.
        expected: u64,
        /// Actual bytes.
        actual: u64,
    },
    /// The image has no tag at its end: filling it was not finished, or it is not a ROM of this
    /// size and byte order.
    NotFilled {
        /// The image.
        path: PathBuf,
    },
    /// The image is another ROM.
    WrongRom {
        /// The image.
        path: PathBuf,
        /// The ROM that was expected.
        expected: RomHash,
        /// The actual ROM, if known.
        actual: Option<RomHash>,
    },
    /// The image is damaged: the hash of a chunk is wrong, or its contents differ from the
    /// recomputed ones.
    Damaged {
        /// The image.
        path: PathBuf,
        /// The offset of the first difference, or of the chunk with it, if known.
        offset: Option<u64>,
    },
    /// The table of hashes is missing, or is not the one that the ROM's hash was computed from. The
    /// image may still be good; [`rebuild_sums`](crate::rebuild_sums) checks it and writes a new
    /// table.
    Sums {
        /// The table.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The medium cannot do what was asked for.
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// The seed is empty; or a seed that is read is too short or too long.
    SeedLength {
        /// Its length in bytes, counted only slightly beyond the limit.
        actual: usize,
        /// The minimum.
        least: usize,
        /// The maximum.
        most: usize,
    },
    /// The caller cancelled the work. Unfinished files have been removed.
    Cancelled,
    /// The parameters do not define a ROM, or memory for the computation could not be allocated.
    Yescrypt(saltern_yescrypt::Error),
}

impl Error {
    /// A function that adds the action and the path to an error of the operating system.
    pub(crate) fn io<E: Into<io::Error>>(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Self {
        move |source| Error::Io { action, path: path.to_owned(), source: source.into() }
    }

    /// The file with which the message begins.
    fn path(&self) -> Option<&Path> {
        match self {
            Error::Exists { path }
            | Error::Foreign { path }
            | Error::Immutable { path }
            | Error::Manifest { path, .. }
            | Error::Size { path, .. }
            | Error::NotFilled { path }
            | Error::WrongRom { path, .. }
            | Error::Untrusted { path, .. }
            | Error::NotRegular { path }
            | Error::Damaged { path, .. }
            | Error::Sums { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |before: &str, number: &Option<u64>| {
            number.map(|number| format!("{before}{number}")).unwrap_or_default()
        };
        // The path, if the message begins with it.
        if let Some(path) = self.path() {
            write!(f, "{} ", path.display())?;
        }
        match self {
            Error::Io { action, path, source } => {
                write!(f, "cannot {action} {}: {source}", path.display())
            }
            Error::Exists { .. } => {
                f.write_str("already exists: choose another name, or replace it on purpose")
            }
            Error::Busy { path } => {
                write!(f, "another process is making {} at the moment: wait for it", path.display())
            }
            Error::Foreign { .. } => {
                f.write_str("belongs to another user, or has other names: remove it")
            }
            Error::Immutable { .. } => f.write_str(
                "is immutable: clear that attribute first (chattr -i), or choose another name",
            ),
            Error::NoSpace { path, needed, available } => write!(
                f,
                "{needed} bytes are needed in {}, but {available} are available: make room or choose a smaller ROM",
                path.display()
            ),
            Error::FileSizeLimit { needed, limit } => write!(
                f,
                "a file of {needed} bytes is needed, but this process may write only {limit}: raise RLIMIT_FSIZE (ulimit -f)"
            ),
            Error::NoMemory { needed, available: None } => write!(
                f,
                "the system refused {needed} bytes of memory: use a smaller ROM, or one in a file"
            ),
            Error::NoMemory { needed, available: Some(available) } => write!(
                f,
                "{needed} bytes of memory are needed, but {available} are available: use a smaller ROM, or one in a file"
            ),
            Error::NotLocked { needed, limit } => write!(
                f,
                "{needed} bytes could not be locked in memory{}: raise the limit or leave out locking",
                known(": RLIMIT_MEMLOCK (ulimit -l) is ", limit)
            ),
            Error::NoManifest { path } => write!(
                f,
                "there is no manifest {}: the ROM is missing, or was not made or adopted here",
                path.display()
            ),
            Error::Manifest { reason, .. } => write!(f, "is not a usable manifest: {reason}"),
            Error::Size { expected, actual, .. } => write!(
                f,
                "has {actual} bytes, but its manifest says {expected}: it was truncated or is another ROM"
            ),
            Error::NotFilled { .. } => {
                f.write_str("has no tag at its end: it was not filled to the end, or is not a ROM")
            }
            Error::WrongRom { expected, actual: None, .. } => {
                write!(f, "holds a different ROM than the expected {}", expected.id())
            }
            Error::WrongRom { expected, actual: Some(actual), .. } => {
                write!(f, "holds ROM {actual} where {expected} is expected")
            }
            Error::Untrusted { owner, mode, .. } => write!(
                f,
                "belongs to user {owner} and has mode {mode:03o}: an image that is mapped or in shared memory must belong to root or this user, and no one else may have write permission"
            ),
            Error::NotRegular { .. } => f.write_str(
                "is not a regular file: only regular files are read, replaced or removed",
            ),
            Error::Damaged { offset, .. } => write!(
                f,
                "is damaged{}: recreate it from its seed or copy it from a good one",
                known(" at byte ", offset)
            ),
            Error::Sums { reason, .. } => write!(
                f,
                "is not the table of hashes of its ROM: {reason}: rebuild it (saltern rom verify --rebuild-sums)"
            ),
            Error::Unsupported { what } => f.write_str(what),
            Error::SeedLength { actual, least, most: usize::MAX } => {
                write!(f, "the seed has {actual} bytes: it must have at least {least}")
            }
            Error::SeedLength { actual, least, most } => {
                write!(f, "the seed has {actual} bytes: it must have {least} to {most}")
            }
            Error::Cancelled => f.write_str("cancelled"),
            Error::Yescrypt(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its message is part of this error's own message already.
            Error::Io { source, .. } => source.source(),
            Error::Yescrypt(error) => error.source(),
            _ => None,
        }
    }
}

impl From<saltern_yescrypt::Error> for Error {
    fn from(error: saltern_yescrypt::Error) -> Self {
        match error {
            saltern_yescrypt::Error::Cancelled => Error::Cancelled,
            saltern_yescrypt::Error::OutOfMemory { bytes } => {
                Error::NoMemory { needed: bytes, available: None }
            }
            error => Error::Yescrypt(error),
        }
    }
}
