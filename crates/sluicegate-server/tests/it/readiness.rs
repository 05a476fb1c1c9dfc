//! `/readyz`, with a store that nodes share.

use std::time::Duration;

use serde_json::json;
use sluicegate::ManualClock;
use sluicegate_redis::Part;
use sluicegate_server::Server;

use super::contract::Contract;
use super::fading::{Fading, Hand};
use super::gate::{Gate, by_rules};

async fn gate() -> (Gate, Hand) {
    let clock = ManualClock::default();
    let (store, hand) = Fading::new(clock.clone());
    let rules = "rules: [{ name: api, key: user, limit: 5/min }]";
    (Gate::open_with(Server::new(by_rules(store, rules)), clock).await, hand)
}

#[tokio::test]
async fn readiness_tells_of_the_store_and_stays_unless_it_is_asked_strictly() {
    let (gate, hand) = gate().await;
    let mut client = gate.client().await;
    let reached = json!({
        "ready": true, "degraded": false,
        "store": {"kind": "redis", "state": "reached", "for_ms": 1500, "clock_offset_ms": -0.25, "nodes": 3,
                  "passed_over": 7},
    });
    hand.change(|shared| shared.counts.passed_over = 7);
    for path in ["/readyz", "/readyz?", "/readyz?strict"] {
        let reply = client.get(path).await;
        assert_eq!((reply.status, reply.json()), (200, reached.clone()), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    hand.fade("connection refused");
    for (path, status) in [("/readyz", 200), ("/readyz?strict", 503)] {
        let reply = client.get(path).await;
        let told = reply.json();
        assert_eq!((reply.status, &told["ready"]), (status, &json!(status == 200)), "{path}");
        assert_eq!(told["degraded"], true);
        assert_eq!(told["store"]["state"], "degraded");
        assert_eq!(told["store"]["why"], "connection refused");
    }
    assert_eq!(client.get("/healthz").await.status, 200, "the process serves");
    for query in ["?strict=1", "?Strict", "?verbose", "?strict&strict"] {
        let reply = client.get(&format!("/readyz{query}")).await;
        assert_eq!(reply.status, 400, "{query}");
        assert_eq!(reply.problem()["errors"][0]["field"], "query");
    }
}

fn part(address: &str, why: Option<&str>, slots: Option<usize>) -> Part {
    Part {
        address: address.to_owned(),
        up: why.is_none(),
        since: Duration::from_millis(20),
        why: why.map(str::to_owned),
        server: None,
        slots,
    }
}

#[tokio::test]
async fn readiness_tells_of_every_primary_of_a_cluster() {
    let (gate, hand) = gate().await;
    let mut client = gate.client().await;
    hand.change(|shared| {
        let gone = part("10.0.0.2:7000", Some("connection refused"), Some(8_191));
        shared.health.parts = vec![part("10.0.0.1:7000", None, Some(8_193)), gone];
    });
    hand.fade("10.0.0.2:7000: connection refused");
    let (contract, status) = (Contract::new(), |path| if path == "/readyz" { 200 } else { 503 });
    for path in ["/readyz", "/readyz?strict"] {
        let reply = contract.ask(&mut client, "GET", path, "").await;
        let told = reply.json();
        assert_eq!((reply.status, &told["degraded"]), (status(path), &json!(true)), "{path}");
        let parts = json!([
            {"address": "10.0.0.1:7000", "state": "reached", "for_ms": 20, "slots": 8_193},
            {"address": "10.0.0.2:7000", "state": "degraded", "for_ms": 20,
             "why": "connection refused", "slots": 8_191},
        ]);
        assert_eq!(told["store"]["parts"], parts);
        assert_eq!(told["store"].get("address"), None);
    }
    hand.change(|shared| shared.health.parts = vec![part("10.0.0.3:7000", None, Some(16_384))]);
    let told = contract.ask(&mut client, "GET", "/readyz", "").await.json();
    assert_eq!(told["store"]["parts"][0]["slots"], 16_384, "a small cluster is one too");
}

#[tokio::test]
async fn readiness_tells_where_the_only_server_is() {
    let (gate, hand) = gate().await;
    let mut client = gate.client().await;
    hand.change(|shared| shared.health.parts = vec![part("10.0.0.1:6379", None, None)]);
    let told = Contract::new().ask(&mut client, "GET", "/readyz", "").await.json();
    assert_eq!(told["store"]["address"], "10.0.0.1:6379");
    assert_eq!(told["store"].get("parts"), None);
}
