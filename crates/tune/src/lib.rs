//! Finds the hash costs that a machine can sustain for a given number of logins per second,
//! response time and memory.
//!
//! A [`Tuner`] loads a [`Subject`] with logins that arrive regardless of whether earlier ones have
//! been answered, and searches for the strongest hash that meets the [`Target`]. [`Site`] is the
//! real subject: [`saltern::Passwords`] under the policy that is finally recommended. The result is
//! a [`Report`]: a table ([`Report::text`]), JSON (it is [`Serialize`]), a page with plots
//! ([`Report::page`]), and a policy ([`Report::policy`]).
//!
//! ```no_run
//! use saltern::Policy;
//! use saltern_tune::{Bounds, Effort, Site, Target, Tuner};
//! use std::time::Duration;
//! let target =
//!     Target { logins: 200.0, burst: 3.0, p99: Duration::from_millis(250), memory: 4 << 30 };
//! let bounds = Bounds::new(&Policy::default(), None);
//! let mut site = Site::new(target.policy(Policy::default()));
//! let report = Tuner::new(&mut site, bounds, Effort::quick()).search(&target)?;
//! println!("{}", report.text());
//! # Ok::<(), saltern_tune::Error>(())
//! ```
//!
//! [`Serialize`]: serde::Serialize

// To change … open …
//     what is tried, and for how long       search.rs; ladder.rs
//     arrivals, counts; the real pool       load.rs; site.rs
//     the model of a pool, without a clock  model.rs
//     the report                            report.rs, text.rs, page.rs, policy.rs; attack.rs
//     shared processors, busy machines      neighbour.rs; others.rs

mod attack;
mod clock;
mod error;
mod ladder;
mod load;
mod model;
pub mod neighbour;
mod others;
mod page;
mod policy;
mod report;
mod search;
mod site;
mod target;
mod text;

pub use clock::{process_seconds, processor, thread_seconds};
pub use error::{Bottleneck, Error};
pub use ladder::{Bounds, Setting};
pub use load::{Arrivals, Load, Random, Saturation, Subject};
pub use others::Others;
pub use report::Report;
pub use search::{Effort, Tuner};
pub use site::Site;
pub use target::Target;
