//! Tests that replaced rules grant no second burst.

use sluicegate::Algorithm;
use sluicegate::Span;

use crate::harness::{Call, TestLimiter};
use crate::random::Random;

fn call() -> Call {
    Call::new().peer("203.0.113.9")
}

fn rule(limit: &str) -> String {
    format!("rules: [{{ name: api, key: ip, limit: {limit} }}]")
}

/// Takes all available units in each of `steps` steps of three seconds; returns the units admitted.
/// Before each step `change` may replace the rules.
fn taken(first: &str, steps: usize, mut change: impl FnMut(&TestLimiter, usize)) -> usize {
    let gate = TestLimiter::of(first);
    let mut admitted = 0;
    for step in 0..steps {
        change(&gate, step);
        admitted += gate.admitted(&call(), 10_000);
        gate.wait(Span::from_secs(3));
    }
    admitted
}

/// Every algorithm with several distinct quotas.
fn limits() -> Vec<String> {
    let mut limits = Vec::new();
    for algorithm in Algorithm::ALL.map(Algorithm::as_str) {
        for quota in ["20/min", "90/2min"] {
            limits.push(format!("{{ quota: {quota}, algorithm: {algorithm} }}"));
        }
    }
    limits.push("{ quota: 60/min, algorithm: sliding_window, slices: 6, strict: true }".to_owned());
    limits.push("{ quota: 20/min burst 60, algorithm: token_bucket }".to_owned());
    limits
}

/// The observed time, within which no quota resets by itself.
const STEPS: usize = 10;

/// The units that a rule admits alone: at once, and in the following time.
struct AdmittedUnits {
    rules: String,
    at_once: usize,
    later: usize,
}

fn alone() -> Vec<AdmittedUnits> {
    let alone = |limit: &String| {
        let rules = rule(limit);
        let at_once = taken(&rules, 1, |_, _| {});
        let later = taken(&rules, STEPS, |_, _| {}) - at_once;
        AdmittedUnits { rules, at_once, later }
    };
    limits().iter().map(alone).collect()
}

/// The maximum that alternating rules admit: the largest burst once, and the fastest recovery.
fn most(some: &[&AdmittedUnits]) -> usize {
    let at_once = some.iter().map(|one| one.at_once).max().unwrap();
    at_once + some.iter().map(|one| one.later).max().unwrap()
}

#[test]
fn a_new_quota_or_algorithm_grants_no_second_burst() {
    let alone = alone();
    for before in &alone {
        for after in &alone {
            let admitted = taken(&before.rules, STEPS, |gate, step| {
                if step == STEPS / 2 {
                    gate.replace(&after.rules);
                }
            });
            let most = most(&[before, after]);
            let change = format!("from\n{}\nto\n{}", before.rules, after.rules);
            assert!(admitted <= most, "{admitted} of {most}, {change}");
        }
    }
}

#[test]
fn alternating_rules_grant_no_second_burst() {
    let alone = alone();
    let mut random = Random::new(3);
    for _ in 0..60 {
        // One algorithm and several quotas: a change of algorithm also starts exhausted, of a
        // capacity that may be smaller.
        let algorithm = Algorithm::ALL[random.below(6)].as_str();
        let of_it: Vec<&AdmittedUnits> =
            alone.iter().filter(|one| one.rules.contains(algorithm)).collect();
        let some: Vec<&AdmittedUnits> = (0..3).map(|_| of_it[random.below(of_it.len())]).collect();
        let admitted = taken(&some[0].rules, STEPS, |gate, step| {
            gate.replace(&some[step % some.len()].rules);
        });
        // After repeated edits the used fraction stays, and recovers like under the
        // fastest of them.
        let at_once = some.iter().map(|one| one.at_once).max().unwrap();
        let share =
            some.iter().map(|one| (at_once * one.later).div_ceil(one.at_once)).max().unwrap();
        let names: Vec<&String> = some.iter().map(|one| &one.rules).collect();
        assert!(admitted <= at_once + share, "{admitted} of {} with {names:?}", at_once + share);
    }
}

#[test]
fn an_edit_grants_at_most_the_larger_burst_at_one_moment() {
    let alone = alone();
    for before in &alone {
        for after in &alone {
            let gate = TestLimiter::of(&before.rules);
            let first = gate.admitted(&call(), 1_000);
            gate.replace(&after.rules);
            let second = gate.admitted(&call(), 1_000);
            let change = format!("from\n{}\nto\n{}", before.rules, after.rules);
            assert!(first + second <= first.max(after.at_once), "{first} and {second}, {change}");
        }
    }
}

/// The units admitted at one moment under one list of windows and then under another, and the
/// units that the second admits alone.
fn across(before: &str, after: &str) -> (usize, usize, usize) {
    let gate = TestLimiter::of(&rule(before));
    let first = gate.admitted(&call(), 1_000);
    gate.replace(&rule(after));
    let second = gate.admitted(&call(), 1_000);
    (first, second, TestLimiter::of(&rule(after)).admitted(&call(), 1_000))
}

#[test]
fn reordered_removed_or_shorter_windows_grant_no_second_burst() {
    let lists = [
        "[100/day]",
        "[20/min, 100/day]",
        "[100/day, 20/min]",
        "[5/s, 20/min, 100/day]",
        "[100/day, 5/s, 20/min]",
        "[{ quota: 20/min, algorithm: sliding_log }, 100/day]",
        "[20/min, { quota: 100/day, algorithm: fixed_window }]",
    ];
    for before in lists {
        for after in lists {
            let (first, second, fresh) = across(before, after);
            assert!(
                first + second <= first.max(fresh),
                "{before} -> {after}: {first} and {second}"
            );
        }
    }
}

#[test]
fn a_longer_window_replaces_the_longest_and_restarts_it_once() {
    for (before, after, anew) in
        [("[20/min]", "[20/min, 100/day]", 20), ("[5/s, 20/min]", "[5/s, 20/min, 100/day]", 5)]
    {
        let (first, second, _) = across(before, after);
        assert_eq!((first, second), (anew, anew), "{before} -> {after}");
    }
    // Its count includes earlier usage.
    let gate = TestLimiter::of(&rule("20/min"));
    gate.admit(20, &call());
    gate.replace(&rule("[20/min, 30/day]"));
    assert_eq!(gate.admitted(&call(), 1_000), 10);
}

#[test]
fn rules_that_stay_the_same_keep_their_counters_among_others() {
    let gate = TestLimiter::of(&rule("20/min"));
    gate.admit(15, &call());
    gate.replace(
        "
rules:
  - { name: first, key: ip, limit: 1000/min }
  - { name: api, key: ip, limit: 20/min, match: { not: { path: /health } } }
",
    );
    assert_eq!(gate.admitted(&call(), 1_000), 5);
}

#[test]
fn adding_a_soft_limit_grants_no_second_burst() {
    let gate = TestLimiter::of(&rule("20/min"));
    assert_eq!(gate.admitted(&call(), 1_000), 20);
    gate.replace("rules: [{ name: api, key: ip, limit: 20/min, soft: { extra: 3 } }]");
    assert_eq!(gate.admitted(&call(), 1_000), 3);
    gate.replace(&rule("20/min"));
    gate.refuse(&call());
    gate.replace("rules: [{ name: api, key: ip, limit: 20/min, soft: { extra: 3, delay: 1s } }]");
    gate.refuse(&call());
}
