//! The server: a thread for each core accepts connections until told to stop, then lets them finish.

mod begun;
mod connections;
mod listeners;
mod proxied;
mod stopping;
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

pub(crate) use self::begun::{Begun, WRITE_TIMEOUT};
pub use self::listeners::{Addresses, BindError, Listeners};
pub(crate) use self::stopping::{Stop, Stopping};
use crate::context::Context;
use crate::measured::Measured;
use crate::protocol::Protocol;
use crate::reloads::Reloads;
use crate::snapshots::Snapshots;

/// A limiter that goes by rules, behind listeners for the protocols it is asked in.
///
/// The rules are the gate's: whoever keeps the other half of the `Arc` may
/// [replace](RuleLimiter::replace) them while the server runs.
///
/// ```
/// use std::sync::Arc;
///
/// use sluicegate::Limiter;
/// use sluicegate_rules::{RuleSet, RuleLimiter, TrustedNetworks};
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
    /// How many more connections there may be.
    room: Arc<Semaphore>,
    resp_password: Option<Arc<str>>,
    grpc_reflection: bool,
    proxies: Option<Arc<TrustedNetworks>>,
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

    /// How many connections may be open, unless said otherwise.
    pub const MAX_CONNECTIONS: usize = 20_000;

    /// A server that asks this limiter and goes by its rules.
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

    /// The same server with another limit to how many connections may be open.
    #[must_use]
    pub fn max_connections(self, connections: usize) -> Self {
        let room = Arc::new(Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS)));
        Self { room, ..self }
    }

    /// The same server, where whoever speaks the protocol of Redis has to say this first.
    #[must_use]
    pub fn resp_password(self, password: &str) -> Self {
        Self { resp_password: Some(password.into()), ..self }
    }

    /// The same server, which tells those who speak gRPC what there is to call, if it is to.
    #[must_use]
    pub fn grpc_reflection(self, grpc_reflection: bool) -> Self {
        Self { grpc_reflection, ..self }
    }

    /// The same server with another limit to how long a shutdown may take.
    #[must_use]
    pub fn shutdown_timeout(self, shutdown_timeout: Duration) -> Self {
        Self { shutdown_timeout, ..self }
    }

    /// The same server, which shows in its metrics what is told of snapshots.
    #[must_use]
    pub fn snapshots(mut self, snapshots: &Snapshots) -> Self {
        if let Some(context) = Arc::get_mut(&mut self.context) {
            context.metrics.show(snapshots);
        }
        self
    }

    /// The same server, which shows in its metrics what is told of readings of the rule file.
    #[must_use]
    pub fn reloads(mut self, reloads: &Reloads) -> Self {
        if let Some(context) = Arc::get_mut(&mut self.context) {
            let rules = context.gate.rules().rules().len();
            context.metrics.show_reloads(reloads, rules);
        }
        self
    }

    /// The same server, behind proxies in these networks: every connection has to come from one of
    /// them and to begin with a PROXY header, version 1 or 2, or it is closed. No networks: no proxies,
    /// and no header.
    #[must_use]
    pub fn proxy_protocol(self, networks: TrustedNetworks) -> Self {
        let proxies = Some(networks).filter(|networks| !networks.is_empty());
        Self { proxies: proxies.map(Arc::new), ..self }
    }

    /// Serves on this runtime until `shutdown` is ready, then finishes what is in flight.
    ///
    /// Has to run inside a tokio runtime with I/O and time. A listener of the standard library
    /// alone is one for HTTP.
    pub async fn serve(
        self,
        listeners: impl Into<Listeners>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<Drained> {
        let listeners = listeners.into();
        announce(&listeners);
        let (stop, stopping) = Stop::new();
        let work = worker::work(Arc::new(self), listeners, stopping);
        let told = async {
            shutdown.await;
            info!("stopping; letting requests in flight finish");
            stop.begin();
            std::future::pending::<()>().await;
        };
        let drained = select! {
            drained = work => drained,
            () = told => return Ok(Drained::All),
        };
        info!(?drained, "stopped");
        drained
    }

    /// Serves on a thread for each of these, until `shutdown` is ready; then finishes what is in
    /// flight. Each thread has a runtime to itself and keeps the connections it accepted: nothing
    /// that happens for a request has to go from one core to another.
    pub async fn serve_on_threads(
        self,
        listeners: Vec<Listeners>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<Drained> {
        if let Some(listeners) = listeners.first() {
            announce(listeners);
        }
        let (stop, stopping) = Stop::new();
        let threads = threads::Threads::start(&Arc::new(self), listeners, &stopping)?;
        let mut ended = std::pin::pin!(threads.ended());
        let drained = select! {
            // Only if it could not even begin.
            drained = &mut ended => drained,
            () = shutdown => {
                info!("stopping; letting requests in flight finish");
                stop.begin();
                ended.await
            }
        };
        info!(?drained, "stopped");
        drained
    }
}

impl Drained {
    /// Both together.
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

fn announce(listeners: &Listeners) {
    let addresses = listeners.addresses();
    for protocol in Protocol::ALL {
        if let Some(address) = addresses.of(protocol) {
            info!(%address, "listening for {protocol}");
        }
    }
}
