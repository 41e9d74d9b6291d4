//! CPU levels, feature tokens and vector lanes: everything in Saltern that depends on an
//! instruction set and nothing that depends on an algorithm.
//!
//! The one rule: **a value proves a feature.** [`Level::detect`] queries the processor once; tokens
//! in `x86` and `aarch64` exist only if the processor has the feature; lane values can only be made
//! from a token. So the operations on a lane value are safe to call, and every `unsafe` needed for
//! intrinsics is in this crate or in the short `#[target_feature]` wrappers of its users.
//!
//! This crate is an internal part of Saltern: its API may change in any release.

// To change … open …
//     a CPU level, new or which is chosen   level.rs, x86.rs or aarch64.rs (token), x86/ or aarch64/ (lanes); then the
//                                           matches in yescrypt's and blake2's dispatch.rs, which stop compiling
//     an instruction choice                 x86/*.rs, aarch64/*.rs
#![no_std]

pub mod lanes;
mod level;
pub mod portable;
mod prefetch;
mod wide;

#[cfg(target_arch = "aarch64")]
pub mod aarch64;
#[cfg(target_arch = "x86_64")]
pub mod x86;

pub use level::{Level, ParseLevelError, UnavailableLevel};
pub use prefetch::{prefetch_read, prefetch_write};
pub use wide::{PortableWide, Split, Wide};
