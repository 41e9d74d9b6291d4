//! The protocol: requests, answers, problems and routes.

mod answer;
#[cfg(feature = "server")]
mod fields;
#[cfg(feature = "server")]
mod openapi;
mod problem;
mod protocol;
#[cfg(feature = "server")]
mod refusal;
#[cfg(feature = "server")]
mod reply;
#[cfg(feature = "server")]
mod request;
#[cfg(feature = "server")]
mod route;
#[cfg(feature = "server")]
mod schema;

pub use self::answer::{Checked, Completed, Completion, Counted, Counting, Freshness};
pub use self::answer::{Hashed, Hashing, Rekeyed, Rekeying, Sealed, Sealing, Unsound};
pub use self::answer::{Verdict, Verified};
#[cfg(feature = "server")]
pub use self::openapi::document;
pub use self::problem::{Kind, Problem, Reason};
pub(crate) use self::protocol::TIMEOUT_HEADER;
#[cfg(feature = "server")]
pub use self::reply::Answer;
#[cfg(feature = "server")]
pub(crate) use self::reply::Line;
#[cfg(feature = "server")]
pub(crate) use self::request::{Asked, BatchLine, Hash, Stored, Verify};
#[cfg(feature = "server")]
pub(crate) use self::route::{JSON, LINES, OPS};
#[cfg(feature = "server")]
pub use self::route::{Op, ROUTES, Right, Route, find};
