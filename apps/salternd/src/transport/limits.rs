//! Limits of connections.

use std::time::Duration;

/// Limits of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Bytes of a body, and of a line of a batch.
    pub(crate) body: usize,
    /// Bytes of all bodies together; one client may have half of them.
    pub(crate) bodies: usize,
    /// Bytes of a head.
    pub(crate) head: usize,
    /// From the end of one request to the head of the next.
    pub(crate) head_time: Duration,
    /// For a body, or a piece of a batch.
    pub(crate) body_time: Duration,
    /// Until a client takes more of an answer.
    pub(crate) answer_time: Duration,
    /// Connections of one listener.
    pub(crate) connections: usize,
    /// Connections that one client may have.
    pub(crate) client_connections: usize,
}
