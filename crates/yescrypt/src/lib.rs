//! yescrypt and scrypt: hash and verify passwords byte for byte as crypt(3) does.
//!
//! ```
//! # fn main() -> Result<(), saltern_yescrypt::Error> {
//! let stored = saltern_yescrypt::hash(b"correct horse")?;
//! assert!(saltern_yescrypt::verify(b"correct horse", &stored)?);
//! # Ok(()) }
//! ```
//!
//! A server keeps a [`Hasher`] (parameters, limits, keys, ROMs) and one [`Workspace`] in each
//! thread. [`derive()`] is the bare function, for every parameter of yescrypt 1.1, classic scrypt
//! and the older generation 0.5. The crate `saltern-pool` computes many hashes at once within a
//! budget of memory.
//!
//! The crate root has what most programs need; the rest is in modules: [`params`] for unusual
//! parameters and limits, [`rom`] for ROMs, [`keys`] for hash encryption, [`escrypt`] for making
//! ROMs and settings of generation 0.5, [`hazmat`] for programs that schedule or measure hashes
//! themselves.
//!
//! # Features
//! `std` (default): threads for p > 1. `os` (default): huge pages (Linux). `getrandom` (default):
//! random salts. `password-hash`: the traits of that crate. Without `std` the crate needs `alloc`
//! only.

// To change … open …
//     a size, cost or mode; generation 0.5  core/params.rs; core/escrypt.rs
//     limits; what a step is counted as     site/limits.rs; core/cost.rs
//     an S-box size, rounds, a flavour      core/flavor.rs; core/dispatch.rs (constants of the kernels); core/cost.rs
//     the S-box work, Salsa20, the loops    core/pwxform.rs (docs/inner-loops.md), core/salsa20.rs, core/smix.rs
//     passes of a call; each pass; batches  core/kdf.rs; core/pass.rs; core/batch.rs
//     memory and its reuse; wiping          core/memory.rs, core/memory/region.rs, workspace.rs
//     a ROM; reading it; stopping for it    core/rom.rs, core/fill.rs; core/reading.rs; core/smix.rs (Cursor), core/resumable.rs
//     recorded ROM reads and their checks   core/log.rs, core/check.rs
//     a string scheme                       text/scheme.rs, text/encoding.rs, and the scheme's own file in text/
//     what crypt(3) accepts                 text/crypt3.rs
//     names before `$y$`, lists of ROMs     text/extended.rs; text/names.rs; text/roms.rs
//     hashing and verifying strings; keys   site/hasher.rs; site/keys.rs, site/encrypt.rs
//     the name of an error, its remedy      error.rs
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod core;
mod error;
mod ids;
mod site;
mod text;

#[cfg(feature = "getrandom")]
pub use self::site::hasher::hash;
pub use self::{
    core::kdf::derive,
    core::params::Params,
    core::workspace::Workspace,
    error::{Error, ErrorKind, Limit},
    site::hasher::{Hasher, verify},
    site::limits::Limits,
    text::encoding::{HashString, Setting},
    text::scheme::Scheme,
};

pub mod params {
    //! The types of the fields of [`Params`](crate::Params) and [`Limits`](crate::Limits).

    pub use crate::core::cost::Medium;
    pub use crate::core::flavor::Flavor;
    pub use crate::core::params::{CheckedParams, Flags, Mode, block_bytes};
    pub use crate::site::limits::{FlavorPolicy, Syntax};
    pub use crate::text::crypt3::password_refused_by_crypt;
}

pub mod rom {
    //! ROMs: [making](RomImage::init) and [holding](Rom) them, [ids](RomId), [sets](RomSet), and
    //! [how a hash reads them](RomReading). The crate `saltern-rom` keeps them in files and in
    //! shared memory.

    pub use crate::core::check::{BlockRead, RomCheck, RomFault};
    pub use crate::core::fill::{RomParams, RomProgress, init_rom, init_rom_with};
    pub use crate::core::kdf::derive_with_roms;
    pub use crate::core::reading::{MAX_LOOK_AHEAD, MAX_ROMS, RomMasks, RomReading, RomUse};
    pub use crate::core::rom::{Rom, RomImage, RomMemory, RomStore, RomView};
    pub use crate::ids::RomId;
    pub use crate::site::rom_set::RomSet;
    pub use crate::text::roms::NamedRom;
}

pub mod keys {
    //! Hash encryption: keys, and sets of named keys. [`Hasher::rekey`](crate::Hasher::rekey) moves
    //! strings from one key to another.

    pub use crate::ids::{KeyFingerprint, KeyId};
    pub use crate::site::encrypt::HashKey;
    pub use crate::site::keys::KeySet;
}

pub mod escrypt {
    //! ROMs and settings of generation 0.5, for tests and for making such a ROM again. Its hashes
    //! are those of [`Mode::Escrypt`](crate::params::Mode::Escrypt); its strings
    //! ([`Scheme::Escrypt`](crate::Scheme::Escrypt)) are accepted wherever others are.
    //!
    //! ```
    //! let stored = "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.";
    //! assert!(saltern_yescrypt::verify(b"pleaseletmein", stored)?);
    //! # Ok::<(), saltern_yescrypt::Error>(())
    //! ```

    pub use crate::core::escrypt::{EscryptRomParams, init_rom};
    pub use crate::text::escrypt::encode_setting;
}

pub mod hazmat;
