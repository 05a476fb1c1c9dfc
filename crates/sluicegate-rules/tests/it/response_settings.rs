//! Tests of the response settings and of policy names.

use sluicegate::Time;
use sluicegate_rules::{
    AttributeValue, Directory, HeaderNames, HeaderSettings, PlanBuffer, Request, Reset, RuleSet,
};

fn rules(text: &str) -> RuleSet {
    RuleSet::parse(text).unwrap_or_else(|report| panic!("{report}"))
}

/// The policy names of a request's limits, in order.
fn names<const N: usize>(
    rules: &RuleSet,
    attributes: [(&str, AttributeValue<'_>); N],
) -> Vec<String> {
    let request = Request::new().peer([203, 0, 113, 9].into()).attributes(&attributes);
    let (directory, mut buffer) = (Directory::new(), PlanBuffer::new());
    let planned = rules.plan(&directory, &request, Time::EPOCH, &mut buffer);
    let checks = planned.plan().checks().iter().enumerate();
    checks
        .map(|(index, check)| planned.rule(index).unwrap().policy_name(check.limit()).into_owned())
        .collect()
}

#[test]
fn the_defaults_are_the_usual_headers() {
    assert_eq!(*rules("rules: []").headers(), HeaderSettings::DEFAULT);
    assert_eq!(*rules("headers: {}\nrules: []").headers(), HeaderSettings::default());
    assert_eq!(HeaderSettings::DEFAULT.names, HeaderNames::XRateLimit);
}

#[test]
fn every_setting_is_parsed() {
    let text = "
headers:
  names: ratelimit-legacy
  reset: epoch
  ietf: false
  upgrade_url: https://example.com/plans
  upgrade_message: '  More is to be had.  '
rules: []
";
    let settings = HeaderSettings {
        names: HeaderNames::Legacy,
        reset: Reset::Epoch,
        ietf: false,
        upgrade_url: Some("https://example.com/plans".into()),
        upgrade_message: Some("More is to be had.".into()),
    };
    assert_eq!(*rules(text).headers(), settings);
    for names in HeaderNames::ALL {
        let text = format!("headers: {{ names: {} }}\nrules: []", names.as_str());
        assert_eq!(rules(&text).headers().names, names);
    }
}

#[test]
fn a_rule_is_reported_by_default_and_may_have_a_message() {
    let rules = rules(
        "rules:
  - { name: shown, key: ip, limit: 10/s, message: Slow down. }
  - { name: secret, key: ip, limit: 1/s, headers: false }
",
    );
    let (shown, hidden) = (rules.rule("shown").unwrap(), rules.rule("secret").unwrap());
    assert_eq!((shown.is_reported(), shown.message()), (true, Some("Slow down.")));
    assert_eq!((hidden.is_reported(), hidden.message()), (false, None));
}

#[test]
fn limits_are_named_by_their_rule_and_several_also_by_their_period() {
    const COOLDOWN: &str = "cooldown: { after: 5, within: 10m, block: 15m }";
    for (rule, expected) in [
        ("limit: 100/min", &["api"][..]),
        ("limit: [100/min]", &["api"]),
        ("limit: [10/s, 100/min, 1000/hour]", &["api/second", "api/minute", "api/hour"]),
        ("limit: [1000/day, 5000/week]", &["api/day", "api/week"]),
        ("limit: [10/15s, 10/90min]", &["api/15s", "api/90min"]),
        ("limit: [5/10ms, 10/s]", &["api/10ms", "api/second"]),
        ("algorithm: fixed_window, limit: [100/month, 10/day]", &["api/month", "api/day"]),
        ("limit: { concurrent: 5 }", &["api"]),
        ("limit: [100/min, { concurrent: 5 }]", &["api/minute", "api/concurrent"]),
        (
            "limit: [100/min, { quota: 90/min, algorithm: fixed_window }]",
            &["api/minute", "api/minute-2"],
        ),
        ("limit: 100/min, soft: { extra: 10 }", &["api", "api/soft"]),
        (
            "limit: [10/s, 100/min], soft: { extra: 10 }",
            &["api/second", "api/second-soft", "api/minute", "api/minute-soft"],
        ),
        (COOLDOWN, &["api"]),
        (&format!("limit: 100/min, {COOLDOWN}"), &["api/cooldown", "api"]),
    ] {
        let rules = rules(&format!("rules: [{{ name: api, key: ip, {rule} }}]"));
        assert_eq!(names(&rules, []), expected, "{rule}");
    }
}

#[test]
fn a_limit_has_the_same_name_for_every_tier() {
    for carry_over in ["", ", carry_over: false"] {
        let rules = rules(&format!(
            "identify: {{ tier: {{ attribute: plan, default: free }} }}
tiers:
  free: {{ api: [10/s, 1000/day], one: 5/s }}
  paid: {{ api: 50000/day, one: 50/s }}
rules:
  - {{ name: api, key: ip, limit: {{ tier: api }}{carry_over} }}
  - {{ name: one, key: ip, limit: {{ tier: one }}{carry_over} }}
"
        ));
        let of = |tier| names(&rules, [("plan", AttributeValue::Text(tier))]);
        assert_eq!(of("free"), ["api/second", "api/day", "one"]);
        assert_eq!(of("paid"), ["api/day", "one"]);
    }
}

#[test]
fn an_override_has_the_names_of_the_rule_and_others_for_other_periods() {
    let rules = rules(
        "identify: { user: { attribute: user } }
rules:
  - { name: api, key: user, limit: 100/min }
  - { name: soft, key: user, limit: 100/min, soft: { extra: 5 } }
overrides:
  - { caller: { user: ann }, rule: api, limit: [10/s, 200/min] }
  - { caller: { user: bob }, rule: api, limit: [{ concurrent: 3 }, 10/hour] }
  - { rule: soft, limit: 10/hour }
  - { caller: { user: ann }, rule: soft, limit: 10/15min }
",
    );
    let of = |user| names(&rules, [("user", AttributeValue::Text(user))]);
    assert_eq!(of("eve"), ["api", "soft/hour", "soft/hour-soft"]);
    assert_eq!(of("ann"), ["api/second", "api", "soft/15min", "soft/15min-soft"]);
    assert_eq!(of("bob"), ["api/concurrent", "api/hour", "soft/hour", "soft/hour-soft"]);
}
