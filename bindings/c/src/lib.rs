//! Saltern for C, as four surfaces, each a folder here and a library when it is installed:
//! `saltern.h`; upstream's `yescrypt.h`; the BLAKE2 project's `blake2.h`; and crypt(3) for
//! `LD_PRELOAD`, whose functions have different names here, so that programs that link this crate
//! do not get another `crypt`: `link/crypt.c` exports them under the standard names.
//!
//! Rust programs do not need this crate. docs/c.md is for its users; `scripts/install` links it.

// To change … open …
//     a C function                          its folder here, its header in include/, its name in link/*.symbols (for
//                                           crypt(3): link/crypt.c, crypt.map); the dump for tests/c/abi.rs; docs/c.md
//     the boundary of every function        boundary.rs; reserve.rs (memory when malloc fails)
//     calls that wait at the same time      gather.rs, gather/coalescer.rs; arena.rs (memory)
//     linking and installing                scripts/install
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::missing_safety_doc, reason = "the headers say what callers guarantee")]

mod arena;
pub mod blake2;
mod boundary;
pub mod crypt;
mod gather;
mod processors;
mod reserve;
pub mod saltern;
mod text;
pub mod yescrypt;
