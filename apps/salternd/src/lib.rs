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

// To change … open …
//     a route; its fields; a reason         api/route.rs; api/request.rs, api/answer.rs; api/problem.rs, api/refusal.rs;
//                                           then `salternd openapi > docs/openapi.json`
//     the OpenAPI document                  api/schema.rs, api/openapi.rs
//     what a request does; batches          handlers/single.rs; handlers/batch.rs; handlers/census.rs
//     identity, rights, rates               site/clients.rs; site/rate.rs
//     metrics; the log                      site/metrics.rs, site/prometheus.rs; site/log.rs
//     HTTP; connections; bodies; TLS        transport/http.rs; connection.rs, listen.rs, handshakes.rs, quota.rs; body_budget.rs; tls.rs
//     a key of salternd.toml                operation/config.rs; config/clients.rs, config/listen.rs
//     start, reload, end; descriptors       operation/run.rs, open.rs, start.rs; descriptors.rs; memory.rs
//     the client; how it holds back         client.rs, body.rs; client/throttle.rs

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
