//! Two nodes race for what there is: exactly that much is handed out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::By;
use sluicegate_core::{Check, Limit, Slices, Span};
use sluicegate_redis::Redis;
use sluicegate_testkit::{Kind, PATIENCE, wait_until};

use crate::asking::ask;
use crate::stage::Stage;
use crate::trial::{is_long, long_or, machine_alone};

const TOKENS: u64 = 1_000;
const TASKS: usize = 128;

/// Every algorithm that hands out units, slow enough that none comes back meanwhile.
fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    vec![
        Limit::token_bucket("token", quota("1/day burst 1000")).unwrap(),
        Limit::leaky_bucket("leaky", quota("1/day burst 1000")).unwrap(),
        Limit::queue("queue", quota("1/day burst 999")).unwrap(),
        Limit::fixed_window("fixed", quota("1000/month")).unwrap(),
        Limit::sliding_window("weighted", quota("1000/day"), Slices::Weighted(4)).unwrap(),
        Limit::sliding_window("strict", quota("1000/day"), Slices::Strict(10)).unwrap(),
        Limit::sliding_log("log", quota("1000/day")).unwrap(),
        Limit::concurrency("slots", 1_000, Span::from_secs(600)).unwrap(),
    ]
}

/// What the racers for one prize got: from the server, and from their nodes alone.
fn race_for(prize: &str, limit: &Limit, stage: &Stage, nodes: &[Arc<Redis>; 2]) -> [u64; 2] {
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
                    let alone = usize::from(applied.by == By::Share);
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

/// How often the server was not heard in time.
fn timeouts(nodes: &[Arc<Redis>; 2]) -> u64 {
    nodes.iter().map(|node| node.counts().timeouts).sum()
}

fn race(kind: Kind) {
    let _alone = machine_alone();
    let stage = Stage::on(kind);
    let options = stage.options();
    let nodes = [0, 1].map(|_| Arc::new(stage.start(options.clone())));
    for round in 0..long_or(200, 1) {
        for limit in limits() {
            let name = limit.name();
            // On a machine that is shared, one that stood still for a second is no race: then
            // there is another.
            let mut tries = (0..long_or(1, 5)).map(|turn| {
                wait_until("both nodes hear the server", PATIENCE, || {
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
            assert_eq!(shared, TOKENS, "{name} in round {round}");
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
fn two_nodes_that_race_get_exactly_what_there_is() {
    race(Kind::Redis);
}

#[test]
fn two_nodes_that_race_get_exactly_what_there_is_on_valkey() {
    race(Kind::Valkey);
}
