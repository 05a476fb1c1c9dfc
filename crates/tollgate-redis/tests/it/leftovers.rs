//! Nothing stays on the server for ever, whatever happened on the way.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::{Ask, Check, Cost, Limit, Receipt, Slices, Span};
use tollgate_redis::Redis;
use tollgate_testbed::{FaultProxy, Kind, wait_until};

use crate::asking::try_ask;
use crate::chance::Chance;
use crate::stage::{Stage, options};
use crate::trial::{let_pass, long_or, machine_alone};

/// The longest that a counter can need to recover.
const PERIOD: Span = Span::from_secs(3);

fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    vec![
        Limit::token_bucket("token", quota("10/3s")).unwrap(),
        Limit::leaky_bucket("leaky", quota("10/3s")).unwrap(),
        Limit::queue("queue", quota("10/3s")).unwrap(),
        Limit::fixed_window("fixed", quota("10/s")).unwrap(),
        Limit::sliding_window("weighted", quota("10/3s"), Slices::Weighted(3)).unwrap(),
        Limit::sliding_window("strict", quota("10/3s"), Slices::Strict(3)).unwrap(),
        Limit::sliding_log("log", quota("10/3s")).unwrap(),
        Limit::concurrency("slots", 10, PERIOD).unwrap(),
    ]
}

/// Asks for all kinds of things; gives back some.
async fn work(store: Arc<Redis>, seed: u64, steps: u64) {
    let (limits, mut chance) = (limits(), Chance::new(seed));
    let mut receipts = Vec::new();
    for _ in 0..steps {
        let limit = chance.index(limits.len());
        let key = format!("caller {}", chance.below(300));
        let check = Check::new(&limits[limit], &key);
        match chance.below(20) {
            0 => drop(try_ask(&store, check.ask(Ask::Reset)).await),
            1 => drop(try_ask(&store, check.ask(Ask::Charge(Cost::from(3)))).await),
            2..=5 if !receipts.is_empty() => {
                let (limit, key, receipt): (usize, String, _) = receipts.swap_remove(0);
                let actual = Cost::from(u32::try_from(chance.below(3)).unwrap());
                let settle = Ask::Settle { receipt, actual };
                let check = Check::new(&limits[limit], &key).ask(settle);
                drop(try_ask(&store, check).await);
            }
            _ => {
                let taken = try_ask(&store, check).await.unwrap();
                receipts.extend(taken.1.receipt().map(|receipt| (limit, key.clone(), *receipt)));
                receipts.truncate(20);
            }
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn every_key_dies_even_if_connections_are_killed() {
    let _alone = machine_alone();
    let stage = Stage::on(Kind::Redis);
    let proxy = FaultProxy::to(stage.server.address());
    let patient = options(&proxy.url()).deadline(Duration::from_millis(200)).unwrap();
    let nodes = [0, 1].map(|_| Arc::new(stage.start(patient.clone())));
    let steps = long_or(1_000_000, 20_000) / 16;
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let store = Arc::clone(&nodes[usize::from(task % 2 == 0)]);
            stage.runtime.spawn(work(store, task, steps))
        })
        .collect();
    let mut killed = 0;
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        let_pass(Duration::from_millis(700));
        // Of two connections, one: the other node goes on.
        killed += proxy.kill_connections(0.5);
    }
    for task in tasks {
        stage.block_on(task).unwrap();
    }
    let calls: u64 = nodes.iter().map(|node| node.counts().sets).sum();
    let longest = assert_times_to_live(&stage);
    eprintln!(
        "{calls} sets decided, {killed} connections killed, the longest key lives {longest} ms"
    );
    assert!(killed > 0);
    drop(nodes);
    // Two periods, because a window counts the one before it too.
    let left = 2 * Duration::from(PERIOD) + Duration::from_secs(2);
    wait_until("the server is empty", left, || {
        let keys = stage.server.keys();
        keys.iter().all(|key| is_settlement(key))
    });
}

/// Whether a key remembers that something was settled, so that it is settled once. Ten minutes.
fn is_settlement(key: &[u8]) -> bool {
    key.contains(&b'!')
}

/// Every key has an end, and none is further away than it can matter; how far the furthest is.
fn assert_times_to_live(stage: &Stage) -> i64 {
    let mut longest = 0;
    for key in stage.server.keys() {
        let left = stage.server.command(&[b"PTTL", &key[..]]).integer();
        let key = String::from_utf8_lossy(&key).into_owned();
        // Gone since it was listed.
        if left == -2 {
            continue;
        }
        assert!(left >= 0, "{key} stays for ever");
        let twice = Span::from_micros(2 * PERIOD.as_micros());
        let lives = if is_settlement(key.as_bytes()) { Receipt::SETTLED_WITHIN } else { twice };
        let most = i64::try_from(lives.as_micros() / 1_000).unwrap() + 2_000;
        assert!(left <= most, "{key} stays for {left} ms, at most {most} are needed");
        longest = longest.max(if is_settlement(key.as_bytes()) { 0 } else { left });
    }
    longest
}
