//! The server is paused, unreachable, killed, or all of it again and again.

use std::time::Duration;

use tollgate_audit::OnStoreError;
use tollgate_core::{Outage, Span, Time};
use tollgate_testbed::Kind;

use crate::trial::{Report, Rules, Trial, assert_waits, is_long, let_pass, long_or, resident};

/// So long after a fault began everybody knows of it.
const GIVEN_UP: Span = Span::from_millis(250);

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

/// When a fault began, when it ended, and when decisions were shared again.
struct Course {
    began: Time,
    ended: Time,
    shared: Time,
}

fn outage(fault: Fault, kind: Kind) {
    let trial = Trial::on(kind);
    let mut course = None;
    let mut grown = 0;
    let report = trial.run(|| {
        let_pass(Duration::from_secs(1));
        let before = resident();
        let began = trial.now();
        fault.begin(&trial);
        let_pass(long_or(Duration::from_secs(15), Duration::from_millis(1_500)));
        grown = resident().saturating_sub(before);
        let ended = trial.now();
        fault.end(&trial);
        trial.wait_until_shared();
        course = Some(Course { began, ended, shared: trial.now() });
        let_pass(Duration::from_secs(1));
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
    let allowed = |record: &&crate::trial::Record| {
        record.asked > course.shared && Rules::outage(record.rule) == Outage::Deny && record.allowed
    };
    assert!(report.records.iter().any(|record| allowed(&record)), "it is decided again");
}

/// Once the store is given up nobody can have asked it.
fn assert_nothing_shared(report: &Report, course: &Course) {
    let given_up = course.began + GIVEN_UP;
    let meanwhile = report
        .records
        .iter()
        .filter(|record| record.asked > given_up && record.answered() < course.ended);
    let (mut away, mut shared) = (0, 0);
    for record in meanwhile {
        *(if record.is_shared() { &mut shared } else { &mut away }) += 1;
    }
    assert!(away > 0, "somebody asked during the outage");
    assert_eq!(shared, 0, "of {away} and these");
}

fn assert_figures(report: &Report, course: &Course, grown: u64) {
    let (most, all) = (Duration::from_millis(15), Duration::from_millis(100));
    assert_waits(&report.all_waits(), most, all);
    let given_up = course.began + GIVEN_UP;
    eprint!("  without the store");
    assert_waits(&report.waits((given_up, course.ended)), Duration::from_millis(1), all);
    if is_long() {
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
            let_pass(Duration::from_secs(1));
            trial.proxy().forward();
            let_pass(Duration::from_secs(1));
            courses.push((began, trial.now()));
        }
        trial.wait_until_shared();
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
