//! Why an item was refused or not computed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use saltern_yescrypt::{Error as Hash, ErrorKind, rom::RomId};

/// Why an item was refused or not computed, or why there is no pool. A wrong password is never an
/// error.
///
/// Errors carry numbers and names, never passwords, salts, keys or hashes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An error from the parser, the limits or the computation of a single hash.
    Hash(saltern_yescrypt::Error),
    /// The batch has more items than may ever wait: submit it in parts.
    BatchTooLarge {
        /// Items in the batch.
        items: u64,
        /// [`PoolConfig::max_waiting`](crate::PoolConfig::max_waiting).
        limit: u64,
    },
    /// The queue of this class is full.
    Overloaded {
        /// Items of the class that are waiting.
        waiting: u64,
        /// [`PoolConfig::max_waiting`](crate::PoolConfig::max_waiting).
        limit: u64,
    },
    /// At the rate that the pool has measured, the last of these items would end after its
    /// deadline, or wait longer than items may while more arrives than can be computed.
    TooLate {
        /// The time from now until it would end.
        predicted: Duration,
        /// The time allowed: until the deadline, or less under overload ([`Pool`](crate::Pool)).
        allowed: Duration,
    },
    /// The deadline passed before the computation began.
    Expired,
    /// The item was cancelled, or the pool was dropped, before the computation began.
    Cancelled,
    /// One hash with these parameters and its buffers need more memory than the pool may use.
    OverBudget {
        /// Bytes needed.
        needed: u64,
        /// [`PoolConfig::memory`](crate::PoolConfig::memory).
        limit: u64,
    },
    /// A block of a ROM could not be read.
    RomUnavailable {
        /// The ROM.
        id: RomId,
        /// What happened.
        fault: Fault,
    },
    /// ROM blocks cannot be read as configured.
    Source(Fault),
    /// This process was forked from the one that made the pool: make another pool here.
    Forked,
    /// The computation panicked: a defect in this library or in the code that reads ROMs for it.
    Panicked,
}

/// An error from the code that reads ROMs.
#[derive(Clone, Debug)]
pub struct Fault(Arc<dyn std::error::Error + Send + Sync>);

impl Fault {
    /// A fault with this error as its cause.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Fault(Arc::from(error.into()))
    }

    /// The error itself.
    #[must_use]
    pub fn error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// Whether both are the same event.
impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Hash(error) => error.fmt(f),
            Error::BatchTooLarge { items, limit } => {
                write!(f, "the batch has {items} items, but at most {limit} may wait: submit fewer")
            }
            Error::Overloaded { waiting, limit } => {
                write!(f, "{waiting} of at most {limit} items are waiting: try again later")
            }
            Error::TooLate { predicted, allowed } => write!(
                f,
                "the result would take {predicted:.1?}, but only {allowed:.1?} are allowed now: \
                 try again later, or allow more time"
            ),
            Error::Expired => f.write_str("the deadline passed before the computation could begin"),
            Error::Cancelled => f.write_str("cancelled"),
            Error::OverBudget { needed, limit } => write!(
                f,
                "one hash needs {needed} bytes, but the pool may use only {limit}: give it more memory"
            ),
            Error::RomUnavailable { id, fault } => write!(f, "ROM {id} is unavailable: {fault}"),
            Error::Source(fault) => write!(f, "cannot read ROMs in files: {fault}"),
            Error::Forked => f.write_str(
                "this pool belongs to the parent process: create a pool after forking, not before",
            ),
            Error::Panicked => f.write_str("the computation panicked: please report this"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Their messages are part of this error's own message already.
            Error::RomUnavailable { fault, .. } | Error::Source(fault) => fault.0.source(),
            Error::Hash(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl Error {
    /// What the caller can do about the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Hash(error) => error.kind(),
            Error::BatchTooLarge { .. } | Error::OverBudget { .. } => ErrorKind::OverLimit,
            Error::Overloaded { .. } | Error::TooLate { .. } => ErrorKind::Overloaded,
            Error::Expired | Error::Cancelled => ErrorKind::Overloaded,
            Error::RomUnavailable { .. } | Error::Source(_) => ErrorKind::Unavailable,
            Error::Forked | Error::Panicked => ErrorKind::Internal,
        }
    }
}

impl From<saltern_yescrypt::Error> for Error {
    fn from(error: saltern_yescrypt::Error) -> Self {
        Error::Hash(error)
    }
}

/// A parameter out of its range.
pub(crate) fn invalid(name: &'static str, value: u64, expected: &'static str) -> Hash {
    Hash::InvalidParameter { name, value, expected }
}
