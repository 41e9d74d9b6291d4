//! The formats of manifests, ids and tables: bytes and text, no files.

pub(crate) mod hex;
pub(crate) mod identity;
pub(crate) mod manifest;
pub(crate) mod paths;
pub(crate) mod sums;
pub(crate) mod timestamp;
