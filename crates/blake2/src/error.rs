//! What can be wrong with a parameter.

use core::fmt;

use saltern_simd::UnavailableLevel;

/// A parameter that the function cannot take. Each message names the value and the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A hash length, in bytes, that is 0 or above the limit.
    HashLength {
        /// What was asked for.
        length: usize,
        /// The longest there is.
        max: usize,
    },
    /// A key that is too long, in bytes.
    KeyLength {
        /// What was given.
        length: usize,
        /// The longest there is.
        max: usize,
    },
    /// A salt that is too long, in bytes.
    SaltLength {
        /// What was given.
        length: usize,
        /// The longest there is.
        max: usize,
    },
    /// A personalisation that is too long, in bytes.
    PersonalLength {
        /// What was given.
        length: usize,
        /// The longest there is.
        max: usize,
    },
    /// An inner hash length, in bytes, above the limit.
    InnerHashLength {
        /// What was given.
        length: usize,
        /// The longest there is.
        max: usize,
    },
    /// A node offset that the parameter block has no room for.
    NodeOffset {
        /// What was given.
        offset: u64,
        /// The largest there is.
        max: u64,
    },
    /// An output length of BLAKE2X that is 0 or that the parameter block has no room for.
    OutputLength {
        /// What was asked for, in bytes.
        length: u64,
        /// The longest there is.
        max: u64,
    },
    /// More output was asked of BLAKE2X than was announced to it.
    OutputEnd {
        /// Bytes that were asked for.
        wanted: usize,
        /// Bytes that are left.
        left: u64,
    },
    /// A hash in hexadecimal that is none of this function.
    Hex {
        /// How many digits there are, if they are digits.
        digits: usize,
        /// The most that a hash has.
        max: usize,
    },
    /// A level that this processor cannot run.
    Level(UnavailableLevel),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::HashLength { length, max } => {
                write!(f, "a hash of {length} bytes was asked for: ask for 1 to {max}")
            }
            Error::KeyLength { length, max } => {
                write!(
                    f,
                    "the key has {length} bytes: at most {max} are allowed, hash a longer key first"
                )
            }
            Error::SaltLength { length, max } => {
                write!(f, "the salt has {length} bytes: at most {max} are allowed")
            }
            Error::PersonalLength { length, max } => {
                write!(f, "the personalisation has {length} bytes: at most {max} are allowed")
            }
            Error::InnerHashLength { length, max } => {
                write!(f, "the inner hash length is {length} bytes: at most {max} are allowed")
            }
            Error::NodeOffset { offset, max } => {
                write!(f, "the node offset is {offset}: at most {max} is allowed")
            }
            Error::OutputLength { length, max } => {
                write!(f, "an output of {length} bytes was asked for: ask for 1 to {max}")
            }
            Error::OutputEnd { wanted, left } => {
                write!(f, "{wanted} more bytes of output were asked for, but only {left} are left")
            }
            Error::Hex { digits, max } => {
                write!(
                    f,
                    "{digits} characters are not a hash: expected an even number of hexadecimal digits, up to {max}"
                )
            }
            Error::Level(unavailable) => unavailable.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<UnavailableLevel> for Error {
    fn from(unavailable: UnavailableLevel) -> Self {
        Error::Level(unavailable)
    }
}
