//! Tests of a server that loses counters, or scripts.

use std::time::Duration;

use sluicegate_core::Span;
use sluicegate_redis::Event;
use sluicegate_testkit::{PATIENCE, ServerKind, wait_until};

use crate::fault_trial::{Trial, is_long, let_pass, long_or, patient};
use crate::harness::setup;

#[test]
fn lost_counters_cost_one_burst_and_are_reported() {
    let trial = Trial::with(setup(ServerKind::Redis).start(), patient);
    let lost = |node: usize| {
        trial
            .events()
            .into_iter()
            .find_map(|(at, of, event)| (of == node && event == Event::StateLost).then_some(at))
    };
    let mut flushed = None;
    let report = trial.run(|| {
        let_pass(Duration::from_millis(long_or(10_000, 500)));
        let before = trial.now();
        trial.server().command(&["FLUSHALL"]);
        flushed = Some((before, trial.now()));
        wait_until("both nodes know", PATIENCE, || (0..2).all(|n| lost(n).is_some()));
        let_pass(Duration::from_millis(long_or(5_000, 500)));
    });
    let (from, until) = flushed.unwrap();
    for node in 0..2 {
        let noticed = lost(node).unwrap().since(from);
        eprintln!("node {node} noticed after {:?}", Duration::from(noticed));
        assert!(!is_long() || noticed <= Span::from_secs(1), "{noticed:?}");
    }
    report.assert_policies();
    report.assert_bursts(if report.away().is_none() { 2 } else { 3 });
    // Two processes never read the same microsecond.
    let slack = 5_000;
    report.audit(&report.header(None).loss(from.as_micros() - slack, until.as_micros() + slack));
}

#[test]
fn lost_scripts_are_sent_again() {
    let trial = Trial::with(setup(ServerKind::Redis).start(), patient);
    let report = trial.run(|| {
        for _ in 0..long_or(300, 15) {
            trial.server().command(&["SCRIPT", "FLUSH"]);
            let_pass(Duration::from_millis(100));
        }
    });
    // On a shared machine, a stall of a second is accepted as the cause.
    let stood_still = trial.nodes.iter().any(|node| node.counts().timeouts > 0);
    assert!(report.away().is_none() || stood_still && !is_long(), "every decision was the store's");
    let again: u64 = trial.nodes.iter().map(|node| node.counts().no_script).sum();
    eprintln!("{} decisions, scripts sent again {again} times", report.records.len());
    assert!(again > 0, "scripts were sent again");
    report.audit(&report.header(None));
}
