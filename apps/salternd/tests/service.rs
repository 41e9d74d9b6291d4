//! The program as a process of its own, asked over its sockets.
#![cfg(unix)]

#[path = "service/api.rs"]
mod api;
#[path = "service/batch.rs"]
mod batch;
#[path = "service/client.rs"]
mod client;
#[path = "service/crowd.rs"]
mod crowd;
#[path = "service/daemon.rs"]
mod daemon;
#[path = "service/faults.rs"]
mod faults;
#[path = "service/forward_auth.rs"]
mod forward_auth;
#[path = "service/http.rs"]
mod http;
#[path = "service/faults/killed.rs"]
mod killed;
#[path = "service/life.rs"]
mod life;
#[path = "service/faults/media.rs"]
mod media;
#[path = "service/memory.rs"]
mod memory;
#[path = "service/rights.rs"]
mod rights;
#[path = "service/tls.rs"]
mod tls;
