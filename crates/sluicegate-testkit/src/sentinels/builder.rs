//! How to start servers and their sentinels.

use crate::binaries::ServerKind;
use crate::fault_proxy::FaultProxy;
use crate::sentinels::{NAME, Sentinels};
use crate::server::Server;
use crate::server::builder::{ConfigLine, OWN_PASSWORD, OWN_USER, ServerBuilder};
use crate::start::{start_all, wait_for_copies};

/// The number of sentinels.
const SENTINELS: usize = 3;

/// The settings of servers and sentinels; [`start`](Self::start) starts them.
#[derive(Clone)]
pub struct SentinelsBuilder {
    data: ServerBuilder,
    sentinel: ServerBuilder,
    replicas: usize,
    proxies: bool,
}

impl SentinelsBuilder {
    pub(super) fn of(kind: ServerKind) -> Self {
        Self {
            data: ServerBuilder::of(kind, ConfigLine::Replicated),
            sentinel: ServerBuilder::of(kind, ConfigLine::Sentinel),
            replicas: 2,
            proxies: false,
        }
    }

    /// Sets the number of replicas.
    #[must_use]
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// Sets a password of the data servers; see [`ServerBuilder::password`].
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.data = self.data.password(password);
        self
    }

    /// Adds a user to the data servers; see [`ServerBuilder::user`].
    #[must_use]
    pub fn user(mut self, rule: &str) -> Self {
        self.data = self.data.user(rule);
        self
    }

    /// Sets a password of the sentinels. It is not part of the URL.
    #[must_use]
    pub fn sentinel_password(mut self, password: &str) -> Self {
        self.sentinel = self.sentinel.password(password);
        self
    }

    /// Adds a user to the sentinels, in the syntax of [`ServerBuilder::user`].
    #[must_use]
    pub fn sentinel_user(mut self, rule: &str) -> Self {
        self.sentinel = self.sentinel.user(rule);
        self
    }

    /// Makes a primary refuse writes when it has had no contact to a replica for this long.
    #[must_use]
    pub fn min_replicas(self, lag_seconds: u64) -> Self {
        self.line("min-replicas-to-write 1").line(&format!("min-replicas-max-lag {lag_seconds}"))
    }

    /// Adds a line of configuration to the data servers.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.data = self.data.line(line);
        self
    }

    /// Uses TLS for all, also among themselves, with one authority. Redis only.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.data = self.data.tls();
        self.sentinel.certificates.clone_from(&self.data.certificates);
        self
    }

    /// Puts a [`FaultProxy`] in front of every data server, for sentinels, replicas and clients:
    /// its faults separate the server from all of them. The testkit itself bypasses it.
    #[must_use]
    pub fn behind_proxies(mut self) -> Self {
        self.proxies = true;
        self
    }

    /// Starts them all, and waits until the replicas have copies and the sentinels know each other.
    pub fn start(self) -> Sentinels {
        let servers = start_all(&self.data, 1 + self.replicas);
        let proxies = if self.proxies { with_proxies(&servers) } else { Vec::new() };
        let mut all = Sentinels { watchers: Vec::new(), servers, proxies };
        let port = all.known_port(0);
        for replica in all.servers.iter().skip(1) {
            replica.must(&["REPLICAOF", "127.0.0.1", &port.to_string()]);
            replica.must(&["CONFIG", "REWRITE"]);
        }
        wait_for_copies(all.servers.iter().skip(1));
        all.watchers = start_all(&watching(self.sentinel, port), SENTINELS);
        all.watchers.iter().for_each(shorten_intervals);
        all.wait_until_settled();
        all
    }
}

/// Configures servers to announce the addresses of their proxies.
fn with_proxies(servers: &[Server]) -> Vec<FaultProxy> {
    let in_front = |server: &Server| {
        let proxy = FaultProxy::to(([127, 0, 0, 1], server.announced_port()).into());
        server.must(&["CONFIG", "SET", "replica-announce-ip", "127.0.0.1"]);
        server.must(&["CONFIG", "SET", "replica-announce-port", &proxy.port().to_string()]);
        server.must(&["CONFIG", "REWRITE"]);
        proxy
    };
    servers.iter().map(in_front).collect()
}

fn watching(sentinel: ServerBuilder, port: u16) -> ServerBuilder {
    // A failed failover is retried after twice its timeout. It needs more than a second, because
    // that long it may take until a sentinel checks whether the new primary has taken over.
    [
        format!("monitor {NAME} 127.0.0.1 {port} 2"),
        format!("down-after-milliseconds {NAME} 1000"),
        format!("failover-timeout {NAME} 2000"),
        format!("parallel-syncs {NAME} 2"),
        format!("auth-user {NAME} {OWN_USER}"),
        format!("auth-pass {NAME} {OWN_PASSWORD}"),
    ]
    .iter()
    .fold(sentinel, |setup, line| setup.line(&format!("sentinel {line}")))
}

/// Makes a sentinel query more often than every ten seconds, publish more often than every two, and
/// wait for one second, not thirty, after it was paused. The settings are lost when it ends.
pub(super) fn shorten_intervals(sentinel: &Server) {
    // A primary that no sentinel promoted is made a replica after four times the second of these.
    // That has to exceed the time until all sentinels know of a promotion, which is more than a
    // second.
    for [what, milliseconds] in
        [["INFO-PERIOD", "200"], ["PUBLISH-PERIOD", "750"], ["TILT-PERIOD", "1000"]]
    {
        sentinel.must(&["SENTINEL", "DEBUG", what, milliseconds]);
    }
}
