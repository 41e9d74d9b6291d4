//! Measuring Saltern beside its peers: what is behind the program `saltern-bench`.
//!
//! [`case`] reads what is to be measured from `lab/bench/cases/*.toml`; [`engine`] holds who
//! computes it; [`suite`] has every engine's hashes compared with the others' and then measured by
//! [`runner`]; [`stats`] turns samples into estimates; [`mod@record`] is the result, which [`text`]
//! puts into words and tables, and which [`compare`] compares with that of another run.
//!
//! ```
//! use saltern_bench::{runner::Effort, suite};
//! let options = suite::Options {
//!     command: "an example".to_owned(),
//!     quick: true,
//!     effort: Effort::SMOKE,
//!     only: "yescrypt-together".to_owned(),
//!     threads: Some(1),
//!     places: Default::default(),
//! };
//! let sections = suite::sections(&["yescrypt"], &options)?;
//! let record = suite::run(&sections, &options, &mut suite::Blind)?;
//! assert!(record.cells().count() >= 1);
//! # Ok::<(), anyhow::Error>(())
//! ```

// To change … open …
//     what is measured                      cases/*.toml
//     a peer                                engine/<name>.rs, its line in engine.rs; a case
//     the method; the record                runner.rs, stats.rs; record.rs
//     text and page                         text.rs; report.rs
//     overload, the service, soak           bin/saltern-bench/

pub mod case;
pub mod compare;
pub mod crypt_r;
pub mod engine;
pub mod instructions;
pub mod libargon2;
pub mod machine;
pub mod merge;
pub mod process;
pub mod record;
pub mod report;
pub mod runner;
pub mod ssd;
pub mod stats;
pub mod suite;
pub mod text;
pub mod twocats;
pub mod upstream;
pub mod work;

/// The example in the README, which has to compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
