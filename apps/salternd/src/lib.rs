//! A service that hashes and verifies passwords under a site's policy, over HTTP/1.1 on a Unix
//! socket, or on TCP with TLS and client certificates; and a client for it, [`client::Client`].
//!
//! # Features
//! * `server` (default): the service itself, including the program `salternd`.
//! * `tls`: the client over TCP with TLS. Included in `server`.
//!
//! With `default-features = false` there is only the client over Unix sockets and to this machine,
//! which needs neither cryptography nor the hashing library.
//!
//! The layers, from the bottom up; each knows only those below it:
//!
//! * [`api`]: the protocol: requests, answers, problems, routes, and their document.
//! * `site`: the state: the passwords of the site, the clients and their rights, limits, counts,
//!   the log.
//! * `handlers`: the processing of requests, independent of HTTP.
//! * `transport`: sockets, TLS and HTTP.
//! * `operation`: the life of the process: its configuration, start, reload, drain, end.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod api;
mod body;
pub mod client;
#[cfg(feature = "server")]
mod handlers;
#[cfg(feature = "server")]
pub mod operation;
#[cfg(feature = "server")]
mod site;
#[cfg(feature = "server")]
mod transport;
