//! Tests of tiers, and of the carry-over of usage when they change.

use sluicegate::Span;

use crate::harness::{Call, TestLimiter};

/// Rules by tier, with a table of callers, for an algorithm and more about the rule.
fn by_table(table: &str, rule: &str) -> String {
    format!(
        "
identify:
  user: {{ header: x-user }}
  tier: {{ lookup: user, table: {{ {table} }}, default: free }}
tiers:
  free:    {{ api: 100/min, windows: [100/min, 1000/day] }}
  premium: {{ api: 10000/min, windows: [10000/min, 100000/day] }}
  staff:   unlimited
rules:
  - {{ name: api, key: user, limit: {{ tier: api }}{rule} }}
"
    )
}

fn ann() -> Call {
    Call::to("GET", "/").header("x-user", "ann")
}

#[test]
fn an_unknown_or_missing_tier_is_the_default() {
    let text = "
identify:
  user: { header: x-user }
  tier: { header: x-tier, default: free }
tiers:
  free: { api: 1/min }
  gold: { api: 5/min }
  all:  unlimited
rules:
  - { name: api, key: user, limit: { tier: api } }
";
    let rows = [
        (None, "free", 1),
        (Some(""), "free", 1),
        (Some(" "), "free", 1),
        (Some("silver"), "free", 1),
        (Some("GOLD"), "free", 1),
        (Some("gold\0"), "free", 1),
        (Some("unlimited"), "free", 1),
        (Some("free"), "free", 1),
        (Some("gold"), "gold", 5),
        (Some(" gold "), "gold", 5),
        (Some("all"), "all", 20),
    ];
    for (answer, tier, admitted) in rows {
        let gate = TestLimiter::of(text);
        let call = answer.map_or_else(ann, |answer| ann().header("X-Tier", answer));
        assert_eq!(gate.ask(&call.clone().cost(0)).tier.as_deref(), Some(tier), "{answer:?}");
        assert_eq!(gate.admitted(&call, 20), admitted, "{answer:?}");
    }
    // Repeated, it is ambiguous, so sending both tiers gains nothing.
    let gate = TestLimiter::of(text);
    let both = ann().header("x-tier", "free").header("x-tier", "gold");
    assert_eq!(gate.ask(&both).tier.as_deref(), Some("free"));
}

#[test]
fn a_table_assigns_tiers_to_callers() {
    let gate = TestLimiter::of(&by_table("ann: premium, bob: staff", ""));
    assert_eq!(gate.ask(&ann()).tier.as_deref(), Some("premium"));
    let bob = Call::new().header("x-user", "bob");
    let answer = gate.ask(&bob);
    assert_eq!((answer.tier.as_deref(), answer.left.len()), (Some("staff"), 0));
    let eve = Call::new().header("x-user", "eve").header("x-tier", "staff");
    assert_eq!(gate.ask(&eve).tier.as_deref(), Some("free"));
}

#[test]
fn a_table_of_secrets_uses_their_digests() {
    let text = "
identify:
  api_key: { header: x-api-key }
  tier: { lookup: api_key, table: { k-1: gold }, default: free }
tiers: { free: { api: 1/min }, gold: { api: 5/min } }
rules: [{ name: api, key: api_key, limit: { tier: api } }]
";
    let gate = TestLimiter::of(text);
    assert_eq!(gate.admitted(&Call::new().header("x-api-key", "k-1"), 20), 5);
    assert_eq!(gate.admitted(&Call::new().header("x-api-key", "k-2"), 20), 1);
}

#[test]
fn units_carry_over_a_change_up_and_down() {
    for algorithm in
        ["token_bucket", "leaky_bucket", "sliding_window", "sliding_log", "fixed_window"]
    {
        let rule = format!(", algorithm: {algorithm}");
        // A log of more than a thousand is refused.
        let premium = if algorithm == "sliding_log" { 1_000 } else { 10_000 };
        let text = |table: &str| {
            by_table(table, &rule).replace("api: 10000/min", &format!("api: {premium}/min"))
        };
        let gate = TestLimiter::of(&text(""));
        gate.admit(90, &ann());
        gate.replace(&text("ann: premium"));
        assert_eq!(gate.ask(&ann().cost(0)).left("api"), Some(premium - 90), "{algorithm}: up");
        assert_eq!(gate.admit(10, &ann()).left("api"), Some(premium - 100), "{algorithm}: once");
        gate.replace(&text(""));
        assert_eq!(gate.ask(&ann().cost(0)).left("api"), Some(0), "{algorithm}: down");
        gate.refuse(&ann());
        gate.wait(Span::from_secs(120));
        assert_eq!(gate.admitted(&ann(), 1_000), 100, "{algorithm}: recovered");
    }
}

