//! Strings: parsed and written, nothing is computed here.

pub(crate) mod base64;
pub(crate) mod crypt3;
pub(crate) mod encoding;
pub(crate) mod escrypt;
pub(crate) mod extended;
pub(crate) mod names;
pub(crate) mod roms;

/// Bytes of hash in every string.
pub(crate) const HASH: usize = 32;
/// The digits that they take in the crypt(3) schemes.
pub(crate) const HASH_DIGITS: usize = 43;
