//! How to start a cluster.

use crate::binaries::ServerKind;
use crate::cluster::node_view::SLOTS;
use crate::cluster::{Cluster, PATIENCE};
use crate::poll::wait_until;
use crate::server::builder::{ConfigLine, ServerBuilder};
use crate::start::start_all;

/// The settings of a cluster; [`start`](Self::start) starts it.
#[derive(Clone)]
pub struct ClusterBuilder {
    node: ServerBuilder,
    primaries: u16,
    replicas_each: u16,
}

impl ClusterBuilder {
    pub(super) fn of(kind: ServerKind) -> Self {
        let node = ServerBuilder::of(kind, ConfigLine::Node).line("cluster-node-timeout 2000");
        Self { node, primaries: 3, replicas_each: 1 }
    }

    /// Sets the number of primaries. A failed one is replaced by a majority vote: with two, by
    /// none.
    #[must_use]
    pub fn primaries(mut self, primaries: u16) -> Self {
        assert!(primaries > 0, "a cluster has a primary");
        self.primaries = primaries;
        self
    }

    /// Sets the number of replicas of each primary.
    #[must_use]
    pub fn replicas_each(mut self, replicas: u16) -> Self {
        self.replicas_each = replicas;
        self
    }

    /// Sets a password; see [`ServerBuilder::password`].
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.node = self.node.password(password);
        self
    }

    /// Adds a user; see [`ServerBuilder::user`].
    #[must_use]
    pub fn user(mut self, rule: &str) -> Self {
        self.node = self.node.user(rule);
        self
    }

    /// Uses TLS, among the nodes too, with one authority. Redis only.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.node = self.node.tls();
        self
    }

    /// Adds a line of configuration.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.node = self.node.line(line);
        self
    }

    /// Starts all nodes, and waits until they form a healthy cluster. This takes two seconds,
    /// because a node does not report to be healthy earlier.
    pub fn start(self) -> Cluster {
        let primaries = usize::from(self.primaries);
        let count = primaries * (1 + usize::from(self.replicas_each));
        let servers = start_all(&self.node, count);
        let names = servers.iter().map(|node| node.command(&["CLUSTER", "MYID"]).text()).collect();
        let cluster = Cluster { servers, names, primaries };
        self.give_slots(&cluster);
        meet(&cluster);
        for replica in primaries..count {
            let primary = &cluster.names[replica % primaries];
            cluster.servers[replica].must(&["CLUSTER", "REPLICATE", primary]);
        }
        cluster.wait_until_ok();
        cluster
    }

    fn give_slots(&self, cluster: &Cluster) {
        // Distinct epochs, so that they need not be negotiated.
        for (epoch, node) in cluster.servers.iter().enumerate() {
            node.must(&["CLUSTER", "SET-CONFIG-EPOCH", &(epoch + 1).to_string()]);
        }
        let begin =
            |primary: u16| u32::from(SLOTS) * u32::from(primary) / u32::from(self.primaries);
        for (primary, node) in (0..self.primaries).zip(&cluster.servers) {
            let (first, last) = (begin(primary), begin(primary + 1) - 1);
            let (first, last) = (first.to_string(), last.to_string());
            node.must(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]);
        }
    }
}

/// Introduces each node to each, which is faster than gossip.
fn meet(cluster: &Cluster) {
    for (index, node) in cluster.servers.iter().enumerate() {
        for other in cluster.servers.iter().skip(index + 1) {
            let (port, bus) = (other.announced_port().to_string(), other.bus_port().to_string());
            node.must(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
        }
    }
    wait_until("all nodes know each other", PATIENCE, || {
        (0..cluster.servers.len()).all(|node| cluster.knows_all(node))
    });
}
