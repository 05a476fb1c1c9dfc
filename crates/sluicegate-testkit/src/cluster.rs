//! A cluster: primaries that share the slots among them, and replicas that step in for them.

use std::time::Duration;

use crate::programs::Kind;
use crate::server::Server;
use crate::waiting::wait_until;

mod moving;
mod setup;
mod views;

pub use setup::ClusterSetup;
use views::Node;

/// How long nodes may take for anything; they notice after two seconds that one is gone, and machines
/// can be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The nodes of a cluster. All are gone when this value is dropped or the test program ends.
///
/// Nodes have numbers, which stay whatever becomes of them. At first the primaries come first, with
/// the slots in order, and then the replicas, in turns: of three primaries, node 3 and node 6 are
/// replicas of node 0.
pub struct Cluster {
    servers: Vec<Server>,
    /// What the nodes call themselves.
    names: Vec<String>,
    /// How many were primaries at first.
    primaries: usize,
}

impl Cluster {
    /// Three primaries with a replica each; to say more about, and to be started.
    pub fn setup(kind: Kind) -> ClusterSetup {
        ClusterSetup::of(kind)
    }

    /// `redis+cluster://…` with the addresses of those that were primaries at first, and with the
    /// password, if there is one. With TLS it begins with `rediss`.
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

    /// The port that clients reach a node on: the one with TLS, if it was set up with it.
    pub fn known_port(&self, index: usize) -> u16 {
        self.servers[index].spoken_port()
    }

    /// The certificate of the authority that signed those of all nodes, in PEM.
    pub fn ca_pem(&self) -> &str {
        self.servers[0].ca_pem()
    }

    /// The node that answers for a slot now; waits while there is none.
    #[track_caller]
    pub fn primary_of(&self, slot: u16) -> usize {
        let mut primary = None;
        wait_until(&format!("a node answers for slot {slot}"), PATIENCE, || {
            // Who was replaced while it was away may not know yet: the last to be appointed counts.
            let answering = self.nodes_themselves().filter(|(_, node)| node.answers_for(slot));
            primary = answering.max_by_key(|(_, node)| node.epoch).map(|(index, _)| index);
            primary.is_some()
        });
        primary.expect("waited for")
    }

    /// The nodes that run and say that they are primaries.
    pub fn primaries(&self) -> Vec<usize> {
        let primaries = self.nodes_themselves().filter(|(_, node)| node.primary.is_none());
        primaries.map(|(index, _)| index).collect()
    }

    /// The nodes that run and say that they are replicas of this one.
    pub fn replicas_of(&self, index: usize) -> Vec<usize> {
        let name = Some(&self.names[index]);
        let replicas = self.nodes_themselves().filter(|(_, node)| node.primary.as_ref() == name);
        replicas.map(|(index, _)| index).collect()
    }

    /// The slots that a node says it answers for.
    #[track_caller]
    pub fn slots_of(&self, index: usize) -> Vec<u16> {
        let node = self.node(index, index).expect("the node was asked and gave no answer");
        node.slots.into_iter().flatten().collect()
    }

    /// How many keys of a slot a primary has.
    pub fn keys_in_slot(&self, slot: u16, index: usize) -> i64 {
        self.servers[index].command(&["CLUSTER", "COUNTKEYSINSLOT", &slot.to_string()]).integer()
    }

    /// Ends a node at once.
    pub fn kill(&self, index: usize) {
        self.servers[index].kill();
    }

    /// Starts a node again, empty, and waits until it and the others agree about what it is.
    #[track_caller]
    pub fn restart(&self, index: usize) {
        self.servers[index].restart();
        wait_until("the node that was restarted has found its place", PATIENCE, || {
            self.is_in_place(index)
        });
    }

    /// Makes a replica of this primary the primary, although that is well; returns which. It begins
    /// now: [`wait_until_taken_over`](Self::wait_until_taken_over) waits for the end.
    #[track_caller]
    pub fn fail_over(&self, index: usize) -> usize {
        let replica = *self.replicas_of(index).first().expect("the node has no replica that runs");
        self.servers[replica].must(&["CLUSTER", "FAILOVER"]);
        replica
    }

    /// Waits until every node that runs knows that another answers for this one's slots.
    #[track_caller]
    pub fn wait_until_taken_over(&self, index: usize) {
        wait_until("another node has taken over", PATIENCE, || {
            self.running().all(|asked| {
                self.is_ok(asked)
                    && self.node(asked, index).is_some_and(|node| node.slots.is_empty())
            })
        });
    }

    /// Waits until all is well: every node that runs says so, they agree about each other, replicas
    /// have their copies, and each slot has a primary that runs.
    #[track_caller]
    pub fn wait_until_ok(&self) {
        wait_until("the cluster is well and all its nodes agree", PATIENCE, || {
            self.running().all(|index| self.is_in_place(index)) && self.all_slots_are_answered_for()
        });
    }

    fn nodes_themselves(&self) -> impl Iterator<Item = (usize, Node)> {
        self.running().filter_map(|index| Some((index, self.node(index, index)?)))
    }
}
