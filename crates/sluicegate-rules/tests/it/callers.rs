//! Tests of tiers and list entries that are assigned at run time.

use sluicegate::{Clock, Limiter, ManualClock, Memory, Span, Store};
use sluicegate_rules::{
    AttributeValue, CallerError, ListKind, Request, RuleLimiter, RuleSet, TimeRange,
};

const RULES: &str = "
identify:
  api_key: { header: x-api-key }
  tier: { lookup: api_key, table: { k1: silver }, default: free }
tiers:
  free: { api: 100/min }
  silver: { api: 200/min }
  gold: { api: 10000/min }
rules:
  - { name: api, key: api_key, limit: { tier: api } }
";

fn gate() -> (RuleLimiter<Memory<ManualClock>>, ManualClock) {
    let clock = ManualClock::default();
    let limiter = Limiter::new(Memory::with_clock(clock.clone()));
    (RuleLimiter::new(limiter, RuleSet::parse(RULES).unwrap()).unwrap(), clock)
}

/// Takes units; returns whether they were granted, the tier, and the remaining units.
fn take(gate: &RuleLimiter<Memory<ManualClock>>, key: &str, cost: u64) -> (bool, String, u64) {
    let headers = [("x-api-key", key)];
    let request = Request::new().headers(&headers).cost(cost);
    gate.check(&request, |evaluation| {
        let tier = evaluation.planned.tier().unwrap_or("none").to_owned();
        let left =
            evaluation.verdict.and_then(|verdict| Some(verdict.strictest()?.decision.remaining()));
        (evaluation.is_allowed(), tier, left.unwrap_or(u64::MAX))
    })
    .now()
    .unwrap()
}

#[test]
fn an_assigned_tier_applies_at_once_and_carries_units_over() {
    let (gate, clock) = gate();
    assert_eq!(take(&gate, "k2", 90), (true, "free".to_owned(), 10));
    gate.assign_tier("api_key", "k2", "gold", TimeRange::default()).unwrap();
    assert_eq!(take(&gate, "k2", 10), (true, "gold".to_owned(), 9_900), "90 and 10 are used");
    gate.assign_tier("api_key", "k2", "free", TimeRange::default()).unwrap();
    assert!(!take(&gate, "k2", 1).0, "a downgrade is enforced at once");
    gate.forget("api_key", "k2").unwrap();
    assert!(!gate.directory().is_empty(), "the change is remembered until it has recovered");
    clock.advance(Span::from_secs(120).into());
    gate.forget("api_key", "k2").unwrap();
    assert!(gate.directory().is_empty());
}

#[test]
fn assignments_take_precedence_over_the_file_and_leave_other_callers_alone() {
    let (gate, clock) = gate();
    assert_eq!(take(&gate, "k1", 0).1, "silver");
    let minute = Span::from_secs(60);
    let now = gate.limiter().store().clock().now();
    let soon = TimeRange { from: Some(now + minute), until: Some(now + minute + minute) };
    gate.assign_tier("api_key", "k1", "gold", soon).unwrap();
    for tier in ["silver", "gold", "silver"] {
        assert_eq!(take(&gate, "k1", 0).1, tier);
        clock.advance(minute.into());
    }
    gate.list("api_key", "k1", ListKind::Block, TimeRange::default()).unwrap();
    assert!(!take(&gate, "k1", 1).0);
    gate.forget("api_key", "k1").unwrap();
    assert_eq!(take(&gate, "k1", 0).1, "silver", "the file applies again");
    gate.list("api_key", "k1", ListKind::Allow, TimeRange::default()).unwrap();
    assert!(take(&gate, "k1", 1_000_000).0, "no rule applies");
}

#[test]
fn assignments_survive_a_replacement_of_the_rules() {
    let (gate, _) = gate();
    gate.assign_tier("api_key", "k2", "gold", TimeRange::default()).unwrap();
    gate.replace(RuleSet::parse(RULES).unwrap());
    assert_eq!(take(&gate, "k2", 0).1, "gold");
    assert_eq!(take(&gate, "k1", 0).1, "silver");
}

#[test]
fn unknown_identities_values_and_tiers_are_errors() {
    let (gate, _) = gate();
    let always = TimeRange::default();
    let tier = gate.assign_tier("api_key", "k1", "golden", always).unwrap_err();
    assert!(matches!(tier, CallerError::UnknownTier { .. }));
    assert!(tier.to_string().contains("no tier `golden`"), "{tier}");
    let identity = gate.list("user", "42", ListKind::Block, always).unwrap_err();
    assert!(identity.to_string().contains("no identity `user`"), "{identity}");
    let empty = gate.list("api_key", "", ListKind::Block, always).unwrap_err();
    assert!(matches!(empty, CallerError::InvalidCaller { .. }));
    let request = [("x", AttributeValue::Flag(true))];
    assert!(gate.check(&Request::new().attributes(&request), |_| ()).now().is_ok());
}
