//! Whose count a rule has and what it says of a store that is down reach each of its checks.

use std::future::Future;
use std::sync::Mutex;

use sluicegate::{
    Applied, Ask, Check, CheckError, Decision, Limiter, ManualClock, Memory, Outage, Scope, Set,
    Store,
};
use sluicegate_rules::{Desk, Directory, Purpose, RuleLimiter, RuleSet};

use crate::gate::{Call, Gate, NOVEMBER, at_once, rules};

/// Every way in which a rule may ask for something.
fn asking(what: &str) -> String {
    format!(
        "
identify: {{ user: {{ header: x-user }}, tier: {{ lookup: user, table: {{ ann: gold }}, default: free }} }}
tiers: {{ free: {{ api: 10/min }}, gold: {{ api: 20/min }} }}
rules:
  - {{ name: plain, key: user, limit: [100/min, 1000/day], {what} }}
  - {{ name: soft, key: user, limit: 100/min, soft: {{ extra: 10, delay: 1s }}, {what} }}
  - {{ name: grace, key: user, limit: 100/min, soft: {{ grace: 10/day }}, {what} }}
  - {{ name: slots, key: user, limit: {{ concurrent: 5 }}, {what} }}
  - {{ name: tiered, key: user, limit: {{ tier: api }}, {what} }}
  - {{ name: login, key: user, limit: 100/min, cooldown: {{ after: 3, within: 1m, block: 1m }}, {what} }}
  - {{ name: shadow, key: user, limit: 100/min, mode: shadow, {what} }}
  - {{ name: calendar, key: user, limit: 100/month, algorithm: fixed_window, {what} }}
overrides: [{{ caller: {{ user: ann }}, rule: plain, limit: 7/min }}, {{ rule: grace, limit: 9/min }}]
"
    )
}

const SAYINGS: [(&str, Scope, Outage); 5] = [
    ("about: nothing", Scope::Cluster, Outage::Local),
    ("scope: node", Scope::Node, Outage::Local),
    ("on_store_error: allow", Scope::Cluster, Outage::Allow),
    ("on_store_error: deny", Scope::Cluster, Outage::Deny),
    ("scope: cluster, on_store_error: local", Scope::Cluster, Outage::Local),
];

fn ann() -> Call {
    Call::to("POST", "/login").header("x-user", "ann").peer("203.0.113.9")
}

/// How each check of a plan is counted, and which of them there are.
fn counted(rules: &RuleSet, purpose: Purpose) -> Vec<(Scope, Outage)> {
    let (directory, mut desk) = (Directory::new(), Desk::new());
    let call = ann();
    let planned = rules.plan_for(purpose, &directory, &call.request(), NOVEMBER, &mut desk);
    planned.plan().checks().iter().map(|check| (check.scope(), check.outage())).collect()
}

#[test]
fn every_check_goes_by_what_its_rule_says() {
    for (what, scope, outage) in SAYINGS {
        let rules = rules(&asking(what));
        let taken = counted(&rules, Purpose::Take);
        assert_eq!(taken, vec![(scope, outage); 11], "{what}");
        let reported = counted(&rules, Purpose::Failure(Some(401)));
        assert_eq!(reported, vec![(scope, outage); 2], "{what}");
    }
}

#[test]
fn so_does_what_only_tells_of_a_change() {
    for (what, scope, outage) in SAYINGS {
        let before = rules("rules: [{ name: api, key: user, limit: 100/min }]");
        let after = format!("rules: [{{ name: api, key: user, limit: 100/hour, {what} }}]");
        let after = rules(&after).succeeding(&before, NOVEMBER);
        let (directory, mut desk) = (Directory::new(), Desk::new());
        let call = ann();
        let planned = after.plan(&directory, &call.request(), NOVEMBER, &mut desk);
        let [rescale, take] = planned.plan().checks() else { panic!("two checks") };
        assert!(matches!(rescale.asks(), Ask::Rescale { .. }));
        for check in [rescale, take] {
            assert_eq!((check.scope(), check.outage()), (scope, outage), "{what}");
        }
    }
}

#[test]
fn a_rule_with_another_count_is_not_hidden_by_one_that_is_stricter_here() {
    use sluicegate_rules::{RuleFile, Shelf};

    let hidden = |strict: &str, lax: &str| {
        let text = format!(
            "rules:\n  - {{ name: a, key: ip, limit: 5/min{strict} }}\n  - {{ name: b, key: ip, limit: 9/min{lax} }}\n"
        );
        let shelf = Shelf::new().with("rules.yaml", text);
        let file = RuleFile::load_with("rules.yaml".as_ref(), &shelf, &|_| None).unwrap();
        file.report.findings().iter().any(|finding| finding.code() == "hidden")
    };
    let [node, allow, deny] =
        [", scope: node", ", on_store_error: allow", ", on_store_error: deny"];
    for (strict, lax, expected) in [
        ("", "", true),
        ("", node, true),
        (node, "", false),
        (node, node, true),
        ("", allow, true),
        (allow, "", false),
        (allow, node, false),
        (allow, allow, true),
        ("", deny, false),
        (deny, "", true),
        (deny, node, true),
        (deny, allow, true),
    ] {
        assert_eq!(hidden(strict, lax), expected, "5/min{strict} and 9/min{lax}");
    }
}

#[test]
fn what_is_not_as_usual_is_explained() {
    for (what, said) in [
        ("about: nothing", None),
        ("scope: node", Some("of this process alone (scope: node)")),
        ("on_store_error: allow", Some("everybody is let through (on_store_error: allow)")),
        ("on_store_error: deny", Some("everybody is refused (on_store_error: deny)")),
    ] {
        let gate = Gate::of(&format!("rules: [{{ name: api, key: ip, limit: 5/min, {what} }}]"));
        let call = ann();
        let told = gate.gate.rules().explain(&Directory::new(), &call.request(), NOVEMBER);
        let told = told.to_string();
        match said {
            Some(said) => assert!(told.contains(&format!("{said}\n")), "{told}"),
            None => assert!(!told.contains("      count "), "{told}"),
        }
    }
}

/// A store that notes how each check is counted.
struct Noting {
    memory: Memory<ManualClock>,
    noted: Mutex<Vec<(Scope, Outage)>>,
}

impl Store for Noting {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.memory.clock()
    }

    fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> impl Future<Output = Result<Applied, CheckError>> + Send + 'a {
        let noted = set.checks().iter().map(|check| (check.scope(), check.outage()));
        self.noted.lock().unwrap().extend(noted);
        self.memory.apply(set, decisions)
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

#[test]
fn slots_are_given_back_where_they_were_taken() {
    for (what, scope, outage) in SAYINGS {
        let memory = Memory::with_clock(ManualClock::at(NOVEMBER));
        let store = Noting { memory, noted: Mutex::default() };
        let text =
            format!("rules: [{{ name: slots, key: user, limit: {{ concurrent: 5 }}, {what} }}]");
        let gate = RuleLimiter::new(Limiter::new(store), rules(&text)).unwrap();
        let call = ann();
        let slot = at_once(gate.decide(&call.request(), |told| told.slot().unwrap())).unwrap();
        assert_eq!(at_once(gate.release(&slot)).unwrap().unwrap().released, 1);
        let noted = gate.limiter().store().noted.lock().unwrap().clone();
        assert_eq!(noted, [(scope, outage); 2], "{what}");
    }
}
