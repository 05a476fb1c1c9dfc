//! Tests of a failover by sentinels: the primary is killed, or the failover is requested.

use std::time::Duration;

use sluicegate_core::{Span, Time};
use sluicegate_redis::{Event, Redis};
use sluicegate_testkit::{PATIENCE, Sentinels, Server, ServerKind, wait_until};

use crate::fault_trial::{
    CLOSED, NODES, Record, Report, Trial, assert_waits, is_long, let_pass, long_or,
};
use crate::harness::{USER, sentinels};

/// Whether a node shares its decisions on this data server.
pub(crate) fn is_on(node: &Redis, group: &Sentinels, server: usize) -> bool {
    let health = node.health();
    let address = format!("127.0.0.1:{}", group.known_port(server));
    health.up && health.parts.first().is_some_and(|part| part.address == address)
}

/// Waits until all nodes use the primary. It may differ from the one named last, because sentinels
/// sometimes consider a new primary down and promote another.
pub(crate) fn wait_until_all_on_primary(trial: &Trial<Sentinels>) {
    let group = trial.server();
    trial.wait_for("all are on the primary", |node| is_on(node, group, group.primary()));
}

/// The times when a primary was killed, marked down by all nodes, replaced, and when all nodes used
/// the new one.
struct FailoverTimes {
    killed: Time,
    given_up: Time,
    named: Time,
    shared: Time,
    /// Whether the sentinels promoted yet another primary.
    again: bool,
}

fn killed_primary(kind: ServerKind) {
    let trial = Trial::straight(sentinels(kind));
    let group = trial.server();
    let mut course = None;
    let report = trial.run(|| {
        let_pass(Duration::from_millis(long_or(5_000, 500)));
        let from = group.primary();
        let killed = trial.now();
        group.servers()[from].kill();
        let given_up = trial.wait_until_given_up(killed);
        let to = group.wait_until_switched(from);
        let named = trial.now();
        trial.wait_for("all are on the new primary", |node| is_on(node, group, to));
        let shared = trial.now();
        trial.wait_until_admitted(CLOSED);
        let_pass(Duration::from_millis(long_or(10_000, 500)));
        let again = group.primary() != to;
        course = Some(FailoverTimes { killed, given_up, named, shared, again });
        wait_until_all_on_primary(&trial);
        if !again {
            assert_reported_once(&trial, from, to);
        }
    });
    let course = course.unwrap();
    let (back, all) = (course.shared.since(course.named), course.shared.since(course.killed));
    eprintln!(
        "killed a primary of {kind:?}: shared {:?} after the switch, {:?} in all",
        Duration::from(back),
        Duration::from(all)
    );
    report.assert_policies();
    assert_nothing_shared(&trial, &report, &course);
    report.assert_bursts(if course.again { 4 } else { 3 });
    assert_waits(&report.all_waits(), Duration::from_millis(15), Duration::from_millis(100));
    eprint!("  without the store");
    let without = (course.given_up, course.named);
    assert_waits(&report.waits(without), Duration::from_millis(15), Duration::from_millis(100));
    if is_long() {
        let known = course.given_up.since(course.killed);
        assert!(known <= Span::from_millis(250), "the primary is given up after {known:?}");
        assert!(back <= Span::from_secs(1), "shared {back:?} after the switch");
        assert!(all <= Span::from_secs(5), "shared {all:?} after the primary was gone");
    }
    let header = report.header(Some((course.killed, course.shared)));
    // Charges that the old primary had not replicated.
    let until_us = header.outages[0].until_us;
    report.audit(&header.loss(course.killed.as_micros(), until_us));
}

/// Each node reports the new primary once.
fn assert_reported_once(trial: &Trial<Sentinels>, from: usize, to: usize) {
    let [from, to] = [from, to].map(|server| trial.server().known_port(server));
    let [from, to] = [from, to].map(|port| format!("127.0.0.1:{port}"));
    let expected = Event::FailedOver { from, to };
    for node in 0..NODES {
        let events = trial.events().into_iter().filter(|(_, by, _)| *by == node);
        let events: Vec<Event> = events.map(|(.., event)| event).collect();
        let moves = events.iter().filter(|event| matches!(event, Event::FailedOver { .. }));
        assert_eq!(moves.collect::<Vec<_>>(), [&expected], "{events:#?}");
        assert_eq!(trial.nodes[node].counts().failovers, 1);
    }
}

