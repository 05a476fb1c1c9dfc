//! The open connections, each a task of its own.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpStream;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tollgate_rules::TrustedNetworks;
use tracing::{debug, error};

use super::Drained;
use super::begun::Begun;
use super::proxied;
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
    /// Where connections have to come from, with a header that says for whom.
    proxies: Option<Arc<TrustedNetworks>>,
}

impl<S: Measured> Connections<S> {
    pub(super) fn new(http: Arc<Http<S>>, proxies: Option<TrustedNetworks>) -> Self {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_BUFFER)
            // Who has sent everything and closed its side still gets its answer.
            .half_close(true);
        let (tasks, graceful) = (JoinSet::new(), GracefulShutdown::new());
        Self { http, builder, tasks, graceful, proxies: proxies.map(Arc::new) }
    }

    /// Serves a connection in a task of its own: whatever goes wrong in it ends it alone.
    pub(super) fn open(&mut self, stream: TcpStream, peer: SocketAddr) {
        // Answers are small and awaited: holding one back to fill a packet only delays it.
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "cannot turn off delayed sending");
        }
        let (http, builder) = (Arc::clone(&self.http), self.builder.clone());
        let (watcher, proxies) = (self.graceful.watcher(), self.proxies.clone());
        let connected = http.metrics().connected();
        self.tasks.spawn(async move {
            let begun = match proxies {
                None => Ok(Begun::new(stream, peer)),
                Some(proxies) => proxied::begin(stream, peer, &proxies).await,
            };
            match begun {
                Ok(begun) => serve(begun, http, &builder, watcher).await,
                Err(error) => debug!(%peer, %error, "connection closed"),
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

/// Answers the requests of one connection.
async fn serve<S: Measured>(
    begun: Begun,
    http: Arc<Http<S>>,
    builder: &http1::Builder,
    watcher: Watcher,
) {
    let peer = begun.peer();
    debug!(%peer, "connection opened");
    let service = service_fn(move |request| {
        let http = Arc::clone(&http);
        async move { Ok::<_, Infallible>(http.answer(request).await) }
    });
    let mut stream = TimeoutStream::new(begun);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let stream = TokioIo::new(Box::pin(stream));
    let connection = builder.serve_connection(stream, service);
    if let Err(error) = watcher.watch(connection).await {
        debug!(%peer, %error, "connection ended early");
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        error!(%error, "a connection's task panicked");
    }
}
