//! Tests that changes of limits grant no second burst.

use sluicegate::Span;
use sluicegate_rules::TimeRange;

use crate::harness::{Call, NOVEMBER, TestLimiter};

const TIERS: &str = "
identify: { user: { header: x-user }, tier: { default: free } }
tiers: { free: { api: 100/min }, gold: { api: 10000/min } }
rules: [{ name: api, key: user, limit: { tier: api } }]";

fn ann() -> Call {
    Call::to("GET", "/").header("x-user", "ann").peer("203.0.113.9")
}

fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

/// A rule file with a table of tiers.
fn table(rows: &str, more: &str) -> String {
    format!(
        "
identify: {{ user: {{ header: x-user }}, tier: {{ lookup: user, table: {{ {rows} }}, default: free }} }}
tiers: {{ free: {{ api: 100/min }}, gold: {{ api: 10000/min }} }}
rules: [{{ name: api, key: user, limit: {{ tier: api }} }}]
{more}"
    )
}

fn assign(gate: &TestLimiter, tier: &str) {
    gate.gate.assign_tier("user", "ann", tier, TimeRange::default()).unwrap();
}

#[test]
fn a_downgrade_and_upgrade_gains_nothing() {
    for requests_between in [false, true] {
        let gate = TestLimiter::of(TIERS);
        assign(&gate, "gold");
        assert_eq!(gate.admitted(&ann(), 20_000), 10_000);
        assign(&gate, "free");
        if requests_between {
            assert_eq!(gate.admitted(&ann(), 200), 0);
        }
        gate.wait(Span::from_micros(1));
        assign(&gate, "gold");
        assert_eq!(gate.admitted(&ann(), 20_000), 0, "{requests_between}");
        gate.wait(secs(120));
        assert_eq!(gate.admitted(&ann(), 20_000), 10_000, "it recovers");
    }
}

#[test]
fn editing_a_table_twice_gains_nothing() {
    let gate = TestLimiter::of(&table("ann: gold", ""));
    assert_eq!(gate.admitted(&ann(), 20_000), 10_000);
    gate.replace(&table("ann: free", ""));
    gate.wait(Span::from_micros(1));
    gate.replace(&table("ann: gold", ""));
    assert_eq!(gate.admitted(&ann(), 20_000), 0);
}

#[test]
fn a_row_of_the_file_does_not_affect_callers_with_an_assignment() {
    let gate = TestLimiter::of(&table("ann: gold", ""));
    assign(&gate, "gold");
    gate.replace(&table("ann: free", ""));
    assert_eq!(gate.admitted(&ann(), 20_000), 10_000);
    gate.replace(&table("ann: gold", ""));
    assert_eq!(gate.admitted(&ann(), 20_000), 0);
}

#[test]
fn forgetting_a_caller_carries_units_over() {
    let gate = TestLimiter::of(TIERS);
    assign(&gate, "gold");
    assert_eq!(gate.admitted(&ann(), 5_000), 5_000);
    gate.gate.forget("user", "ann").unwrap();
    assert_eq!(gate.admitted(&ann(), 200), 0, "5,000 are more than 100");
}

#[test]
fn a_tier_without_a_day_leaves_the_day_alone() {
    let gate = TestLimiter::of(
        "
identify: { user: { header: x-user }, tier: { default: free } }
tiers:
  free:    { api: [100/min, 1000/day] }
  partner: { api: { limit: 500/min, soft: { extra: 50, delay: 100ms } } }
rules: [{ name: api, key: user, limit: { tier: api } }]",
    );
    let minutes = |count: usize| {
        let mut admitted = 0;
        for _ in 0..count {
            admitted += gate.admitted(&ann(), 1_000);
            gate.wait(secs(60));
        }
        admitted
    };
    assert!((1_000..1_020).contains(&minutes(20)));
    assign(&gate, "partner");
    assert!(gate.admitted(&ann(), 1_000) > 400);
    gate.wait(secs(120));
    assign(&gate, "free");
    assert!(minutes(20) < 30, "the recovery of the day's rate in 42 minutes");
}

