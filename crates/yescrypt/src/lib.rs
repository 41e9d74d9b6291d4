//! yescrypt and scrypt: hash and verify passwords byte for byte as crypt(3) does.
//!
//! ```
//! # fn main() -> Result<(), saltern_yescrypt::Error> {
//! let stored = saltern_yescrypt::hash(b"correct horse")?;
//! assert!(saltern_yescrypt::verify(b"correct horse", &stored)?);
//! # Ok(()) }
//! ```
//!
//! A server keeps a [`Hasher`] (parameters, limits, key, ROM) and one [`Workspace`] in each thread;
//! [`derive()`] is the bare function for every parameter of yescrypt 1.1 and classic scrypt;
//! [`RomImage`] makes site-specific ROMs; [`reencrypt`] rotates keys. The crate `saltern-pool`
//! computes many hashes at once within a budget of memory. A [`RomSet`] and a [`KeySet`] have
//! several of each, by names that the strings carry. [`escrypt`] is the older generation 0.5, whose
//! `$7X` strings a [`Hasher`] verifies too.
//!
//! # Features
//! `std` (default): threads for p > 1. `os` (default): huge pages (Linux). `getrandom` (default):
//! random salts. `password-hash`: the traits of that crate. Without `std` the crate needs `alloc`
//! only.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod core;
mod error;
mod ids;
mod site;
mod text;

pub use self::core::batch::{Derivation, derive_many};
pub use self::core::check::{BlockRead, RomCheck, RomFault};
pub use self::core::cost::Medium;
pub use self::core::fill::{RomParams, RomProgress, init_rom, init_rom_with};
pub use self::core::flavor::Flavor;
pub use self::core::kdf::{derive, derive_with_roms};
pub use self::core::memory::Pages;
pub use self::core::params::{CheckedParams, Flags, Mode, Params};
pub use self::core::reading::{MAX_LOOK_AHEAD, MAX_ROMS, RomMasks, RomReading, RomUse};
pub use self::core::resumable::{Progress, Resumable, RomRead};
pub use self::core::rom::{Rom, RomImage, RomMemory, RomStore, RomView};
pub use self::core::workspace::Workspace;
pub use error::{Error, ErrorKind, Limit};
pub use ids::{KeyFingerprint, KeyId, RomId};
pub use saltern_simd::{Level, UnavailableLevel};
pub use site::checksalt::checksalt;
pub use site::encrypt::{HashKey, reencrypt};
#[cfg(feature = "getrandom")]
pub use site::hasher::hash;
pub use site::hasher::{Hasher, Outdated, Plan, Verification, verify};
pub use site::keys::KeySet;
pub use site::limits::{FlavorPolicy, Limits, Syntax};
pub use site::rom_set::RomSet;
pub use text::encoding::{HashString, Setting};
pub use text::roms::NamedRom;
pub use text::scheme::Scheme;

pub mod escrypt;
pub mod hazmat;
