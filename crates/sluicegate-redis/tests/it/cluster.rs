//! Tests of a cluster under load: a primary is killed, slots are migrated.

use std::collections::BTreeSet;
use std::time::Duration;

use sluicegate_core::{Span, Time};
use sluicegate_redis::{Event, Redis};
use sluicegate_testkit::{Cluster, ServerKind, retry_if_stalled};

use crate::fault_trial::{CLOSED, Record, Trial, assert_waits, is_long, let_pass, long_or};
use crate::harness::cluster;

/// The answers to some of the callers.
fn callers<'r>(records: impl Iterator<Item = &'r Record>) -> BTreeSet<(usize, usize)> {
    records.map(|record| (record.rule, record.key)).collect()
}

fn is_whole(node: &Redis) -> bool {
    node.health().up
}

/// Checks of a primary that is down follow their rules; the others are not affected.
fn a_primary_is_killed(kind: ServerKind) {
    let trial = Trial::patient(cluster(kind, 1));
    let (mut killed, mut given_up, mut taken_over, mut whole) =
        (Time::EPOCH, Time::EPOCH, Time::EPOCH, Time::EPOCH);
    let report = trial.run(|| {
        let_pass(Duration::from_millis(long_or(1_000, 500)));
        killed = trial.now();
        trial.server().kill(0);
        given_up = trial.wait_until_given_up(killed);
        trial.server().wait_until_taken_over(0);
        taken_over = trial.now();
        trial.wait_for("all slots are served again", is_whole);
        whole = trial.now();
        let_pass(Duration::from_millis(long_or(1_000, 500)));
    });
    eprintln!(
        "a primary of {kind:?} is killed: taken over after {:?}, all shared {:?} after that",
        Duration::from(taken_over.since(killed)),
        Duration::from(whole.since(taken_over)),
    );
    report.assert_policies();
    report.assert_bursts(3);
    if is_long() {
        let (most, all) = (Duration::from_millis(15), Duration::from_millis(100));
        assert_waits(&report.all_waits(), most, all);
    }
    let events = trial.events();
    let promoted = |event: &Event| matches!(event, Event::FailedOver { .. });
    // Nodes may follow the new primary before the other servers have agreed on it.
    let followed = events.iter().filter(|(.., event)| promoted(event)).map(|(at, ..)| *at).min();
    let replaced = followed.map_or(taken_over, |followed| followed.min(taken_over));
    let during = |record: &&Record| record.sent > given_up && record.answered() < replaced;
    let meanwhile = || report.records.iter().filter(during);
    let away = callers(meanwhile().filter(|record| !record.is_shared()));
    let shared = callers(meanwhile().filter(|record| record.is_shared()));
    assert!(!away.is_empty(), "the killed primary had callers");
    assert!(!shared.is_empty(), "others were not");
    let both: Vec<_> = away.intersection(&shared).collect();
    assert!(both.is_empty(), "{both:?} were decided with and without their server");
    // Before it was killed, and on the other servers at any time, everything was shared.
    let others = report.records.iter().filter(|record| shared.contains(&(record.rule, record.key)));
    assert_eq!(others.filter(|record| !record.is_shared()).count(), 0, "of the other slots");
    for node in 0..trial.nodes.len() {
        let own = || events.iter().filter(|(_, of, _)| *of == node);
        assert_eq!(own().filter(|(.., event)| promoted(event)).count(), 1, "{events:?}");
    }
    if is_long() {
        let known = given_up.since(killed);
        assert!(known <= Span::from_millis(250), "the server is given up after {known:?}");
        let back = whole.since(taken_over);
        assert!(back <= Span::from_secs(2), "shared again after {back:?}");
    }
    let header = report.header(Some((killed, whole)));
    report.audit(&header.loss(killed.as_micros(), whole.as_micros()));
}

#[test]
fn a_killed_primary_affects_only_its_own_callers() {
    retry_if_stalled(|| a_primary_is_killed(ServerKind::Redis));
}

#[test]
fn a_killed_valkey_primary_affects_only_its_own_callers() {
    retry_if_stalled(|| a_primary_is_killed(ServerKind::Valkey));
}

/// Moves slots from one primary to another, some of them with keys.
fn move_slots(cluster: &Cluster, count: usize) {
    let [from, to] = [0, 1];
    let mut slots: Vec<u16> = cluster.slots_of(from);
    slots.sort_by_key(|slot| cluster.keys_in_slot(*slot, from) == 0);
    for slot in slots.into_iter().take(count) {
        cluster.move_slot(slot, from, to);
        // Moving uses a processor of its own, and there are two altogether.
        let_pass(Duration::from_millis(20));
    }
}

#[test]
fn slots_are_migrated_without_effect_on_callers() {
    let trial = Trial::patient(cluster(ServerKind::Redis, 0));
    let (before, began) = (trial.nodes[0].counts(), trial.now());
    let report = trial.run(|| {
        let_pass(Duration::from_millis(500));
        move_slots(trial.server(), long_or(1_000, 60));
        // No key is left at a server that has given its slot away.
        trial.wait_until_shared();
        trial.wait_until_admitted(CLOSED);
        let_pass(Duration::from_millis(500));
    });
    let counts = trial.nodes[0].counts();
    let lasted = trial.now().since(began);
    let away = report.records.iter().filter(|record| !record.is_shared()).count();
    let (decisions, refreshed) =
        (report.records.len(), counts.map_refreshes - before.map_refreshes);
    let stalled = report.stalled;
    eprintln!(
        "{decisions} decisions in {:?}, {} redirected, {away} without the store, {refreshed} maps; \
         the machine stalled for up to {stalled:?}",
        Duration::from(lasted),
        counts.redirects - before.redirects,
    );
    let mut timeouts = 0;
    for node in &trial.nodes {
        let counts = node.counts();
        timeouts += counts.timeouts;
        eprintln!("  {} timeouts, {} slots in between", counts.timeouts, counts.slot_failures);
    }
    assert!(counts.redirects > before.redirects, "some calls were redirected");
    // Few sets time out because of a migration; the others do because the machine stalled.
    if is_long() {
        assert!(away * 10_000 <= decisions, "{away} of {decisions}; stalled for {stalled:?}");
    } else {
        assert!(away * 100 <= decisions || timeouts > 0, "{away} of {decisions} and no timeout");
    }
    assert!(refreshed <= lasted.as_secs_ceil() + 1, "{refreshed} maps in {lasted:?}");
    assert_eq!(counts.disagreements, 0);
    report.assert_bursts(if away == 0 { 1 } else { 3 });
    report.audit(&report.header(None));
}
