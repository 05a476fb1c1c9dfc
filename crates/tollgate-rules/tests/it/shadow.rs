//! A rule in shadow counts as it would if it were in force, and blocks nobody.

use tollgate::{Limiter, ManualClock, Memory, Span, Time};
use tollgate_rules::{Desk, Request, RuleSet, Tollgate};

/// A Sunday at midnight, with which a minute and a day begin.
const MIDNIGHT: Time = Time::from_micros(1_793_491_200_000_000);

type Gate = Tollgate<Memory<ManualClock>>;

fn gate(rules: &str) -> Gate {
    let rules = RuleSet::parse(rules).unwrap();
    Tollgate::new(Limiter::new(Memory::with_clock(ManualClock::at(MIDNIGHT))), rules).unwrap()
}

fn soft(algorithm: &str, mode: &str) -> Gate {
    gate(&format!(
        "
rules:
  - name: api
    key: ip
    limit: 100/min
    algorithm: {algorithm}
    soft: {{ extra: 10, delay: 200ms }}
    mode: {mode}
"
    ))
}

fn request() -> Request<'static> {
    Request::new().method("GET").target("/").peer([203, 0, 113, 9].into())
}

/// What one request was told: whether it may go ahead, how long it is held back, and what each check
/// said, if it was asked.
fn ask(gate: &Gate) -> (bool, Span, Vec<Option<bool>>) {
    let answer = gate.decide_now(&request(), |answer| {
        let verdict = answer.verdict.unwrap();
        let said = verdict.decisions().iter().map(|made| made.map(|made| made.is_allowed()));
        (answer.is_allowed(), verdict.delay(), said.collect())
    });
    answer.unwrap()
}

/// What is left of each limit that the request owes, in the order of the plan.
fn left(gate: &Gate) -> Vec<u64> {
    let (rules, mut desk) = (gate.rules(), Desk::new());
    let request = request();
    let planned = rules.plan(gate.directory(), &request, MIDNIGHT, &mut desk);
    let checks = planned.plan().checks().iter();
    let peek = checks.map(|check| gate.limiter().peek(check.limit(), check.key()).now());
    peek.map(|decision| decision.unwrap().remaining()).collect()
}

const ALGORITHMS: [&str; 5] =
    ["token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"];

#[test]
fn a_soft_rule_in_shadow_admits_by_its_limit_then_by_what_is_beyond_it_and_blocks_nobody() {
    for algorithm in ALGORITHMS {
        let gate = soft(algorithm, "shadow");
        for number in 1..=130_u64 {
            let said = match number {
                1..=100 => [Some(true), None],
                101..=110 => [Some(false), Some(true)],
                _ => [Some(false), Some(false)],
            };
            let expected = (true, Span::ZERO, said.to_vec());
            assert_eq!(ask(&gate), expected, "request {number} of a {algorithm}");
            let counted = [100_u64.saturating_sub(number), 110_u64.saturating_sub(number).min(10)];
            assert_eq!(left(&gate), counted, "after request {number} of a {algorithm}");
        }
    }
}

#[test]
fn a_soft_rule_in_shadow_counts_what_it_would_in_force() {
    for algorithm in ALGORITHMS {
        let (shadow, force) = (soft(algorithm, "shadow"), soft(algorithm, "enforce"));
        for number in 1..=130 {
            let ((goes, held_back, watched), (admitted, delay, said)) = (ask(&shadow), ask(&force));
            assert_eq!(watched, said, "request {number} of a {algorithm}");
            assert_eq!(left(&shadow), left(&force), "after request {number} of a {algorithm}");
            assert_eq!((goes, held_back), (true, Span::ZERO));
            let slow = (101..=110).contains(&number);
            let expected = if slow { Span::from_millis(200) } else { Span::ZERO };
            assert_eq!((admitted, delay), (number <= 110, expected), "request {number}");
        }
    }
}

#[test]
fn a_soft_shadow_counts_nothing_of_a_request_that_another_rule_refuses() {
    let gate = gate(
        "
rules:
  - { name: candidate, key: ip, limit: 1/min, soft: { extra: 5 }, mode: shadow }
  - { name: api, key: ip, limit: 3/min }
",
    );
    let allowed: Vec<bool> = (0..6).map(|_| ask(&gate).0).collect();
    assert_eq!(allowed, [true, true, true, false, false, false]);
    assert_eq!(left(&gate), [0, 3, 0], "one by the limit, two beyond it, none of the refused");
}
