//! An accepted connection, of which some bytes may have been read ahead.

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

/// The time after which a client that does not read its responses is disconnected.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection and the address of its peer.
#[derive(Debug)]
pub(crate) struct AcceptedStream {
    stream: TcpStream,
    /// Bytes that were read ahead and not yet consumed.
    ahead: Bytes,
    peer: SocketAddr,
}

impl AcceptedStream {
    pub(crate) fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        Self { stream, ahead: Bytes::new(), peer }
    }

    /// Adds bytes that were already read from the connection.
    pub(super) fn with_ahead(self, ahead: Bytes) -> Self {
        Self { ahead, ..self }
    }

    /// Wraps the connection for hyper, with a timeout for writes.
    pub(crate) fn timed(self) -> TokioIo<Pin<Box<TimeoutStream<Self>>>> {
        let mut stream = TimeoutStream::new(self);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        TokioIo::new(Box::pin(stream))
    }

    /// Returns the address of the peer, or of the client that a proxy forwards.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl AsyncRead for AcceptedStream {
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

impl AsyncWrite for AcceptedStream {
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