#[test]
fn a_change_rescales_once_even_if_rules_are_loaded_repeatedly() {
    let gate = TestLimiter::of(&by_table("", ""));
    gate.admit(90, &ann());
    for _ in 0..5 {
        gate.replace(&by_table("ann: premium", ""));
        gate.admit(1, &ann());
    }
    assert_eq!(gate.ask(&ann().cost(0)).left("api"), Some(10_000 - 95));
    // Other callers are not affected.
    let bob = Call::new().header("x-user", "bob");
    gate.admit(50, &bob);
    gate.replace(&by_table("ann: premium, eve: premium", ""));
    assert_eq!(gate.ask(&bob.cost(0)).left("api"), Some(50));
}

#[test]
fn limits_without_carry_over_start_afresh() {
    let rule = ", carry_over: false";
    let gate = TestLimiter::of(&by_table("", rule));
    gate.admit(90, &ann());
    gate.replace(&by_table("ann: premium", rule));
    assert_eq!(gate.admit(1, &ann()).left("api@premium"), Some(9_999));
    // Back in the first tier, its earlier usage still counts.
    gate.replace(&by_table("", rule));
    assert_eq!(gate.ask(&ann().cost(0)).left("api@free"), Some(10));
}

#[test]
fn several_windows_carry_over_together() {
    let rule = |table: &str| by_table(table, "").replace("{ tier: api }", "{ tier: windows }");
    let gate = TestLimiter::of(&rule(""));
    let used = gate.admit(60, &ann());
    assert_eq!((used.left("api"), used.left("api:2")), (Some(940), Some(40)));
    gate.replace(&rule("ann: premium"));
    let answer = gate.ask(&ann().cost(0));
    assert_eq!((answer.left("api"), answer.left("api:2")), (Some(99_940), Some(9_940)));
}

#[test]
fn a_tier_from_the_request_is_not_treated_as_a_change() {
    // A tier from the request is known only during the request, so the used fraction carries over.
    let text = "
identify:
  user: { header: x-user }
  tier: { header: x-tier, default: free }
tiers: { free: { api: 100/min }, gold: { api: 10000/min } }
rules: [{ name: api, key: user, limit: { tier: api } }]
";
    let gate = TestLimiter::of(text);
    gate.admit(100, &ann());
    gate.refuse(&ann());
    // Alternating between tiers gains nothing.
    let mut admitted = 0;
    for _ in 0..50 {
        admitted += usize::from(gate.ask(&ann().header("x-tier", "gold")).allowed);
        admitted += usize::from(gate.ask(&ann()).allowed);
    }
    assert_eq!(admitted, 0);
}

#[test]
fn a_temporary_tier_starts_and_ends_to_the_microsecond() {
    let text = "
identify:
  user: { header: x-user }
  tier: { attribute: plan, default: free }
tiers: { free: { api: 1/min }, gold: { api: 5/min } }
rules: [{ name: api, key: user, limit: { tier: api } }]
overrides:
  - { caller: { user: ann }, tier: gold, from: '2026-11-01T12:00:00Z', until: '2026-11-01T13:00:00Z' }
";
    let gate = TestLimiter::of(text);
    let noon = crate::harness::NOVEMBER + Span::from_secs(12 * 3_600);
    let one = noon + Span::from_secs(3_600);
    for (time, tier) in [
        (noon.as_micros() - 1, "free"),
        (noon.as_micros(), "gold"),
        (one.as_micros() - 1, "gold"),
        (one.as_micros(), "free"),
    ] {
        gate.set(sluicegate::Time::from_micros(time));
        assert_eq!(gate.ask(&ann().cost(0)).tier.as_deref(), Some(tier), "{time}");
    }
}

#[test]
fn a_change_never_makes_a_plan_too_long_to_decide() {
    let text = |table: &str| {
        let mut text = by_table(table, "");
        for number in 0..60 {
            let rule = format!("name: r{number}, key: user, limit: {{ tier: api }}");
            text = text + "  - { " + &rule + " }\n";
        }
        text
    };
    let gate = TestLimiter::of(&text(""));
    gate.admit(1, &ann());
    gate.replace(&text("ann: premium"));
    gate.admit(1, &ann());
}
