//! Tests of the checker: the histories that it accepts, and those that it rejects.

mod stores;

use std::collections::BTreeSet;

use sluicegate::{
    Applied, ChargeId, Check, Limit, Operation, Receipt, Refusal, Ruling, Span, Time,
};

use self::stores::{DecisionMode, MutexStore};
use super::invocation::Invocation;
use super::{all, explain, explain_all, pool, run_round};
use crate::subject::MapStore;

const NOON: Time = Time::from_micros(1_767_268_800_000_000);

fn limit(quota: &str) -> Limit {
    Limit::token_bucket("limit", quota.parse().unwrap()).unwrap()
}

/// A call between these tickets, on a thread of its own, without an answer yet.
fn call<'a>(tickets: (u64, u64), checks: &[Check<'a>]) -> Invocation<'a> {
    let (invoked, returned) = tickets;
    Invocation {
        thread: usize::try_from(invoked).unwrap(),
        invoked,
        returned,
        between: (NOON, NOON + Span::from_secs(60)),
        checks: checks.to_vec(),
        independent: false,
        applied: Applied::by_store(Ruling::Stale, NOON),
        decisions: Vec::new(),
    }
}

/// Answers the calls in this order, as a sequential store would.
fn answer<const N: usize>(operations: &mut [Invocation<'_>], order: [usize; N]) {
    let mut state = MapStore::default();
    for index in order {
        let (applied, decisions) = operations[index].replay(&mut state);
        operations[index].applied = applied;
        operations[index].decisions = decisions;
    }
}

#[test]
fn calls_at_once_may_have_been_answered_in_any_order() {
    let one = limit("1/day");
    let take = [Check::new(&one, "key")];
    for order in [[0, 1], [1, 0]] {
        let mut operations = [call((0, 2), &take), call((1, 3), &take)];
        answer(&mut operations, order);
        assert_eq!(explain(&operations), Ok(()));
    }
}

#[test]
fn one_unit_is_not_admitted_twice() {
    let one = limit("1/day");
    let take = [Check::new(&one, "key")];
    let mut operations = [call((0, 2), &take), call((1, 3), &take)];
    answer(&mut operations, [0]);
    answer(&mut operations, [1]);
    let story = explain(&operations).unwrap_err();
    for told in [
        "   0 thread 0, tickets 0 to 2, at +0s: limit(key) take 1 -> admitted [yes 1, 0 left, ",
        "the longest beginning has 1 of 2: [0]",
        "   1 would be refused [exhausted for 1day, 0 left, fresh in 1day]",
    ] {
        assert!(story.contains(told), "{told}\n\n{story}");
    }
}

#[test]
fn a_refusal_is_no_admission() {
    let one = limit("1/day");
    let mut operations = [call((0, 1), &[Check::new(&one, "key")])];
    answer(&mut operations, [0]);
    operations[0].applied.ruling = Ruling::Refused;
    assert!(explain(&operations).is_err(), "the check was admitted");
}

#[test]
fn real_time_order_is_respected() {
    let one = limit("1/day");
    let take = [Check::new(&one, "key")];
    for (second, explained) in [((1, 3), true), ((2, 3), false)] {
        let first = if second.0 == 1 { (0, 2) } else { (0, 1) };
        let mut operations = [call(first, &take), call(second, &take)];
        answer(&mut operations, [1, 0]);
        assert_eq!(explain(&operations).is_ok(), explained, "{second:?}");
    }
}

#[test]
fn no_call_sees_half_a_set() {
    let one = limit("1/day");
    let (a, b) = (Check::new(&one, "a"), Check::new(&one, "b"));
    // While a set takes from both, another thread peeks at `a` and then at `b`.
    let calls = || {
        [
            call((0, 5), &[a, b]),
            call((1, 2), &[a.with_operation(Operation::peek())]),
            call((3, 4), &[b.with_operation(Operation::peek())]),
        ]
    };
    for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0]] {
        let mut operations = calls();
        answer(&mut operations, order);
        assert_eq!(explain(&operations), Ok(()));
    }
    let mut operations = calls();
    answer(&mut operations, [0, 1]);
    answer(&mut operations, [2]);
    assert!(explain(&operations).is_err(), "`a` was taken from and `b` was not");
}

#[test]
fn times_need_not_be_in_order() {
    let one = limit("1/s");
    let take = [Check::new(&one, "key")];
    let mut operations = [call((0, 2), &take), call((1, 3), &take)];
    operations[1].applied.now = NOON + Span::from_millis(300);
    answer(&mut operations, [1, 0]);
    assert_eq!(explain(&operations), Ok(()));
}

