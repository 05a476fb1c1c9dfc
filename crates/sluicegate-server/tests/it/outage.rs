//! Tests of responses while the shared store is unavailable.

use serde_json::{Value, json};
use sluicegate::ManualClock;
use sluicegate_server::Server;

use super::flaky_store::{FlakyStore, StoreControl};
use super::raw_client::Reply;
use super::test_server::{TestServer, by_rules};

const RULES: &str = "
rules:
  - { name: local, key: user, limit: 5/min, match: { path: [/local, /mixed, /strict] } }
  - { name: allow, key: user, limit: 3/min, on_store_error: allow, match: { path: [/allow, /mixed] } }
  - { name: deny, key: user, limit: 5/min, on_store_error: deny, match: { path: [/deny, /strict] } }
  - { name: login, key: user, cooldown: { after: 3, within: 1m, block: 1m }, on_store_error: deny, match: { path: /login } }
";

async fn gate() -> (TestServer, StoreControl) {
    let clock = ManualClock::default();
    let (store, control) = FlakyStore::new(clock.clone());
    (TestServer::open_with(Server::new(by_rules(store, RULES)), clock).await, control)
}

fn body(path: &str) -> String {
    json!({"attributes": {"user": "42", "path": path}}).to_string()
}

const LIMIT_HEADERS: [&str; 6] = [
    "ratelimit",
    "ratelimit-policy",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "retry-after",
];

fn has_limit_headers(reply: &Reply) -> bool {
    LIMIT_HEADERS.iter().any(|name| reply.header(name).is_some())
}

#[tokio::test]
async fn the_decider_is_reported_unless_it_is_the_store() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    for path in ["/local", "/allow", "/deny", "/mixed", "/strict"] {
        let reply = client.post("/v1/check", body(path)).await;
        assert_eq!((reply.status, reply.json().get("by")), (200, None), "{path}");
        assert!(has_limit_headers(&reply), "{path}");
    }
    control.fail("connection refused");
    for (path, status, by) in [
        ("/local", 200, "share"),
        ("/allow", 200, "policy"),
        ("/deny", 503, "policy"),
        ("/mixed", 200, "share"),
    ] {
        let reply = client.post("/v1/check", body(path)).await;
        assert_eq!((reply.status, &reply.json()["by"]), (status, &json!(by)), "{path}");
    }
    let throttled = client.throttle(r#"{"key":"a","quota":"5/min"}"#).await;
    assert_eq!((throttled.status, &throttled.json()["by"]), (200, &json!("share")));
}

#[tokio::test]
async fn unknown_state_is_not_reported() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    control.fail("connection refused");
    for path in ["/allow", "/deny"] {
        let reply = client.post("/v1/check", body(path)).await;
        assert!(!has_limit_headers(&reply), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        let verdict = reply.json();
        for field in ["limit", "remaining", "reset_after_ms"] {
            assert_eq!(verdict[field], Value::Null, "{path}: {verdict}");
        }
        let decision = &verdict["decisions"][0];
        let known = [&decision["remaining"], &decision["reset_after_ms"]];
        assert_eq!(known, [&Value::Null, &Value::Null], "{path}: {verdict}");
    }
    // If the state of another limit is known, that one is reported.
    let reply = client.post("/v1/check", body("/mixed")).await;
    assert_eq!(reply.header("x-ratelimit-remaining"), Some("4"));
    let verdict = reply.json();
    assert_eq!((&verdict["rule"], &verdict["remaining"]), (&json!("local"), &json!(4)));
    assert_eq!(verdict["decisions"][0]["remaining"], 4);
    assert_eq!(verdict["decisions"][1]["remaining"], Value::Null);
}

#[tokio::test]
async fn a_rule_that_fails_closed_answers_503_with_a_reason() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    control.fail("connection refused");
    for path in ["/deny", "/strict"] {
        let reply = client.post("/v1/check", body(path)).await;
        assert_eq!(reply.status, 503, "{path}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(reply.header("retry-after"), None);
        let problem = reply.json();
        let kind = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
        assert_eq!(problem["type"], kind);
        assert_eq!((&problem["status"], &problem["allowed"]), (&json!(503), &json!(false)));
        assert_eq!((&problem["reason"], &problem["rule"]), (&json!("unreachable"), &json!("deny")));
        assert_eq!(problem["retry_after_ms"], Value::Null);
        assert!(
            problem["detail"].as_str().unwrap().contains("the shared store is unavailable"),
            "{problem}"
        );
    }
    let reply = client.post("/v1/check?deny_status=403", body("/deny")).await;
    assert_eq!((reply.status, &reply.json()["status"]), (403, &json!(403)), "it is a refusal");

    let list = format!("[{},{}]", body("/deny"), body("/allow"));
    let reply = client.post("/v1/check/batch", list).await;
    let verdicts = reply.json();
    assert_eq!((reply.status, &verdicts[0]["reason"]), (200, &json!("unreachable")));
    assert_eq!((&verdicts[0]["status"], &verdicts[1]["by"]), (&json!(503), &json!("policy")));
    assert_eq!(verdicts[1].get("type"), None);
}

