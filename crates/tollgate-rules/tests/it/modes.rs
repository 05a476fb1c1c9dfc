//! Shadows, soft limits, slots in flight and cooldowns.

use tollgate::{Refusal, Span};
use tollgate_rules::{Directory, Outcome};

use crate::gate::{Call, Gate, NOVEMBER, rules};

fn call() -> Call {
    Call::to("POST", "/login").peer("203.0.113.9").told("user", "ann")
}

#[test]
fn a_shadow_counts_beside_the_rule_it_may_replace() {
    let gate = Gate::of(
        "
rules:
  - { name: now, key: ip, limit: 5/min }
  - { name: then, key: ip, limit: 2/min, mode: shadow }
",
    );
    for (allowed, now, then) in
        [(true, 4, 1), (true, 3, 0), (true, 2, 0), (true, 1, 0), (true, 0, 0)]
    {
        let told = gate.ask(&call());
        assert_eq!(
            (told.allowed, told.left("now"), told.left("then")),
            (allowed, Some(now), Some(then))
        );
        assert_eq!(told.rule.as_deref(), Some("now"), "a shadow says nothing about the answer");
    }
    assert_eq!(gate.refuse(&call()).rule.as_deref(), Some("now"));
}

#[test]
fn shadows_alone_never_refuse() {
    let gate = Gate::of(
        "
rules:
  - { name: limit, key: ip, limit: 1/min, mode: shadow }
  - { name: soft, key: ip, limit: 1/min, soft: { extra: 1, delay: 1s }, mode: shadow }
  - { name: slots, key: ip, limit: { concurrent: 1 }, mode: shadow }
  - { name: cooldown, key: ip, cooldown: { after: 1, within: 1m, block: 1h }, mode: shadow }
",
    );
    assert!(gate.report(Some(401), &call()).allowed);
    for _ in 0..5 {
        let told = gate.admit(1, &call());
        assert_eq!(told.delay, Span::ZERO);
    }
}

#[test]
fn a_soft_limit_admits_extra_after_a_delay() {
    let gate =
        Gate::of("rules: [{ name: api, key: ip, limit: 3/min, soft: { extra: 2, delay: 200ms } }]");
    assert_eq!(gate.admit(3, &call()).delay, Span::ZERO);
    for _ in 0..2 {
        assert_eq!(gate.admit(1, &call()).delay, Span::from_millis(200));
    }
    let refused = gate.refuse(&call());
    assert_eq!(refused.delay, Span::ZERO);
    assert_eq!(refused.retry_after, Some(Span::from_secs(20)), "the limit itself comes back first");
    gate.wait(Span::from_secs(20));
    assert_eq!(gate.admit(1, &call()).delay, Span::ZERO);
    gate.refuse(&call());
}

#[test]
fn grace_is_a_quota_of_its_own() {
    let gate = Gate::of("rules: [{ name: api, key: ip, limit: 2/min, soft: { grace: 3/day } }]");
    assert_eq!(gate.admitted(&call(), 20), 5);
    gate.wait(Span::from_secs(60));
    assert_eq!(gate.admitted(&call(), 20), 2, "the grace is used up for the day");
    gate.wait(Span::from_secs(86_400));
    assert_eq!(gate.admitted(&call(), 20), 5);
}

#[test]
fn each_window_has_its_own_beyond() {
    let gate =
        Gate::of("rules: [{ name: api, key: ip, limit: [2/min, 3/hour], soft: { extra: 1 } }]");
    // Two in the minute and one beyond; the fourth is beyond the minute's extra.
    assert_eq!(gate.admitted(&call(), 20), 3);
    gate.wait(Span::from_secs(60));
    assert_eq!(gate.admitted(&call(), 20), 1, "the hour has one beyond it");
}

#[test]
fn a_tier_may_have_another_softness_or_none() {
    let text = "
identify: { tier: { attribute: plan, default: free } }
tiers:
  free: { api: { limit: 2/min, soft: off } }
  gold: { api: { limit: 2/min, soft: { extra: 5, delay: 1s } } }
  plus: { api: 2/min }
rules: [{ name: api, key: user, limit: { tier: api }, soft: { extra: 1 } }]
";
    for (plan, admitted) in [("free", 2), ("gold", 7), ("plus", 3)] {
        let call = Call::new().told("user", "ann").told("plan", plan);
        assert_eq!(Gate::of(text).admitted(&call, 20), admitted, "{plan}");
    }
}

