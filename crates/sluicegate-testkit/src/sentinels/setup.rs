//! How servers and their sentinels are to be started.

use crate::fault_proxy::FaultProxy;
use crate::programs::Kind;
use crate::sentinels::{NAME, Sentinels};
use crate::server::Server;
use crate::setup::{OWN_PASSWORD, OWN_USER, Part, Setup};
use crate::starting::{start_all, wait_for_copies};

/// How many sentinels there are.
const SENTINELS: usize = 3;

/// What servers and sentinels are to be like; [`start`](Self::start) starts them.
#[derive(Clone)]
pub struct SentinelsSetup {
    data: Setup,
    sentinel: Setup,
    replicas: usize,
    proxies: bool,
}

impl SentinelsSetup {
    pub(super) fn of(kind: Kind) -> Self {
        Self {
            data: Setup::of(kind, Part::Replicated),
            sentinel: Setup::of(kind, Part::Sentinel),
            replicas: 2,
            proxies: false,
        }
    }

    /// With so many replicas.
    #[must_use]
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// Data servers with a password; see [`Setup::password`].
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.data = self.data.password(password);
        self
    }

    /// Data servers with a user; see [`Setup::user`].
    #[must_use]
    pub fn user(mut self, rule: &str) -> Self {
        self.data = self.data.user(rule);
        self
    }

    /// Sentinels with a password. It is no part of the URL.
    #[must_use]
    pub fn sentinel_password(mut self, password: &str) -> Self {
        self.sentinel = self.sentinel.password(password);
        self
    }

    /// Sentinels with a user, in the words of [`Setup::user`].
    #[must_use]
    pub fn sentinel_user(mut self, rule: &str) -> Self {
        self.sentinel = self.sentinel.user(rule);
        self
    }

    /// With a primary that refuses to write as soon as it has heard from no replica for so long.
    #[must_use]
    pub fn min_replicas(self, lag_seconds: u64) -> Self {
        self.line("min-replicas-to-write 1").line(&format!("min-replicas-max-lag {lag_seconds}"))
    }

    /// Data servers with one more line of configuration.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.data = self.data.line(line);
        self
    }

    /// All with TLS, among themselves too, with one authority. Redis only.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.data = self.data.tls();
        self.sentinel.certificates.clone_from(&self.data.certificates);
        self
    }

    /// With a [`FaultProxy`] in front of every data server, which sentinels, replicas and clients all
    /// go through: what is done to it parts the server from all of them. The testbed itself goes past
    /// it.
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
        all.watchers.iter().for_each(hasten);
        all.wait_until_settled();
        all
    }
}

/// Servers that are known under the addresses of their proxies.
fn with_proxies(servers: &[Server]) -> Vec<FaultProxy> {
    let in_front = |server: &Server| {
        let proxy = FaultProxy::to(([127, 0, 0, 1], server.spoken_port()).into());
        server.must(&["CONFIG", "SET", "replica-announce-ip", "127.0.0.1"]);
        server.must(&["CONFIG", "SET", "replica-announce-port", &proxy.port().to_string()]);
        server.must(&["CONFIG", "REWRITE"]);
        proxy
    };
    servers.iter().map(in_front).collect()
}

fn watching(sentinel: Setup, port: u16) -> Setup {
    // A failover that comes to nothing is tried again after twice its timeout. It needs more than a
    // second: so long it may take until a sentinel looks whether the new primary has become one.
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

/// Has a sentinel look around more often than every ten seconds, tell the others more often than
/// every two, and hold still for one second, not thirty, after it was paused. It forgets this when it
/// ends.
pub(super) fn hasten(sentinel: &Server) {
    // A primary that nobody appointed is made a replica after four times the second of these. It has
    // to be longer than it takes until all have heard of an appointment, which is more than a second.
    for [what, milliseconds] in
        [["INFO-PERIOD", "200"], ["PUBLISH-PERIOD", "750"], ["TILT-PERIOD", "1000"]]
    {
        sentinel.must(&["SENTINEL", "DEBUG", what, milliseconds]);
    }
}