#[tokio::test]
async fn a_report_names_the_decider() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    let failed =
        json!({"attributes": {"user": "42", "path": "/login"}, "failed": true}).to_string();
    let report = client.post("/v1/report", &failed).await.json();
    assert_eq!((&report["counted"], report.get("by")), (&json!(1), None));
    control.fail("connection refused");
    let reply = client.post("/v1/report", &failed).await;
    let report = reply.json();
    assert_eq!((reply.status, &report["by"]), (200, &json!("policy")));
    assert_eq!((&report["counted"], &report["blocked"]), (&json!(0), &json!(true)));
    assert_eq!(report["decisions"][0]["remaining"], Value::Null);
}

#[tokio::test]
async fn a_scrape_has_the_state_of_the_shared_store() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    control.change(|shared| {
        let counts = &mut shared.counts;
        (counts.calls, counts.sets, counts.in_flight, counts.timeouts) = (10, 25, 2, 3);
        (counts.by_memory, counts.by_share, counts.state_lost) = (7, 6, 1);
        (counts.allowed_by_policy, counts.denied_by_policy) = (4, 5);
        (counts.out_of_memory, counts.refused, counts.connections) = (8, 9, 11);
        (counts.failovers, counts.redirects, counts.slot_failures) = (12, 13, 14);
        (counts.map_refreshes, counts.slots_unserved) = (15, 5_461);
        (counts.refunds, counts.stranded_units) = (16, 17);
    });
    let scrape = client.get("/metrics").await;
    for line in [
        "store_calls_total 10",
        "store_sets_total 25",
        "store_in_flight 2",
        "store_connections_total 11",
        r#"store_failures_total{class="timeout"} 3"#,
        r#"store_failures_total{class="out_of_memory"} 8"#,
        r#"store_failures_total{class="refused"} 9"#,
        r#"store_failures_total{class="connection"} 0"#,
        r#"decisions_by_total{by="memory"} 7"#,
        r#"decisions_by_total{by="share"} 6"#,
        r#"decisions_by_total{by="policy"} 9"#,
        "allowed_by_failure_mode_total 4",
        "denied_by_failure_mode_total 5",
        "store_state_lost_total 1",
        "store_failovers_total 12",
        "store_redirects_total 13",
        "store_slot_failures_total 14",
        "store_map_refreshes_total 15",
        "store_slots_unserved 5461",
        "store_refunds_total 16",
        "store_stranded_units_total 17",
        "store_up 1",
        "store_nodes 3",
        "store_clock_offset_seconds -0.00025",
    ] {
        let line = format!("sluicegate_{line}");
        assert!(scrape.text().lines().any(|other| other == line), "{line}\n{}", scrape.text());
    }
    control.fail("connection refused");
    control.change(|shared| (shared.counts.calls, shared.counts.slots_unserved) = (9, 0));
    let scrape = client.get("/metrics").await;
    for line in [
        "sluicegate_store_up 0",
        "sluicegate_store_calls_total 10",
        "sluicegate_store_slots_unserved 0",
    ] {
        assert!(
            scrape.text().lines().any(|other| other == line),
            "{line}: counters never decrease"
        );
    }
}

#[tokio::test]
async fn a_memory_store_has_no_remote_state() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    for path in ["/readyz", "/readyz?strict"] {
        let reply = client.get(path).await;
        let expected = json!({"ready": true, "degraded": false, "store": {"kind": "memory"}});
        assert_eq!((reply.status, reply.json()), (200, expected), "{path}");
    }
    let scrape = client.get("/metrics").await;
    for name in ["store_up", "store_calls", "decisions_by_total"] {
        assert!(!scrape.text().contains(&format!("sluicegate_{name}")), "{name}");
    }
}
