//! A connection that notes when it is written to: others write to it, and not at once.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Write};

/// When something was first written since it was last asked to look.
#[derive(Debug, Clone)]
pub(super) struct Written {
    start: Instant,
    /// Nanoseconds after the start, or one of the two below.
    first: Arc<AtomicU64>,
}

impl Written {
    const NOT_LOOKING: u64 = u64::MAX;
    const NOT_YET: u64 = u64::MAX - 1;

    pub(super) fn new() -> Self {
        Self { start: Instant::now(), first: Arc::new(AtomicU64::new(Self::NOT_LOOKING)) }
    }

    /// Looks for what is written next.
    pub(super) fn look(&self) {
        self.first.store(Self::NOT_YET, Ordering::Relaxed);
    }

    /// When that was; now if it has not been yet.
    pub(super) fn first(&self) -> Instant {
        match self.first.load(Ordering::Relaxed) {
            Self::NOT_LOOKING | Self::NOT_YET => Instant::now(),
            nanos => self.start + Duration::from_nanos(nanos),
        }
    }

    /// Something is about to be written.
    fn note(&self) {
        if self.first.load(Ordering::Relaxed) == Self::NOT_YET {
            let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(Self::NOT_LOOKING);
            self.first.store(nanos, Ordering::Relaxed);
        }
    }
}

/// A connection, and what is noted of it.
#[derive(Debug)]
pub(super) struct Noting<C> {
    pub(super) connection: C,
    pub(super) written: Written,
}

impl<C: Read + Unpin> Read for Noting<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, buffer)
    }
}

impl<C: Write + Unpin> Write for Noting<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written.note();
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.written.note();
        Pin::new(&mut self.connection).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::rt::TokioIo;
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn the_first_write_is_noted_whenever_it_is_looked_for() {
        let (near, _far) = tokio::io::duplex(64);
        let written = Written::new();
        let connection = TokioIo::new(near);
        let mut noting = TokioIo::new(Noting { connection, written: written.clone() });
        noting.write_all(b"unseen").await.unwrap();
        let mut before = Instant::now();
        for _ in 0..2 {
            written.look();
            noting.write_all(b"one").await.unwrap();
            let first = written.first();
            noting.write_all(b"two").await.unwrap();
            assert!(first >= before && first <= Instant::now());
            assert_eq!(written.first(), first);
            before = first;
        }
    }
}
