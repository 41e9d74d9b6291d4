//! The life of the process.

mod changes;
mod config;
mod descriptors;
mod memory;
mod notify;
mod open;
mod run;
mod start;

pub use self::config::Config;
pub use self::open::Endpoint;
pub use self::run::{Options, check, health, run};
