//! Outages, state losses and clock errors: the admissions they explain, and those they do not.

use sluicegate_audit::{
    Audit, DecisionSource, LatencyBounds, OutagePolicy, RuleSpec, TraceEntry, TraceEvent,
    TraceHeader, ViolationKind,
};
use sluicegate_core::{Limit, Span, Time};

use crate::cluster::{Cluster, NODES};
use crate::traced_run::{Case, audit, cases, header};
use sluicegate_testkit::Rng;

/// A run with an outage in its middle, and the header that declares it.
fn with_outage(case: &Case, seed: u64) -> (TraceHeader, Vec<TraceEntry>) {
    let (mut cluster, mut dice) = (Cluster::new(), Rng::new(seed));
    cluster.rush(case, &mut dice, 300, false);
    let from = cluster.now();
    cluster.rush(case, &mut dice, 300, true);
    let until = cluster.now();
    cluster.rush(case, &mut dice, 300, false);
    // Long enough for all counters to recover.
    cluster.pause(case.pulse * 100);
    cluster.rush(case, &mut dice, 100, false);
    let header = header(&case.spec).nodes(NODES).outage(from, until, OutagePolicy::Local);
    (header, cluster.entries)
}

#[test]
fn a_declared_outage_explains_admissions_within_shares() {
    for case in cases() {
        for seed in 1..=8 {
            let (header, entries) = with_outage(&case, seed);
            let findings = audit(header, &entries);
            assert!(findings.is_ok(), "{} {seed}\n{findings}", case.spec);
            let rule = &findings.rules[0];
            assert!(rule.skipped >= 300 && rule.exact >= 300, "{findings}");
        }
    }
}

#[test]
fn each_of_several_outages_explains_its_own() {
    let quota = "100/s burst 60";
    let limit = Limit::token_bucket("bucket", quota.parse().unwrap()).unwrap();
    let case = Case { limit, spec: RuleSpec::quota("token_bucket", quota), pulse: 10_000 };
    let (mut cluster, mut dice) = (Cluster::new(), Rng::new(3));
    // These nodes never charge back their admissions; otherwise fewer are allowed.
    let mut header = header(&case.spec).nodes(NODES).never_charged_back();
    for _ in 0..5 {
        cluster.rush(&case, &mut dice, 2_000, false);
        let from = cluster.now();
        cluster.rush(&case, &mut dice, 2_000, true);
        header = header.outage(from, cluster.now(), OutagePolicy::Local);
    }
    let findings = audit(header.clone(), &cluster.entries);
    assert!(findings.is_ok(), "{findings}");
    let charged_back = TraceHeader { charged_back: None, ..header.clone() };
    assert!(!audit(charged_back, &cluster.entries).is_ok());
    header.outages.truncate(1);
    assert!(!audit(header, &cluster.entries).is_ok());
}

#[test]
fn an_undeclared_outage_explains_nothing() {
    let noticed = |case: &Case| {
        (1..=8).any(|seed| {
            let (header, entries) = with_outage(case, seed);
            let findings = audit(TraceHeader { outages: Vec::new(), ..header }, &entries);
            let kind = ViolationKind::OverAdmittedInOutage;
            findings.violations.iter().any(|violation| violation.kind == kind)
        })
    };
    // The shares of a small limit are less than its capacity, so not every run exceeds it.
    let noticed = cases().iter().filter(|case| noticed(case)).count();
    assert!(noticed >= 8, "{noticed} of {}", cases().len());
}

#[test]
fn nodes_that_admit_without_a_limit_are_found() {
    for case in cases() {
        let (header, mut entries) = with_outage(&case, 5);
        for entry in entries.iter_mut().filter(|entry| entry.source == DecisionSource::Local) {
            let free = TraceEntry { allowed: true, retry_after_us: None, ..entry.clone() };
            *entry = free;
        }
        let findings = audit(header.clone(), &entries);
        let kind = ViolationKind::OverAdmittedInOutage;
        assert!(findings.violations.iter().any(|found| found.kind == kind), "{findings}");
        // A rule that fails open guarantees nothing for that time, which a note reports.
        let spec = case.spec.clone().on_store_error(OutagePolicy::Allow);
        let findings =
            audit(TraceHeader { rules: [("rule".into(), spec)].into(), ..header }, &entries);
        assert!(findings.is_ok(), "{}\n{findings}", case.spec);
        assert!(findings.notes[0].contains("no limit applies to them"), "{findings}");
    }
}