#[test]
fn an_override_of_another_length_leaves_the_rules_counters_alone() {
    let gate = TestLimiter::of(
        "
rules: [{ name: api, key: ip, limit: 1000/day }]
overrides: [{ rule: api, limit: 100/min, from: '2026-11-01T01:00:00Z', until: '2026-11-01T02:00:00Z' }]",
    );
    assert_eq!(gate.admitted(&ann(), 5_000), 1_000);
    gate.wait(secs(3_600));
    assert_eq!(gate.admitted(&ann(), 5_000), 100, "the override is a limit of its own");
    gate.wait(secs(3_600));
    assert_eq!(gate.admitted(&ann(), 5_000), 83, "the recovery of the day's rate in two hours");
}

#[test]
fn an_override_of_some_windows_leaves_the_others_alone() {
    let gate = TestLimiter::of(
        "
rules: [{ name: api, key: ip, limit: [10/min, 100/day] }]
overrides: [{ rule: api, limit: 20/min, from: '2026-11-01T03:00:00Z', until: '2026-11-01T03:05:00Z' }]",
    );
    let minutes = |count: usize| {
        let mut admitted = 0;
        for _ in 0..count {
            admitted += gate.admitted(&ann(), 100);
            gate.wait(secs(60));
        }
        admitted
    };
    assert!((100..103).contains(&minutes(20)));
    gate.set(NOVEMBER + secs(3 * 3_600));
    assert_eq!(gate.admitted(&ann(), 100), 20);
    gate.set(NOVEMBER + secs(3 * 3_600 + 300));
    assert!(minutes(20) < 15, "the recovery of the day's rate in three hours");
}

#[test]
fn soft_limits_are_carried_over() {
    let grace = |per: &str| {
        format!("rules: [{{ name: api, key: ip, limit: 5/min, soft: {{ grace: 50/{per} }} }}]")
    };
    let gate = TestLimiter::of(&grace("hour"));
    assert_eq!(gate.admitted(&ann(), 100), 55);
    gate.replace(&grace("day"));
    assert_eq!(gate.admitted(&ann(), 100), 0);
}

#[test]
fn a_caller_removed_from_the_table_is_as_if_never_in_it() {
    let gate = TestLimiter::of(&table("ann: gold, bob: gold", ""));
    let tomorrow = "overrides: [{ caller: { user: ann }, tier: gold, from: '2026-11-02' }]";
    gate.replace(&table("bob: gold", tomorrow));
    let answer = ann().text("tier", "gold");
    let fresh = TestLimiter::of(&table("bob: gold", tomorrow));
    assert_eq!(gate.ask(&answer).tier, fresh.ask(&answer).tier, "the attribute sets the tier");
    assert_eq!(gate.ask(&ann()).tier.as_deref(), Some("free"));
    gate.set(NOVEMBER + secs(2 * 86_400));
    assert_eq!(gate.ask(&ann()).tier.as_deref(), Some("gold"), "for a time that has begun");
}

#[test]
fn a_caller_removed_from_the_table_is_eventually_forgotten() {
    let rows = |round: usize| {
        let rows: Vec<String> = (0..50).map(|caller| format!("c{round}x{caller}: gold")).collect();
        table(&rows.join(", "), "")
    };
    let gate = TestLimiter::of(&rows(0));
    for round in 1..=10 {
        gate.replace(&rows(round));
        gate.wait(secs(3_600));
    }
    let known = format!("{:?}", *gate.gate.rules()).matches("CallerRecord {").count();
    assert!((50..=100).contains(&known), "{known}: those in the table, and the recently removed");
}

/// Nodes with their own rules on a shared store.
fn nodes(count: usize, text: &str) -> Vec<TestLimiter> {
    let first = TestLimiter::of(text);
    let others: Vec<TestLimiter> = (1..count).map(|_| first.another(text)).collect();
    std::iter::once(first).chain(others).collect()
}

/// The units that the nodes admit together, and then those admitted after all nodes have loaded
/// other rules, one after another.
fn across_nodes(count: usize, texts: &[&str], step: Span) -> Vec<usize> {
    let nodes = nodes(count, texts[0]);
    let mut admitted = Vec::new();
    for (version, text) in texts.iter().enumerate() {
        if version > 0 {
            for node in &nodes {
                node.replace(text);
            }
        }
        nodes[0].wait(step);
        // The order varies, but every node decides in every version.
        let turn = |at: usize| &nodes[(at + version) % nodes.len()];
        admitted.push((0..count).map(|at| turn(at).admitted(&ann(), 20_000)).sum());
    }
    admitted
}

