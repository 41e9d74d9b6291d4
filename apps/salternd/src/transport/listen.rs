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
use super::handshakes::{Handshakes, Place};
use super::http::Service;
use super::quota::{Holder, Quota};
use super::tls::Tls;
use super::write_timeout::{Patient, Socket};
use crate::site::{Ended, Peer};

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
    /// Who the peer is is known already.
    Known(Known),
    /// The peer has to show a certificate.
    Tls(TcpStream, IpAddr, Arc<Tls>),
}

enum Known {
    Unix(UnixStream),
    Tcp(TcpStream, IpAddr, String),
}

impl Bound {
    async fn accept(&self) -> io::Result<Stream> {
        let (listener, proof) = match self {
            Bound::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                return Ok(Stream::Known(Known::Unix(stream)));
            }
            Bound::Tcp(listener, proof) => (listener, proof),
        };
        let (stream, from) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        Ok(match proof {
            Proof::Tls(tls) => Stream::Tls(stream, from.ip(), Arc::clone(tls)),
            Proof::Anybody { client } => {
                Stream::Known(Known::Tcp(stream, from.ip(), client.clone()))
            }
        })
    }

    /// Whether peers have to prove who they are first.
    const fn needs_proof(&self) -> bool {
        matches!(self, Bound::Tcp(_, Proof::Tls(_)))
    }
}

/// Accepts connections until the service is ending, and returns when all of them have ended.
/// Dropping the future ends them at once.
///
/// Beyond the connection limit nothing is accepted: new connections wait in the system's queue. A
/// client that has reached its own limit is turned away. A handshake takes no place of a
/// connection: strangers must not take it from clients.
pub(crate) async fn serve(bound: Bound, service: Arc<Service>, mut ending: watch::Receiver<bool>) {
    let listener = Listener {
        places: Arc::new(Semaphore::new(service.limits.connections)),
        quota: Quota::new(service.limits.client_connections),
        turned_away: Arc::new(Semaphore::new(TURNED_AWAY)),
        ending: ending.clone(),
        service,
    };
    let (mut connections, handshakes) = (JoinSet::new(), Handshakes::new());
    loop {
        let accepted = async {
            let place = Arc::clone(&listener.places).acquire_owned().await.ok();
            let place = place.filter(|_| !bound.needs_proof());
            (place, bound.accept().await)
        };
        let accepted = tokio::select! {
            _ = ending.wait_for(|ending| *ending) => break,
            Some(_) = connections.join_next() => continue,
            accepted = accepted => accepted,
        };
        match accepted {
            (Some(place), Ok(Stream::Known(stream))) => {
                connections.spawn(listener.clone().begin(stream, place));
            }
            (_, Ok(Stream::Tls(socket, from, tls))) => {
                if let Some(handshake) = handshakes.enter(from).await {
                    connections.spawn(listener.clone().prove(socket, from, tls, handshake));
                }
            }
            (_, Err(error)) => {
                let detail = [("detail", json!(error.to_string()))];
                listener.service.state.log.warn("accept", &detail);
                // There may be no descriptors left: other connections must end first.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            // The semaphore is never closed.
            (None, Ok(Stream::Known(_))) => {}
        }
    }
    drop(bound);
    while connections.join_next().await.is_some() {}
}

/// The state that every connection of a listener needs.
#[derive(Clone)]
struct Listener {
    service: Arc<Service>,
    places: Arc<Semaphore>,
    quota: Arc<Quota>,
    turned_away: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
}

impl Listener {
    /// Serves the requests of a peer that needs no proof.
    async fn begin(self, stream: Known, place: OwnedSemaphorePermit) {
        let (time, state) = (self.service.limits.answer_time, &self.service.state);
        match stream {
            Known::Unix(socket) => match socket.peer_cred() {
                Ok(peer) => {
                    let peer = Peer::User { uid: peer.uid(), gid: peer.gid() };
                    let socket = Arc::new(socket);
                    let stream = Patient::new(&socket, time, state);
                    self.hold(stream, &*socket, peer, None, place).await;
                }
                Err(_) => state.metrics.ended(Ended::Unknown),
            },
            Known::Tcp(socket, from, client) => {
                let (peer, socket) = (Peer::Anybody { client }, Arc::new(socket));
                let stream = Patient::new(&socket, time, state);
                self.hold(stream, &*socket, peer, Some(from), place).await;
            }
        }
    }

    /// Serves the requests of a peer once it has shown a certificate.
    async fn prove(self, socket: TcpStream, from: IpAddr, tls: Arc<Tls>, handshake: Place) {
        let (time, state) = (self.service.limits.answer_time, &self.service.state);
        let socket = Arc::new(socket);
        let log = |detail: String| {
            let fields = [("from", json!(from.to_string())), ("detail", json!(detail))];
            state.log.warn_seldom("handshake", "handshake", &fields);
        };
        let proven = async {
            let stream = Patient::new(&socket, time, state);
            let (stream, peer) =
                tls.accept(stream).await.map_err(|error| log(error.to_string())).ok()?;
            let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
            Some((stream, peer, place))
        };
        match handshake.within(proven).await.flatten() {
            Some((stream, peer, place)) => {
                self.hold(stream, &*socket, peer, Some(from), place).await;
            }
            None => state.metrics.ended(Ended::Unknown),
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
        if let Some(_held) = self.quota.take(Holder::of(&peer, from), 1) {
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
