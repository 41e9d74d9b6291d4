//! What is written down of a ROM, and what its name promises: bytes and text, no files.

pub(crate) mod hex;
pub(crate) mod identity;
pub(crate) mod manifest;
pub(crate) mod paths;
pub(crate) mod sums;
pub(crate) mod timestamp;
