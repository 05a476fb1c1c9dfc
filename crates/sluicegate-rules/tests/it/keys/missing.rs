//! Tests that unidentified callers are never unlimited.

use sluicegate_rules::Directory;

use crate::harness::{Call, NOVEMBER, PlanResult, TestLimiter, rules};

/// Calls without the identity, in all possible forms.
fn unnamed() -> Vec<(&'static str, Call)> {
    let call = || Call::to("GET", "/").peer("203.0.113.9");
    vec![
        ("absent", call()),
        ("empty", call().header("x-user", "")),
        ("a blank", call().header("x-user", " ")),
        ("blanks", call().header("x-user", " \t  ")),
        ("NUL", call().header("x-user", "\0")),
        ("NUL within", call().header("x-user", "4\x002")),
        ("NUL behind", call().header("x-user", "42\0")),
        ("twice", call().header("x-user", "42").header("x-user", "43")),
        ("twice, in another case", call().header("x-user", "42").header("X-User", "43")),
        (
            "three times",
            call().header("x-user", "42").header("x-user", "43").header("x-user", "42"),
        ),
        ("empty and a value", call().header("x-user", "").header("x-user", "42")),
        ("a value and empty", call().header("x-user", "42").header("x-user", "")),
        ("attribute empty", call().text("user", "")),
        ("attribute a blank", call().text("user", " ")),
        ("attribute NUL", call().text("user", "\0")),
        ("attribute empty beside a header", call().text("user", "").header("x-user", "")),
    ]
}

fn text(if_missing: &str) -> String {
    format!(
        "
identify:
  user: {{ header: x-user{if_missing} }}
rules:
  - {{ name: per-user, key: user, limit: 3/min }}
  - {{ name: everybody, key: [], limit: 1000/min }}
"
    )
}

#[test]
fn unidentified_callers_share_one_counter() {
    for if_missing in ["", ", if_missing: share"] {
        let gate = TestLimiter::of(&text(if_missing));
        let calls = unnamed();
        for (index, (name, call)) in calls.iter().enumerate() {
            let answer = gate.ask(call);
            assert_eq!(answer.allowed, index < 3, "{name}: {answer:?}");
        }
        // An identified caller is separate, even one named like the missing value.
        for value in ["42", "missing", "0", "null", "\u{1}", "-"] {
            gate.admit(3, &Call::new().header("x-user", value));
        }
    }
}

#[test]
fn a_skipped_rule_does_not_affect_the_others() {
    let gate = TestLimiter::of(&text(", if_missing: skip"));
    for (name, call) in unnamed() {
        let answer = gate.admit(5, &call);
        assert_eq!(answer.asked, ["everybody"], "{name}");
    }
    gate.admit(3, &Call::new().header("x-user", "42"));
    gate.refuse(&Call::new().header("x-user", "42"));
}

#[test]
fn a_rule_that_requires_an_identity_refuses_without_it() {
    let gate = TestLimiter::of(&text(", if_missing: 401"));
    for (name, call) in unnamed() {
        let answer = gate.refuse(&call);
        assert_eq!(answer.outcome, PlanResult::Unidentified("user".to_owned()), "{name}");
    }
    // Nothing was charged.
    assert_eq!(gate.admit(1, &Call::new().header("x-user", "42")).left("everybody"), Some(999));
}

#[test]
fn the_setting_of_a_rule_overrides_that_of_an_identity() {
    for (identity, rule, outcome) in [
        ("401", "share", PlanResult::Asked),
        ("share", "401", PlanResult::Unidentified("user".to_owned())),
        ("skip", "401", PlanResult::Unidentified("user".to_owned())),
        ("401", "skip", PlanResult::Asked),
    ] {
        let gate = TestLimiter::of(&format!(
            "
identify: {{ user: {{ header: x-user, if_missing: {identity} }} }}
rules: [{{ name: per-user, key: user, limit: 1/min, if_missing: {rule} }}]
"
        ));
        assert_eq!(gate.ask(&Call::new()).outcome, outcome, "{identity} {rule}");
    }
}

#[test]
fn every_source_treats_empty_values_as_missing() {
    let sources = [
        (
            "{ cookie: sid }",
            vec![
                Call::new(),
                Call::new().header("cookie", ""),
                Call::new().header("cookie", "sid="),
                Call::new().header("cookie", "other=1"),
                Call::new().header("cookie", "sid=a; sid=b"),
                Call::new().header("cookie", "sid"),
            ],
        ),
        (
            "{ query: id }",
            vec![
                Call::to("GET", "/"),
                Call::to("GET", "/?id="),
                Call::to("GET", "/?id=%20"),
                Call::to("GET", "/?id=%00"),
                Call::to("GET", "/?id=a&id=b"),
                Call::to("GET", "/?other=1"),
            ],
        ),
        (
            "{ path: '/t/{id}/**' }",
            vec![
                Call::to("GET", "/"),
                Call::to("GET", "/t"),
                Call::to("GET", "/u/1/x"),
                Call::new(),
            ],
        ),
        (
            "{ segment: 2 }",
            vec![Call::to("GET", "/"), Call::to("GET", "/a"), Call::to("GET", "/a/"), Call::new()],
        ),
        (
            "{ attribute: uid }",
            vec![Call::new(), Call::new().text("uid", ""), Call::new().text("uid", "\t")],
        ),
        ("{ fingerprint: [user-agent, accept] }", vec![Call::new()]),
        (
            "{ jwt: { claim: sub, unverified: true } }",
            vec![
                Call::new(),
                Call::new().header("authorization", "Bearer"),
                Call::new().header("authorization", "Bearer a.b.c"),
                Call::new().header("authorization", "Basic dTpw"),
            ],
        ),
        ("ip", vec![Call::new(), Call::new().text("who", "nowhere")]),
        (
            "host",
            vec![
                Call::new(),
                Call::new().host(""),
                Call::new().host("user@example.com"),
                Call::new().header("host", "a").header("host", "b"),
            ],
        ),
        ("method", vec![Call::new()]),
    ];
    for (source, calls) in sources {
        let text = format!(
            "identify: {{ who: {source} }}\nrules: [{{ name: a, key: who, limit: 1/min }}]"
        );
        let gate = TestLimiter::of(&text);
        gate.admit(1, &calls[0]);
        for call in &calls {
            let answer = gate.refuse(call);
            assert_eq!(answer.rule.as_deref(), Some("a"), "{source} {call:?}");
        }
        let demanding =
            TestLimiter::of(&text.replace("limit: 1/min", "limit: 1/min, if_missing: 401"));
        for call in &calls {
            assert_eq!(
                demanding.ask(call).outcome,
                PlanResult::Unidentified("who".to_owned()),
                "{source} {call:?}"
            );
        }
    }
}

#[test]
fn a_shadow_rule_without_its_identity_is_explained_as_planned() {
    let text = |mode: &str| {
        format!(
            "
identify: {{ user: {{ header: x-user, if_missing: 401 }} }}
rules: [{{ name: a, key: user, limit: 5/min, mode: {mode} }}]
"
        )
    };
    let call = Call::to("GET", "/");
    for (mode, expected) in [
        ("shadow", "- a: does not apply: `user` is missing, and a shadow rule never refuses"),
        ("enforce", "x a: refuses with 401: `user` is missing"),
    ] {
        let rules = rules(&text(mode));
        let explained = rules.explain(&Directory::new(), &call.request(), NOVEMBER).to_string();
        assert!(explained.contains(expected), "{explained}");
        assert_eq!(TestLimiter::of(&text(mode)).ask(&call).allowed, mode == "shadow");
    }
}