#[test]
fn a_queue_delays_by_itself() {
    let gate = Gate::of("rules: [{ name: api, key: ip, limit: 1/s burst 3, algorithm: queue }]");
    let delays: Vec<u64> = (0..4).map(|_| gate.admit(1, &call()).delay.as_millis_ceil()).collect();
    assert_eq!(delays, [0, 1_000, 2_000, 3_000], "one at once, three wait");
    gate.refuse(&call());
}

#[test]
fn slots_are_held_until_they_are_given_back() {
    let gate =
        Gate::of("rules: [{ name: reports, key: ip, limit: { concurrent: 2, lease: 30s } }]");
    let first = gate.admit(1, &call()).slot.unwrap();
    let second = gate.admit(1, &call()).slot.unwrap();
    assert_ne!(first, second);
    assert_eq!(gate.refuse(&call()).refusal, Some(Refusal::Busy));
    assert_eq!((gate.release(&first).released, gate.release(&first).gone), (1, 1), "once only");
    let third = gate.admit(1, &call()).slot.unwrap();
    gate.refuse(&call());
    // Whoever dies holds it as long as the lease.
    gate.wait(Span::from_secs(30));
    assert_eq!(gate.release(&second).gone, 1);
    gate.admit(2, &call());
    assert_eq!(gate.release(&third).gone, 1);
}

#[test]
fn slots_are_nobody_elses() {
    let gate = Gate::of("rules: [{ name: reports, key: ip, limit: { concurrent: 1 } }]");
    let other = Gate::of("rules: [{ name: reports, key: ip, limit: { concurrent: 1 } }]");
    let slot = gate.admit(1, &call()).slot.unwrap();
    let stolen = |gate: &Gate, slot: &str| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| gate.release(slot))).is_err()
    };
    assert!(stolen(&other, &slot), "another process gave it out");
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
    let gate = Gate::of("rules: [{ name: reports, key: ip, limit: { concurrent: 2 } }]");
    let slot = gate.admit(1, &call()).slot.unwrap();
    gate.replace("rules: [{ name: reports, key: ip, limit: [100/min, { concurrent: 1 }] }]");
    gate.refuse(&call());
    assert_eq!(gate.release(&slot).released, 1);
    gate.admit(1, &call());
    gate.replace("rules: [{ name: other, key: ip, limit: 5/min }]");
    assert_eq!(gate.release(&slot).gone, 1);
}

#[test]
fn failures_block_and_blocks_grow() {
    let gate = Gate::of(
        "
rules:
  - name: login
    match: { method: POST, path: /login }
    key: [ip, user]
    cooldown: { after: 3, within: 10m, block: 15m, factor: 2, longest: 1h }
",
    );
    let minutes = |minutes: u64| Span::from_secs(minutes * 60);
    for length in [15, 30, 60, 60] {
        for failure in 1..=3 {
            assert!(gate.ask(&call()).allowed, "before failure {failure}");
            gate.report(Some(401), &call());
        }
        let refused = gate.refuse(&call());
        assert_eq!(refused.retry_after, Some(minutes(length)));
        assert!(matches!(refused.refusal, Some(Refusal::Blocked { .. })));
        gate.wait(Span::from_micros(minutes(length).as_micros() - 1));
        gate.refuse(&call());
        gate.wait(Span::from_micros(1));
    }
    // Others, and other statuses, are not counted.
    let bob = Call::to("POST", "/login").peer("203.0.113.9").told("user", "bob");
    for status in [200, 302, 404, 500] {
        for _ in 0..5 {
            gate.report(Some(status), &bob);
        }
    }
    gate.report(None, &bob);
    gate.report(Some(403), &bob);
    gate.admit(10, &bob);
    gate.report(Some(401), &bob);
    gate.refuse(&bob);
}

