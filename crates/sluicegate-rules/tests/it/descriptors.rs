//! Tests of descriptors, alone and in groups.

use sluicegate::{Cost, Limit, Limiter, ManualClock, Memory};
use sluicegate_rules::{AttributeValue, GroupItem, Purpose, Request, RuleLimiter, RuleSet};

use sluicegate_testkit::at_once;

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

/// The rules that apply to these attributes.
fn applied(attributes: &[(&str, &str)], entries: Option<usize>) -> Vec<String> {
    let attributes: Vec<(&str, AttributeValue<'_>)> =
        attributes.iter().map(|(name, value)| (*name, AttributeValue::Text(value))).collect();
    let request = Request::new().attributes(&attributes);
    let request = entries.map_or(request, |entries| request.entries(entries));
    let gate = gate();
    let parts = [GroupItem::Rules(request)];
    at_once(gate.check_group(&parts, None, |group| {
        let planned = group.whole.planned;
        let checks = 0..planned.plan().checks().len();
        checks.map(|check| planned.rule(check).unwrap().name().to_owned()).collect()
    }))
    .unwrap()
}

#[test]
fn a_descriptor_must_have_exactly_the_required_entries() {
    let login = [("domain", "edge"), ("kind", "login"), ("user", "a")];
    for (attributes, entries, rules) in [
        (&login[..], Some(2), &["both", "any"][..]),
        (&[("domain", "other"), ("kind", "login"), ("user", "a")], Some(2), &["any"]),
        (&[("domain", "inner"), ("kind", "login"), ("user", "a")], Some(2), &["both", "any"]),
        (&login, Some(3), &["any"]),
        (&[("domain", "edge"), ("user", "a")], Some(1), &["one"]),
        (&[("domain", "edge"), ("user", "a")], Some(2), &[]),
        // A negated condition also requires its entry.
        (&[("foo", "x"), ("bar", "fine")], Some(2), &["not-banned"]),
        (&[("foo", "x"), ("bar", "banned")], Some(2), &[]),
        (&[("foo", "x")], Some(1), &[]),
        (&[("foo", "x"), ("baz", "y")], Some(2), &[]),
        (&[("foo", "x"), ("foo", "y")], Some(2), &[]),
        (&[("foo", "x"), ("bar", "fine"), ("baz", "y")], None, &["not-banned"]),
        (&[("foo", "x"), ("baz", "y")], None, &[]),
        // Requests other than descriptors may have more attributes.
        (&login, None, &["both", "one", "any"]),
    ] {
        assert_eq!(applied(attributes, entries), rules, "{attributes:?} {entries:?}");
    }
}

#[test]
fn past_requests_are_charged_and_hold_no_slot() {
    let gate = gate();
    let attributes = [("user", AttributeValue::Text("a")), ("kind", AttributeValue::Text("slot"))];
    let slot = GroupItem::Rules(
        Request::new().attributes(&attributes).entries(2).purpose(Purpose::Charge),
    );
    let attributes = [("user", AttributeValue::Text("a"))];
    let used = Request::new().attributes(&attributes).entries(1).cost(50);
    let parts = [slot, GroupItem::Rules(used.purpose(Purpose::Charge))];
    for _ in 0..2 {
        let evaluation = gate.check_group(&parts, None, |group| {
            let counted = group.parts.iter().map(|part| part.planned.plan().checks().len());
            (group.whole.is_allowed(), counted.collect::<Vec<_>>())
        });
        assert_eq!(at_once(evaluation).unwrap(), (true, vec![0, 1]));
    }
    let more = [GroupItem::Rules(used.cost(1))];
    let evaluation = gate.check_group(&more, None, |group| group.whole.is_allowed());
    assert!(!at_once(evaluation).unwrap());
}

#[test]
fn a_limit_of_a_request_is_checked_next_to_those_of_rules() {
    let gate = gate();
    let limit = Limit::token_bucket("own", "2/day".parse().unwrap()).unwrap();
    let own = GroupItem::Own(sluicegate::Check::new(&limit, "a").cost(Cost::ONE));
    let attributes = [("user", AttributeValue::Text("a"))];
    let rules = GroupItem::Rules(Request::new().attributes(&attributes).entries(1));
    let parts = [rules, own];
    for (allowed, left) in [([true, true], 4), ([true, true], 3), ([true, false], 3)] {
        let evaluation = gate.check_group(&parts, None, |group| {
            let [first, second] = group.parts else { panic!("a part for each") };
            let strictest = first.verdict.unwrap().strictest().unwrap();
            let quota = first.planned.plan().checks()[strictest.check].limit().quota().unwrap();
            assert_eq!(quota, "5/min".parse().unwrap());
            assert!(second.planned.rule(0).is_none());
            assert_eq!(group.whole.is_allowed(), allowed[1]);
            ([first.is_allowed(), second.is_allowed()], strictest.decision.remaining())
        });
        assert_eq!(at_once(evaluation).unwrap(), (allowed, left));
    }
}
