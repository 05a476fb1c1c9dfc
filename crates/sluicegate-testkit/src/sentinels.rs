//! A primary, its replicas, and three sentinels that see to it that there always is one.

use std::time::Duration;

use crate::fault_proxy::FaultProxy;
use crate::programs::Kind;
use crate::server::Server;
use crate::value::Value;
use crate::waiting::wait_until;

mod setup;
mod views;

pub use setup::SentinelsSetup;

/// The name under which the sentinels know the primary.
const NAME: &str = "mymaster";

/// How long sentinels may take for anything: an election that nobody wins is held again after some
/// seconds, and machines can be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Data servers, one of them the primary and the others its replicas, and three sentinels that make
/// another the primary when it is gone for a second. All are gone when this value is dropped or the
/// test program ends.
///
/// Data servers have numbers, which stay whatever becomes of them; 0 is the primary at first.
pub struct Sentinels {
    // Before the servers: nobody is to act on their end.
    watchers: Vec<Server>,
    servers: Vec<Server>,
    proxies: Vec<FaultProxy>,
}

impl Sentinels {
    /// Two replicas, three sentinels; to say more about, and to be started.
    pub fn setup(kind: Kind) -> SentinelsSetup {
        SentinelsSetup::of(kind)
    }

    /// `redis+sentinel://…/mymaster` with the addresses of all sentinels, and with the password of
    /// the data servers, if there is one. With TLS it begins with `rediss`.
    pub fn url(&self) -> String {
        let scheme = if self.servers[0].has_tls() { "rediss" } else { "redis" };
        let hosts: Vec<_> =
            self.sentinel_ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("{scheme}+sentinel://{}{}/{NAME}", self.servers[0].password(), hosts.join(","))
    }

    /// The ports that clients reach the sentinels on: those with TLS, if they were set up with it.
    pub fn sentinel_ports(&self) -> Vec<u16> {
        self.watchers.iter().map(Server::spoken_port).collect()
    }

    /// The sentinels, to be paused, resumed, killed and asked; to start one again there is
    /// [`restart_sentinel`](Self::restart_sentinel).
    pub fn sentinels(&self) -> &[Server] {
        &self.watchers
    }

    /// The data servers, by their number.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// What stands in front of a data server, if they were set up
    /// [behind proxies](SentinelsSetup::behind_proxies).
    #[track_caller]
    pub fn proxy(&self, index: usize) -> &FaultProxy {
        self.proxies.get(index).expect("the servers were not set up behind proxies")
    }

    /// The port under which sentinels and clients know a data server.
    pub fn known_port(&self, index: usize) -> u16 {
        self.proxies.get(index).map_or_else(|| self.servers[index].spoken_port(), FaultProxy::port)
    }

    /// The certificate of the authority that signed those of all servers, in PEM.
    pub fn ca_pem(&self) -> &str {
        self.servers[0].ca_pem()
    }

    /// The data server that most sentinels name as the primary; waits while they are at odds.
    #[track_caller]
    pub fn primary(&self) -> usize {
        let mut named = None;
        wait_until("most sentinels name the same primary", PATIENCE, || {
            named = self.named();
            named.is_some()
        });
        named.expect("waited for")
    }

    /// Ends the primary at once; returns which it was.
    #[track_caller]
    pub fn kill_primary(&self) -> usize {
        let primary = self.primary();
        self.servers[primary].kill();
        primary
    }

    /// Has the sentinels make another the primary although this one is well; returns which it was.
    /// They begin now: [`wait_until_switched`](Self::wait_until_switched) waits for the end. For some
    /// seconds more the old one does not know and goes on writing.
    #[track_caller]
    pub fn fail_over(&self) -> usize {
        let primary = self.primary();
        let sentinel = self.running_sentinels().next().expect("no sentinel runs");
        // They refuse as long as they know of no replica that is up to date.
        wait_until("a sentinel begins to fail over", PATIENCE, || {
            sentinel.command(&["SENTINEL", "FAILOVER", NAME]) == Value::Text(b"OK".to_vec())
        });
        primary
    }

    /// Waits until most sentinels name another primary than `from`, and it agrees; returns which.
    #[track_caller]
    pub fn wait_until_switched(&self, from: usize) -> usize {
        let mut primary = from;
        wait_until("the sentinels have made another server the primary", PATIENCE, || {
            primary = self.named().unwrap_or(from);
            primary != from && self.servers[primary].leads()
        });
        primary
    }

    /// Starts a data server again, empty, and waits until it has a copy of the primary's data; or
    /// until it answers, if nobody has taken its place as the primary.
    ///
    /// A primary that died comes back as one. It takes some seconds until the sentinels have told it
    /// that another has taken its place.
    #[track_caller]
    pub fn restart(&self, index: usize) {
        self.servers[index].restart();
        wait_until("the server that was restarted is a replica again", PATIENCE, || {
            self.named().is_some_and(|primary| self.is_in_place(index, primary))
        });
    }

    /// Starts a sentinel again; it remembers what it knew.
    #[track_caller]
    pub fn restart_sentinel(&self, index: usize) {
        self.watchers[index].restart();
        setup::hasten(&self.watchers[index]);
    }

    /// Waits until all is well: every server that runs is where it belongs, and every sentinel that
    /// runs knows. From there the next primary can be lost without a delay.
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
