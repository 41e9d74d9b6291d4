//! Site-specific ROMs for yescrypt, as an operator needs them: made once, from a secret seed and of
//! any size; shared by every process of a host; recognised, and checked before anything is hashed
//! with them.
//!
//! A ROM is an *image*, some gigabytes that whoever wants to try passwords must have too, and a
//! [`Manifest`] beside it, which says how it was made and how to recognise it. [`Create`] makes
//! both, [`attach`] puts an image into memory, [`verify`] checks all of it. [`RomFile`] reads
//! single blocks of an image that is larger than memory.
//!
//! ```
//! use saltern_rom::{AttachOptions, Create, Seed, attach};
//! use std::sync::Arc;
//! use saltern_yescrypt::{Hasher, Params, Workspace, rom::{Rom, RomParams}};
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! // Once: 128 * r * NROM bytes, here half a MiB.
//! let seed = Seed::generate(&directory.join("site.seed"))?;
//! Create::new(RomParams::new(512, 8, 4), &seed).file(&directory.join("site.rom"))?;
//!
//! // In each process that hashes.
//! let attached = Arc::new(attach(&directory.join("site.rom"), &AttachOptions::new())?);
//! let mut params = Params::yescrypt(64, 8);
//! params.nrom = attached.manifest().params.nrom;
//! let hasher = Hasher::new().with_params(params).with_rom(Rom::new(attached)?);
//! let stored = hasher.hash(&mut Workspace::new(), b"correct horse")?;
//! assert!(hasher.verify(&mut Workspace::new(), b"correct horse", stored.as_bytes())?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Works on Linux only: it is made of memfd, seals, huge pages and direct I/O.
#![cfg(target_os = "linux")]

mod attach;
mod check;
mod checked;
mod copy;
mod create;
mod direct;
mod error;
mod filesystem;
mod hex;
mod identity;
mod image;
mod list;
mod manifest;
mod map;
mod memory;
mod open;
mod opened;
mod pages;
mod place;
mod progress;
mod recheck;
mod remove;
mod seed;
mod source;
mod staged;
mod sums;
mod sysv;
mod timestamp;

pub use attach::{Access, AttachOptions, Attached, Lock, Medium, attach, attach_descriptor};
pub use check::{rebuild_sums, recompute, verify};
pub use checked::CheckedRoms;
pub use copy::{CopyOptions, adopt, copy};
pub use create::{Create, FillIn};
pub use direct::{BlockBuffer, RomFile};
pub use error::Error;
pub use filesystem::is_in_memory;
pub use identity::RomHash;
pub use list::{Cleaned, Found, State, clean, list};
pub use manifest::{Location, Manifest};
pub use open::OpenRom;
pub use pages::{ObtainedPages, Pages};
pub use progress::{Progress, Stage, Watch};
pub use recheck::Recheck;
pub use remove::{detach, remove, set_immutable};
pub use saltern_yescrypt::rom::RomId;
pub use seed::{Seed, SeedSource};
pub use source::{Backend, RomReaders};
pub use sysv::UPSTREAM_KEY;
