//! A connection whose first bytes may have been read already.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Buf, Bytes};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;

/// How long a client may leave its answers unread before its connection is closed.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection, and who is at its other end.
#[derive(Debug)]
pub(crate) struct Begun {
    stream: TcpStream,
    /// Bytes that were read ahead and are not yet handed on.
    ahead: Bytes,
    peer: SocketAddr,
}

impl Begun {
    pub(crate) fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        Self { stream, ahead: Bytes::new(), peer }
    }

    /// The same connection, of which these bytes were read already.
    pub(super) fn with_ahead(self, ahead: Bytes) -> Self {
        Self { ahead, ..self }
    }

    /// The same for hyper. A client that leaves its answers unread for too long is let go.
    pub(crate) fn timed(self) -> TokioIo<Pin<Box<TimeoutStream<Self>>>> {
        let mut stream = TimeoutStream::new(self);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        TokioIo::new(Box::pin(stream))
    }

    /// Who is at the other end: whoever a proxy speaks for, if there is one.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl AsyncRead for Begun {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let length = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..length]);
        self.ahead.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Begun {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
