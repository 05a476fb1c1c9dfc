//! The open connections, each a task of its own.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpStream;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tracing::{debug, error};

use super::Drained;
use crate::http::Http;
use crate::measured::Measured;

/// How long the head of a request may take to arrive, and how long an idle connection is kept.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may leave its answers unread before its connection is closed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest head; a longer one is answered with 431.
const MAX_HEAD: usize = 16 * 1_024;
/// What is read, and what is written, of one connection ahead of time.
const MAX_BUFFER: usize = 64 * 1_024;

/// The open connections.
pub(super) struct Connections<S> {
    http: Arc<Http<S>>,
    builder: http1::Builder,
    tasks: JoinSet<()>,
    graceful: GracefulShutdown,
}

impl<S: Measured> Connections<S> {
    pub(super) fn new(http: Arc<Http<S>>) -> Self {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_BUFFER)
            // Who has sent everything and closed its side still gets its answer.
            .half_close(true);
        Self { http, builder, tasks: JoinSet::new(), graceful: GracefulShutdown::new() }
    }

    /// Serves a connection in a task of its own: whatever goes wrong in it ends it alone.
    pub(super) fn open(&mut self, stream: TcpStream) {
        // Answers are small and awaited: holding one back to fill a packet only delays it.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "cannot turn off delayed sending");
        }
        let http = Arc::clone(&self.http);
        let connected = http.metrics().connected();
        let service = service_fn(move |request| {
            let http = Arc::clone(&http);
            async move { Ok::<_, Infallible>(http.answer(request).await) }
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        let stream = TokioIo::new(Box::pin(stream));
        let connection = self.builder.serve_connection(stream, service);
        let connection = self.graceful.watch(connection);
        self.tasks.spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "connection ended early");
            }
            drop(connected);
        });
    }

    /// Waits until a connection has ended, and forgets it.
    pub(super) async fn reap(&mut self) {
        match self.tasks.join_next().await {
            Some(ended) => report(ended),
            None => pending().await,
        }
    }

    /// Closes idle connections and waits for the others, for `patience` at most.
    pub(super) async fn drain(mut self, patience: Duration) -> Drained {
        if timeout(patience, self.graceful.shutdown()).await.is_ok() {
            return Drained::All;
        }
        while let Some(ended) = self.tasks.try_join_next() {
            report(ended);
        }
        let connections = self.tasks.len();
        self.tasks.shutdown().await;
        if connections == 0 { Drained::All } else { Drained::Cut { connections } }
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        error!(%error, "a connection's task panicked");
    }
}
