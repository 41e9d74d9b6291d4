//! 32 bytes as lower-case hexadecimal digits: as BLAKE2 writes and reads its hashes.

use saltern_blake2::blake2b::Hash;

pub(crate) fn text(bytes: &[u8; 32]) -> String {
    Hash::from(*bytes).to_hex().to_string()
}

/// Parses what [`text`] writes, and nothing else.
pub(crate) fn parse(digits: &str) -> Option<[u8; 32]> {
    let hash: Hash = digits.parse().ok()?;
    hash.as_bytes().try_into().ok().filter(|bytes| text(bytes) == digits)
}
