//! yescrypt and scrypt: hash and verify passwords byte for byte as crypt(3) does.
//!
//! ```
//! # fn main() -> Result<(), saltern_yescrypt::Error> {
//! let stored = saltern_yescrypt::hash(b"correct horse")?;
//! assert!(saltern_yescrypt::verify(b"correct horse", &stored)?);
//! # Ok(()) }
//! ```
//!
//! A server keeps a [`Hasher`] (parameters, limits, key, ROM) and one [`Workspace`] in each thread; [`derive()`] is the bare function for
//! every parameter of yescrypt 1.1 and classic scrypt; [`RomImage`] makes site-specific ROMs; [`reencrypt`] rotates keys. A `Pool` of
//! threads computes many hashes at once within a budget of memory. A [`RomSet`] and a [`KeySet`] have several of each, by names
//! that the strings carry. [`escrypt`] is the older generation 0.5, whose `$7X` strings a [`Hasher`] verifies too.
//!
//! # Features
//! `std` (default): threads for p > 1, and the pool. `os` (default): huge pages, and fixed processors for the threads of a pool (Linux).
//! `getrandom` (default): random salts. `password-hash`: the traits of that crate. Without `std` the crate needs `alloc` only.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod base64;
mod batch;
mod blockmix;
mod dispatch;
mod encoding;
mod encrypt;
mod error;
pub mod escrypt;
mod extended;
mod flavor;
mod hasher;
mod kdf;
mod keys;
mod limits;
mod memory;
mod params;
mod pass;
#[cfg(feature = "password-hash")]
mod password_hash;
mod pbkdf2;
#[cfg(feature = "std")]
mod pool;
mod pwxform;
mod resumable;
mod rom;
mod rom_set;
mod rom_use;
mod salsa20;
mod smix;
mod threads;
mod workspace;

pub use batch::{Derivation, Verification, derive_many};
pub use encoding::{HashString, Scheme, Setting};
pub use encrypt::{HashKey, reencrypt};
pub use error::Error;
pub use flavor::Flavor;
#[cfg(feature = "getrandom")]
pub use hasher::hash;
pub use hasher::{Hasher, Plan, verify};
pub use kdf::{derive, derive_with_roms};
pub use keys::{KeyId, KeySet};
pub use limits::{FlavorPolicy, Limits};
pub use memory::Pages;
pub use params::{CheckedParams, Mode, Params};
#[cfg(feature = "std")]
pub use pool::{Derive, Pool, PoolConfig, PoolStats, Ticket, WipePolicy};
pub use resumable::{Progress, Resumable, RomElsewhere, RomRead, RomSource};
pub use rom::{Rom, RomImage, RomParams, RomProgress, init_rom, init_rom_with};
pub use rom_set::{NamedRom, RomSet};
pub use rom_use::{MAX_LOOK_AHEAD, MAX_ROMS, RomId, RomMasks, RomUse};
pub use saltern_simd::{Level, UnavailableLevel};
pub use workspace::Workspace;
