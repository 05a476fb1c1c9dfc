//! The server: accepts connections until told to stop, then lets them finish.

mod connections;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::select;
use tokio::time::sleep;
use tollgate::Limiter;
use tracing::{debug, info, warn};

use self::connections::Connections;
use crate::http::Http;
use crate::measured::Measured;
use crate::snapshots::Snapshots;

/// How long to leave a listener alone that cannot accept, for instance because no file
/// descriptors are left: trying at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A limiter behind an HTTP listener.
#[derive(Debug)]
pub struct Server<S> {
    http: Http<S>,
    shutdown_timeout: Duration,
}

/// What became of the connections that were open at shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    All,
    /// Some took longer than the shutdown may take.
    Cut {
        /// Connections that were closed in the middle of a request.
        connections: usize,
    },
}

impl<S: Measured> Server<S> {
    /// How long requests in flight may take at shutdown, unless said otherwise.
    pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

    /// A server that asks this limiter.
    pub fn new(limiter: Limiter<S>) -> Self {
        Self { http: Http::new(limiter), shutdown_timeout: Self::SHUTDOWN_TIMEOUT }
    }

    /// The same server with another limit to how long a shutdown may take.
    #[must_use]
    pub fn shutdown_timeout(self, shutdown_timeout: Duration) -> Self {
        Self { shutdown_timeout, ..self }
    }

    /// The same server, which shows in its metrics what is told of snapshots.
    #[must_use]
    pub fn snapshots(mut self, snapshots: &Snapshots) -> Self {
        self.http.show(snapshots);
        self
    }

    /// Serves until `shutdown` is ready, then finishes what is in flight.
    ///
    /// Has to run inside a tokio runtime with I/O and time.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Drained {
        let address = listener.local_addr().map(tracing::field::display).ok();
        info!(address, "listening for http");
        let mut connections = Connections::new(Arc::new(self.http));
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = select! {
                biased;
                () = &mut shutdown => break,
                () = connections.reap() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => connections.open(stream),
                Err(error) if concerns_one_connection(&error) => debug!(%error, "not accepted"),
                Err(error) => {
                    warn!(%error, "cannot accept connections; trying again in {ACCEPT_PAUSE:?}");
                    select! {
                        () = &mut shutdown => break,
                        () = sleep(ACCEPT_PAUSE) => {}
                    }
                }
            }
        }
        drop(listener);
        info!("stopping; letting requests in flight finish");
        let drained = connections.drain(self.shutdown_timeout).await;
        info!(?drained, "stopped");
        drained
    }
}

/// Whether only the connection being accepted failed, not the listener.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
