//! Rules that are replaced hand out no second burst.

use sluicegate::Span;
use sluicegate_rules::Algorithm;

use crate::gate::{Call, Gate};
use crate::random::Random;

fn call() -> Call {
    Call::new().peer("203.0.113.9")
}

fn rule(limit: &str) -> String {
    format!("rules: [{{ name: api, key: ip, limit: {limit} }}]")
}

/// Takes all there is, again and again: what was admitted in so many steps of three seconds. Before each
/// step `change` may replace the rules.
fn taken(first: &str, steps: usize, mut change: impl FnMut(&Gate, usize)) -> usize {
    let gate = Gate::of(first);
    let mut admitted = 0;
    for step in 0..steps {
        change(&gate, step);
        admitted += gate.admitted(&call(), 10_000);
        gate.wait(Span::from_secs(3));
    }
    admitted
}

/// Every algorithm with some quotas that can be told apart.
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

/// How long is watched: within it no quota starts anew by itself.
const STEPS: usize = 10;

/// What a rule admits by itself: at once, and in the time that follows.
struct Alone {
    rules: String,
    at_once: usize,
    later: usize,
}

fn alone() -> Vec<Alone> {
    let alone = |limit: &String| {
        let rules = rule(limit);
        let at_once = taken(&rules, 1, |_, _| {});
        let later = taken(&rules, STEPS, |_, _| {}) - at_once;
        Alone { rules, at_once, later }
    };
    limits().iter().map(alone).collect()
}

/// The most that rules admit who take turns: the largest burst once, and the fastest recovery.
fn most(some: &[&Alone]) -> usize {
    let at_once = some.iter().map(|one| one.at_once).max().unwrap();
    at_once + some.iter().map(|one| one.later).max().unwrap()
}

#[test]
fn another_quota_or_algorithm_is_no_second_burst() {
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
fn going_back_and_forth_is_no_second_burst_either() {
    let alone = alone();
    let mut random = Random::new(3);
    for _ in 0..60 {
        // One algorithm and several quotas: who changes the algorithm as well starts exhausted, of a
        // capacity that may be smaller.
        let algorithm = Algorithm::ALL[random.below(6)].as_str();
        let of_it: Vec<&Alone> = alone.iter().filter(|one| one.rules.contains(algorithm)).collect();
        let some: Vec<&Alone> = (0..3).map(|_| of_it[random.below(of_it.len())]).collect();
        let admitted = taken(&some[0].rules, STEPS, |gate, step| {
            gate.replace(&some[step % some.len()].rules);
        });
        // Edited again and again it is the share used that stays, and that recovers as under the
        // fastest of them.
        let at_once = some.iter().map(|one| one.at_once).max().unwrap();
        let share =
            some.iter().map(|one| (at_once * one.later).div_ceil(one.at_once)).max().unwrap();
        let names: Vec<&String> = some.iter().map(|one| &one.rules).collect();
        assert!(admitted <= at_once + share, "{admitted} of {} with {names:?}", at_once + share);
    }
}

#[test]
fn at_one_moment_nobody_gets_more_than_the_larger_of_the_two() {
    let alone = alone();
    for before in &alone {
        for after in &alone {
            let gate = Gate::of(&before.rules);
            let first = gate.admitted(&call(), 1_000);
            gate.replace(&after.rules);
            let second = gate.admitted(&call(), 1_000);
            let change = format!("from\n{}\nto\n{}", before.rules, after.rules);
            assert!(first + second <= first.max(after.at_once), "{first} and {second}, {change}");
        }
    }
}

/// What is admitted at one moment under one list of windows and then under another, and what the
/// second admits by itself.
fn across(before: &str, after: &str) -> (usize, usize, usize) {
    let gate = Gate::of(&rule(before));
    let first = gate.admitted(&call(), 1_000);
    gate.replace(&rule(after));
    let second = gate.admitted(&call(), 1_000);
    (first, second, Gate::of(&rule(after)).admitted(&call(), 1_000))
}

#[test]
fn windows_in_another_order_or_fewer_or_shorter_ones_are_no_second_burst() {
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
fn a_longer_window_takes_the_place_of_the_longest_which_starts_anew_once() {
    for (before, after, anew) in
        [("[20/min]", "[20/min, 100/day]", 20), ("[5/s, 20/min]", "[5/s, 20/min, 100/day]", 5)]
    {
        let (first, second, _) = across(before, after);
        assert_eq!((first, second), (anew, anew), "{before} -> {after}");
    }
    // What it counts from then on includes what was used before.
    let gate = Gate::of(&rule("20/min"));
    gate.admit(20, &call());
    gate.replace(&rule("[20/min, 30/day]"));
    assert_eq!(gate.admitted(&call(), 1_000), 10);
}

#[test]
fn rules_that_stay_the_same_keep_their_counters_among_others() {
    let gate = Gate::of(&rule("20/min"));
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
fn a_soft_limit_that_comes_later_is_no_second_limit() {
    let gate = Gate::of(&rule("20/min"));
    assert_eq!(gate.admitted(&call(), 1_000), 20);
    gate.replace("rules: [{ name: api, key: ip, limit: 20/min, soft: { extra: 3 } }]");
    assert_eq!(gate.admitted(&call(), 1_000), 3);
    gate.replace(&rule("20/min"));
    gate.refuse(&call());
    gate.replace("rules: [{ name: api, key: ip, limit: 20/min, soft: { extra: 3, delay: 1s } }]");
    gate.refuse(&call());
}
