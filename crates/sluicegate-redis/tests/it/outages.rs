//! Tests of a server that is paused, unreachable or killed, also repeatedly.

use std::time::Duration;

use sluicegate::DecidedBy;
use sluicegate_audit::OutagePolicy;
use sluicegate_core::{Span, Time};
use sluicegate_testkit::ServerKind;

use crate::fault_trial::{
    CLOSED, Report, Rules, Trial, assert_waits, is_long, let_pass, long_or, resident,
};

/// The ways in which a server fails and recovers.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Paused,
    Silent,
    Killed,
}

impl Fault {
    fn begin(self, trial: &Trial) {
        match self {
            Self::Paused => trial.server().pause(),
            Self::Silent => trial.proxy().silent(),
            Self::Killed => trial.server().kill(),
        }
    }

    fn end(self, trial: &Trial) {
        match self {
            Self::Paused => trial.server().resume(),
            Self::Silent => trial.proxy().forward(),
            Self::Killed => trial.server().restart(),
        }
    }
}

/// The times when a fault began, was complete, was noticed by all nodes, ended, and was recovered
/// from.
struct OutageTimes {
    began: Time,
    there: Time,
    given_up: Time,
    ended: Time,
    shared: Time,
}

fn outage(fault: Fault, kind: ServerKind) {
    let trial = Trial::on(kind);
    let mut course = None;
    let mut grown = 0;
    let report = trial.run(|| {
        let_pass(Duration::from_millis(long_or(1_000, 300)));
        let before = resident();
        let began = trial.now();
        fault.begin(&trial);
        let there = trial.now();
        let given_up = trial.wait_until_given_up(began);
        let_pass(Duration::from_millis(long_or(15_000, 1_000)));
        grown = resident().saturating_sub(before);
        let ended = trial.now();
        fault.end(&trial);
        trial.wait_until_shared();
        course = Some(OutageTimes { began, there, given_up, ended, shared: trial.now() });
        trial.wait_until_admitted(CLOSED);
        let_pass(Duration::from_millis(long_or(1_000, 300)));
    });
    let course = course.unwrap();
    eprintln!(
        "{fault:?} on {kind:?}: back after {:?}",
        Duration::from(course.shared.since(course.ended))
    );
    eprintln!("  memory grew by {} KB", grown / 1_024);
    report.assert_policies();
    assert_nothing_shared(&report, &course);
    report.assert_bursts(3);
    assert_figures(&report, &course, grown);
    let mut header = report.header(Some((course.began, course.shared)));
    if matches!(fault, Fault::Killed) {
        header = header.loss(course.began.as_micros(), course.shared.as_micros());
    }
    report.audit(&header);
}

/// The store answers nothing during a fault, and cached states hold until nodes notice it.
fn assert_nothing_shared(report: &Report, course: &OutageTimes) {
    let answered = report.records.iter().filter(|record| record.answered() < course.ended);
    let (mut away, mut shared) = (0, 0);
    for record in answered.filter(|record| record.sent > course.there) {
        match record.by {
            DecidedBy::Share | DecidedBy::Policy => away += 1,
            DecidedBy::Memory if record.sent <= course.given_up => {}
            DecidedBy::Store | DecidedBy::Memory => shared += 1,
        }
    }
    assert!(away > 0, "there were checks during the outage");
    assert_eq!(shared, 0, "of {away} and these");
}

fn assert_figures(report: &Report, course: &OutageTimes, grown: u64) {
    let (most, all) = (Duration::from_millis(15), Duration::from_millis(100));
    assert_waits(&report.all_waits(), most, all);
    eprint!("  without the store");
    assert_waits(&report.waits((course.given_up, course.ended)), Duration::from_millis(1), all);
    if is_long() {
        let known = course.given_up.since(course.began);
        assert!(known <= Span::from_millis(250), "the server is given up after {known:?}");
        assert!(grown <= 10 << 20, "memory grew by {grown} bytes");
        let back = course.shared.since(course.ended);
        assert!(back <= Span::from_secs(2), "decisions are shared again after {back:?}");
    }
}

#[test]
fn a_paused_server_costs_a_deadline_and_a_burst() {
    outage(Fault::Paused, ServerKind::Redis);
}

#[test]
fn a_paused_valkey_costs_a_deadline_and_a_burst() {
    outage(Fault::Paused, ServerKind::Valkey);
}

#[test]
fn a_silent_network_costs_a_deadline_and_a_burst() {
    outage(Fault::Silent, ServerKind::Redis);
}

#[test]
fn a_silent_network_to_valkey_costs_a_deadline_and_a_burst() {
    outage(Fault::Silent, ServerKind::Valkey);
}

#[test]
fn a_killed_server_costs_a_burst() {
    outage(Fault::Killed, ServerKind::Redis);
}

#[test]
fn a_killed_valkey_costs_a_burst() {
    outage(Fault::Killed, ServerKind::Valkey);
}

#[test]
fn an_unstable_store_does_not_bypass_a_limit() {
    let trial = Trial::on(ServerKind::Redis);
    let mut courses = Vec::new();
    let report = trial.run(|| {
        let_pass(Duration::from_millis(500));
        for _ in 0..long_or(30, 3) {
            let began = trial.now();
            trial.proxy().refuse();
            trial.wait_until_given_up(began);
            let_pass(Duration::from_millis(long_or(1_000, 500)));
            trial.proxy().forward();
            trial.wait_until_shared();
            let_pass(Duration::from_millis(long_or(1_000, 300)));
            courses.push((began, trial.now()));
        }
        let_pass(Duration::from_millis(500));
    });
    eprintln!("flapping");
    report.assert_policies();
    // As many as for one outage: the excess of each one is charged back when it is over.
    report.assert_bursts(3);
    assert_waits(&report.all_waits(), Duration::from_millis(15), Duration::from_millis(100));
    let header = Rules::header().nodes(2);
    let header = courses.into_iter().fold(header, |header, (from, until)| {
        header.outage(from.as_micros(), until.as_micros(), OutagePolicy::Local)
    });
    report.audit(&header);
}
