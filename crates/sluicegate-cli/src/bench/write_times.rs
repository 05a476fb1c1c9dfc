//! A connection that records the time of writes, which hyper delays and performs itself.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Write};

/// The time of the first write after the last [`arm`](Self::arm).
#[derive(Debug, Clone)]
pub(super) struct WriteTimes {
    start: Instant,
    /// Nanoseconds after the start, or one of the two constants below.
    first: Arc<AtomicU64>,
}

impl WriteTimes {
    const DISARMED: u64 = u64::MAX;
    const ARMED: u64 = u64::MAX - 1;

    pub(super) fn new() -> Self {
        Self { start: Instant::now(), first: Arc::new(AtomicU64::new(Self::DISARMED)) }
    }

    /// Starts waiting for the next write.
    pub(super) fn arm(&self) {
        self.first.store(Self::ARMED, Ordering::Relaxed);
    }

    /// The time of the first write, or now if there was none.
    pub(super) fn first(&self) -> Instant {
        match self.first.load(Ordering::Relaxed) {
            Self::DISARMED | Self::ARMED => Instant::now(),
            nanos => self.start + Duration::from_nanos(nanos),
        }
    }

    /// Records a write that is about to happen.
    fn record(&self) {
        if self.first.load(Ordering::Relaxed) == Self::ARMED {
            let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(Self::DISARMED);
            self.first.store(nanos, Ordering::Relaxed);
        }
    }
}

/// A connection with the times of its writes.
#[derive(Debug)]
pub(super) struct TimedIo<C> {
    pub(super) connection: C,
    pub(super) written: WriteTimes,
}

impl<C: Read + Unpin> Read for TimedIo<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, buffer)
    }
}

impl<C: Write + Unpin> Write for TimedIo<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written.record();
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.written.record();
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
    async fn records_the_first_write_after_each_arm() {
        let (near, _far) = tokio::io::duplex(64);
        let written = WriteTimes::new();
        let connection = TokioIo::new(near);
        let mut timed = TokioIo::new(TimedIo { connection, written: written.clone() });
        timed.write_all(b"unseen").await.unwrap();
        let mut before = Instant::now();
        for _ in 0..2 {
            written.arm();
            timed.write_all(b"one").await.unwrap();
            let first = written.first();
            timed.write_all(b"two").await.unwrap();
            assert!(first >= before && first <= Instant::now());
            assert_eq!(written.first(), first);
            before = first;
        }
    }
}
