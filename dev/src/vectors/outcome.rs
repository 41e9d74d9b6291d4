//! What cases of all kinds are made of, and what they come to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hex;

/// Bytes that JSON writes in hexadecimal.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl TryFrom<String> for Bytes {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Bytes, Self::Error> {
        hex::decode(&text)
            .map(Bytes)
            .ok_or("a byte string has to be an even number of hexadecimal digits")
    }
}

/// What a case comes to, as it is printed and as files state it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) out: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) out_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image_sha256: Option<String>,
}

/// Why a case has no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// The kind, or a hash function that it needs, is not offered.
    Unsupported,
    /// The inputs are refused: what a case with `_reject` is to end in.
    Refused(String),
    /// The inputs may be right, but this machine or the option `--max-memory` does not allow them.
    TooLarge(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unsupported => f.write_str("unsupported"),
            Failure::Refused(reason) | Failure::TooLarge(reason) => f.write_str(reason),
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

/// Shorthand for errors of the library: all of them refuse the inputs, apart from a lack of memory.
pub(super) fn refused(error: saltern_yescrypt::Error) -> Failure {
    match error {
        saltern_yescrypt::Error::OutOfMemory { .. } => Failure::TooLarge(error.to_string()),
        _ => Failure::Refused(error.to_string()),
    }
}

pub(super) fn narrow(value: u64, name: &str) -> Result<u32> {
    let too_large = |_| Failure::Refused(format!("{name} = {value} does not fit 32 bits"));
    u32::try_from(value).map_err(too_large)
}

/// The most memory that a case may take.
pub(super) struct Ceiling(pub(super) u64);

impl Ceiling {
    pub(super) fn check(&self, what: &str, bytes: u128) -> Result<()> {
        if bytes <= u128::from(self.0) {
            return Ok(());
        }
        let (need, have) = (bytes.div_ceil(1 << 20), self.0 >> 20);
        Err(Failure::TooLarge(format!("{what} takes {need} MiB, more than --max-memory {have}")))
    }
}
