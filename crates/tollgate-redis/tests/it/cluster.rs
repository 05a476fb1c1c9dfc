//! A cluster under load: a primary is killed, slots are moved.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_core::{Span, Time};
use tollgate_redis::{Event, Redis};
use tollgate_testbed::{Cluster, Kind};

use crate::stage::cluster;
use crate::trial::{Record, Trial, Watchman, assert_waits, is_long, let_pass, long_or};

/// So long after a server was killed everybody knows of it.
const GIVEN_UP: Span = Span::from_millis(250);

/// The callers of some answers.
fn callers<'r>(records: impl Iterator<Item = &'r Record>) -> BTreeSet<(usize, usize)> {
    records.map(|record| (record.rule, record.key)).collect()
}

fn is_whole(node: &Redis) -> bool {
    node.health().up
}

/// Those of a primary that is gone go by what their rules say; the others do not notice.
fn a_primary_is_killed(kind: Kind) {
    let trial = Trial::straight(cluster(kind, 1));
    let (mut killed, mut taken_over, mut whole) = (Time::EPOCH, Time::EPOCH, Time::EPOCH);
    let report = trial.run(|| {
        let_pass(Duration::from_secs(1));
        killed = trial.now();
        trial.server().kill(0);
        trial.server().wait_until_taken_over(0);
        taken_over = trial.now();
        trial.wait_for("all slots are served again", is_whole);
        whole = trial.now();
        let_pass(Duration::from_secs(1));
    });
    eprintln!(
        "a primary of {kind:?} is killed: taken over after {:?}, all shared {:?} after that",
        Duration::from(taken_over.since(killed)),
        Duration::from(whole.since(taken_over)),
    );
    report.assert_policies();
    report.assert_bursts(3);
    let (most, all) = (Duration::from_millis(15), Duration::from_millis(100));
    assert_waits(&report.all_waits(), most, all);
    let during =
        |record: &&Record| record.asked > killed + GIVEN_UP && record.answered() < taken_over;
    let meanwhile = || report.records.iter().filter(during);
    let away = callers(meanwhile().filter(|record| !record.is_shared()));
    let shared = callers(meanwhile().filter(|record| record.is_shared()));
    assert!(!away.is_empty(), "somebody was a caller of the killed one");
    assert!(!shared.is_empty(), "others were not");
    let both: Vec<_> = away.intersection(&shared).collect();
    assert!(both.is_empty(), "{both:?} were decided with and without their server");
    // Before it was killed, and by the others at any time, everything was shared.
    let others = report.records.iter().filter(|record| shared.contains(&(record.rule, record.key)));
    assert_eq!(others.filter(|record| !record.is_shared()).count(), 0, "of the other slots");
    let told = trial.told();
    let promoted = |event: &Event| matches!(event, Event::FailedOver { .. });
    for node in 0..trial.nodes.len() {
        let own = || told.iter().filter(|(_, of, _)| *of == node);
        assert_eq!(own().filter(|(.., event)| promoted(event)).count(), 1, "{told:?}");
    }
    if is_long() {
        let back = whole.since(taken_over);
        assert!(back <= Span::from_secs(2), "shared again after {back:?}");
    }
    let header = report.header(Some((killed, whole)));
    report.audit(&header.loss(killed.as_micros(), whole.as_micros()));
}

#[test]
fn a_killed_primary_takes_only_its_own_callers_along() {
    a_primary_is_killed(Kind::Redis);
}

#[test]
fn a_killed_primary_of_valkey_takes_only_its_own_callers_along() {
    a_primary_is_killed(Kind::Valkey);
}

/// Moves slots from one primary to another, those with keys in them among them.
fn move_slots(cluster: &Cluster, count: usize) {
    let [from, to] = [0, 1];
    let mut slots: Vec<u16> = cluster.slots_of(from);
    slots.sort_by_key(|slot| cluster.keys_in_slot(*slot, from) == 0);
    for slot in slots.into_iter().take(count) {
        cluster.move_slot(slot, from, to);
        // Moving takes a processor of its own; there are two for everybody.
        let_pass(Duration::from_millis(20));
    }
}

#[test]
fn slots_are_moved_and_nobody_notices() {
    let trial = Trial::straight(cluster(Kind::Redis, 0));
    let (before, began) = (trial.nodes[0].counts(), trial.now());
    let watchman = Watchman::begin();
    let report = trial.run(|| {
        let_pass(Duration::from_millis(500));
        move_slots(trial.server(), long_or(1_000, 150));
        let_pass(Duration::from_millis(500));
    });
    let (lasted, stood_still) = (trial.now().since(began), watchman.end());
    let counts = trial.nodes[0].counts();
    let away = report.records.iter().filter(|record| !record.is_shared()).count();
    let (asked, refreshed) = (report.records.len(), counts.map_refreshes - before.map_refreshes);
    eprintln!(
        "{asked} decisions in {:?}, {} sent on, {away} without the store, {refreshed} maps; \
         the machine stood still for up to {stood_still:?}",
        Duration::from(lasted),
        counts.redirects - before.redirects,
    );
    for node in &trial.nodes {
        let counts = node.counts();
        eprintln!("  {} timeouts, {} slots in between", counts.timeouts, counts.slot_failures);
    }
    assert!(counts.redirects > before.redirects, "somebody met a slot that was moved");
    assert!(
        away * 10_000 <= asked,
        "{away} of {asked}; the machine stood still for {stood_still:?}"
    );
    assert!(refreshed <= lasted.as_secs_ceil() + 1, "{refreshed} maps in {lasted:?}");
    assert_eq!(counts.disagreements, 0);
    report.assert_bursts(1);
    report.audit(&report.header(None));
}
