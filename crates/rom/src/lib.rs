//! Site-specific ROMs for yescrypt, for operators: created once from a secret seed, in any size;
//! shared by all processes of a host; identified and checked before anything is hashed with them.
//!
//! A ROM is an *image*, some gigabytes that an attacker who guesses passwords must have too, and a
//! [`Manifest`] beside it, which describes how it was made and identifies it. [`Create`] makes
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
//! On Linux, images can be in shared memory, on huge pages, and can be read bypassing the page
//! cache. On other systems they are in files, from which they are copied into memory or read block
//! by block by a few threads; everything else is one clear error.

// To change … open …
//     creating, attaching, removing         operations/create.rs, attach.rs, remove.rs
//     the manifest; the id and chunk sums   format/manifest.rs, files/manifest_file.rs; format/identity.rs, sums.rs
//     pages, mappings, control groups       system/pages.rs, memory.rs, groups.rs; map.rs, sysv.rs; elsewhere/ (not Linux)
//     which files are trusted               files/located.rs, file_checks.rs
//     files that appear whole               files/staged.rs; files/update.rs
//     a medium read while hashes run        hashing/direct.rs; hashing/source.rs, source/ring.rs, source/threads.rs
//     checks while hashes run               hashing/checked.rs; hashing/scrubber.rs

mod error;
mod files;
mod format;
mod hashing;
mod operations;
mod progress;
mod system;

#[doc(hidden)]
pub mod hazmat;

pub use error::Error;
pub use files::staged::{
    check_new_file, check_replace_file, new_file, new_private_file, replace_file,
};
pub use files::update::update_file;
pub use format::identity::{InvalidRomHash, RomHash};
pub use format::manifest::{Location, Manifest, SeedSource};
pub use format::paths::UPSTREAM_KEY;
pub use hashing::direct::RomFile;
pub use hashing::open_rom::OpenRom;
pub use hashing::open_roms::OpenRoms;
pub use hashing::scrubber::RomScrubber;
pub use hashing::source::{Backend, RomReaders};
#[cfg(unix)]
pub use operations::attach::attach_descriptor;
pub use operations::attach::{Access, AttachOptions, Attached, ImagePlace, Lock, attach};
pub use operations::check::{check, rebuild_sums, recompute, verify};
pub use operations::copy::{CopyOptions, adopt, copy};
pub use operations::create::{ComputeIn, Create};
pub use operations::list::{Cleaned, Found, State, clean, list};
pub use operations::remove::{detach, remove, set_immutable};
pub use operations::seed::Seed;
pub use progress::{Progress, Stage, Watch, no_progress};
pub use saltern_yescrypt::rom::RomId;
pub use system::buffer::DirectBuffer;
pub use system::filesystem::is_in_memory;
pub use system::groups::{GroupLimit, group_limits};
pub use system::pages::{ObtainedPages, RomPages};