#[test]
fn a_rule_that_fails_closed_admits_nothing_in_an_outage() {
    for case in cases() {
        let (header, entries) = with_outage(&case, 6);
        let local = |entry: &&TraceEntry| entry.source == DecisionSource::Local && entry.allowed;
        let admitted = entries.iter().filter(local).count() as u64;
        let kinds = |header: TraceHeader, entries: &[TraceEntry]| {
            let findings = audit(header, entries);
            let kind = ViolationKind::NotFailedClosed;
            assert!(findings.violations.iter().all(|found| found.kind == kind), "{findings}");
            findings.broken
        };
        let spec = case.spec.clone().on_store_error(OutagePolicy::Deny);
        let rules: TraceHeader =
            TraceHeader { rules: [("rule".into(), spec)].into(), ..header.clone() };
        assert_eq!(kinds(rules.clone(), &entries), admitted, "{}", case.spec);
        let mut denied = header.clone();
        denied.outages[0].policy = OutagePolicy::Deny;
        assert_eq!(kinds(denied, &entries), admitted, "{}", case.spec);
        let entries: Vec<_> = entries.into_iter().filter(|entry| !local(&entry)).collect();
        assert_eq!(kinds(rules, &entries), 0, "{}", case.spec);
    }
}

#[test]
fn each_outage_has_its_own_policy() {
    let spec: RuleSpec = "token_bucket:1/s burst 3".parse().unwrap();
    let header = header(&spec);
    let header = header.outage(1, 5, OutagePolicy::Local).outage(10, 15, OutagePolicy::Deny);
    let at =
        |at: u64| TraceEntry::event(TraceEvent::Decision, "rule", "ann", Time::from_micros(at));
    for (time, ok) in [(1, true), (7, true), (9, true), (10, false), (15, false)] {
        assert_eq!(
            audit(header.clone(), &[at(time).by(DecisionSource::Local)]).is_ok(),
            ok,
            "{time}"
        );
    }
}

/// One node is cut off from a store that others still reach.
#[test]
fn requests_without_an_answer_may_or_may_not_be_counted() {
    let spec: RuleSpec = "token_bucket:1/s burst 3".parse().unwrap();
    let header = header(&spec.on_store_error(OutagePolicy::Deny)).outage(2, 9, OutagePolicy::Deny);
    let at =
        |at: u64| TraceEntry::event(TraceEvent::Decision, "rule", "ann", Time::from_micros(at));
    let unanswered = TraceEntry { allowed: false, ..at(2).by(DecisionSource::Policy) };
    for (remaining, ok) in [(0, true), (1, true), (2, false)] {
        let entries =
            [at(1), unanswered.clone(), TraceEntry { remaining: Some(remaining), ..at(3) }];
        let findings = audit(header.clone(), &entries);
        assert_eq!(findings.is_ok(), ok, "{remaining} remaining\n{findings}");
    }
    let refused = |retry| TraceEntry { allowed: false, retry_after_us: Some(retry), ..at(4) };
    for (retry, ok) in [(1, true), (999_997, true), (999_998, false)] {
        let entries = [at(1), unanswered.clone(), at(3), refused(retry)];
        let findings = audit(header.clone(), &entries);
        assert_eq!(findings.is_ok(), ok, "after {retry} us\n{findings}");
    }
}

#[test]
fn a_declared_loss_allows_one_more_budget_and_an_undeclared_one_does_not() {
    let mut noticed = 0;
    for case in cases() {
        let (mut cluster, mut dice) = (Cluster::new(), Rng::new(8));
        cluster.rush(&case, &mut dice, 300, false);
        let from = cluster.now() + 1;
        cluster.pause(2);
        cluster.lose();
        cluster.rush(&case, &mut dice, 300, false);
        let header = header(&case.spec).nodes(NODES);
        let findings = audit(header.clone().loss(from, from + 1), &cluster.entries);
        assert!(findings.is_ok(), "{}\n{findings}", case.spec);
        noticed += u32::from(!audit(header, &cluster.entries).is_ok());
    }
    assert!(noticed >= 8, "{noticed}");
}