#[test]
fn a_store_decides_at_a_time_within_the_call() {
    let one = limit("1/s");
    let mut operations = [call((0, 1), &[Check::new(&one, "key")])];
    answer(&mut operations, [0]);
    for (earliest, latest, explained) in [(0, 0, true), (1, 5, false), (0, 3, true)] {
        let moments = [earliest, latest].map(|micros| NOON + Span::from_micros(micros));
        operations[0].between = moments.into();
        assert_eq!(explain(&operations).is_ok(), explained, "{earliest} to {latest}");
    }
    operations[0].between = (Time::EPOCH, Time::EPOCH);
    assert!(explain(&operations).unwrap_err().contains("a time that its clock did not show"));
}

#[test]
fn an_unexplainable_history_is_rejected_quickly() {
    let one = limit("1/day");
    let keys: Vec<String> = (0..12).map(|key| key.to_string()).collect();
    let mut operations: Vec<Invocation<'_>> =
        keys.iter().zip(0..).map(|(key, at)| call((at, 99), &[Check::new(&one, key)])).collect();
    // All concurrent, in any of 479 001 600 orders; and then one that contradicts them all.
    operations.push(call((100, 101), &[Check::new(&one, &keys[0])]));
    answer(&mut operations, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    answer(&mut operations, [12]);
    let story = explain(&operations).unwrap_err();
    assert!(story.contains("the longest beginning has 12 of 13"), "{story}");
}

#[test]
fn a_store_that_takes_one_step_passes() {
    all(MutexStore::making(DecisionMode::OneStep), 300);
}

#[test]
fn a_store_may_read_its_clock_before_its_step() {
    all(MutexStore::making(DecisionMode::ClockFirst), 300);
}

#[test]
fn a_store_that_reads_and_writes_in_two_steps_is_rejected() {
    let story = explain_all(MutexStore::making(DecisionMode::TwoSteps), 500).unwrap_err();
    assert!(story.contains("no order explains these answers"), "{story}");
}

#[test]
fn a_store_that_writes_a_set_in_pieces_is_rejected() {
    let story = explain_all(MutexStore::making(DecisionMode::SetsInPieces), 1_000).unwrap_err();
    assert!(story.contains("no order explains these answers"), "{story}");
}

#[test]
fn the_rounds_cover_all_operations() {
    let mut met = BTreeSet::new();
    let overlap =
        |a: &Invocation<'_>, b: &Invocation<'_>| a.invoked < b.invoked && b.invoked < a.returned;
    let played = run_round(MutexStore::making(DecisionMode::ClockFirst), 300, |_, operations| {
        let receipts = |operation: &Invocation<'_>| {
            let decisions = operation.decisions.clone().into_iter().flatten();
            decisions.filter_map(|decision| decision.receipt().map(Receipt::id))
        };
        let ids: Vec<ChargeId> = operations.iter().flat_map(receipts).collect();
        let distinct: BTreeSet<&ChargeId> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "each receipt has a name of its own");
        for operation in operations {
            met.insert(format!("{:?}", operation.applied.ruling));
            if operation.independent {
                met.insert("independent".to_owned());
            }
            for other in operations.iter().filter(|other| overlap(operation, other)) {
                met.insert("overlap".to_owned());
                let earlier = operation.applied.now < other.applied.now;
                if earlier && other.returned < operation.returned {
                    met.insert("overtaken".to_owned());
                }
            }
            for (check, decision) in operation.checks.iter().zip(&operation.decisions) {
                let ask = kind(check.operation());
                let answer = match decision {
                    None => "not asked",
                    Some(decision) => decision.refusal().map_or("allowed", Refusal::as_str),
                };
                met.insert(format!("{} {ask}", check.limit().name()));
                met.insert(format!("{ask} {answer}"));
            }
        }
        Ok::<(), ()>(())
    });
    assert_eq!(played, Ok(()));
    let limits = pool::limits();
    let each_limit = limits.iter().flat_map(|limit| {
        let settles = !limit.counts_failures();
        let asks = ["take", "charge", "refund", "reset", "rescale"]
            .into_iter()
            .chain(settles.then_some("settle"));
        asks.map(|ask| format!("{} {ask}", limit.name()))
    });
    let others = [
        "Admitted",
        "Refused",
        "independent",
        "overlap",
        "overtaken",
        "take allowed",
        "take exhausted",
        "take busy",
        "take blocked",
        "take cost_above_limit",
        "take not asked",
        "settle allowed",
        "settle spent",
        "settle lost",
        "renew allowed",
        "renew lost",
    ];
    for expected in each_limit.chain(others.map(str::to_owned)) {
        assert!(met.contains(&expected), "never met: {expected}");
    }
}

fn kind(ask: Operation) -> &'static str {
    match ask {
        Operation::Take(_) => "take",
        Operation::Charge(_) => "charge",
        Operation::Refund(_) => "refund",
        Operation::Settle { .. } => "settle",
        Operation::Renew(_) => "renew",
        Operation::Rescale { .. } => "rescale",
        Operation::Reset => "reset",
    }
}
