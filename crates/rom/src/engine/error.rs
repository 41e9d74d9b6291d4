//! What can go wrong with one hash of an engine, or with the engine.

use std::fmt;
use std::sync::Arc;

use saltern_yescrypt::RomId;

use crate::Error;

/// Why a hash could not be computed or an engine not be made. It never means that a password is wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// A block of the ROM could not be read.
    RomUnavailable {
        /// The ROM.
        id: RomId,
        /// What happened.
        source: Arc<Error>,
    },
    /// What was asked for is not there or was refused.
    Rom(Arc<Error>),
    /// One hash of these parameters and its buffers need more memory than the engine may use.
    Memory {
        /// Bytes needed.
        needed: u64,
        /// [`EngineConfig::memory`](super::EngineConfig::memory).
        limit: u64,
    },
    /// Parameters, or what else this library's core refuses; also [`Overloaded`](saltern_yescrypt::Error::Overloaded),
    /// [`Cancelled`](saltern_yescrypt::Error::Cancelled), [`Forked`](saltern_yescrypt::Error::Forked) and [`Panicked`](saltern_yescrypt::Error::Panicked).
    Yescrypt(saltern_yescrypt::Error),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::RomUnavailable { id, source } => {
                write!(f, "ROM {id} is unavailable: {source}")
            }
            EngineError::Rom(error) => error.fmt(f),
            EngineError::Memory { needed, limit } => write!(
                f,
                "one hash needs {needed} bytes and the engine may use {limit}: give it more memory"
            ),
            EngineError::Yescrypt(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // What these say is in this error's own words already, and would be said twice.
            EngineError::RomUnavailable { source, .. } | EngineError::Rom(source) => {
                std::error::Error::source(&**source)
            }
            EngineError::Memory { .. } => None,
            EngineError::Yescrypt(error) => error.source(),
        }
    }
}

impl From<saltern_yescrypt::Error> for EngineError {
    fn from(error: saltern_yescrypt::Error) -> Self {
        EngineError::Yescrypt(error)
    }
}

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        EngineError::Rom(Arc::new(error))
    }
}
