//! Descriptors: matched by their domain and entries, and several of them decided in one step.

use sluicegate::{Cost, Limit, Limiter, ManualClock, Memory};
use sluicegate_rules::{Part, Purpose, Request, RuleLimiter, RuleSet, Value};

use super::gate::at_once;

const RULES: &str = "
identify:
  user: { attribute: user }
rules:
  - { name: both, match: { domain: [edge, inner], descriptor: { kind: login, user: '*' } }, key: user, limit: 3/min }
  - { name: one, match: { descriptor: { user: '*' } }, key: user, limit: 5/min }
  - { name: any, match: { attribute: { kind: login } }, key: [], limit: 9/min }
  - { name: not-banned, match: { descriptor: { foo: '*', bar: { not: [banned] } } }, key: [], limit: 9/min }
  - { name: slots, match: { attribute: { kind: slot } }, key: user, limit: { concurrent: 1 } }
";

fn gate() -> RuleLimiter<Memory<ManualClock>> {
    let rules = RuleSet::parse(RULES).unwrap_or_else(|report| panic!("{report}"));
    RuleLimiter::new(Limiter::new(Memory::with_clock(ManualClock::default())), rules).unwrap()
}

/// Which rules apply to these attributes.
fn applied(attributes: &[(&str, &str)], entries: Option<usize>) -> Vec<String> {
    let attributes: Vec<(&str, Value<'_>)> =
        attributes.iter().map(|(name, value)| (*name, Value::Text(value))).collect();
    let request = Request::new().attributes(&attributes);
    let request = entries.map_or(request, |entries| request.entries(entries));
    let gate = gate();
    let parts = [Part::Rules(request, Purpose::Take)];
    at_once(gate.decide_together(&parts, None, |told| {
        let planned = told.whole.planned;
        let checks = 0..planned.plan().checks().len();
        checks.map(|check| planned.rule(check).unwrap().name().to_owned()).collect()
    }))
    .unwrap()
}

#[test]
fn a_descriptor_has_the_entries_it_is_wanted_to_and_no_others() {
    let login = [("domain", "edge"), ("kind", "login"), ("user", "a")];
    for (attributes, entries, rules) in [
        (&login[..], Some(2), &["both", "any"][..]),
        (&[("domain", "other"), ("kind", "login"), ("user", "a")], Some(2), &["any"]),
        (&[("domain", "inner"), ("kind", "login"), ("user", "a")], Some(2), &["both", "any"]),
        (&login, Some(3), &["any"]),
        (&[("domain", "edge"), ("user", "a")], Some(1), &["one"]),
        (&[("domain", "edge"), ("user", "a")], Some(2), &[]),
        // A negated condition wants its entry to be there, too.
        (&[("foo", "x"), ("bar", "fine")], Some(2), &["not-banned"]),
        (&[("foo", "x"), ("bar", "banned")], Some(2), &[]),
        (&[("foo", "x")], Some(1), &[]),
        (&[("foo", "x"), ("baz", "y")], Some(2), &[]),
        (&[("foo", "x"), ("foo", "y")], Some(2), &[]),
        (&[("foo", "x"), ("bar", "fine"), ("baz", "y")], None, &["not-banned"]),
        (&[("foo", "x"), ("baz", "y")], None, &[]),
        // What is no descriptor has what it has.
        (&login, None, &["both", "one", "any"]),
    ] {
        assert_eq!(applied(attributes, entries), rules, "{attributes:?} {entries:?}");
    }
}

#[test]
fn what_has_happened_already_is_charged_and_holds_nothing() {
    let gate = gate();
    let attributes = [("user", Value::Text("a")), ("kind", Value::Text("slot"))];
    let slot = Part::Rules(Request::new().attributes(&attributes).entries(2), Purpose::Charge);
    let attributes = [("user", Value::Text("a"))];
    let used = Request::new().attributes(&attributes).entries(1).cost(50);
    let parts = [slot, Part::Rules(used, Purpose::Charge)];
    for _ in 0..2 {
        let told = gate.decide_together(&parts, None, |told| {
            let counted = told.parts.iter().map(|part| part.planned.plan().checks().len());
            (told.whole.is_allowed(), counted.collect::<Vec<_>>())
        });
        assert_eq!(at_once(told).unwrap(), (true, vec![0, 1]));
    }
    let more = [Part::Rules(used.cost(1), Purpose::Take)];
    let told = gate.decide_together(&more, None, |told| told.whole.is_allowed());
    assert!(!at_once(told).unwrap());
}

#[test]
fn a_limit_of_ones_own_stands_beside_those_of_rules() {
    let gate = gate();
    let limit = Limit::token_bucket("own", "2/day".parse().unwrap()).unwrap();
    let own = Part::Own(sluicegate::Check::new(&limit, "a").cost(Cost::ONE));
    let attributes = [("user", Value::Text("a"))];
    let rules = Part::Rules(Request::new().attributes(&attributes).entries(1), Purpose::Take);
    let parts = [rules, own];
    for (allowed, left) in [([true, true], 4), ([true, true], 3), ([true, false], 3)] {
        let told = gate.decide_together(&parts, None, |told| {
            let [first, second] = told.parts else { panic!("a part for each") };
            let strictest = first.verdict.unwrap().strictest().unwrap();
            let quota = first.planned.quota(strictest.check).unwrap();
            assert_eq!(quota, "5/min".parse().unwrap());
            assert!(second.planned.rule(0).is_none() && second.planned.quota(0).is_none());
            assert_eq!(told.whole.is_allowed(), allowed[1]);
            ([first.is_allowed(), second.is_allowed()], strictest.decision.remaining())
        });
        assert_eq!(at_once(told).unwrap(), (allowed, left));
    }
}
