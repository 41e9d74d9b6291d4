//! One connection: HTTP/1.1 over any stream.

use std::convert::Infallible;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch::Receiver;

use super::http::{Service, refuse_all, respond};
use super::limits::Limits;
use super::write_timeout::{Socket, peer_closed};
use crate::api::{Problem, Reason};
use crate::site::Peer;

/// More headers than any proxy adds.
const HEADERS: usize = 64;

/// Answers the requests of a connection until it ends, or until the service is ending: then after
/// the request in progress.
///
/// If a client disconnects, or does not read its answers, the work for it ends.
pub(crate) async fn run(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    socket: &impl Socket,
    peer: Peer,
    service: Arc<Service>,
    mut ending: Receiver<bool>,
) {
    let _open = Open::new(&service);
    let answer = service_fn(|request| {
        let (service, peer) = (&*service, &peer);
        async move {
            // HTTP does not notice when a client disconnects that has sent more than its request.
            tokio::select! {
                biased;
                // Of this, an idle connection holds nothing.
                response = Box::pin(respond(service, peer, request)) => Ok(response),
                () = peer_closed(socket) => Err(Gone),
            }
        }
    });
    let mut connection = pin!(http(&service.limits).serve_connection(TokioIo::new(stream), answer));
    tokio::select! {
        // The way in which a connection ends does not matter here.
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|ending| *ending) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// There is nobody to answer any more.
#[derive(Debug)]
struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client is gone")
    }
}

impl std::error::Error for Gone {}

/// Tells a client with too many connections that this one is refused, and ends it: at once, or
/// after a second without a request.
pub(super) async fn turn_away(stream: impl AsyncRead + AsyncWrite + Unpin, service: &Service) {
    let second = Duration::from_secs(1);
    let detail = "this client has as many connections as it may have: reuse them";
    let problem = Problem::new(Reason::ClientConnections, detail);
    let answer = service_fn(|_| {
        let response = refuse_all(service, &problem);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http(&service.limits).serve_connection(TokioIo::new(stream), answer);
    let _ = tokio::time::timeout(second, connection).await;
}

fn http(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_time);
    builder.max_buf_size(limits.head).max_headers(HEADERS);
    builder
}

/// Counts a connection while it is open.
struct Open<'a>(&'a Service);

impl<'a> Open<'a> {
    fn new(service: &'a Service) -> Self {
        let metrics = &service.state.metrics;
        metrics.connections.fetch_add(1, Relaxed);
        metrics.open.fetch_add(1, Relaxed);
        Open(service)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.state.metrics.open.fetch_sub(1, Relaxed);
    }
}
