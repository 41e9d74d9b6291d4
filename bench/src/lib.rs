//! What the benchmark programs in `src/bin` share: measuring in pairs, what a report says about its run,
//! and the peers that need foreign calls.

pub mod build_info;
pub mod crypt_r;
pub mod paired;
pub mod peers;
pub mod process;
pub mod record;
pub mod report;
pub mod sweep;
pub mod twocats;
pub mod upstream;

/// The example in the README, which has to compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
