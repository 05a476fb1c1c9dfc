//! Tests of wrong clocks: the server's, or a node's.

use std::time::Duration;

use sluicegate_core::Span;
use sluicegate_testkit::{ServerKind, retry_if_stalled};

use crate::child_node::{Child, ChildTask};
use crate::fault_trial::{HOT, Trial, is_long, let_pass, long_or, patient};
use crate::harness::{TestBed, setup};

fn moved(kind: ServerKind, milliseconds: i64) {
    let trial = Trial::with(setup(kind).movable_clock().start(), patient);
    let mut moved = None;
    let report = trial.run(|| {
        let_pass(long_or(Duration::from_secs(5), Duration::from_millis(700)));
        let before = trial.now();
        trial.server().shift_clock(milliseconds);
        moved = Some((before, trial.now()));
        // A caller that is locked out would be so for an hour.
        trial.wait_until_admitted(HOT);
        trial.wait_until_admitted(HOT);
        let_pass(long_or(Duration::from_secs(5), Duration::from_millis(500)));
    });
    let (_, moved) = moved.unwrap();
    report.assert_policies();
    // At most one burst for each key, on top of the regular one.
    report.assert_bursts(if report.away().is_none() { 2 } else { 3 });
    let mut admitted: Vec<_> = report
        .records
        .iter()
        .filter(|record| record.rule == HOT && record.allowed && record.sent > moved)
        .map(|record| record.sent)
        .collect();
    admitted.sort_unstable();
    let first = admitted.first().expect("a caller is admitted after it").since(moved);
    let gap = admitted.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or(first);
    eprintln!("{kind:?} moved by {milliseconds} ms: locked out for {:?}", first.max(gap));
    // B/r is half a second, so the bound is a second.
    assert!(!is_long() || first.max(gap) <= Span::from_millis(1_050), "{first:?}, {gap:?}");
}

#[test]
fn a_server_clock_set_ahead_locks_no_caller_out() {
    moved(ServerKind::Redis, 3_600_000);
}

#[test]
fn a_server_clock_set_back_locks_no_caller_out() {
    moved(ServerKind::Redis, -3_600_000);
}

#[test]
fn a_node_with_a_wrong_clock_decides_like_others() {
    retry_if_stalled(wrong_clocks);
}

fn wrong_clocks() {
    let stage = TestBed::on(ServerKind::Redis);
    let mut said = Vec::new();
    for shift in ["-3600s", "+0s", "+3600s"] {
        let key = format!("caller of {shift}");
        let task = ChildTask::Decide { key: &key };
        said.push(Child::start(&stage.server.url(), task, Some(shift)).said());
    }
    assert!(said[1].contains("token true 9 store"), "{}", said[1]);
    assert_eq!(said[0], said[1], "an hour behind");
    assert_eq!(said[2], said[1], "an hour ahead");
}
