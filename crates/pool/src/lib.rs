//! Many password hashes at once: one queue that knows deadlines, one budget of memory, one kind of
//! ticket, for ROMs in memory and for ROMs whose blocks are read.
//!
//! [`Pool`] says how it works. What reads ROMs from files is
//! [`BlockSources`](source::BlockSources), which `saltern-rom` has.
//!
//! # Features
//! `getrandom` (default): random salts. `os` (default): threads bound to processors, and the kind
//! of pages (Linux).
#![cfg_attr(docsrs, feature(doc_cfg))]

mod config;
mod error;
mod flight;
mod item;
#[doc(hidden)]
pub mod hazmat {
    //! What `saltern-rom` needs, and no application does. Versions promise nothing about it.

    pub use crate::pages::sizes;
    pub use crate::process::Process;
}
mod ledger;
mod pages;
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
mod terms;
mod ticket;
mod worker;

pub use config::{PoolConfig, WipePolicy};
pub use error::{Error, Fault};
pub use pool::Pool;
pub use shape::Derive;
pub use stats::{PoolStats, ReadStats};
pub use terms::{Class, Terms};
pub use ticket::{Answer, BatchTicket, OneTicket, Results, Ticket};
