//! What is answered to a request that goes by rules: verdict, status and headers.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Reply};
use super::gate::Gate;

const RULES: &str = r#"
identify:
  ip: { trusted_proxies: [10.0.0.0/8] }
  user: { header: x-user-id }
  api_key: { header: x-api-key, secret: true, if_missing: "401" }
rules:
  - { name: per-user, key: user, limit: 5/min }
  - { name: checkout, match: { method: POST, path: /checkout }, key: user, limit: 2/min }
  - { name: per-address, match: { path: "/public/**" }, key: ip, limit: 3/min }
  - { name: keyed, match: { path: "/keyed/**" }, key: api_key, limit: 9/min }
block:
  - ip: 198.51.100.0/24
allow:
  - user: operator
"#;

async fn ask(client: &mut Client, body: &Value) -> Reply {
    client.post("/v1/check", body.to_string()).await
}

fn at(path: &str, user: &str) -> Value {
    json!({"attributes": {"method": "POST", "path": path, "user": user}})
}

#[tokio::test]
async fn the_strictest_rule_that_applies_answers() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let reply = ask(&mut client, &at("/checkout", "42")).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.text(),
        "{\"allowed\":true,\"rule\":\"checkout\",\"reason\":null,\"limit\":2,\"remaining\":1,\
         \"cost\":1,\"retry_after_ms\":null,\"reset_after_ms\":30000,\"delay_ms\":0,\
         \"decisions\":[{\"rule\":\"per-user\",\"limit_name\":\"per-user\",\
         \"algorithm\":\"token_bucket\",\"mode\":\"enforce\",\"allowed\":true,\"reason\":null,\
         \"limit\":5,\"remaining\":4,\"granted\":1,\"retry_after_ms\":null,\
         \"reset_after_ms\":12000,\"delay_ms\":0},{\"rule\":\"checkout\",\
         \"limit_name\":\"checkout\",\"algorithm\":\"token_bucket\",\"mode\":\"enforce\",\
         \"allowed\":true,\"reason\":null,\"limit\":2,\"remaining\":1,\"granted\":1,\
         \"retry_after_ms\":null,\"reset_after_ms\":30000,\"delay_ms\":0}]}"
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(
        reply.header("ratelimit-policy"),
        Some("\"checkout\";q=2;w=60, \"per-user\";q=5;w=60")
    );
    assert_eq!(reply.header("ratelimit"), Some("\"checkout\";r=1;t=30, \"per-user\";r=4;t=12"));
    assert_eq!(reply.header("x-ratelimit-limit"), Some("2"));

    ask(&mut client, &at("/checkout", "42")).await;
    let refused = ask(&mut client, &at("/checkout", "42")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("30")));
    let verdict = refused.json();
    assert_eq!((&verdict["rule"], &verdict["reason"]), (&json!("checkout"), &json!("exhausted")));
    assert_eq!(verdict["decisions"][0]["remaining"], 3, "a refusal is charged to no rule");
    // Another path, method or user is not in the way of that rule.
    assert_eq!(ask(&mut client, &at("/cart", "42")).await.json()["rule"], "per-user");
    assert_eq!(ask(&mut client, &at("/checkout", "43")).await.status, 200);
    let read = json!({"attributes": {"method": "GET", "path": "/checkout", "user": "42"}});
    assert_eq!(ask(&mut client, &read).await.json()["rule"], "per-user");
    gate.clock.advance(Duration::from_secs(30));
    assert_eq!(ask(&mut client, &at("/checkout", "42")).await.status, 200);
}

#[tokio::test]
async fn identities_come_from_headers_in_any_case_and_from_the_peer() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    for (place, body) in [
        json!({"headers": {"X-User-ID": "7"}}),
        json!({"headers": {"x-user-id": ["7"]}}),
        json!({"attributes": {"user": 7}}),
        json!({"attributes": {"user": "7"}, "headers": {"x-user-id": "8"}}),
    ]
    .iter()
    .enumerate()
    {
        let verdict = ask(&mut client, body).await.json();
        assert_eq!(verdict["remaining"], 4 - place, "{body}");
    }
    let public = |peer: &str, forwarded: Value| {
        json!({"attributes": {"path": "/public/a", "user": forwarded.to_string()},
               "headers": {"x-forwarded-for": forwarded}, "peer": peer})
    };
    // The proxy's word counts, whoever passed it on; nobody else's does.
    for (left, body) in [
        (2, public("10.0.0.1", json!("203.0.113.9"))),
        (1, public("10.0.0.2", json!(["203.0.113.9", "10.9.9.9"]))),
        (0, public("203.0.113.9", json!("192.0.2.1"))),
    ] {
        let verdict = ask(&mut client, &body).await.json();
        assert_eq!(
            (&verdict["rule"], &verdict["remaining"]),
            (&json!("per-address"), &json!(left))
        );
    }
}