#[test]
fn a_report_charges_nothing_but_cooldowns() {
    let gate = Gate::of(
        "
rules:
  - { name: api, key: ip, limit: 5/min }
  - { name: login, key: ip, limit: 5/min, cooldown: { after: 2, within: 1m, block: 1m, on_status: [401, 429] } }
",
    );
    let told = gate.report(Some(429), &call());
    assert_eq!(told.asked, ["login"]);
    let told = gate.admit(1, &call());
    assert_eq!((told.left("api"), told.left("login")), (Some(4), Some(4)));
    assert!(gate.report(Some(500), &call()).left.is_empty());
}

#[test]
fn attempts_count_until_they_are_reported_or_expire() {
    let gate = Gate::of(
        "
rules:
  - name: login
    key: ip
    cooldown: { after: 3, within: 10m, block: 15m, pending: 10s }
",
    );
    gate.admit(3, &call());
    let refused = gate.refuse(&call());
    assert_eq!(refused.retry_after, Some(Span::from_secs(10)), "the first expires then");
    assert!(matches!(refused.refusal, Some(Refusal::Exhausted { .. })));
    gate.wait(Span::from_secs(4));
    gate.report(Some(200), &call());
    gate.admit(1, &call());
    gate.report(Some(500), &call());
    gate.refuse(&call());
    gate.report(Some(401), &call());
    assert_eq!(gate.refuse(&call()).retry_after, Some(Span::from_secs(6)), "a failure stays");
    gate.wait(Span::from_secs(6));
    gate.admit(1, &call());
    gate.refuse(&call());
}

#[test]
fn a_success_clears_failures_where_it_is_to() {
    let rules = |reset: &str| {
        format!(
            "rules: [{{ name: login, key: ip, cooldown: {{ after: 2, within: 1h, block: 1h{reset} }} }}]"
        )
    };
    for (reset, clears) in
        [("", false), (", reset_on_success: false", false), (", reset_on_success: true", true)]
    {
        let gate = Gate::of(&rules(reset));
        gate.report(Some(401), &call());
        gate.report(Some(404), &call());
        gate.report(Some(302), &call());
        gate.report(Some(401), &call());
        assert_eq!(gate.ask(&call()).allowed, clears, "{reset}");
    }
}

#[test]
fn a_look_is_no_attempt() {
    let gate = Gate::of(
        "rules: [{ name: login, key: ip, cooldown: { after: 1, within: 1h, block: 1h, pending: 1m } }]",
    );
    let look = call().cost(0);
    gate.admit(3, &look);
    gate.admit(1, &call().cost(7));
    gate.refuse(&call());
}

#[test]
fn modes_are_told_in_the_plan() {
    let rules = rules(
        "rules: [{ name: a, key: ip, limit: 5/min, mode: shadow }, { name: b, key: ip, limit: 5/min }]",
    );
    let (directory, mut desk) = (Directory::new(), tollgate_rules::Desk::new());
    let call = call();
    let planned = rules.plan(&directory, &call.request(), NOVEMBER, &mut desk);
    assert_eq!(planned.outcome(), Outcome::Ask);
    let modes: Vec<_> = (0..2).map(|check| planned.rule(check).unwrap().mode()).collect();
    assert_eq!(modes, [tollgate_rules::Mode::Shadow, tollgate_rules::Mode::Enforce]);
}

#[test]
fn what_holds_when_the_store_is_shared_or_down_is_read() {
    use tollgate_rules::{Consistency, Mode, Outage, Scope};

    let rules = crate::gate::rules(
        "
rules:
  - { name: plain, key: ip, limit: 5/min }
  - { name: edge, key: ip, limit: 6/min, scope: node, on_store_error: allow, mode: shadow }
  - { name: strict, key: ip, limit: 4/min, scope: cluster, on_store_error: deny, consistency: exact }
",
    );
    let read: Vec<_> = rules
        .rules()
        .iter()
        .map(|rule| (rule.scope(), rule.on_store_error(), rule.consistency(), rule.mode()))
        .collect();
    let exact = Consistency::Exact;
    assert_eq!(
        read,
        [
            (Scope::Cluster, Outage::Local, exact, Mode::Enforce),
            (Scope::Node, Outage::Allow, exact, Mode::Shadow),
            (Scope::Cluster, Outage::Deny, exact, Mode::Enforce),
        ]
    );
}
