//! Tests of `/readyz` with a shared store.

use std::time::Duration;

use serde_json::json;
use sluicegate::ManualClock;
use sluicegate_redis::ServerHealth;
use sluicegate_server::Server;

use super::contract::Contract;
use super::flaky_store::{FlakyStore, StoreControl};
use super::test_server::{TestServer, by_rules};

async fn gate() -> (TestServer, StoreControl) {
    let clock = ManualClock::default();
    let (store, control) = FlakyStore::new(clock.clone());
    let rules = "rules: [{ name: api, key: user, limit: 5/min }]";
    (TestServer::open_with(Server::new(by_rules(store, rules)), clock).await, control)
}

#[tokio::test]
async fn readiness_reports_the_store_and_fails_only_if_strict() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    let reached = json!({
        "ready": true, "degraded": false,
        "store": {"kind": "redis", "state": "reached", "for_ms": 1500, "clock_offset_ms": -0.25, "nodes": 3,
                  "passed_over": 7},
    });
    control.change(|shared| shared.counts.passed_over = 7);
    for path in ["/readyz", "/readyz?", "/readyz?strict"] {
        let reply = client.get(path).await;
        assert_eq!((reply.status, reply.json()), (200, reached.clone()), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    control.fail("connection refused");
    for (path, status) in [("/readyz", 200), ("/readyz?strict", 503)] {
        let reply = client.get(path).await;
        let body = reply.json();
        assert_eq!((reply.status, &body["ready"]), (status, &json!(status == 200)), "{path}");
        assert_eq!(body["degraded"], true);
        assert_eq!(body["store"]["state"], "degraded");
        assert_eq!(body["store"]["why"], "connection refused");
    }
    assert_eq!(client.get("/healthz").await.status, 200, "the process serves");
    for query in ["?strict=1", "?Strict", "?verbose", "?strict&strict"] {
        let reply = client.get(&format!("/readyz{query}")).await;
        assert_eq!(reply.status, 400, "{query}");
        assert_eq!(reply.problem()["errors"][0]["field"], "query");
    }
}

fn part(address: &str, why: Option<&str>, slots: Option<usize>) -> ServerHealth {
    ServerHealth {
        address: address.to_owned(),
        up: why.is_none(),
        since: Duration::from_millis(20),
        why: why.map(str::to_owned),
        server: None,
        slots,
    }
}

#[tokio::test]
async fn readiness_reports_every_primary_of_a_cluster() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    control.change(|shared| {
        let gone = part("10.0.0.2:7000", Some("connection refused"), Some(8_191));
        shared.health.parts = vec![part("10.0.0.1:7000", None, Some(8_193)), gone];
    });
    control.fail("10.0.0.2:7000: connection refused");
    let (contract, status) = (Contract::new(), |path| if path == "/readyz" { 200 } else { 503 });
    for path in ["/readyz", "/readyz?strict"] {
        let reply = contract.ask(&mut client, "GET", path, "").await;
        let body = reply.json();
        assert_eq!((reply.status, &body["degraded"]), (status(path), &json!(true)), "{path}");
        let parts = json!([
            {"address": "10.0.0.1:7000", "state": "reached", "for_ms": 20, "slots": 8_193},
            {"address": "10.0.0.2:7000", "state": "degraded", "for_ms": 20,
             "why": "connection refused", "slots": 8_191},
        ]);
        assert_eq!(body["store"]["parts"], parts);
        assert_eq!(body["store"].get("address"), None);
    }
    control.change(|shared| shared.health.parts = vec![part("10.0.0.3:7000", None, Some(16_384))]);
    let body = contract.ask(&mut client, "GET", "/readyz", "").await.json();
    assert_eq!(body["store"]["parts"][0]["slots"], 16_384, "a small cluster is one too");
}

#[tokio::test]
async fn readiness_reports_the_address_of_a_single_server() {
    let (gate, control) = gate().await;
    let mut client = gate.client().await;
    control.change(|shared| shared.health.parts = vec![part("10.0.0.1:6379", None, None)]);
    let body = Contract::new().ask(&mut client, "GET", "/readyz", "").await.json();
    assert_eq!(body["store"]["address"], "10.0.0.1:6379");
    assert_eq!(body["store"].get("parts"), None);
}
