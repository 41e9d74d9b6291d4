//! Errors, in groups that a caller can act on.

use core::fmt;

use crate::ids::{KeyId, RomId};

/// Why an input was refused or a hash could not be computed. A wrong password is never an error.
///
/// Errors carry numbers and names of parameters, never passwords, salts, keys or hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a setting or hash string of a scheme known here. Nothing was computed.
    Malformed {
        /// What was expected where the text went wrong.
        expected: &'static str,
    },
    /// crypt(3) refuses the text, the parameters or the password, and the [`Limits`](crate::Limits)
    /// in force are as strict ([`Syntax::Crypt3`](crate::params::Syntax::Crypt3)).
    RefusedByCrypt {
        /// What crypt(3) refuses.
        why: &'static str,
    },
    /// A parameter has a value that the algorithm does not define.
    InvalidParameter {
        /// The parameter's name in the specification.
        name: &'static str,
        /// Its value.
        value: u64,
        /// The values allowed.
        expected: &'static str,
    },
    /// A parameter is valid but above what the [`Limits`](crate::Limits) in force allow.
    OverLimit {
        /// The limit that was exceeded.
        what: Limit,
        /// The value that was asked for (saturated).
        value: u64,
        /// The largest value allowed.
        limit: u64,
    },
    /// The flavour is valid but the [`Limits`](crate::Limits) in force do not allow it.
    FlavorNotAllowed,
    /// The parameters name a ROM and none was given, or the [`Limits`](crate::Limits) forbid ROMs.
    RomUnavailable {
        /// The number of ROM blocks that the parameters ask for.
        nrom: u64,
    },
    /// The string names a ROM that is not attached. The password was not checked.
    RomNotLoaded {
        /// The ROM's id.
        id: RomId,
    },
    /// The string names a key that is not loaded. The password was not checked.
    KeyNotLoaded {
        /// The key's name.
        id: KeyId,
    },
    /// A ROM was given although the parameters name none.
    RomNotUsed,
    /// The ROM image is smaller than the parameters ask for.
    RomTooSmall {
        /// Bytes that the parameters ask for.
        needed: u64,
        /// Bytes in the image.
        actual: u64,
    },
    /// The ROM image has no tag where a ROM of this size ends: it was not initialised, or has
    /// another size or byte order.
    RomTag,
    /// The ROM buffer is not aligned to 64 bytes.
    RomAlignment,
    /// A hash key was given for a string that cannot be encrypted with it: only `$y$` strings can
    /// be, and extended strings if the key has a name.
    KeyNotApplicable,
    /// A caller's buffer has the wrong length.
    BufferLength {
        /// The length needed.
        needed: u64,
        /// The length given.
        actual: u64,
    },
    /// Memory could not be allocated.
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The system's random generator failed.
    Random,
    /// The caller cancelled the filling of a ROM.
    Cancelled,
    /// The computation reached an impossible state: a defect in this library.
    Panicked,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The input is wrong and a retry will not help: a string, a parameter, a buffer.
    BadInput,
    /// The hash costs more, or is less usual, than the limits in force allow.
    OverLimit,
    /// A ROM or a key is missing. The password was not checked; once it is available, the same call
    /// succeeds.
    Unavailable,
    /// A stored string is not the one that was sealed for its account (only the crate `saltern`
    /// knows seals). The password was not checked; an operator has to look at the table.
    Tampered,
    /// Overload, or cancelled: the same call may succeed later.
    Overloaded,
    /// Neither the input nor the load is at fault: memory, threads or randomness were not
    /// available, or there is a defect.
    Internal,
}

