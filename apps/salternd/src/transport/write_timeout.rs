//! Sockets with a write timeout, which notice when the other end disconnects.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Sleep, sleep};

use crate::site::{Ended, State};

/// How long a disconnection may go unnoticed that is preceded by unread bytes.
const POLL: Duration = Duration::from_millis(250);

/// The common operations of both kinds of sockets, by shared reference.
pub(super) trait Socket: Send + Sync + 'static {
    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Reads into the part of a buffer that is not filled, which need not be initialized: what is
    /// never read into takes no memory.
    fn try_read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()>;
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize>;
    fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send;
}

macro_rules! socket {
    ($($kind:ty),*) => { $(
        impl Socket for $kind {
            fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$kind>::poll_read_ready(self, context)
            }

            fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$kind>::poll_write_ready(self, context)
            }

            fn try_read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
                <$kind>::try_read_buf(self, buffer).map(drop)
            }

            fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                <$kind>::try_write_vectored(self, parts)
            }

            fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send {
                <$kind>::ready(self, interest)
            }
        }
    )* };
}

socket!(UnixStream, TcpStream);

/// Returns when the other end has closed the connection, or its half of it, even if unread bytes
/// precede that.
pub(super) async fn peer_closed(socket: &impl Socket) {
    while socket.ready(Interest::READABLE).await.is_ok_and(|ready| !ready.is_read_closed()) {
        sleep(POLL).await;
    }
}

/// A stream on which writing fails once the other end has read nothing for this long.
pub(super) struct Patient<S> {
    socket: Arc<S>,
    time: Duration,
    /// The timeout, while something waits to be written.
    waits: Option<Pin<Box<Sleep>>>,
    state: Arc<State>,
}

impl<S: Socket> Patient<S> {
    pub(super) fn new(socket: &Arc<S>, time: Duration, state: &Arc<State>) -> Self {
        Patient { socket: Arc::clone(socket), time, waits: None, state: Arc::clone(state) }
    }

    /// Waits until something can be written, up to the timeout.
    fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(ready) = self.socket.poll_write_ready(context) {
            return Poll::Ready(ready);
        }
        let time = self.time;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(waits.as_mut().poll(context));
        self.state.metrics.ended(Ended::Unread);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: Socket> AsyncRead for Patient<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.socket.poll_read_ready(context))?;
            match self.socket.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

impl<S: Socket> AsyncWrite for Patient<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_writable(context))?;
            match self.socket.try_write(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => {
                    self.waits = None;
                    return Poll::Ready(written);
                }
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Sockets do not buffer.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The connection ends when the socket is dropped, which is next.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
