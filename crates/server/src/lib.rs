//! A service that hashes and verifies passwords under the policy of a site, over HTTP/1.1 on a Unix
//! socket, or on TCP with TLS and certificates of clients; and a client of it, [`client::Client`].
//!
//! # Features
//! * `server` (default): the service itself, of which the program `salternd` is made.
//! * `tls`: the client over TCP with TLS. Part of `server`.
//!
//! Without features there is only the client over Unix sockets and to this machine, which needs
//! neither cryptography nor the library that hashes: `default-features = false`.
//!
//! The layers, from the bottom up; each knows only those below it:
//!
//! * [`api`]: what is said: requests, answers, problems, routes, and the document of all that.
//! * `site`: what is kept: the passwords of the site, who may do what, limits, counts, the log.
//! * `handlers`: what is done for each request. They know nothing of HTTP.
//! * `transport`: sockets, TLS and HTTP.
//! * `operation`: the life of the process: its file, start, reload, drain, end.

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
