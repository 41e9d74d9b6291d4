//! The algorithm: numbers and memory. Nothing here knows about strings, ids, keys or a site's
//! limits.

pub(crate) mod batch;
pub(crate) mod blockmix;
pub(crate) mod check;
pub(crate) mod cost;
pub(crate) mod dispatch;
pub(crate) mod escrypt;
pub(crate) mod fill;
pub(crate) mod flavor;
pub(crate) mod kdf;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod params;
pub(crate) mod pass;
pub(crate) mod pbkdf2;
pub(crate) mod pwxform;
pub(crate) mod reading;
pub(crate) mod resumable;
pub(crate) mod rom;
pub(crate) mod salsa20;
pub(crate) mod smix;
pub(crate) mod threads;
pub(crate) mod workspace;
