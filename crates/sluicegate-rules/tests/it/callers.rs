//! What others than the file say of single callers.

use sluicegate::{Clock, Limiter, ManualClock, Memory, Span, Store};
use sluicegate_rules::{CallerError, During, Listing, Request, RuleLimiter, RuleSet, Value};

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

/// Asks for so many units; whether they were granted, the tier, and what is left.
fn take(gate: &RuleLimiter<Memory<ManualClock>>, key: &str, cost: u64) -> (bool, String, u64) {
    let headers = [("x-api-key", key)];
    let request = Request::new().headers(&headers).cost(cost);
    gate.decide_now(&request, |answered| {
        let tier = answered.planned.tier().unwrap_or("none").to_owned();
        let left =
            answered.verdict.and_then(|verdict| Some(verdict.strictest()?.decision.remaining()));
        (answered.is_allowed(), tier, left.unwrap_or(u64::MAX))
    })
    .unwrap()
}

#[test]
fn a_tier_from_others_counts_at_once_and_carries_units_over() {
    let (gate, clock) = gate();
    assert_eq!(take(&gate, "k2", 90), (true, "free".to_owned(), 10));
    gate.assign_tier("api_key", "k2", "gold", During::default()).unwrap();
    assert_eq!(take(&gate, "k2", 10), (true, "gold".to_owned(), 9_900), "90 and 10 are used");
    gate.assign_tier("api_key", "k2", "free", During::default()).unwrap();
    assert!(!take(&gate, "k2", 1).0, "a downgrade is enforced at once");
    gate.forget("api_key", "k2").unwrap();
    assert!(!gate.directory().is_empty(), "that it changed is known until it has recovered");
    clock.advance(Span::from_secs(120).into());
    gate.forget("api_key", "k2").unwrap();
    assert!(gate.directory().is_empty());
}

#[test]
fn others_are_stronger_than_the_file_and_leave_the_rest_of_it_alone() {
    let (gate, clock) = gate();
    assert_eq!(take(&gate, "k1", 0).1, "silver");
    let minute = Span::from_secs(60);
    let now = gate.limiter().store().clock().now();
    let soon = During { from: Some(now + minute), until: Some(now + minute + minute) };
    gate.assign_tier("api_key", "k1", "gold", soon).unwrap();
    for tier in ["silver", "gold", "silver"] {
        assert_eq!(take(&gate, "k1", 0).1, tier);
        clock.advance(minute.into());
    }
    gate.list("api_key", "k1", Listing::Block, During::default()).unwrap();
    assert!(!take(&gate, "k1", 1).0);
    gate.forget("api_key", "k1").unwrap();
    assert_eq!(take(&gate, "k1", 0).1, "silver", "what the file says holds again");
    gate.list("api_key", "k1", Listing::Allow, During::default()).unwrap();
    assert!(take(&gate, "k1", 1_000_000).0, "no rule applies");
}

#[test]
fn what_others_say_stays_when_rules_are_replaced() {
    let (gate, _) = gate();
    gate.assign_tier("api_key", "k2", "gold", During::default()).unwrap();
    gate.replace(RuleSet::parse(RULES).unwrap());
    assert_eq!(take(&gate, "k2", 0).1, "gold");
    assert_eq!(take(&gate, "k1", 0).1, "silver");
}

#[test]
fn what_nobody_knows_is_refused_in_words() {
    let (gate, _) = gate();
    let always = During::default();
    let tier = gate.assign_tier("api_key", "k1", "golden", always).unwrap_err();
    assert!(matches!(tier, CallerError::UnknownTier { .. }));
    assert!(tier.to_string().contains("no tier `golden`"), "{tier}");
    let identity = gate.list("user", "42", Listing::Block, always).unwrap_err();
    assert!(identity.to_string().contains("the identity `user`"), "{identity}");
    let nobody = gate.list("api_key", "", Listing::Block, always).unwrap_err();
    assert!(matches!(nobody, CallerError::NotACaller { .. }));
    let request = [("x", Value::Flag(true))];
    assert!(gate.decide_now(&Request::new().attributes(&request), |_| ()).is_ok());
}
