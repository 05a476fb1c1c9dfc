//! Two nodes race for what there is: exactly that much is handed out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::By;
use tollgate_core::{Check, Limit, Slices, Span};
use tollgate_testbed::Kind;

use crate::asking::ask;
use crate::stage::Stage;
use crate::trial::{long_or, machine_alone};

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

fn race(kind: Kind) {
    let _alone = machine_alone();
    let stage = Stage::on(kind);
    let options = stage.options();
    let nodes = [0, 1].map(|_| Arc::new(stage.start(options.clone())));
    for round in 0..long_or(200, 5) {
        for limit in limits() {
            let admitted = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
            let racers: Vec<_> = (0..TASKS)
                .map(|racer| {
                    let (node, limit) = (nodes[racer % nodes.len()].clone(), limit.clone());
                    let admitted = Arc::clone(&admitted);
                    stage.runtime.spawn(async move {
                        let key = format!("prize {round}");
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
            let [shared, alone] = [0, 1].map(|by| admitted[by].load(Ordering::Relaxed));
            let name = limit.name();
            let counts = nodes.each_ref().map(|node| node.counts());
            assert_eq!(alone, 0, "{name} in round {round}: the server was away: {counts:?}");
            assert_eq!(shared, TOKENS, "{name} in round {round}");
        }
        stage.server.command(&["FLUSHALL"]);
    }
    for node in &nodes {
        let counts = node.counts();
        assert_eq!((counts.by_share, counts.disagreements), (0, 0), "{counts:?}");
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
