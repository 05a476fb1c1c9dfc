//! Tests that a node that stops cleanly leaves its share to the others at once.

use std::time::Duration;

use sluicegate_redis::Redis;
use sluicegate_testkit::{Cluster, RespValue, ServerKind, wait_until};

use crate::harness::{TestBed, TestServers, cluster};

const PATIENCE: Duration = Duration::from_secs(60);
/// A node counts for ten heartbeats after the last one that had it; a message arrives within two.
const SILENT: u64 = 8;

fn wait_for_nodes(store: &Redis, nodes: u32) {
    wait_until(&format!("{nodes} nodes are known"), PATIENCE, || store.health().nodes == nodes);
}

fn two_nodes<G: TestServers>(stage: &TestBed<G>) -> [Redis; 2] {
    let nodes = [0, 1].map(|_| stage.start(stage.options()));
    for node in &nodes {
        wait_for_nodes(node, 2);
    }
    nodes
}

#[test]
fn a_deregistered_node_is_not_counted() {
    for kind in ServerKind::ALL {
        let stage = TestBed::on(kind);
        let [stays, leaves] = two_nodes(&stage);
        let before = stage.beats();
        stage.block_on(leaves.deregister());
        assert_eq!(stage.server.command(&["ZCARD", "sluicegate:1:nodes"]), RespValue::Integer(1));
        wait_for_nodes(&stays, 1);
        let beats = stage.beats() - before;
        assert!(beats < SILENT, "{beats} beats: the node expired without a message");
        assert!(stays.health().up && leaves.health().up, "decisions go on");
    }
}

#[test]
fn a_dropped_store_deregisters() {
    let stage = TestBed::on(ServerKind::Redis);
    let [stays, leaves] = two_nodes(&stage);
    let before = stage.beats();
    drop(leaves);
    wait_for_nodes(&stays, 1);
    assert!(stage.beats() - before < SILENT);
}

#[test]
fn a_returning_node_is_counted_again() {
    let stage: TestBed<Cluster> = TestBed::with(cluster(ServerKind::Redis, 0));
    let [stays, leaves] = two_nodes(&stage);
    stage.block_on(leaves.deregister());
    wait_for_nodes(&stays, 1);
    let comes = stage.start(stage.options());
    for node in [&stays, &comes] {
        wait_for_nodes(node, 2);
    }
}