#[test]
fn two_nodes_carry_over_an_edit_like_one() {
    let rule = |limit: &str| format!("rules: [{{ name: api, key: ip, limit: {limit} }}]");
    let versions: [&[&str]; 5] = [
        &["100/min", "100/hour"],
        &["100/min", "1000/hour", "5000/day"],
        &["100/min", "100/hour", "100/min", "100/hour"],
        &["10/s burst 100", "5/s burst 200", "200/hour"],
        &["10000/hour", "10/min", "10000/hour", "10/min", "10000/hour"],
    ];
    for limits in versions {
        let texts: Vec<String> = limits.iter().map(|limit| rule(limit)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for step in [Span::ZERO, Span::from_millis(1), secs(7)] {
            let alone = across_nodes(1, &texts, step);
            assert_eq!(across_nodes(2, &texts, step), alone, "{limits:?} each {step:?}");
            assert_eq!(across_nodes(3, &texts, step), alone, "{limits:?} each {step:?}");
        }
    }
}

#[test]
fn nodes_that_load_an_edit_at_different_times_rescale_once() {
    let rule = |limit: &str| format!("rules: [{{ name: api, key: ip, limit: {limit} }}]");
    let nodes = nodes(2, &rule("100/min"));
    let [one, other] = nodes.as_slice() else { panic!("two nodes") };
    assert_eq!(one.admitted(&ann(), 50), 50);
    one.replace(&rule("1000/day"));
    one.wait(Span::from_millis(400));
    assert_eq!(one.admitted(&ann(), 500), 500, "50 of 1,000 are used");
    other.replace(&rule("1000/day"));
    assert_eq!(other.admitted(&ann(), 5_000), 450, "not rescaled a second time");
}

#[test]
fn a_node_that_missed_a_version_does_not_rescale_twice() {
    let rule = |limit: &str| format!("rules: [{{ name: api, key: ip, limit: {limit} }}]");
    let nodes = nodes(2, &rule("100/min"));
    let [one, other] = nodes.as_slice() else { panic!("two nodes") };
    assert_eq!(one.admitted(&ann(), 50), 50);
    one.replace(&rule("200/hour"));
    one.replace(&rule("1000/day"));
    let left = one.admitted(&ann(), 5_000);
    assert!(left <= 950, "{left}");
    other.replace(&rule("1000/day"));
    assert_eq!(other.admitted(&ann(), 5_000), 0);
}

#[test]
fn a_caller_absent_during_two_edits_gains_nothing() {
    let rule = |limit: &str| format!("rules: [{{ name: api, key: ip, limit: {limit} }}]");
    for versions in [["100/min", "100/hour", "100/day"], ["100/min", "100/day", "100/hour"]] {
        let gate = TestLimiter::of(&rule(versions[0]));
        assert_eq!(gate.admitted(&ann(), 500), 100);
        gate.replace(&rule(versions[1]));
        gate.wait(Span::from_millis(1));
        gate.replace(&rule(versions[2]));
        assert_eq!(gate.admitted(&ann(), 500), 0, "{versions:?}");
    }
}

#[test]
fn a_repeated_edit_has_another_id_while_a_store_may_remember_the_first() {
    let rule = |limit: &str| format!("rules: [{{ name: api, key: ip, limit: {limit} }}]");
    // A store remembers a change for at least a minute, even with short quotas.
    let gate = TestLimiter::of(&rule("100/s"));
    for _ in 0..20 {
        gate.wait(secs(4));
        assert_eq!(gate.admitted(&ann(), 500), 100);
        gate.replace(&rule("100/2s"));
        assert_eq!(gate.admitted(&ann(), 500), 0);
        gate.wait(secs(4));
        gate.replace(&rule("100/s"));
    }
}

#[test]
fn nodes_that_load_a_table_at_different_times_carry_over_once() {
    let nodes = nodes(2, &table("bob: gold", ""));
    let [one, other] = nodes.as_slice() else { panic!("two nodes") };
    assert_eq!(one.admitted(&ann(), 90), 90);
    one.replace(&table("ann: gold", ""));
    one.wait(Span::from_millis(400));
    assert_eq!(one.admitted(&ann(), 5_000), 5_000);
    other.replace(&table("ann: gold", ""));
    let left = other.admitted(&ann(), 20_000);
    assert!((4_900..5_000).contains(&left), "{left} beside 5,090: nothing is read a second time");
}
