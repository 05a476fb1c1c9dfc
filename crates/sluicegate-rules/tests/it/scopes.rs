//! Tests that each check has the scope and the fallback of its rule.

use std::sync::Mutex;

use sluicegate::{
    Batch, Check, CheckError, Limiter, ManualClock, Memory, OnStoreError, Operation, Scope, Set,
    Store,
};
use sluicegate_rules::{Directory, PlanBuffer, Purpose, RuleLimiter, RuleSet};

use sluicegate_testkit::at_once;

use crate::harness::{Call, NOVEMBER, TestLimiter, rules};

/// Rules with every kind of check.
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

const SAYINGS: [(&str, Scope, OnStoreError); 5] = [
    ("about: nothing", Scope::Cluster, OnStoreError::Local),
    ("scope: node", Scope::Node, OnStoreError::Local),
    ("on_store_error: allow", Scope::Cluster, OnStoreError::Allow),
    ("on_store_error: deny", Scope::Cluster, OnStoreError::Deny),
    ("scope: cluster, on_store_error: local", Scope::Cluster, OnStoreError::Local),
];

fn ann() -> Call {
    Call::to("POST", "/login").header("x-user", "ann").peer("203.0.113.9")
}

/// The scope and fallback of each check of a plan.
fn counted(rules: &RuleSet, purpose: Purpose) -> Vec<(Scope, OnStoreError)> {
    let (directory, mut buffer) = (Directory::new(), PlanBuffer::new());
    let call = ann();
    let planned = rules.plan(&directory, &call.request().purpose(purpose), NOVEMBER, &mut buffer);
    planned.plan().checks().iter().map(|check| (check.scope(), check.outage())).collect()
}

#[test]
fn every_check_has_the_scope_and_fallback_of_its_rule() {
    for (what, scope, outage) in SAYINGS {
        let rules = rules(&asking(what));
        let taken = counted(&rules, Purpose::Take);
        assert_eq!(taken, vec![(scope, outage); 11], "{what}");
        let reported = counted(&rules, Purpose::Failure(Some(401)));
        assert_eq!(reported, vec![(scope, outage); 2], "{what}");
    }
}

#[test]
fn rescales_have_the_scope_and_fallback_of_their_rule() {
    for (what, scope, outage) in SAYINGS {
        let before = rules("rules: [{ name: api, key: user, limit: 100/min }]");
        let after = format!("rules: [{{ name: api, key: user, limit: 100/hour, {what} }}]");
        let after = rules(&after).succeeding(&before, NOVEMBER);
        let (directory, mut buffer) = (Directory::new(), PlanBuffer::new());
        let call = ann();
        let planned = after.plan(&directory, &call.request(), NOVEMBER, &mut buffer);
        let [rescale, take] = planned.plan().checks() else { panic!("two checks") };
        assert!(matches!(rescale.operation(), Operation::Rescale { .. }));
        for check in [rescale, take] {
            assert_eq!((check.scope(), check.outage()), (scope, outage), "{what}");
        }
    }
}

#[test]
fn non_default_scopes_and_fallbacks_are_explained() {
    for (what, said) in [
        ("about: nothing", None),
        ("scope: node", Some("in this process only (scope: node)")),
        ("on_store_error: allow", Some("all requests are allowed (on_store_error: allow)")),
        ("on_store_error: deny", Some("all requests are refused (on_store_error: deny)")),
    ] {
        let gate =
            TestLimiter::of(&format!("rules: [{{ name: api, key: ip, limit: 5/min, {what} }}]"));
        let call = ann();
        let answer = gate.gate.rules().explain(&Directory::new(), &call.request(), NOVEMBER);
        let answer = answer.to_string();
        match said {
            Some(said) => assert!(answer.contains(&format!("{said}\n")), "{answer}"),
            None => assert!(!answer.contains("      count "), "{answer}"),
        }
    }
}

/// A store that records the scope of each check.
struct ScopeRecorder {
    memory: Memory<ManualClock>,
    noted: Mutex<Vec<(Scope, OnStoreError)>>,
}

impl Store for ScopeRecorder {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.memory.clock()
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        let checks = batch.sets().iter().flat_map(Set::checks);
        let noted = checks.map(|check| (check.scope(), check.outage()));
        self.noted.lock().unwrap().extend(noted);
        self.memory.apply(batch).await
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

#[test]
fn slots_are_released_in_the_scope_of_their_rule() {
    for (what, scope, outage) in SAYINGS {
        let memory = Memory::with_clock(ManualClock::at(NOVEMBER));
        let store = ScopeRecorder { memory, noted: Mutex::default() };
        let text =
            format!("rules: [{{ name: slots, key: user, limit: {{ concurrent: 5 }}, {what} }}]");
        let gate = RuleLimiter::new(Limiter::new(store), rules(&text)).unwrap();
        let call = ann();
        let slot =
            at_once(gate.check(&call.request(), |answer| answer.slot().unwrap()).into_future())
                .unwrap();
        assert_eq!(at_once(gate.release(&slot)).unwrap().unwrap().released, 1);
        let noted = gate.limiter().store().noted.lock().unwrap().clone();
        assert_eq!(noted, [(scope, outage); 2], "{what}");
    }
}
