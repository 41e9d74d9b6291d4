//! Sockets, TLS and HTTP/1.1.

mod body_budget;
mod connection;
mod handshakes;
mod http;
mod limits;
mod lines;
mod listen;
mod quota;
mod tls;
mod write_timeout;

pub(crate) use self::handshakes::HANDSHAKES;
pub(crate) use self::http::Service;
pub(crate) use self::limits::Limits;
pub(crate) use self::listen::{Bound, Proof, TURNED_AWAY, serve};
pub(crate) use self::tls::{Tls, TlsFiles};