#[tokio::test]
async fn who_has_to_say_who_it_is_and_does_not_is_answered_401() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let nameless = json!({"attributes": {"path": "/keyed/a"}});
    let reply = ask(&mut client, &nameless).await;
    assert_eq!(reply.status, 401);
    assert_eq!(reply.header("www-authenticate"), Some("Tollgate identity=\"api_key\""));
    assert_eq!(reply.header("ratelimit"), None);
    assert_eq!(
        reply.json(),
        json!({"type": "about:blank", "title": "Unauthorized", "status": 401,
               "detail": "the rule `keyed` has to know the `api_key` of whoever is asking, \
                          and the request does not say it",
               "allowed": false, "rule": "keyed", "reason": "unidentified", "identity": "api_key",
               "limit": null, "remaining": null, "cost": 0, "retry_after_ms": null,
               "reset_after_ms": null, "delay_ms": 0, "decisions": []})
    );
    let named = json!({"attributes": {"path": "/keyed/a"}, "headers": {"x-api-key": "secret"}});
    let reply = ask(&mut client, &named).await;
    assert_eq!(reply.status, 200);
    assert!(!reply.text().contains("secret"));
    let elsewhere = client.post("/v1/check?deny_status=403", nameless.to_string()).await;
    assert_eq!(elsewhere.status, 403);
}

#[tokio::test]
async fn who_is_on_a_list_is_answered_without_asking_the_rules() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let blocked = json!({"peer": "198.51.100.7"});
    let reply = ask(&mut client, &blocked).await;
    assert_eq!(reply.status, 403);
    let nothing = |allowed: bool, reason: Value| {
        json!({"allowed": allowed, "rule": null, "reason": reason, "limit": null,
               "remaining": null, "cost": 0, "retry_after_ms": null, "reset_after_ms": null,
               "delay_ms": 0, "decisions": []})
    };
    let mut refusal = reply.problem();
    assert_eq!(refusal["detail"], "the caller is on the block-list");
    refusal
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !["type", "title", "status", "detail"].contains(&name.as_str()));
    assert_eq!(refusal, nothing(false, json!("listed")));
    let elsewhere = client.post("/v1/check?deny_status=204", blocked.to_string()).await;
    assert_eq!((elsewhere.status, elsewhere.body.len()), (204, 0));
    for _ in 0..20 {
        let free = ask(&mut client, &at("/checkout", "operator")).await;
        assert_eq!((free.status, free.json()), (200, nothing(true, json!(null))));
        assert_eq!(free.header("ratelimit"), None);
        assert_eq!(free.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn a_request_that_no_rule_applies_to_goes_ahead() {
    let (gate, _) =
        Gate::by("rules: [{ name: a, match: { path: /a }, key: [], limit: 1/min }]").await;
    let mut client = gate.client().await;
    for _ in 0..3 {
        let reply = client.post("/v1/check", "{}").await;
        assert_eq!(reply.status, 200);
        assert_eq!(
            reply.text(),
            "{\"allowed\":true,\"rule\":null,\"reason\":null,\"limit\":null,\"remaining\":null,\
             \"cost\":0,\"retry_after_ms\":null,\"reset_after_ms\":null,\"delay_ms\":0,\
             \"decisions\":[]}"
        );
    }
}

#[tokio::test]
async fn a_refusal_has_the_status_that_was_asked_for() {
    let (gate, _) = Gate::by("rules: [{ name: all, key: [], limit: 1/min }]").await;
    let mut client = gate.client().await;
    assert_eq!(client.post("/v1/check?deny_status=503", "{}").await.status, 200);
    for status in [200, 204, 403, 503] {
        let refused = client.post(&format!("/v1/check?deny_status={status}"), "{}").await;
        assert_eq!((refused.status, refused.header("retry-after")), (status, Some("60")));
    }
    let mistaken = client.post("/v1/check?deny=503", r#"{"cost":-1}"#).await.problem();
    let fields: Vec<_> = mistaken["errors"].as_array().unwrap().clone();
    let fields: Vec<_> = fields.iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["deny", "cost"]);
}

#[tokio::test]
async fn costs_are_the_rules_or_the_callers_and_zero_looks() {
    let (gate, _) =
        Gate::by("rules: [{ name: api, key: user, limit: 100/min, cost: { \"GET /search\": 5 } }]")
            .await;
    let mut client = gate.client().await;
    let search = json!({"attributes": {"method": "GET", "path": "/search", "user": "1"}});
    let verdict = ask(&mut client, &search).await.json();
    assert_eq!((&verdict["cost"], &verdict["remaining"]), (&json!(5), &json!(95)));
    let dear = json!({"attributes": {"user": "1"}, "cost": 90});
    let verdict = ask(&mut client, &dear).await.json();
    assert_eq!((&verdict["cost"], &verdict["remaining"]), (&json!(90), &json!(5)));
    let look = json!({"attributes": {"user": "1"}, "cost": 0});
    let verdict = ask(&mut client, &look).await.json();
    assert_eq!((&verdict["cost"], &verdict["remaining"]), (&json!(0), &json!(5)));
    let never = json!({"attributes": {"user": "1"}, "cost": 101});
    let refused = ask(&mut client, &never).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, None));
    assert_eq!(refused.json()["reason"], "cost_above_limit");
}

