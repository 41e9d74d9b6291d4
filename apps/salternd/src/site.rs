//! The state of the running service.

mod clients;
mod log;
mod metrics;
mod prometheus;
mod rate;
mod state;
mod user_files;

pub(crate) use self::clients::{Client, Clients, Peer, Rights, UnderWay, Who};
pub(crate) use self::metrics::Ended;
pub(crate) use self::prometheus::text as metrics_text;
pub(crate) use self::rate::{Accounts, Bucket, Rate};
pub(crate) use self::state::{Current, Phase, Places, State};
pub(crate) use self::user_files::{UserFile, UserFiles};
