//! Serves one RESP connection: reads commands, and sends their replies together.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::mem::replace;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;
use tokio::time::timeout;

use super::Resp;
use super::pipeline::{NextStep, Pipeline, READ_BUFFER};
use super::session::Session;
use crate::server::{AcceptedStream, ShutdownSignal, WRITE_TIMEOUT};
use crate::store_stats::StoreStats;

/// The time limit for the rest of a command.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The time and the bytes that are still read after the last reply.
///
/// Closing a connection with unread bytes resets it, and the reply may be lost.
const LINGER_TIME: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 2 * 1_024 * 1_024;

/// One connection.
pub(super) struct RespConnection<S> {
    resp: Arc<Resp<S>>,
    stream: AcceptedStream,
    session: Session,
    /// The start of an incomplete command.
    partial: Vec<u8>,
    /// The number of its bytes that the parser needs next.
    needs: usize,
    signal: ShutdownSignal,
    /// Whether the shutdown signal wakes this task.
    is_registered: bool,
}

/// The outcome of waiting for bytes.
enum ReadOutcome {
    Bytes(Box<Pipeline>),
    /// The client has closed its side.
    End,
    /// Shutdown has begun, and no bytes are there to answer.
    Stop,
}

impl<S: StoreStats> RespConnection<S> {
    pub(super) fn new(resp: Arc<Resp<S>>, stream: AcceptedStream, signal: ShutdownSignal) -> Self {
        let session = Session::new(stream.peer(), resp.password().is_none());
        Self { resp, stream, session, partial: Vec::new(), needs: 1, signal, is_registered: false }
    }

    /// Answers commands until the client closes the connection or shutdown begins.
    pub(super) async fn serve(mut self) -> io::Result<()> {
        let mut signal = self.signal.clone();
        let mut stop = pin!(signal.begun());
        loop {
            let pipeline = match self.read(stop.as_mut()).await? {
                ReadOutcome::Bytes(pipeline) => pipeline,
                ReadOutcome::End | ReadOutcome::Stop => return self.close().await,
            };
            let is_large = pipeline.rest().len() >= READ_BUFFER;
            let Some(pipeline) = self.answer(pipeline).await? else {
                self.close().await?;
                return self.discard_input().await;
            };
            self.keep(&pipeline);
            pipeline.release();
            // A client that sends without pause would never make this task wait; yielding lets the
            // other connections of this thread run.
            if is_large {
                if self.signal.has_begun() {
                    return self.close().await;
                }
                yield_now().await;
            }
        }
    }

    /// Answers the commands that were read; `None` if the connection is to be closed.
    async fn answer(&mut self, mut pipeline: Box<Pipeline>) -> io::Result<Option<Box<Pipeline>>> {
        if pipeline.rest().len() < self.needs {
            return Ok(Some(pipeline));
        }
        loop {
            let next = pipeline.advance(&mut self.session, &self.resp);
            if next == NextStep::Decide {
                // Boxed to keep the future of a connection small: most stores answer at once.
                Box::pin(pipeline.decide(&self.session, &self.resp)).await;
                continue;
            }
            self.write(&mut pipeline.replies.bytes).await?;
            match next {
                NextStep::Decide | NextStep::Send => {}
                NextStep::Read { needs } => {
                    self.needs = needs;
                    return Ok(Some(pipeline));
                }
                NextStep::Close => return Ok(None),
            }
        }
    }

    /// Keeps the start of an incomplete command; frees the buffer if there is none.
    fn keep(&mut self, pipeline: &Pipeline) {
        self.partial.clear();
        match pipeline.rest() {
            [] if self.partial.capacity() > 0 => self.partial = Vec::new(),
            rest => self.partial.extend_from_slice(rest),
        }
    }

    /// Waits for bytes: without limit between commands, for [`READ_TIMEOUT`] within one.
    async fn read(&mut self, stop: Pin<&mut impl Future<Output = ()>>) -> io::Result<ReadOutcome> {
        let Self { stream, partial, signal, is_registered, .. } = self;
        let mut stop = stop;
        let read = poll_fn(|context| {
            if let Poll::Ready(outcome) = poll_bytes(stream, partial, context) {
                return Poll::Ready(outcome);
            }
            // One poll registers the waker for good; later polls only read the flag.
            if signal.has_begun() || !replace(is_registered, true) {
                return stop.as_mut().poll(context).map(|()| Ok(ReadOutcome::Stop));
            }
            Poll::Pending
        });
        if partial.is_empty() {
            return read.await;
        }
        timeout(READ_TIMEOUT, read)
            .await
            .unwrap_or_else(|_| Err(timed_out("the rest of a command")))
    }

    /// Sends all of these.
    async fn write(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut sent = 0;
        while sent < bytes.len() {
            let rest = &bytes[sent..];
            let stream = &mut self.stream;
            // Polled once without a timer, because the socket nearly always has room.
            let first_try =
                poll_fn(|context| Poll::Ready(Pin::new(&mut *stream).poll_write(context, rest)));
            let written = match first_try.await {
                Poll::Ready(written) => written?,
                Poll::Pending => {
                    let written =
                        poll_fn(|context| Pin::new(&mut *stream).poll_write(context, rest));
                    let late = |_| Err(timed_out("the client to read its replies"));
                    timeout(WRITE_TIMEOUT, written).await.unwrap_or_else(late)?
                }
            };
            if written == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            sent += written;
        }
        bytes.clear();
        Ok(())
    }

    /// Closes the sending side.
    async fn close(&mut self) -> io::Result<()> {
        let stream = &mut self.stream;
        poll_fn(|context| Pin::new(&mut *stream).poll_shutdown(context)).await
    }

    /// Reads and discards further bytes for a while.
    async fn discard_input(&mut self) -> io::Result<()> {
        let stream = &mut self.stream;
        let all = async {
            let mut left = LINGER_BYTES;
            let mut bytes = vec![0; 4 * 1_024];
            while left > 0 {
                let mut buffer = ReadBuf::new(&mut bytes);
                poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut buffer)).await?;
                match buffer.filled().len() {
                    0 => break,
                    read => left = left.saturating_sub(read),
                }
            }
            Ok(())
        };
        timeout(LINGER_TIME, all).await.unwrap_or(Ok(()))
    }
}

/// Reads available bytes into a pipeline, after the start of a command.
fn poll_bytes(
    stream: &mut AcceptedStream,
    partial: &[u8],
    context: &mut Context<'_>,
) -> Poll<io::Result<ReadOutcome>> {
    let mut pipeline = Pipeline::take();
    let mut buffer = ReadBuf::new(pipeline.room(partial.len()));
    let polled = Pin::new(stream).poll_read(context, &mut buffer);
    let read = buffer.filled().len();
    match polled {
        Poll::Ready(Ok(())) if read > 0 => {
            pipeline.fill(partial, read);
            return Poll::Ready(Ok(ReadOutcome::Bytes(pipeline)));
        }
        _ => pipeline.release(),
    }
    polled.map(|ended| ended.map(|()| ReadOutcome::End))
}

/// Creates a timeout error.
fn timed_out(awaited: &str) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, format!("timed out waiting for {awaited}"))
}