#[tokio::test]
async fn a_tier_is_told_and_its_limits_hold() {
    let (gate, _) = Gate::by(
        "
identify:
  user: { header: x-user-id }
  tier: { lookup: user, table: { ada: premium }, default: free }
tiers:
  free: { api: 2/min }
  premium: { api: 4/min }
rules:
  - { name: api, key: user, limit: { tier: api } }
",
    )
    .await;
    let mut client = gate.client().await;
    for (user, tier, limit) in [("ada", "premium", 4), ("bob", "free", 2)] {
        let body = json!({"headers": {"x-user-id": user}});
        for left in (0..limit).rev() {
            let verdict = ask(&mut client, &body).await.json();
            assert_eq!((&verdict["tier"], &verdict["remaining"]), (&json!(tier), &json!(left)));
        }
        assert_eq!(ask(&mut client, &body).await.status, 429, "{user}");
    }
}

#[tokio::test]
async fn beyond_a_soft_limit_requests_are_held_back_before_they_are_refused() {
    let (gate, _) = Gate::by(
        "rules: [{ name: soft, key: user, limit: 2/min, soft: { extra: 1, delay: 200ms } }]",
    )
    .await;
    let mut client = gate.client().await;
    let body = json!({"attributes": {"user": "1"}});
    for _ in 0..2 {
        let verdict = ask(&mut client, &body).await.json();
        assert_eq!(verdict["delay_ms"], 0);
        assert_eq!(verdict["decisions"].as_array().unwrap().len(), 1);
    }
    let held_back = ask(&mut client, &body).await;
    let verdict = held_back.json();
    assert_eq!((held_back.status, &verdict["delay_ms"]), (200, &json!(200)));
    let decisions = verdict["decisions"].as_array().unwrap();
    assert_eq!((&decisions[0]["allowed"], &decisions[0]["soft"]), (&json!(false), &Value::Null));
    assert_eq!((&decisions[1]["allowed"], &decisions[1]["soft"]), (&json!(true), &json!(true)));
    assert_eq!(decisions[1]["delay_ms"], 200);
    let refused = ask(&mut client, &body).await;
    assert_eq!((refused.status, &refused.json()["delay_ms"]), (429, &json!(0)));
}

#[tokio::test]
async fn a_shadow_is_told_and_never_in_the_way() {
    let (gate, _) = Gate::by(
        "rules: [{ name: tight, key: user, limit: 1/min, mode: shadow }, \
                 { name: wide, key: user, limit: 4/min }]",
    )
    .await;
    let mut client = gate.client().await;
    let body = json!({"attributes": {"user": "1"}});
    for (place, status) in [200, 200, 200, 200, 429].into_iter().enumerate() {
        let reply = ask(&mut client, &body).await;
        assert_eq!(reply.status, status);
        let verdict = reply.json();
        assert_eq!(verdict["rule"], "wide", "what a shadow says is in no header");
        assert!(reply.header("ratelimit").unwrap().starts_with("\"wide\""));
        let shadow = &verdict["decisions"][0];
        assert_eq!((&shadow["rule"], &shadow["mode"]), (&json!("tight"), &json!("shadow")));
        assert_eq!(shadow["allowed"], place == 0);
    }
    let (gate, _) = Gate::by("rules: [{ name: tight, key: [], limit: 1/min, mode: shadow }]").await;
    let mut client = gate.client().await;
    for _ in 0..3 {
        let reply = client.post("/v1/check", "{}").await;
        assert_eq!((reply.status, reply.header("ratelimit")), (200, None));
        assert_eq!((&reply.json()["rule"], &reply.json()["limit"]), (&Value::Null, &Value::Null));
    }
}

#[tokio::test]
async fn a_blocked_caller_does_not_pass_by_repeating_its_header() {
    const RULES: &str = "
        identify: { user: { header: x-user-id } }
        rules: [{ name: all, key: user, limit: 100/min }]
        block: [{ user: mallory }]
    ";
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    for headers in [
        json!({"x-user-id": "mallory"}),
        json!({"x-user-id": ["bob", "mallory"]}),
        json!({"x-user-id": "mallory,bob"}),
    ] {
        let reply = client.post("/v1/check", json!({"headers": headers}).to_string()).await;
        assert_eq!(reply.status, 403, "{headers}");
    }
}
