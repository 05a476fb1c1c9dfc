//! A cluster: primaries that share the slots, and their replicas.

use std::time::Duration;

use crate::binaries::ServerKind;
use crate::poll::wait_until;
use crate::server::Server;

mod builder;
mod migrate;
mod node_view;

pub use builder::ClusterBuilder;
use node_view::NodeView;

/// The longest that nodes may take for anything; they notice a failure after two seconds, and
/// machines can be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The nodes of a cluster. They are terminated when this value is dropped or the test program ends.
///
/// Nodes have fixed numbers, independent of their role. At first the primaries come first, with the
/// slots in order, and then the replicas, in turns: of three primaries, node 3 and node 6 are
/// replicas of node 0.
pub struct Cluster {
    servers: Vec<Server>,
    /// The ids of the nodes.
    names: Vec<String>,
    /// The number of primaries at first.
    primaries: usize,
}

impl Cluster {
    /// Settings of three primaries with a replica each.
    pub fn setup(kind: ServerKind) -> ClusterBuilder {
        ClusterBuilder::of(kind)
    }

    /// `redis+cluster://…` with the addresses of the initial primaries, and with the password, if
    /// there is one. With TLS it begins with `rediss`.
    pub fn url(&self) -> String {
        let scheme = if self.servers[0].has_tls() { "rediss" } else { "redis" };
        let hosts: Vec<_> = (0..self.primaries)
            .map(|index| format!("127.0.0.1:{}", self.known_port(index)))
            .collect();
        format!("{scheme}+cluster://{}{}", self.servers[0].password(), hosts.join(","))
    }

    /// The nodes, by their number.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The port of a node for clients: with TLS, if it was set up with it.
    pub fn known_port(&self, index: usize) -> u16 {
        self.servers[index].announced_port()
    }

    /// The certificate of the authority that signed those of all nodes, in PEM.
    pub fn ca_pem(&self) -> &str {
        self.servers[0].ca_pem()
    }

    /// The node that serves a slot now; waits while there is none.
    #[track_caller]
    pub fn primary_of(&self, slot: u16) -> usize {
        let mut primary = None;
        wait_until(&format!("a node answers for slot {slot}"), PATIENCE, || {
            // A node that was replaced while it was down may not know it yet: the highest epoch
            // counts.
            let answering = self.nodes_themselves().filter(|(_, node)| node.answers_for(slot));
            primary = answering.max_by_key(|(_, node)| node.epoch).map(|(index, _)| index);
            primary.is_some()
        });
        primary.expect("waited for")
    }

    /// The running nodes that report to be primaries.
    pub fn primaries(&self) -> Vec<usize> {
        let primaries = self.nodes_themselves().filter(|(_, node)| node.primary.is_none());
        primaries.map(|(index, _)| index).collect()
    }

    /// The running nodes that report to be replicas of this one.
    pub fn replicas_of(&self, index: usize) -> Vec<usize> {
        let name = Some(&self.names[index]);
        let replicas = self.nodes_themselves().filter(|(_, node)| node.primary.as_ref() == name);
        replicas.map(|(index, _)| index).collect()
    }

    /// The slots that a node reports to serve.
    #[track_caller]
    pub fn slots_of(&self, index: usize) -> Vec<u16> {
        let node = self.node(index, index).expect("the node did not answer CLUSTER NODES");
        node.slots.into_iter().flatten().collect()
    }

    /// The number of keys of a slot on a primary.
    pub fn keys_in_slot(&self, slot: u16, index: usize) -> i64 {
        self.servers[index].command(&["CLUSTER", "COUNTKEYSINSLOT", &slot.to_string()]).integer()
    }

    /// Kills a node.
    pub fn kill(&self, index: usize) {
        self.servers[index].kill();
    }

    /// Restarts a node, empty, and waits until all nodes agree about its role.
    #[track_caller]
    pub fn restart(&self, index: usize) {
        self.servers[index].restart();
        wait_until("the node that was restarted has found its place", PATIENCE, || {
            self.is_in_place(index)
        });
    }

    /// Promotes a replica of this primary, although the primary is up; returns which one. The
    /// failover starts now: [`wait_until_taken_over`](Self::wait_until_taken_over) waits for the
    /// end.
    #[track_caller]
    pub fn fail_over(&self, index: usize) -> usize {
        let replica = *self.replicas_of(index).first().expect("the node has no replica that runs");
        self.servers[replica].must(&["CLUSTER", "FAILOVER"]);
        replica
    }

    /// Waits until every running node knows that another one serves this node's slots.
    #[track_caller]
    pub fn wait_until_taken_over(&self, index: usize) {
        wait_until("another node has taken over", PATIENCE, || {
            self.running().all(|viewer| {
                self.is_ok(viewer)
                    && self.node(viewer, index).is_some_and(|node| node.slots.is_empty())
            })
        });
    }

    /// Waits until the cluster is healthy: every running node reports it, they agree about each
    /// other, replicas have their copies, and each slot has a running primary.
    #[track_caller]
    pub fn wait_until_ok(&self) {
        wait_until("the cluster is well and all its nodes agree", PATIENCE, || {
            self.running().all(|index| self.is_in_place(index)) && self.all_slots_are_answered_for()
        });
    }

    fn nodes_themselves(&self) -> impl Iterator<Item = (usize, NodeView)> {
        self.running().filter_map(|index| Some((index, self.node(index, index)?)))
    }
}
