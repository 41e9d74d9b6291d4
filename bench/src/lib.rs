//! What the benchmark programs in `src/bin` share: timing in pairs, the peers that need foreign calls,
//! and a description of the machine.

pub mod crypt_r;
pub mod machine;
pub mod paired;
pub mod upstream;

/// The example in the README, which has to compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
