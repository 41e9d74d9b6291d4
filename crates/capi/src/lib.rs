//! Saltern for C, as four surfaces, each a folder here and a library when it is installed:
//! `saltern.h`; upstream's `yescrypt.h`; the BLAKE2 project's `blake2.h`; and crypt(3) for
//! `LD_PRELOAD`, whose functions have names of their own here, so that no program that links this
//! crate gets another `crypt`: `link/crypt.c` gives them the names that they are found by.
//!
//! No Rust program needs this crate. docs/c.md is for people who use it; `scripts/install` links
//! it.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::missing_safety_doc, reason = "the headers say what callers guarantee")]

pub mod blake2;
mod boundary;
pub mod crypt;
mod gather;
mod reserve;
pub mod saltern;
mod text;
pub mod yescrypt;
