//! Errors in parameters.

use core::fmt;

use saltern_simd::UnavailableLevel;

/// A parameter that the function does not accept. Each message names the value and the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A hash length, in bytes, that is 0 or above the limit.
    HashLength {
        /// The length requested.
        length: usize,
        /// The longest allowed.
        max: usize,
    },
    /// A key that is too long, in bytes.
    KeyLength {
        /// The value given.
        length: usize,
        /// The longest allowed.
        max: usize,
    },
    /// A salt that is too long, in bytes.
    SaltLength {
        /// The value given.
        length: usize,
        /// The longest allowed.
        max: usize,
    },
    /// A personalisation that is too long, in bytes.
    PersonalLength {
        /// The value given.
        length: usize,
        /// The longest allowed.
        max: usize,
    },
    /// An inner hash length, in bytes, above the limit.
    InnerHashLength {
        /// The value given.
        length: usize,
        /// The longest allowed.
        max: usize,
    },
    /// A node offset that the parameter block has no room for.
    NodeOffset {
        /// The value given.
        offset: u64,
        /// The largest allowed.
        max: u64,
    },
    /// A BLAKE2X output length that is 0 or that the parameter block has no room for.
    OutputLength {
        /// The length requested, in bytes.
        length: u64,
        /// The longest allowed.
        max: u64,
    },
    /// More BLAKE2X output was requested than was announced.
    OutputEnd {
        /// Bytes requested.
        wanted: usize,
        /// Bytes left.
        left: u64,
    },
    /// Text that is not a hash of this function in hexadecimal.
    Hex {
        /// The number of digits, if they are digits.
        digits: usize,
        /// The most digits that a hash has.
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
