//! Errors and bottlenecks.

use std::fmt;

use serde::Serialize;

/// The bottleneck of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bottleneck {
    /// Processor time.
    Processor,
    /// The time of one hash: it takes longer than the target, however few logins there are.
    Latency,
    /// The memory that hashes may take.
    Memory,
    /// More threads do not increase throughput: they wait for memory, or share their cores.
    Bandwidth,
    /// Reads of a ROM in a file.
    Disk,
    /// The limits of the policy: nothing stronger is admitted.
    Limits,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bottleneck::Processor => "the processors",
            Bottleneck::Latency => "the time of one hash",
            Bottleneck::Memory => "memory for hashing",
            Bottleneck::Bandwidth => "memory bandwidth, or cores that threads share",
            Bottleneck::Disk => "reads of the ROM from its file",
            Bottleneck::Limits => "the limits of the policy",
        })
    }
}

/// Why there is no report.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An invalid target.
    Target {
        /// The invalid part.
        what: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// No setting satisfies the policy's floor, its limits and the memory.
    NoSetting {
        /// Why.
        why: String,
    },
    /// Even the weakest setting at or above the floor does not meet the target.
    Unmet {
        /// The bottleneck.
        bottleneck: Bottleneck,
        /// What was measured, and what would suffice.
        why: String,
    },
    /// An error of the pool, the policy, a key or a ROM.
    Passwords(saltern::Error),
    /// A measured hash was wrong: a defect here.
    Failed {
        /// The reason.
        why: &'static str,
    },
    /// The system does not allow the threads to measure with.
    NoThreads {
        /// How many were wanted.
        wanted: usize,
    },
    /// An error in a ROM's manifest.
    Rom(saltern_rom::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Target { what, allowed } => write!(f, "{what}: expected {allowed}"),
            Error::NoSetting { why } => f.write_str(why),
            Error::Failed { why } => write!(f, "the measurement failed: {why}"),
            Error::NoThreads { wanted } => write!(
                f,
                "the system does not allow {wanted} threads to measure with: raise the limit on \
                 processes (ulimit -u, pids.max), or ask for fewer threads"
            ),
            Error::Unmet { bottleneck, why } => {
                write!(f, "the target cannot be met; bottleneck: {bottleneck}. {why}")
            }
            Error::Passwords(error) => error.fmt(f),
            Error::Rom(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<saltern::Error> for Error {
    fn from(error: saltern::Error) -> Self {
        Error::Passwords(error)
    }
}

impl From<saltern_rom::Error> for Error {
    fn from(error: saltern_rom::Error) -> Self {
        Error::Rom(error)
    }
}
