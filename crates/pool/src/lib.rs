//! Many password hashes at once: one queue with deadlines, one memory budget, one kind of ticket,
//! for ROMs in memory and for ROMs whose blocks are read on demand.
//!
//! [`Pool`] describes how it works. ROMs are read from files through
//! [`BlockSources`](source::BlockSources), which `saltern-rom` implements.
//!
//! # Features
//! `getrandom` (default): random salts. `os` (default): binding threads to processors, and huge
//! pages (Linux).

// To change … open …
//     order, shares, overload, admission    queue.rs, queue/line.rs; rate.rs; schedule.rs (and its simulation.rs)
//     memory accounting, eviction           ledger.rs
//     a thread; a group in flight           worker.rs; flight.rs; reader.rs (a source that fails)
//     what is submitted, grouped, awaited   pool.rs, item.rs, task.rs; shape.rs; ticket.rs
//     blocks of a ROM outside memory        source.rs, source/grid.rs
#![cfg_attr(docsrs, feature(doc_cfg))]

mod config;
mod error;
mod flight;
mod item;
#[doc(hidden)]
pub mod hazmat {
    //! For `saltern-rom`; applications do not need it. Exempt from semantic versioning.

    pub use crate::pages::sizes;
    pub use crate::process::Process;
}
mod ledger;
mod pages;
mod password;
mod pool;
mod process;
mod queue;
mod rate;
mod reader;
mod schedule;
mod shape;
mod shared;
pub mod source;
mod stats;
pub mod task;
pub mod terms;
mod ticket;
mod worker;

pub use config::{PoolConfig, WipePolicy};
pub use error::{Error, Fault};
pub use password::Password;
pub use pool::Pool;
pub use shape::Derive;
pub use stats::{PoolStats, ReadStats};
pub use terms::Terms;
pub use ticket::{Answer, BatchTicket, OneTicket, Results, Ticket};
