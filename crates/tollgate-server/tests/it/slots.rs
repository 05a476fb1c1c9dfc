//! Requests in flight: slots are handed out, brought back, and run out.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Reply};
use super::gate::Gate;

const RULES: &str = "rules: [{ name: reports, key: tenant, limit: { concurrent: 2 } }, \
                             { name: rate, key: tenant, limit: 100/min }]";
const ASK: &str = r#"{"attributes":{"tenant":"acme"}}"#;

async fn hold(client: &mut Client) -> Reply {
    client.post("/v1/check", ASK).await
}

async fn release(client: &mut Client, slot: &Value) -> Reply {
    client.post("/v1/release", json!({"slot": slot}).to_string()).await
}

#[tokio::test]
async fn a_slot_is_held_until_it_is_brought_back() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let first = hold(&mut client).await.json()["slot"].clone();
    assert!(first.is_string());
    let second = hold(&mut client).await.json()["slot"].clone();
    assert_ne!(first, second);
    let busy = hold(&mut client).await;
    assert_eq!((busy.status, busy.header("retry-after")), (429, None));
    let verdict = busy.json();
    assert_eq!((&verdict["rule"], &verdict["reason"]), (&json!("reports"), &json!("busy")));
    assert_eq!(verdict.get("slot"), None, "nothing is held");

    let released = release(&mut client, &first).await;
    assert_eq!((released.status, released.text()), (200, "{\"released\":1,\"gone\":0}"));
    assert_eq!(release(&mut client, &first).await.json(), json!({"released": 0, "gone": 1}));
    assert_eq!(hold(&mut client).await.status, 200);
    assert_eq!(hold(&mut client).await.status, 429);
}

#[tokio::test]
async fn a_slot_that_is_not_brought_back_runs_out() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let slot = hold(&mut client).await.json()["slot"].clone();
    hold(&mut client).await;
    assert_eq!(hold(&mut client).await.status, 429);
    gate.clock.advance(Duration::from_secs(60));
    assert_eq!(release(&mut client, &slot).await.json(), json!({"released": 0, "gone": 1}));
    assert_eq!(hold(&mut client).await.status, 200);
}

#[tokio::test]
async fn a_slot_that_is_renewed_is_held_on() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let slot = hold(&mut client).await.json()["slot"].clone();
    let body = json!({"slot": slot}).to_string();
    for _ in 0..3 {
        gate.clock.advance(Duration::from_secs(59));
        let renewed = client.post("/v1/renew", &body).await;
        assert_eq!(renewed.status, 200);
        let held = json!({"held": true, "renewed": 1, "gone": 0, "expires_after_ms": 60_000});
        assert_eq!(renewed.json(), held);
    }
    gate.clock.advance(Duration::from_secs(60));
    let gone = json!({"held": false, "renewed": 0, "gone": 1, "expires_after_ms": null});
    assert_eq!(client.post("/v1/renew", &body).await.json(), gone);
    assert_eq!(client.post("/v1/renew", r#"{"slot":"00"}"#).await.status, 400);
}

#[tokio::test]
async fn what_is_not_a_slot_is_a_mistake() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let slot = hold(&mut client).await.json()["slot"].as_str().unwrap().to_owned();
    let changed = slot.replace(&slot[40..42], if &slot[40..42] == "00" { "11" } else { "00" });
    for wrong in ["", "00", "no slot", &slot[2..], &changed, &format!("{slot}00")] {
        let reply = release(&mut client, &json!(wrong)).await;
        assert_eq!(reply.status, 400, "{wrong}");
        let error = &reply.problem()["errors"][0];
        assert_eq!(error["field"], "slot");
        assert!(error["detail"].as_str().unwrap().contains("send back the text of `slot`"));
    }
    assert_eq!(release(&mut client, &json!(slot)).await.json()["released"], 1);
}
