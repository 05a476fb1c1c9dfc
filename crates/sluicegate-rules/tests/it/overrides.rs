//! Tests of overrides, allow-lists and block-lists.

use sluicegate::{Span, Time};

use crate::harness::{Call, NOVEMBER, PlanResult, TestLimiter};

fn user(name: &str) -> Call {
    Call::to("GET", "/").header("x-user", name).peer("203.0.113.9")
}

fn with(more: &str) -> String {
    format!(
        "
identify:
  user: {{ header: x-user }}
  key: {{ header: x-api-key }}
rules:
  - {{ name: api, key: user, limit: 2/min }}
  - {{ name: search, key: user, limit: 10/min, match: {{ path: /search }} }}
{more}
"
    )
}

fn hours(hours: u64) -> Time {
    NOVEMBER + Span::from_secs(hours * 3_600)
}

fn before(time: Time) -> Time {
    Time::from_micros(time.as_micros() - 1)
}

#[test]
fn an_override_grants_no_second_burst() {
    let gate = TestLimiter::of(&with(
        "overrides: [{ caller: { user: ann }, rule: api, limit: 2/min burst 2, from: '2026-11-01T10:00:00Z' }]",
    ));
    gate.set(before(hours(10)));
    assert_eq!(gate.admitted(&user("ann"), 20), 2);
    gate.set(hours(10));
    gate.refuse(&user("ann"));
}

#[test]
fn a_secret_caller_is_found_by_its_digest() {
    let gate = TestLimiter::of(&with(
        "
overrides: [{ caller: { key: k-1 }, rule: api, limit: 7/min }]
block: [{ key: k-2 }]
",
    ));
    assert_eq!(gate.admitted(&user("ann").header("x-api-key", "k-1"), 20), 7);
    assert_eq!(gate.ask(&user("ann").header("x-api-key", "k-2")).outcome, PlanResult::Blocked);
}

#[test]
fn slots_of_an_override_can_be_released() {
    let gate = TestLimiter::of(&with(
        "overrides: [{ caller: { user: ann }, rule: api, limit: { concurrent: 1 } }]",
    ));
    let slot = gate.admit(1, &user("ann")).slot.unwrap();
    gate.refuse(&user("ann"));
    assert_eq!(gate.release(&slot).released, 1);
    gate.admit(1, &user("ann"));
}

#[test]
fn allow_listed_callers_skip_checks_and_block_listed_ones_are_refused() {
    let gate = TestLimiter::of(&with(
        "
allow: [{ user: [ann, both] }, { ip: 192.0.2.0/24 }, { ip: 198.51.100.7 }]
block: [{ user: [eve, both] }, { ip: '2001:db8::/32' }, { ip: 198.51.100.0/24 }]
",
    ));
    let from = |peer: &str| user("bob").peer(peer);
    for (call, outcome) in [
        (user("ann"), PlanResult::Free),
        (user("eve"), PlanResult::Blocked),
        (user("bob"), PlanResult::Asked),
        (user("both"), PlanResult::Blocked),
        (from("192.0.2.200"), PlanResult::Free),
        (from("192.0.3.1"), PlanResult::Asked),
        (from("::ffff:192.0.2.200"), PlanResult::Free),
        (from("2001:db8:1::7"), PlanResult::Blocked),
        (from("198.51.100.7"), PlanResult::Blocked),
        (user("ann").peer("198.51.100.9"), PlanResult::Blocked),
        (user("eve").peer("192.0.2.1"), PlanResult::Blocked),
        (user("").peer("203.0.113.1"), PlanResult::Asked),
        (Call::new(), PlanResult::Asked),
    ] {
        let answer = gate.ask(&call);
        assert_eq!(answer.outcome, outcome, "{call:?}");
        assert_eq!(answer.allowed, outcome != PlanResult::Blocked, "{call:?}");
        assert_eq!(answer.left.is_empty(), outcome != PlanResult::Asked, "{call:?}");
    }
    assert_eq!(gate.admitted(&user("ann"), 100), 100);
}

#[test]
fn list_entries_include_their_start_and_exclude_their_end() {
    let gate = TestLimiter::of(&with(
        "
allow: [{ user: ann, from: '2026-11-01T01:00:00Z', until: '2026-11-01T02:00:00Z' }]
block:
  - { user: eve, until: '2026-11-01T02:00:00Z' }
  - { ip: 203.0.113.0/24, from: '2026-11-01T03:00:00Z' }
",
    ));
    for (time, ann, eve) in [
        (NOVEMBER, PlanResult::Asked, PlanResult::Blocked),
        (before(hours(1)), PlanResult::Asked, PlanResult::Blocked),
        (hours(1), PlanResult::Free, PlanResult::Blocked),
        (before(hours(2)), PlanResult::Free, PlanResult::Blocked),
        (hours(2), PlanResult::Asked, PlanResult::Asked),
        (before(hours(3)), PlanResult::Asked, PlanResult::Asked),
        (hours(3), PlanResult::Blocked, PlanResult::Blocked),
    ] {
        gate.set(time);
        assert_eq!(gate.ask(&user("ann").cost(0)).outcome, ann, "{time:?}");
        assert_eq!(gate.ask(&user("eve").cost(0)).outcome, eve, "{time:?}");
    }
}

#[test]
fn times_without_a_zone_are_in_the_zone_of_the_file() {
    let gate = TestLimiter::of(&format!(
        "timezone: Europe/Berlin\n{}",
        with("block: [{ user: eve, from: 2026-11-01T12:00, until: 2026-11-02 }]")
    ));
    for (time, outcome) in [
        (before(hours(11)), PlanResult::Asked),
        (hours(11), PlanResult::Blocked),
        (before(hours(23)), PlanResult::Blocked),
        (hours(23), PlanResult::Asked),
    ] {
        gate.set(time);
        assert_eq!(gate.ask(&user("eve").cost(0)).outcome, outcome, "{time:?}");
    }
}

#[test]
fn an_attribute_overrides_the_source_of_an_identity() {
    // An attribute with the name of an identity takes precedence over its source.
    let gate = TestLimiter::of(&with("block: [{ user: eve }]"));
    assert_eq!(gate.ask(&user("ann").text("user", "eve")).outcome, PlanResult::Blocked);
    assert_eq!(gate.ask(&user("eve").text("user", "ann")).outcome, PlanResult::Asked);
}
