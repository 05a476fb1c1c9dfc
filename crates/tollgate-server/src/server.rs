//! The server: accepts connections until told to stop, then lets them finish.

mod begun;
mod connections;
mod proxied;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::select;
use tokio::time::sleep;
use tollgate_rules::{Tollgate, TrustedNetworks};
use tracing::{debug, info, warn};

use self::connections::Connections;
use crate::http::Http;
use crate::measured::Measured;
use crate::reloads::Reloads;
use crate::snapshots::Snapshots;

/// How long to leave a listener alone that cannot accept, for instance because no file
/// descriptors are left: trying at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A limiter that goes by rules, behind an HTTP listener.
///
/// The rules are the gate's: whoever keeps the other half of the `Arc` may
/// [replace](Tollgate::replace) them while the server runs.
///
/// ```
/// use std::sync::Arc;
///
/// use tollgate::Limiter;
/// use tollgate_rules::{RuleSet, Tollgate, TrustedNetworks};
/// use tollgate_server::{Reloads, Server};
///
/// let rules = RuleSet::parse("rules: [{ name: per-address, key: ip, limit: 100/min }]")?;
/// let gate = Arc::new(Tollgate::new(Limiter::in_memory(), rules));
/// let reloads = Reloads::new();
/// let server = Server::new(Arc::clone(&gate))
///     .reloads(&reloads)
///     .proxy_protocol(TrustedNetworks::parse(["10.0.0.0/8"])?);
///
/// // Later, while it serves:
/// let rules = RuleSet::parse("rules: [{ name: per-address, key: ip, limit: 200/min }]")?;
/// let count = rules.rules().len();
/// gate.replace(rules);
/// reloads.loaded(count);
/// # drop(server);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server<S> {
    http: Http<S>,
    proxies: Option<TrustedNetworks>,
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

    /// A server that asks this limiter and goes by its rules.
    pub fn new(gate: Arc<Tollgate<S>>) -> Self {
        let shutdown_timeout = Self::SHUTDOWN_TIMEOUT;
        Self { http: Http::new(gate), proxies: None, shutdown_timeout }
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

    /// The same server, which shows in its metrics what is told of readings of the rule file.
    #[must_use]
    pub fn reloads(mut self, reloads: &Reloads) -> Self {
        self.http.show_reloads(reloads);
        self
    }

    /// The same server, behind proxies in these networks: every connection has to come from one of
    /// them and to begin with a PROXY header, version 1 or 2, or it is closed. No networks: no proxies,
    /// and no header.
    #[must_use]
    pub fn proxy_protocol(self, networks: TrustedNetworks) -> Self {
        let proxies = Some(networks).filter(|networks| !networks.is_empty());
        Self { proxies, ..self }
    }

    /// Serves until `shutdown` is ready, then finishes what is in flight.
    ///
    /// Has to run inside a tokio runtime with I/O and time.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Drained {
        let address = listener.local_addr().map(tracing::field::display).ok();
        info!(address, "listening for http");
        let mut connections = Connections::new(Arc::new(self.http), self.proxies);
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = select! {
                biased;
                () = &mut shutdown => break,
                () = connections.reap() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => connections.open(stream, peer),
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
