//! Tests of shadow rules, soft limits, concurrency slots and cooldowns.

use sluicegate_rules::{Directory, PlanOutcome};

use crate::harness::{Call, NOVEMBER, TestLimiter, rules};

fn call() -> Call {
    Call::to("POST", "/login").peer("203.0.113.9").text("user", "ann")
}

#[test]
fn a_tier_may_override_or_disable_the_soft_limit() {
    let text = "
identify: { tier: { attribute: plan, default: free } }
tiers:
  free: { api: { limit: 2/min, soft: off } }
  gold: { api: { limit: 2/min, soft: { extra: 5, delay: 1s } } }
  plus: { api: 2/min }
rules: [{ name: api, key: user, limit: { tier: api }, soft: { extra: 1 } }]
";
    for (plan, admitted) in [("free", 2), ("gold", 7), ("plus", 3)] {
        let call = Call::new().text("user", "ann").text("plan", plan);
        assert_eq!(TestLimiter::of(text).admitted(&call, 20), admitted, "{plan}");
    }
}

#[test]
fn forged_and_foreign_slots_are_refused() {
    let gate = TestLimiter::of("rules: [{ name: reports, key: ip, limit: { concurrent: 1 } }]");
    let other = TestLimiter::of("rules: [{ name: reports, key: ip, limit: { concurrent: 1 } }]");
    let slot = gate.admit(1, &call()).slot.unwrap();
    let stolen = |gate: &TestLimiter, slot: &str| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| gate.release(slot))).is_err()
    };
    assert!(stolen(&other, &slot), "another process issued it");
    let mut forged = slot.clone().into_bytes();
    for at in (0..forged.len()).step_by(7) {
        let letter = forged[at];
        forged[at] = if letter == b'0' { b'1' } else { b'0' };
        assert!(stolen(&gate, std::str::from_utf8(&forged).unwrap()), "letter {at}");
        forged[at] = letter;
    }
    for text in ["", "0", "zz", &slot[..slot.len() - 2], &format!("{slot}00")] {
        assert!(stolen(&gate, text), "{text}");
    }
    gate.refuse(&call());
    assert_eq!(gate.release(&slot).released, 1);
}

#[test]
fn slots_outlive_a_change_of_rules() {
    let gate = TestLimiter::of("rules: [{ name: reports, key: ip, limit: { concurrent: 2 } }]");
    let slot = gate.admit(1, &call()).slot.unwrap();
    gate.replace("rules: [{ name: reports, key: ip, limit: [100/min, { concurrent: 1 }] }]");
    gate.refuse(&call());
    assert_eq!(gate.release(&slot).released, 1);
    gate.admit(1, &call());
    gate.replace("rules: [{ name: other, key: ip, limit: 5/min }]");
    assert_eq!(gate.release(&slot).gone, 1);
}

#[test]
fn a_report_charges_nothing_but_cooldowns() {
    let gate = TestLimiter::of(
        "
rules:
  - { name: api, key: ip, limit: 5/min }
  - { name: login, key: ip, limit: 5/min, cooldown: { after: 2, within: 1m, block: 1m, on_status: [401, 429] } }
",
    );
    let answer = gate.report(Some(429), &call());
    assert_eq!(answer.asked, ["login"]);
    let answer = gate.admit(1, &call());
    assert_eq!((answer.left("api"), answer.left("login")), (Some(4), Some(4)));
    assert!(gate.report(Some(500), &call()).left.is_empty());
}

#[test]
fn the_plan_contains_the_modes_of_rules() {
    let rules = rules(
        "rules: [{ name: a, key: ip, limit: 5/min, mode: shadow }, { name: b, key: ip, limit: 5/min }]",
    );
    let (directory, mut buffer) = (Directory::new(), sluicegate_rules::PlanBuffer::new());
    let call = call();
    let planned = rules.plan(&directory, &call.request(), NOVEMBER, &mut buffer);
    assert_eq!(planned.outcome(), PlanOutcome::Check);
    let modes: Vec<_> = (0..2).map(|check| planned.rule(check).unwrap().mode()).collect();
    assert_eq!(modes, [sluicegate_rules::Mode::Enforce, sluicegate_rules::Mode::Shadow]);
    assert_eq!(planned.plan().required().len(), 1);
}

#[test]
fn scope_and_fallback_settings_are_parsed() {
    use sluicegate_rules::{Mode, OnStoreError, Scope};

    let rules = crate::harness::rules(
        "
rules:
  - { name: plain, key: ip, limit: 5/min }
  - { name: edge, key: ip, limit: 6/min, scope: node, on_store_error: allow, mode: shadow }
  - { name: strict, key: ip, limit: 4/min, scope: cluster, on_store_error: deny }
",
    );
    let read: Vec<_> = rules
        .rules()
        .iter()
        .map(|rule| (rule.scope(), rule.on_store_error(), rule.mode()))
        .collect();
    assert_eq!(
        read,
        [
            (Scope::Cluster, OnStoreError::Local, Mode::Enforce),
            (Scope::Node, OnStoreError::Allow, Mode::Shadow),
            (Scope::Cluster, OnStoreError::Deny, Mode::Enforce),
        ]
    );
}
