//! The server is paused, unreachable, killed, or all of it again and again.

use std::time::Duration;

use sluicegate::By;
use sluicegate_audit::OnStoreError;
use sluicegate_core::{Span, Time};
use sluicegate_testkit::Kind;

use crate::trial::{
    CLOSED, Report, Rules, Trial, assert_waits, is_long, let_pass, long_or, resident,
};

/// How a server goes away, and comes back.
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

/// When a fault began, was there, was known to all nodes, ended, and decisions were shared again.
struct Course {
    began: Time,
    there: Time,
    given_up: Time,
    ended: Time,
    shared: Time,
}

fn outage(fault: Fault, kind: Kind) {
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
        course = Some(Course { began, there, given_up, ended, shared: trial.now() });
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

/// The store answers nothing while a fault lasts, and what nodes remember counts until they know.
fn assert_nothing_shared(report: &Report, course: &Course) {
    let answered = report.records.iter().filter(|record| record.answered() < course.ended);
    let (mut away, mut shared) = (0, 0);
    for record in answered.filter(|record| record.asked > course.there) {
        match record.by {
            By::Share | By::Policy => away += 1,
            By::Memory if record.asked <= course.given_up => {}
            By::Store | By::Memory => shared += 1,
        }
    }
    assert!(away > 0, "somebody asked during the outage");
    assert_eq!(shared, 0, "of {away} and these");
}

fn assert_figures(report: &Report, course: &Course, grown: u64) {
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
    outage(Fault::Paused, Kind::Redis);
}

#[test]
fn a_paused_valkey_costs_a_deadline_and_a_burst() {
    outage(Fault::Paused, Kind::Valkey);
}

#[test]
fn a_silent_network_costs_a_deadline_and_a_burst() {
    outage(Fault::Silent, Kind::Redis);
}

#[test]
fn a_silent_network_to_valkey_costs_a_deadline_and_a_burst() {
    outage(Fault::Silent, Kind::Valkey);
}

#[test]
fn a_killed_server_costs_a_burst() {
    outage(Fault::Killed, Kind::Redis);
}

#[test]
fn a_killed_valkey_costs_a_burst() {
    outage(Fault::Killed, Kind::Valkey);
}

#[test]
fn a_store_that_comes_and_goes_is_no_way_around_a_limit() {
    let trial = Trial::on(Kind::Redis);
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
    // As many as for one outage: what each one adds is charged back when it is over.
    report.assert_bursts(3);
    assert_waits(&report.all_waits(), Duration::from_millis(15), Duration::from_millis(100));
    let header = Rules::header().nodes(2);
    let header = courses.into_iter().fold(header, |header, (from, until)| {
        header.outage(from.as_micros(), until.as_micros(), OnStoreError::Local)
    });
    report.audit(&header);
}
