//! Tests of many nodes that lose their server and reconnect.

use std::time::Duration;

use sluicegate::{Clock, SystemClock};
use sluicegate_testkit::{FaultProxy, PATIENCE, ServerKind, wait_until};

use crate::fault_trial::{is_long, let_pass, long_or, machine_alone};
use crate::harness::{TestBed, options};

const NODES: u64 = 20;

#[test]
fn a_restart_spreads_reconnects() {
    let _alone = machine_alone();
    let stage = TestBed::on(ServerKind::Redis);
    let proxy = FaultProxy::to(stage.server.address());
    let nodes: Vec<_> = (0..NODES).map(|_| stage.start(options(&proxy.url()))).collect();
    let clock = SystemClock::new();
    let (began, before) = (clock.now(), proxy.counts().connections);
    stage.server.kill();
    let_pass(Duration::from_secs(long_or(10, 1)));
    wait_until("every node has tried", PATIENCE, || proxy.counts().connections - before >= NODES);
    let (attempts, lasted) = (proxy.counts().connections - before, clock.now().since(began));
    // Two of each node in each started second.
    let most = NODES * 2 * lasted.as_secs_ceil();
    eprintln!("{attempts} attempts of {NODES} nodes in {:?}", Duration::from(lasted));
    assert!((NODES..=most).contains(&attempts), "{attempts}, at most {most}");
    stage.server.restart();
    let back = clock.now();
    wait_until("all are back", PATIENCE, || nodes.iter().all(|node| node.health().up));
    let back = clock.now().since(back);
    eprintln!("all back after {:?}", Duration::from(back));
    assert!(!is_long() || back.as_micros() <= 3_000_000, "{back:?}");
    wait_until("all know of each other", PATIENCE, || {
        nodes.iter().all(|node| u64::from(node.health().nodes) >= NODES)
    });
}
