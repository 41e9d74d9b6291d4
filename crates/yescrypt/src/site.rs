//! A site's configuration: limits, keys, ROMs, and the [`Hasher`](hasher::Hasher) that joins them
//! with strings and the algorithm.

mod checksalt;
pub(crate) mod encrypt;
pub(crate) mod hasher;
pub(crate) mod keys;
pub(crate) mod limits;
#[cfg(feature = "password-hash")]
mod password_hash;
pub(crate) mod rom_set;
