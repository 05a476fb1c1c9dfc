//! The server: accepts connections until shutdown, on one thread per core, then drains them.

mod accepted;
mod connections;
mod listeners;
mod proxy_header;
mod shutdown;
mod threads;
mod worker;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_rules::{RuleLimiter, TrustedNetworks};
use tokio::select;
use tokio::sync::Semaphore;
use tracing::info;

pub(crate) use self::accepted::{AcceptedStream, WRITE_TIMEOUT};
pub use self::listeners::{Addresses, BindError, Listeners};
pub(crate) use self::shutdown::{Shutdown, ShutdownSignal};
use crate::context::Context;
use crate::metrics::reloads::Reloads;
use crate::metrics::snapshots::Snapshots;
use crate::protocol::Protocol;
use crate::store_stats::StoreStats;

/// A rule limiter behind listeners for HTTP, gRPC and RESP.
///
/// The limiter owns the rules: another owner of the `Arc` may
/// [replace](RuleLimiter::replace) them while the server runs.
///
/// ```
/// use std::sync::Arc;
///
/// use sluicegate::Limiter;
/// use sluicegate_rules::{RuleLimiter, RuleSet, TrustedNetworks};
/// use sluicegate_server::{Reloads, Server};
///
/// let rules = RuleSet::parse("rules: [{ name: per-address, key: ip, limit: 100/min }]")?;
/// let gate = Arc::new(RuleLimiter::new(Limiter::in_memory(), rules)?);
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
    context: Arc<Context<S>>,
    /// A permit for each further connection.
    room: Arc<Semaphore>,
    resp_password: Option<Arc<str>>,
    grpc_reflection: bool,
    proxies: Option<Arc<TrustedNetworks>>,
    shutdown_timeout: Duration,
}

/// The outcome of a shutdown for the open connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    All,
    /// Some requests took longer than the shutdown timeout.
    Cut {
        /// Connections that were closed in the middle of a request.
        connections: usize,
    },
}

impl<S: StoreStats> Server<S> {
    /// The default time that requests in flight have at shutdown.
    pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

    /// The default limit on open connections.
    pub const MAX_CONNECTIONS: usize = 20_000;

    /// Creates a server for this limiter.
    pub fn new(gate: Arc<RuleLimiter<S>>) -> Self {
        Self {
            context: Arc::new(Context::new(gate)),
            room: Arc::new(Semaphore::new(Self::MAX_CONNECTIONS)),
            resp_password: None,
            grpc_reflection: false,
            proxies: None,
            shutdown_timeout: Self::SHUTDOWN_TIMEOUT,
        }
    }

    /// Sets the limit on open connections.
    #[must_use]
    pub fn max_connections(self, connections: usize) -> Self {
        let room = Arc::new(Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS)));
        Self { room, ..self }
    }

    /// Requires this password from RESP clients.
    #[must_use]
    pub fn resp_password(self, password: &str) -> Self {
        Self { resp_password: Some(password.into()), ..self }
    }

    /// Enables or disables gRPC reflection.
    #[must_use]
    pub fn grpc_reflection(self, grpc_reflection: bool) -> Self {
        Self { grpc_reflection, ..self }
    }

    /// Sets the time that requests in flight have at shutdown.
    #[must_use]
    pub fn shutdown_timeout(self, shutdown_timeout: Duration) -> Self {
        Self { shutdown_timeout, ..self }
    }

    /// Adds these snapshot metrics.
    #[must_use]
    pub fn snapshots(mut self, snapshots: &Snapshots) -> Self {
        if let Some(context) = Arc::get_mut(&mut self.context) {
            context.metrics.register_snapshots(snapshots);
        }
        self
    }

    /// Adds these metrics of rule reloads.
    #[must_use]
    pub fn reloads(mut self, reloads: &Reloads) -> Self {
        if let Some(context) = Arc::get_mut(&mut self.context) {
            let rules = context.gate.rules().rules().len();
            context.metrics.register_reloads(reloads, rules);
        }
        self
    }

    /// Requires a PROXY header, version 1 or 2, from proxies in these networks.
    ///
    /// A connection from elsewhere, or without a header, is closed. Without networks, no header is
    /// expected.
    #[must_use]
    pub fn proxy_protocol(self, networks: TrustedNetworks) -> Self {
        let proxies = Some(networks).filter(|networks| !networks.is_empty());
        Self { proxies: proxies.map(Arc::new), ..self }
    }

    /// Serves on this runtime until `shutdown` is ready, then drains the connections.
    ///
    /// Has to run inside a tokio runtime with I/O and time. A single listener of the standard
    /// library is used for HTTP.
    pub async fn serve(
        self,
        listeners: impl Into<Listeners>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<Drained> {
        let listeners = listeners.into();
        log_addresses(&listeners);
        let (shutdown_trigger, signal) = Shutdown::new();
        let work = worker::run(Arc::new(self), listeners, signal);
        let stop_on_shutdown = async {
            shutdown.await;
            info!("stopping; letting requests in flight finish");
            shutdown_trigger.begin();
            std::future::pending::<()>().await;
        };
        let drained = select! {
            drained = work => drained,
            () = stop_on_shutdown => return Ok(Drained::All),
        };
        info!(?drained, "stopped");
        drained
    }

    /// Serves on one thread per listener set until `shutdown` is ready, then drains them.
    ///
    /// Each thread has its own runtime and keeps the connections that it accepted, so that no
    /// request moves between cores.
    pub async fn serve_on_threads(
        self,
        listeners: Vec<Listeners>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<Drained> {
        if let Some(listeners) = listeners.first() {
            log_addresses(listeners);
        }
        let (shutdown_trigger, signal) = Shutdown::new();
        let threads = threads::Threads::start(&Arc::new(self), listeners, &signal)?;
        let mut ended = std::pin::pin!(threads.join());
        let drained = select! {
            // Happens only if a thread could not start.
            drained = &mut ended => drained,
            () = shutdown => {
                info!("stopping; letting requests in flight finish");
                shutdown_trigger.begin();
                ended.await
            }
        };
        info!(?drained, "stopped");
        drained
    }
}

impl Drained {
    /// Combines the outcomes of two threads.
    fn and(self, other: Self) -> Self {
        let cut = |drained| match drained {
            Self::All => 0,
            Self::Cut { connections } => connections,
        };
        match cut(self) + cut(other) {
            0 => Self::All,
            connections => Self::Cut { connections },
        }
    }
}

fn log_addresses(listeners: &Listeners) {
    let addresses = listeners.addresses();
    for protocol in Protocol::ALL {
        if let Some(address) = addresses.of(protocol) {
            info!(%address, "listening for {protocol}");
        }
    }
}
