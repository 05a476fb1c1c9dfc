//! A primary, its replicas, and three sentinels that fail over between them.

use std::time::Duration;

use crate::binaries::ServerKind;
use crate::fault_proxy::FaultProxy;
use crate::poll::wait_until;
use crate::resp::value::RespValue;
use crate::server::Server;

mod builder;
mod status;

pub use builder::SentinelsBuilder;

/// The name of the primary in the sentinels' configuration.
const NAME: &str = "mymaster";

/// The longest that sentinels may take for anything: an election without winner is repeated after
/// some seconds, and machines can be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Data servers, one of them the primary and the others its replicas, and three sentinels that
/// promote another one when it is down for a second. They are terminated when this value is dropped
/// or the test program ends.
///
/// Data servers have fixed numbers, independent of their role; 0 is the primary at first.
pub struct Sentinels {
    // Before the servers, so that no sentinel reacts to their end.
    watchers: Vec<Server>,
    servers: Vec<Server>,
    proxies: Vec<FaultProxy>,
}

impl Sentinels {
    /// Settings of two replicas and three sentinels.
    pub fn setup(kind: ServerKind) -> SentinelsBuilder {
        SentinelsBuilder::of(kind)
    }

    /// `redis+sentinel://…/mymaster` with the addresses of all sentinels, and with the password of
    /// the data servers, if there is one. With TLS it begins with `rediss`.
    pub fn url(&self) -> String {
        let scheme = if self.servers[0].has_tls() { "rediss" } else { "redis" };
        let hosts: Vec<_> =
            self.sentinel_ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("{scheme}+sentinel://{}{}/{NAME}", self.servers[0].password(), hosts.join(","))
    }

    /// The ports of the sentinels for clients: those with TLS, if they were set up with it.
    pub fn sentinel_ports(&self) -> Vec<u16> {
        self.watchers.iter().map(Server::announced_port).collect()
    }

    /// The sentinels, to pause, resume, kill and query;
    /// [`restart_sentinel`](Self::restart_sentinel) restarts one.
    pub fn sentinels(&self) -> &[Server] {
        &self.watchers
    }

    /// The data servers, by their number.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The proxy in front of a data server, if they were set up [behind
    /// proxies](SentinelsBuilder::behind_proxies).
    #[track_caller]
    pub fn proxy(&self, index: usize) -> &FaultProxy {
        self.proxies.get(index).expect("the servers were not set up behind proxies")
    }

    /// The port under which sentinels and clients know a data server.
    pub fn known_port(&self, index: usize) -> u16 {
        self.proxies
            .get(index)
            .map_or_else(|| self.servers[index].announced_port(), FaultProxy::port)
    }

    /// The certificate of the authority that signed those of all servers, in PEM.
    pub fn ca_pem(&self) -> &str {
        self.servers[0].ca_pem()
    }

    /// The data server that most sentinels name as the primary; waits while they disagree.
    #[track_caller]
    pub fn primary(&self) -> usize {
        let mut named = None;
        wait_until("most sentinels name the same primary", PATIENCE, || {
            named = self.named();
            named.is_some()
        });
        named.expect("waited for")
    }

    /// Kills the primary; returns which one it was.
    #[track_caller]
    pub fn kill_primary(&self) -> usize {
        let primary = self.primary();
        self.servers[primary].kill();
        primary
    }

    /// Requests a failover although the primary is up; returns which one it was. The failover
    /// starts now: [`wait_until_switched`](Self::wait_until_switched) waits for the end. For some
    /// seconds more the old primary is not aware of it and continues to write.
    #[track_caller]
    pub fn fail_over(&self) -> usize {
        let primary = self.primary();
        let sentinel = self.running_sentinels().next().expect("no sentinel runs");
        // They refuse until they know of a replica that is up to date.
        wait_until("a sentinel begins to fail over", PATIENCE, || {
            sentinel.command(&["SENTINEL", "FAILOVER", NAME]) == RespValue::Text(b"OK".to_vec())
        });
        primary
    }

    /// Waits until most sentinels name another primary than `from`, and it agrees; returns which.
    #[track_caller]
    pub fn wait_until_switched(&self, from: usize) -> usize {
        let mut primary = from;
        wait_until("the sentinels have made another server the primary", PATIENCE, || {
            primary = self.named().unwrap_or(from);
            primary != from && self.servers[primary].is_primary()
        });
        primary
    }

    /// Restarts a data server, empty, and waits until it has a copy of the primary's data; or until
    /// it answers, if no other has been promoted.
    ///
    /// A primary that failed restarts as a primary. It takes some seconds until the sentinels make
    /// it a replica of the new one.
    #[track_caller]
    pub fn restart(&self, index: usize) {
        self.servers[index].restart();
        wait_until("the server that was restarted is a replica again", PATIENCE, || {
            self.named().is_some_and(|primary| self.is_in_place(index, primary))
        });
    }

    /// Restarts a sentinel; it keeps its state.
    #[track_caller]
    pub fn restart_sentinel(&self, index: usize) {
        self.watchers[index].restart();
        builder::shorten_intervals(&self.watchers[index]);
    }

    /// Waits until the group is healthy: every running server has its role, and every running
    /// sentinel knows it. Then the next primary can fail without a delay.
    #[track_caller]
    pub fn wait_until_settled(&self) {
        wait_until("all servers are in place and all sentinels know", PATIENCE, || {
            self.named().is_some_and(|primary| {
                let mut running = self.running();
                running.all(|index| self.is_in_place(index, primary)) && self.all_know(primary)
            })
        });
    }
}
