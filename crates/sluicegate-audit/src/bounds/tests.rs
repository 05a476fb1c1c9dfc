//! Comparison with brute force: every interval, every admission.

use sluicegate_core::{Per, Span};

use super::*;
use sluicegate_testkit::Rng;

/// 2026-01-01T00:00:00Z.
const START: u64 = 1_767_225_600_000_000;

/// Returns whether an interval that ends with the last admission exceeds the bound.
fn is_over(bound: AdmissionBound, error: u64, admitted: &[(u64, u64)]) -> bool {
    let Some((last, cost)) = admitted.last().copied() else { return false };
    let since = |from: u64| {
        let within = admitted.iter().filter(move |(at, _)| *at >= from);
        within.map(|(_, cost)| u128::from(*cost)).sum::<u128>()
    };
    let in_last = |length: u64| since((last + 1).saturating_sub(length));
    let (slack, wide) = (2 * error, |number: u64| u128::from(number));
    match bound {
        AdmissionBound::Envelope { amount, period, burst } => admitted.iter().any(|(from, _)| {
            let refilled = wide(amount) * wide(last - from + slack);
            since(*from) * wide(period) > wide(burst) * wide(period) + refilled
        }),
        AdmissionBound::Releases { amount, period, .. } => admitted.iter().any(|(from, _)| {
            (since(*from) - wide(cost)) * wide(period)
                > wide(amount) * wide(last - from + 1 + slack)
        }),
        AdmissionBound::AnySpan { amount, length } => in_last(length - slack) > wide(amount),
        AdmissionBound::TwoSpans { amount, length, window } => {
            in_last(length - slack) > wide(amount)
                || in_last(window - slack) > wide(2 * amount - u64::from(amount > 1))
        }
        AdmissionBound::Calendar { amount, per: Per::Span(span) } => {
            let start = last / span.as_micros() * span.as_micros();
            since(start) > wide(amount)
        }
        AdmissionBound::Calendar { .. } => unreachable!("no months here"),
    }
}

#[test]
fn too_much_is_found_where_brute_force_finds_it() {
    let second = Per::Span(Span::from_secs(1));
    let bounds = [
        (AdmissionBound::Envelope { amount: 7, period: 3_000, burst: 5 }, 1_000),
        (AdmissionBound::Envelope { amount: 1, period: 10, burst: 1 }, 15),
        (AdmissionBound::Envelope { amount: 5, period: 7, burst: 3 }, 3),
        (AdmissionBound::Releases { amount: 7, period: 3_000, places: 4 }, 800),
        (AdmissionBound::AnySpan { amount: 5, length: 1_000 }, 400),
        (AdmissionBound::TwoSpans { amount: 5, length: 800, window: 1_000 }, 300),
        (AdmissionBound::Calendar { amount: 5, per: second }, 300_000),
    ];
    let mut dice = Rng::new(42);
    for (bound, gap) in bounds {
        for error in [0, 3] {
            if error > 0 && matches!(bound, AdmissionBound::Calendar { .. }) {
                continue;
            }
            let mut safety = BoundChecker::new(bound, error);
            let (mut admitted, mut at, mut over) = (Vec::new(), START, 0);
            for _ in 0..600 {
                at += if dice.below(3) == 0 { 0 } else { dice.below(gap) };
                let cost = 1 + dice.below(2);
                admitted.push((at, cost));
                let expected = is_over(bound, error, &admitted);
                let interval = safety.admit(at, cost).unwrap();
                assert_eq!(interval.is_over(), expected, "{bound:?} at {at}: {interval:?}");
                assert!(interval.from <= interval.until, "{interval:?}");
                if expected {
                    over += 1;
                    admitted.pop();
                }
            }
            assert!(over > 20 && over < 580, "{bound:?}: {over} are too many or too few");
        }
    }
}

#[test]
fn a_calendar_bound_is_silent_near_an_edge() {
    let per = Per::Span(Span::from_secs(1));
    let mut calendar = BoundChecker::new(AdmissionBound::Calendar { amount: 1, per }, 10);
    for (at, covered) in [(0, false), (9, false), (10, true), (999_989, true), (999_990, false)] {
        assert_eq!(calendar.admit(START + at, 1).is_some(), covered, "{at}");
    }
}

#[test]
fn refunded_units_may_be_admitted_again() {
    let per = Per::Span(Span::from_secs(1));
    for bound in [
        AdmissionBound::Envelope { amount: 1, period: 1_000_000, burst: 3 },
        AdmissionBound::AnySpan { amount: 3, length: 1_000 },
        AdmissionBound::Calendar { amount: 3, per },
    ] {
        let over = |safety: &mut BoundChecker| safety.admit(START, 1).unwrap().is_over();
        let mut safety = BoundChecker::new(bound, 0);
        assert!((0..3).all(|_| !over(&mut safety)) && over(&mut safety), "{bound:?}");
        safety.refund(2);
        assert!((0..2).all(|_| !over(&mut safety)) && over(&mut safety), "{bound:?}");
        safety.reset();
        assert!((0..3).all(|_| !over(&mut safety)) && over(&mut safety), "{bound:?}");
        safety.refund(99);
        assert!((0..3).all(|_| !over(&mut safety)) && over(&mut safety), "{bound:?}");
    }
}

#[test]
fn each_outage_adds_a_budget_of_the_nodes_and_for_a_bucket_another_of_the_store() {
    let per = Per::Span(Span::from_secs(1));
    let bucket = AdmissionBound::Envelope { amount: 1, period: 1_000_000, burst: 3 };
    for (bound, outages, nodes, most) in [
        (bucket, 1, 2, 9),
        (bucket, 1, 5, 11),
        (bucket, 2, 2, 15),
        (bucket, 2, 5, 19),
        (AdmissionBound::Releases { amount: 1, period: 1_000_000, places: 3 }, 1, 2, 10),
        (AdmissionBound::AnySpan { amount: 3, length: 1_000 }, 1, 2, 6),
        (AdmissionBound::AnySpan { amount: 3, length: 1_000 }, 1, 7, 10),
        (AdmissionBound::AnySpan { amount: 3, length: 1_000 }, 2, 7, 10),
        (AdmissionBound::Calendar { amount: 3, per }, 2, 1, 6),
    ] {
        let mut safety = BoundChecker::new(bound, 0);
        safety.loosen(outages, nodes);
        let admitted = (0..50).filter(|_| !safety.admit(START, 1).unwrap().is_over()).count();
        assert_eq!(admitted, most, "{bound:?}, {outages} outages of {nodes}");
    }
}
