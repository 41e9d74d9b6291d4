//! Parsing and writing strings; nothing is hashed here.

use alloc::string::String;
use alloc::vec::Vec;

pub(crate) mod base64;
mod crypt;
pub(crate) mod crypt3;
pub(crate) mod encoding;
pub(crate) mod escrypt;
pub(crate) mod extended;
pub(crate) mod names;
mod phc;
pub(crate) mod roms;
pub(crate) mod scheme;

/// Bytes of hash in every string.
pub(crate) const HASH: usize = 32;
/// The number of digits they take in the crypt(3) schemes.
pub const HASH_DIGITS: usize = 43;
/// Bytes of the longest salt that a string holds in base 64.
pub(crate) const MAX_SALT: usize = 64;

/// Text made of ASCII characters only.
pub(crate) fn ascii(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|_| unreachable!("digits are ASCII"))
}