/// Between two primaries no server is available.
fn assert_nothing_shared(trial: &Trial<Sentinels>, report: &Report, course: &FailoverTimes) {
    // A node reports the new primary right before it uses it.
    let first = |node: usize| {
        let events = trial.events().into_iter().filter(|(_, by, _)| *by == node);
        events
            .filter(|(.., event)| matches!(event, Event::FailedOver { .. }))
            .map(|(at, ..)| at)
            .min()
    };
    let followed: Vec<_> = (0..NODES).map(|node| first(node).unwrap_or(course.shared)).collect();
    let meanwhile = report.records.iter().filter(|record| {
        record.sent > course.given_up && record.answered() < followed[record.node]
    });
    let (shared, away): (Vec<&Record>, Vec<&Record>) =
        meanwhile.partition(|record| record.is_shared());
    assert!(!away.is_empty(), "there were checks meanwhile");
    assert_eq!(shared.len(), 0, "of {} and these", away.len());
}

#[test]
fn a_killed_primary_costs_a_deadline_and_a_burst() {
    killed_primary(ServerKind::Redis);
}

#[test]
fn a_killed_primary_of_valkey_costs_a_deadline_and_a_burst() {
    killed_primary(ServerKind::Valkey);
}

#[test]
fn repeated_failovers_are_followed_and_leave_nothing_behind() {
    let trial = Trial::straight(sentinels(ServerKind::Redis));
    let group = trial.server();
    let mut slowest = Span::ZERO;
    let mut rounds = Vec::new();
    let report = trial.run(|| {
        for round in 0..long_or(100, 4) {
            let began = trial.now();
            let is_killed = round % 2 == 0;
            let from = if is_killed { group.kill_primary() } else { group.fail_over() };
            let to = group.wait_until_switched(from);
            let named = trial.now();
            trial.wait_for("all are on the new primary", |node| is_on(node, group, to));
            let shared = trial.now();
            slowest = slowest.max(shared.since(named));
            rounds.push((began, shared));
            if is_killed {
                group.servers()[from].restart();
            }
            group.wait_until_settled();
            wait_until_all_on_primary(&trial);
        }
    });
    eprintln!(
        "{} failovers, {} decisions: all on the new primary within {:?}",
        rounds.len(),
        report.records.len(),
        Duration::from(slowest)
    );
    assert!(!is_long() || slowest <= Span::from_secs(3), "{slowest:?} after a switch");
    report.assert_policies();
    report.report_long_waits(Span::from_millis(100));
    assert_waits(&report.all_waits(), Duration::from_millis(15), Duration::from_millis(100));
    assert_nothing_left(&trial);
}

/// No call waits, and all open connections are in use.
fn assert_nothing_left(trial: &Trial<Sentinels>) {
    let group = trial.server();
    assert!(trial.nodes.iter().all(|node| node.counts().in_flight == 0), "a call waits");
    assert!(trial.nodes.iter().all(|node| node.counts().disagreements == 0));
    let clients = |server: &Server, are: &[&str]| {
        let listed = server.command(&["CLIENT", "LIST"]).text();
        let is_one = |line: &&str| are.iter().all(|is| line.split(' ').any(|word| word == *is));
        listed.lines().filter(is_one).count()
    };
    let (primary, user) = (group.primary(), format!("user={USER}"));
    wait_until("each node is connected to the primary and nowhere else", PATIENCE, || {
        let servers = group.servers().iter().enumerate().filter(|(_, one)| one.is_running());
        servers.into_iter().all(|(index, server)| {
            let nodes = if index == primary { NODES } else { 0 };
            // One connection is subscribed; there may be another one for strict rules.
            let (listening, all) = (clients(server, &[&user, "sub=1"]), clients(server, &[&user]));
            listening == nodes && all <= 2 * nodes
        })
    });
    // No other connection is subscribed to a sentinel.
    let listening = group.sentinels().iter().map(|sentinel| clients(sentinel, &["sub=1"]));
    assert_eq!(listening.collect::<Vec<_>>(), [NODES; 3], "each node listens to each sentinel");
}
