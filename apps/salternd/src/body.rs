//! Bodies, for both sides: received ones are read into memory that is wiped.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use saltern_wipe::Zeroizing;
use tokio::time::timeout;

use crate::api::{Problem, Reason};

/// A body to send.
pub(crate) enum Body {
    Whole(Option<Bytes>),
    /// Pieces as they are made, with `None` after the last. If that does not arrive, the connection
    /// is cut off, so that an incomplete body is not mistaken for a complete one.
    #[cfg(feature = "server")]
    Stream(Pieces),
}

/// Pieces as they are made, the first of which may have been awaited already.
#[cfg(feature = "server")]
pub(crate) struct Pieces {
    first: Option<Option<Bytes>>,
    rest: tokio::sync::mpsc::Receiver<Option<Bytes>>,
}

#[cfg(feature = "server")]
impl Pieces {
    pub(crate) fn new(rest: tokio::sync::mpsc::Receiver<Option<Bytes>>) -> Self {
        Pieces { first: None, rest }
    }

    /// Waits for the first piece.
    pub(crate) async fn begin(&mut self) {
        self.first = self.rest.recv().await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Option<Bytes>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => self.rest.poll_recv(context),
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        #[cfg_attr(not(feature = "server"), expect(unused_variables))] context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            #[cfg(feature = "server")]
            Body::Stream(pieces) => pieces.poll(context).map(|piece| match piece {
                Some(piece) => piece.map(|piece| Ok(Frame::data(piece))),
                None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            #[cfg(feature = "server")]
            Body::Stream(_) => SizeHint::default(),
        }
    }
}

/// A piece of a body, and something that is kept until it has been sent.
#[cfg(feature = "server")]
pub(crate) fn keeping(text: Vec<u8>, kept: impl Send + 'static) -> Bytes {
    struct Piece<T> {
        text: Vec<u8>,
        _kept: T,
    }

    impl<T> AsRef<[u8]> for Piece<T> {
        fn as_ref(&self) -> &[u8] {
            &self.text
        }
    }

    Bytes::from_owner(Piece { text, _kept: kept })
}

/// A whole body of at most this many bytes, if it arrives within this time.
pub(crate) async fn whole(
    body: &mut Incoming,
    most: usize,
    time: Duration,
) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let too_large =
        || Problem::new(Reason::TooLarge, format!("a body may have at most {most} bytes"));
    let size = body.size_hint().upper().unwrap_or(most as u64);
    if size > most as u64 {
        return Err(too_large());
    }
    // A growing buffer would leave copies of a password behind.
    let mut read = Zeroizing::new(Vec::with_capacity(size as usize));
    let all = async {
        while let Some(piece) = piece(body).await? {
            if read.len() + piece.len() > read.capacity() {
                return Err(too_large());
            }
            read.extend_from_slice(&piece);
        }
        Ok(())
    };
    let slow = || Problem::new(Reason::Slow, format!("the body did not arrive within {time:?}"));
    timeout(time, all).await.map_err(|_| slow())??;
    Ok(read)
}

/// The next piece of a body.
pub(crate) async fn piece(body: &mut Incoming) -> Result<Option<Bytes>, Problem> {
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        match frame {
            None => return Ok(None),
            Some(Err(_)) => {
                return Err(Problem::malformed("the body was cut off, or is malformed"));
            }
            // Trailers are ignored.
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(_) => continue,
            },
        }
    }
}
