//! One connection: reads what there is, has it answered, and sends all answers at once.

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
use super::bench::{Bench, Next, READ};
use super::session::Session;
use crate::measured::Measured;
use crate::server::{Begun, Stopping, WRITE_TIMEOUT};

/// How long a client may be silent in the middle of a command.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// How long, and how many bytes, a connection is still listened to after the last answer. Closing
/// one with bytes unread resets it, and the answer may be lost with it.
const LINGERING: Duration = Duration::from_secs(1);
const LINGERING_BYTES: usize = 2 * 1_024 * 1_024;

/// One connection.
pub(super) struct Connection<S> {
    resp: Arc<Resp<S>>,
    stream: Begun,
    session: Session,
    /// The start of a command.
    begun: Vec<u8>,
    /// Nothing is learned before there is so much of it.
    needs: usize,
    stopping: Stopping,
    /// Whether this task is woken when it is time to stop.
    is_woken: bool,
}

/// What came of waiting for bytes.
enum Came {
    Bytes(Box<Bench>),
    /// The client has sent everything.
    End,
    /// It is time to stop, and nothing is there that could be answered.
    Stop,
}

impl<S: Measured> Connection<S> {
    pub(super) fn new(resp: Arc<Resp<S>>, stream: Begun, stopping: Stopping) -> Self {
        let session = Session::new(stream.peer(), resp.password().is_none());
        Self { resp, stream, session, begun: Vec::new(), needs: 1, stopping, is_woken: false }
    }

    /// Answers commands until the client has had enough, or it is time to stop.
    pub(super) async fn serve(mut self) -> io::Result<()> {
        let mut heard = self.stopping.clone();
        let mut stop = pin!(heard.begun());
        loop {
            let bench = match self.read(stop.as_mut()).await? {
                Came::Bytes(bench) => bench,
                Came::End | Came::Stop => return self.close().await,
            };
            let is_much = bench.rest().len() >= READ;
            let Some(bench) = self.answer(bench).await? else {
                self.close().await?;
                return self.linger().await;
            };
            self.keep(&bench);
            bench.leave();
            // There may be so much to come that it is never waited for, and the others on this
            // thread should not have to.
            if is_much {
                if self.stopping.has_begun() {
                    return self.close().await;
                }
                yield_now().await;
            }
        }
    }

    /// Answers everything that was read; `None` if that was the last.
    async fn answer(&mut self, mut bench: Box<Bench>) -> io::Result<Option<Box<Bench>>> {
        if bench.rest().len() < self.needs {
            return Ok(Some(bench));
        }
        loop {
            let next = bench.advance(&mut self.session, &self.resp);
            if next == Next::Ask {
                // Set aside: most stores answer at once, and a connection that waits is to be small.
                Box::pin(bench.ask(&self.session, &self.resp)).await;
                continue;
            }
            self.write(&mut bench.replies.bytes).await?;
            match next {
                Next::Ask | Next::Send => {}
                Next::Read { needs } => {
                    self.needs = needs;
                    return Ok(Some(bench));
                }
                Next::Close => return Ok(None),
            }
        }
    }

    /// Keeps the start of a command, and nothing if there is none.
    fn keep(&mut self, bench: &Bench) {
        self.begun.clear();
        match bench.rest() {
            [] if self.begun.capacity() > 0 => self.begun = Vec::new(),
            rest => self.begun.extend_from_slice(rest),
        }
    }

    /// Waits for bytes: for ever between two commands, not for long within one.
    async fn read(&mut self, stop: Pin<&mut impl Future<Output = ()>>) -> io::Result<Came> {
        let Self { stream, begun, stopping, is_woken, .. } = self;
        let mut stop = stop;
        let came = poll_fn(|context| {
            if let Poll::Ready(came) = poll_bytes(stream, begun, context) {
                return Poll::Ready(came);
            }
            // Asked to wake it once, it does so whenever that may be; from then on a look will do.
            if stopping.has_begun() || !replace(is_woken, true) {
                return stop.as_mut().poll(context).map(|()| Ok(Came::Stop));
            }
            Poll::Pending
        });
        if begun.is_empty() {
            return came.await;
        }
        timeout(READ_TIMEOUT, came).await.unwrap_or_else(|_| Err(late("the rest of a command")))
    }

    /// Sends all of these.
    async fn write(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            let stream = &mut self.stream;
            // Nearly always there is room at once, and nothing to be timed.
            let at_once =
                poll_fn(|context| Poll::Ready(Pin::new(&mut *stream).poll_write(context, rest)));
            let written = match at_once.await {
                Poll::Ready(written) => written?,
                Poll::Pending => {
                    let written =
                        poll_fn(|context| Pin::new(&mut *stream).poll_write(context, rest));
                    let late = |_| Err(late("a client to read its answers"));
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

    /// Says that nothing more is to come.
    async fn close(&mut self) -> io::Result<()> {
        let stream = &mut self.stream;
        poll_fn(|context| Pin::new(&mut *stream).poll_shutdown(context)).await
    }

    /// Reads what is still to come, for a while.
    async fn linger(&mut self) -> io::Result<()> {
        let stream = &mut self.stream;
        let all = async {
            let mut left = LINGERING_BYTES;
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
        timeout(LINGERING, all).await.unwrap_or(Ok(()))
    }
}

/// Reads what is there behind the start of a command, if anything is.
fn poll_bytes(
    stream: &mut Begun,
    begun: &[u8],
    context: &mut Context<'_>,
) -> Poll<io::Result<Came>> {
    let mut bench = Bench::take();
    let mut buffer = ReadBuf::new(bench.room(begun.len()));
    let polled = Pin::new(stream).poll_read(context, &mut buffer);
    let read = buffer.filled().len();
    match polled {
        Poll::Ready(Ok(())) if read > 0 => {
            bench.fill(begun, read);
            return Poll::Ready(Ok(Came::Bytes(bench)));
        }
        _ => bench.leave(),
    }
    polled.map(|ended| ended.map(|()| Came::End))
}

/// Something that takes too long.
fn late(awaited: &str) -> io::Error {
    io::Error::new(ErrorKind::TimedOut, format!("it took too long to wait for {awaited}"))
}