/// The quantity that a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// N.
    N,
    /// r.
    R,
    /// p.
    P,
    /// t.
    T,
    /// Bytes of memory for one hash.
    Memory,
    /// Time, in bytes mixed by the default flavour.
    Work,
    /// Bytes in a password.
    Password,
    /// r of a hash with a ROM in a file.
    StoredRomR,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Limit {
    /// The quantities that have a ceiling in [`Limits`](crate::Limits): all but
    /// [`Limit::StoredRomR`].
    pub const ALL: [Limit; 7] =
        [Limit::Memory, Limit::Work, Limit::N, Limit::R, Limit::P, Limit::T, Limit::Password];

    /// The key in settings files and reports.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Limit::N => "n",
            Limit::R => "r",
            Limit::P => "p",
            Limit::T => "t",
            Limit::Memory => "memory",
            Limit::Work => "work",
            Limit::Password => "password",
            Limit::StoredRomR => "stored_rom_r",
        }
    }

    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Limit::N => "N",
            Limit::R => "r",
            Limit::P => "p",
            Limit::T => "t",
            Limit::Memory => "memory in bytes",
            Limit::Work => "work in bytes of the default flavour",
            Limit::Password => "password length",
            Limit::StoredRomR => "r with a ROM in a file",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Malformed { expected } => {
                write!(f, "malformed setting or hash string: expected {expected}")
            }
            Error::RefusedByCrypt { why } => write!(
                f,
                "crypt(3) refuses this: {why}; a policy with `syntax = \"wide\"` in [limits] accepts \
                 it, for strings that others need not verify"
            ),
            Error::InvalidParameter { name, value, expected } => {
                write!(f, "invalid {name} {value}: it must be {expected}")
            }
            Error::OverLimit { what, value, limit } => write!(
                f,
                "{what} {value} is above the limit of {limit}: raise the limit if this cost is intended"
            ),
            Error::FlavorNotAllowed => f.write_str(
                "this pwxform flavour is not allowed by the limits in force: \
                 allow it if a hash that only Saltern computes is intended",
            ),
            Error::RomUnavailable { nrom } => {
                write!(f, "a ROM of {nrom} blocks is needed but not available: attach it ")?;
                f.write_str("(for a string that does not name it, as the ROM to assume)")
            }
            Error::RomNotLoaded { id } => {
                write!(f, "the ROM {id} is needed but not available: attach it")
            }
            Error::KeyNotLoaded { id } => {
                write!(
                    f,
                    "the key {id} is needed but not available: add it under this name, and no other"
                )
            }
            Error::RomNotUsed => f.write_str(
                "a ROM was given but the parameters name none: pass it only for settings with NROM",
            ),
            Error::RomTooSmall { needed, actual } => {
                write!(f, "the ROM has {actual} bytes, but the parameters ask for {needed}")
            }
            Error::RomTag => f.write_str(
                "no tag at the end of the ROM: it was not initialised, or not with this r and NROM",
            ),
            Error::RomAlignment => f.write_str("the ROM buffer must be aligned to 64 bytes"),
            Error::KeyNotApplicable => f.write_str(
                "hash encryption works with $y$ strings and, if the key has a name, with extended \
                 ones: leave out the key, or name it",
            ),
            Error::BufferLength { needed, actual } => {
                write!(f, "a buffer of {actual} bytes was given, but {needed} are needed")
            }
            Error::OutOfMemory { bytes } => write!(f, "out of memory: {bytes} bytes were refused"),
            Error::Random => f.write_str("the system's random generator failed"),
            Error::Cancelled => f.write_str("cancelled"),
            Error::Panicked => f.write_str("the computation panicked: please report this"),
        }
    }
}

impl core::error::Error for Error {}

impl Error {
    /// What the caller can do about the error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Error::Malformed { .. }
            | Error::RefusedByCrypt { .. }
            | Error::InvalidParameter { .. }
            | Error::RomNotUsed
            | Error::RomTooSmall { .. }
            | Error::RomTag
            | Error::RomAlignment
            | Error::KeyNotApplicable
            | Error::BufferLength { .. } => ErrorKind::BadInput,
            Error::OverLimit { .. } | Error::FlavorNotAllowed => ErrorKind::OverLimit,
            Error::RomUnavailable { .. }
            | Error::RomNotLoaded { .. }
            | Error::KeyNotLoaded { .. } => ErrorKind::Unavailable,
            Error::Cancelled => ErrorKind::Overloaded,
            Error::OutOfMemory { .. } | Error::Random | Error::Panicked => ErrorKind::Internal,
        }
    }

    pub(crate) const fn malformed(expected: &'static str) -> Self {
        Error::Malformed { expected }
    }

    pub(crate) const fn invalid(name: &'static str, value: u64, expected: &'static str) -> Self {
        Error::InvalidParameter { name, value, expected }
    }
}