#[test]
fn clocks_that_are_off_explain_as_much_as_they_are_off() {
    let rule = |error| TraceHeader {
        clock_error_us: error,
        ..header(&"token_bucket:1/s burst 3".parse().unwrap())
    };
    let at = |at: u64| TraceEntry {
        remaining: None,
        ..TraceEntry::event(
            TraceEvent::Decision,
            "rule",
            "ann",
            Time::from_micros(1_000_000_000 + at),
        )
    };
    // The fourth comes 20 ms before its second is over.
    let entries = [at(0), at(0), at(0), at(980_000)];
    assert!(!audit(rule(0), &entries).is_ok());
    assert!(!audit(rule(9_999), &entries).is_ok());
    let findings = audit(rule(10_000), &entries);
    assert!(findings.is_ok(), "{findings}");
    assert!(findings.notes[0].contains("off by 10000 us"), "{findings}");
}

#[test]
fn nodes_are_counted() {
    let (header, entries) = with_outage(&cases()[0], 1);
    let of = |nodes| audit(TraceHeader { nodes: Some(nodes), ..header.clone() }, &entries);
    let findings = of(2);
    assert_eq!(findings.violations.last().unwrap().kind, ViolationKind::TooManyNodes);
    assert!(of(9).notes[0].starts_with("3 of 9 nodes are in the trace"));
}

/// Units that were charged afterwards, refunded or reset on purpose.
#[test]
fn charges_refunds_and_resets_are_taken_into_account() {
    let spec: RuleSpec = "token_bucket:1/s burst 3".parse().unwrap();
    let decision = |at: u64, allowed, remaining: u64, retry: Option<u64>| TraceEntry {
        allowed,
        remaining: Some(remaining),
        retry_after_us: retry,
        ..TraceEntry::event(TraceEvent::Decision, "rule", "ann", Time::from_micros(at))
    };
    let event = |event, at, cost| TraceEntry {
        cost,
        ..TraceEntry::event(event, "rule", "ann", Time::from_micros(at))
    };
    let entries = [
        decision(1, true, 2, None),
        event(TraceEvent::Charge, 2, 3),
        decision(3, false, 0, Some(1_999_998)),
        event(TraceEvent::Reset, 4, 1),
        decision(5, true, 2, None),
        decision(6, true, 1, None),
        decision(7, true, 0, None),
        event(TraceEvent::Refund, 8, 2),
        decision(9, true, 1, None),
        decision(10, true, 0, None),
    ];
    let findings = audit(header(&spec), &entries);
    assert!(findings.is_ok(), "{findings}");
    for (index, entry) in entries.iter().enumerate() {
        if entry.event != TraceEvent::Decision {
            let mut entries = entries.to_vec();
            entries.remove(index);
            assert!(!audit(header(&spec), &entries).is_ok(), "without {:?}", entry.event);
        }
    }
}

#[test]
fn slow_decisions_are_found() {
    let spec: RuleSpec = "token_bucket:1000/s".parse().unwrap();
    let entry = |waited: u64| {
        let at = Time::from_micros(1_000_000 * (1 + waited));
        let entry = TraceEntry::event(TraceEvent::Decision, "rule", "ann", at);
        entry.waited(Span::from_micros(waited))
    };
    let entries: Vec<_> = (1..=1_000).map(entry).collect();
    for (p99_us, max_us, broken) in [
        (None, None, 0),
        (Some(990), Some(1_000), 0),
        (Some(989), None, 1),
        (None, Some(997), 3),
        (Some(1), Some(999), 2),
    ] {
        let bounds = LatencyBounds { p99_us, max_us };
        let mut audit = Audit::new(header(&spec)).unwrap().with_latency_bounds(bounds);
        for entry in &entries {
            audit.add(entry.clone());
        }
        let findings = audit.finish();
        assert_eq!(findings.broken, broken, "{findings}");
        assert!(findings.violations.iter().all(|v| v.kind == ViolationKind::WaitedTooLong));
    }
}

#[test]
fn unchecked_rules_are_noted() {
    let cooldown = RuleSpec { algorithm: "cooldown".to_owned(), ..RuleSpec::default() };
    let mut berlin = RuleSpec::quota("fixed_window", "5/day");
    berlin.timezone = Some("Europe/Berlin".to_owned());
    for (spec, words) in
        [(cooldown, "depends on failures"), (berlin, "only calendar windows in UTC")]
    {
        let entry = TraceEntry::event(TraceEvent::Decision, "rule", "ann", Time::from_micros(1));
        let findings = audit(header(&spec), &[entry]);
        assert!(findings.is_ok() && findings.notes[0].contains(words), "{findings}");
    }
    let findings = audit(header(&"token_bucket:1/s".parse().unwrap()), &[]);
    assert!(findings.notes[0].contains("has no entries"), "{findings}");
}
