//! The state of the running service.

mod clients;
mod exposition;
mod log;
mod metrics;
mod rate;
mod state;

pub(crate) use self::clients::{Client, Clients, Peer, Rights, UnderWay, Who};
pub(crate) use self::exposition::text as metrics_text;
pub(crate) use self::metrics::Ended;
pub(crate) use self::rate::{Accounts, Bucket, Rate};
pub(crate) use self::state::{Current, Phase, Places, State};
