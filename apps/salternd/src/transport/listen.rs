//! Listening sockets, and identifying the peers of accepted connections.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::connection::{run, turn_away};
use super::holders::{Holder, Holders};
use super::http::Service;
use super::patient::{Patient, Socket};
use super::tls::Tls;
use crate::site::{Ended, Peer};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The most connections that are told at once why they are turned away. Others are closed.
pub(crate) const TURNED_AWAY: usize = 64;

/// A listening socket.
pub(crate) enum Bound {
    Unix(UnixListener),
    Tcp(TcpListener, Proof),
}

/// How a TCP peer proves its identity. On a Unix socket the system provides it.
#[derive(Clone)]
pub(crate) enum Proof {
    /// By a certificate.
    Tls(Arc<Tls>),
    /// No proof: everybody is this client.
    Anybody { client: String },
}

/// An accepted connection.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream, IpAddr, Proof),
}

impl Bound {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Bound::Unix(listener) => {
                listener.accept().await.map(|(stream, _)| Stream::Unix(stream))
            }
            Bound::Tcp(listener, proof) => {
                let (stream, from) = listener.accept().await?;
                Ok(Stream::Tcp(stream, from.ip(), proof.clone()))
            }
        }
    }
}

/// Accepts connections until the service is ending, and returns when all of them have ended.
/// Dropping the future ends them at once.
///
/// Beyond the connection limit nothing is accepted: new connections wait in the system's queue. A
/// client that has reached its own limit is turned away.
pub(crate) async fn serve(bound: Bound, service: Arc<Service>, mut ending: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(service.limits.connections));
    let listener = Listener {
        holders: Holders::new(service.limits.client_connections),
        turned_away: Arc::new(Semaphore::new(TURNED_AWAY)),
        ending: ending.clone(),
        service,
    };
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, bound.accept().await)
        };
        let (place, accepted) = tokio::select! {
            _ = ending.wait_for(|ending| *ending) => break,
            Some(_) = connections.join_next() => continue,
            accepted = accepted => accepted,
        };
        match (accepted, place) {
            (Ok(stream), Ok(place)) => {
                connections.spawn(listener.clone().begin(stream, place));
            }
            (Err(error), _) => {
                let detail = [("detail", json!(error.to_string()))];
                listener.service.state.log.warn("accept", &detail);
                // There may be no descriptors left: other connections must end first.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            // It is never closed.
            (Ok(_), Err(_)) => {}
        }
    }
    drop(bound);
    while connections.join_next().await.is_some() {}
}

/// The state that every connection of a listener needs.
#[derive(Clone)]
struct Listener {
    service: Arc<Service>,
    holders: Arc<Holders>,
    turned_away: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
}

impl Listener {
    /// Identifies the peer, and serves its requests.
    async fn begin(self, stream: Stream, place: OwnedSemaphorePermit) {
        let (time, state) = (self.service.limits.answer_time, &self.service.state);
        match stream {
            Stream::Unix(socket) => match socket.peer_cred() {
                Ok(peer) => {
                    let peer = Peer::User { uid: peer.uid(), gid: peer.gid() };
                    let socket = Arc::new(socket);
                    let stream = Patient::new(&socket, time, state);
                    self.hold(stream, &*socket, peer, None, place).await;
                }
                Err(_) => state.metrics.ended(Ended::Unknown),
            },
            Stream::Tcp(socket, from, Proof::Anybody { client }) => {
                let _ = socket.set_nodelay(true);
                let (peer, socket) = (Peer::Anybody { client }, Arc::new(socket));
                let stream = Patient::new(&socket, time, state);
                self.hold(stream, &*socket, peer, Some(from), place).await;
            }
            Stream::Tcp(socket, from, Proof::Tls(tls)) => {
                let _ = socket.set_nodelay(true);
                // Until it has shown a certificate, it counts for its address.
                let Some(held) = self.holders.take(Holder::of_address(from), 1) else {
                    return state.metrics.ended(Ended::TooMany);
                };
                let socket = Arc::new(socket);
                let handshake = tls.accept(Patient::new(&socket, time, state));
                match tokio::time::timeout(HANDSHAKE, handshake).await {
                    Ok(Ok((stream, peer))) => {
                        drop(held);
                        self.hold(stream, &*socket, peer, Some(from), place).await;
                    }
                    _ => state.metrics.ended(Ended::Unknown),
                }
            }
        }
    }

    /// Serves the requests of a peer, unless it already has too many connections.
    async fn hold(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        socket: &impl Socket,
        peer: Peer,
        from: Option<IpAddr>,
        place: OwnedSemaphorePermit,
    ) {
        if let Some(_held) = self.holders.take(Holder::of(&peer, from), 1) {
            let (service, ending) = (Arc::clone(&self.service), self.ending.clone());
            return run(stream, socket, peer, service, ending).await;
        }
        self.service.state.metrics.ended(Ended::TooMany);
        // Frees the place for others: a client that is turned away must not take it from them.
        drop(place);
        if let Ok(_told) = self.turned_away.try_acquire() {
            turn_away(stream, &self.service).await;
        }
    }
}
