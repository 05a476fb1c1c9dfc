//! Tests that two racing nodes are granted exactly the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::DecidedBy;
use sluicegate_conformance::limits::every_algorithm;
use sluicegate_core::{Check, Limit};
use sluicegate_redis::Redis;
use sluicegate_testkit::{PATIENCE, ServerKind, wait_until};

use crate::decided_by::ask;
use crate::fault_trial::{is_long, long_or, machine_alone};
use crate::harness::TestBed;

const TOKENS: u32 = 1_000;
const TASKS: usize = 128;

/// The grants of the racers for one limit: by the server, and by their nodes alone.
fn race_for(prize: &str, limit: &Limit, stage: &TestBed, nodes: &[Arc<Redis>; 2]) -> [u64; 2] {
    let admitted = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let racers: Vec<_> = (0..TASKS)
        .map(|racer| {
            let (node, limit) = (nodes[racer % nodes.len()].clone(), limit.clone());
            let (admitted, key) = (Arc::clone(&admitted), prize.to_owned());
            stage.runtime.spawn(async move {
                loop {
                    let (applied, decision) = ask(&node, Check::new(&limit, &key)).await;
                    if !decision.is_allowed() {
                        return;
                    }
                    let alone = usize::from(applied.by == DecidedBy::Share);
                    admitted[alone].fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for racer in racers {
        stage.block_on(racer).unwrap();
    }
    [0, 1].map(|by| admitted[by].load(Ordering::Relaxed))
}

/// How often the server did not answer in time.
fn timeouts(nodes: &[Arc<Redis>; 2]) -> u64 {
    nodes.iter().map(|node| node.counts().timeouts).sum()
}

fn race(kind: ServerKind) {
    let _alone = machine_alone();
    let stage = TestBed::on(kind);
    let options = stage.options();
    let nodes = [0, 1].map(|_| Arc::new(stage.start(options.clone())));
    for round in 0..long_or(200, 1) {
        // Slow enough that no unit comes back meanwhile.
        for limit in every_algorithm(TOKENS, "10d") {
            let name = limit.name();
            // On a shared machine, a race with a stall of a second is void and repeated.
            let mut tries = (0..long_or(1, 5)).map(|turn| {
                wait_until("both nodes are connected", PATIENCE, || {
                    nodes.iter().all(|node| node.health().up)
                });
                let before = timeouts(&nodes);
                let got = race_for(&format!("prize {round}.{turn}"), &limit, &stage, &nodes);
                (got, timeouts(&nodes) == before)
            });
            let raced = tries.find(|(_, was_heard)| *was_heard || is_long());
            let Some(([shared, alone], _)) = raced else {
                panic!("{name} in round {round}: this machine has no second for it");
            };
            let counts = nodes.each_ref().map(|node| node.counts());
            assert_eq!(alone, 0, "{name} in round {round}: the server was away: {counts:?}");
            assert_eq!(shared, u64::from(TOKENS), "{name} in round {round}");
        }
        stage.server.command(&["FLUSHALL"]);
    }
    for node in &nodes {
        let counts = node.counts();
        assert_eq!(counts.disagreements, 0, "{counts:?}");
        assert!(counts.by_share == 0 || counts.timeouts > 0 && !is_long(), "{counts:?}");
    }
}

#[test]
fn two_racing_nodes_get_exactly_the_limit() {
    race(ServerKind::Redis);
}

#[test]
fn two_racing_nodes_get_exactly_the_limit_on_valkey() {
    race(ServerKind::Valkey);
}
