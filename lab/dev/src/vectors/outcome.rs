//! What cases of all kinds are made of, and what they come to.

use std::fmt;

use base16ct::{lower, mixed};
use saltern_yescrypt::rom::RomImage;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes that JSON writes in hexadecimal.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl TryFrom<String> for Bytes {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Bytes, Self::Error> {
        mixed::decode_vec(&text)
            .map(Bytes)
            .map_err(|_| "a byte string has to be an even number of hexadecimal digits")
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

impl Answer {
    /// Bytes.
    pub(super) fn bytes(out: &[u8]) -> Answer {
        Answer { out: Some(lower::encode_string(out)), ..Answer::default() }
    }

    /// A string, in hexadecimal where it is not of printable ASCII.
    pub(super) fn text(text: Vec<u8>) -> Answer {
        match String::from_utf8(text) {
            Ok(text) if text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Answer { out: Some(text), ..Answer::default() }
            }
            Ok(text) => Answer::text_in_hex(text.as_bytes()),
            Err(error) => Answer::text_in_hex(error.as_bytes()),
        }
    }

    fn text_in_hex(text: &[u8]) -> Answer {
        Answer { out_hex: Some(lower::encode_string(text)), ..Answer::default() }
    }

    /// A ROM with its digest.
    pub(super) fn rom(image: &RomImage, digest: &[u8]) -> Answer {
        Answer {
            digest: Some(lower::encode_string(digest)),
            image_sha256: Some(lower::encode_string(&Sha256::digest(image.as_bytes()))),
            ..Answer::default()
        }
    }
}

/// A copy of a ROM for a hasher of its own.
pub(super) fn copy(image: &RomImage) -> std::result::Result<RomImage, saltern_yescrypt::Error> {
    let mut copy = RomImage::zeroed(image.as_bytes().len())?;
    copy.as_bytes_mut().copy_from_slice(image.as_bytes());
    Ok(copy)
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

    /// So many bytes for an output.
    pub(super) fn output(&self, length: u64) -> Result<Vec<u8>> {
        self.check("the output", length.into())?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut out = Vec::new();
        out.try_reserve_exact(length).map_err(|error| Failure::TooLarge(error.to_string()))?;
        out.resize(length, 0);
        Ok(out)
    }
}
