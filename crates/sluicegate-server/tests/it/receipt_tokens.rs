//! Tests that forged reservations and slots are refused.

use serde_json::{Value, json};

use super::raw_client::{Client, Reply};
use super::test_server::TestServer;

const RULES: &str = "rules: [{ name: tokens, key: user, limit: 1000/min }, \
                             { name: slots, key: user, limit: { concurrent: 5 } }]";
const ASK: &str = r#"{"attributes":{"user":"42"},"cost":10,"reserve":true}"#;

async fn settle(client: &mut Client, reservation: &Value) -> Reply {
    let body = json!({"reservation": reservation, "cost": 0});
    client.post("/v1/settle", body.to_string()).await
}

async fn release(client: &mut Client, slot: &Value) -> Reply {
    client.post("/v1/release", json!({"slot": slot}).to_string()).await
}

#[tokio::test]
async fn invalid_reservations_are_errors() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    let verdict = client.post("/v1/check", ASK).await.json();
    let [reservation, slot] =
        ["reservation", "slot"].map(|field| verdict[field].as_str().unwrap().to_owned());
    let (foreign, _) = TestServer::by(RULES).await;
    let foreign = foreign.client().await.post("/v1/check", ASK).await.json()["reservation"].clone();
    let changed = reservation.replacen(['0', '1'], "2", 1);
    let cut = &reservation[..reservation.len() - 2];
    for wrong in ["", "00", &slot, foreign.as_str().unwrap(), &changed, cut] {
        let reply = settle(&mut client, &json!(wrong)).await;
        assert_eq!(reply.status, 400, "{wrong}");
        let error = &reply.problem()["errors"][0];
        assert_eq!(error["field"], "reservation");
        assert!(error["detail"].as_str().unwrap().contains("send back the value of `reservation`"));
    }
    for path in ["/v1/release", "/v1/renew"] {
        let reply = client.post(path, json!({"slot": reservation}).to_string()).await;
        assert_eq!(reply.status, 400, "a reservation is not a slot");
    }
    assert_eq!(settle(&mut client, &json!(reservation)).await.json()["settled"], true);
}

#[tokio::test]
async fn invalid_slots_are_errors() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    let slot = client.post("/v1/check", ASK).await.json()["slot"].as_str().unwrap().to_owned();
    let changed = slot.replace(&slot[40..42], if &slot[40..42] == "00" { "11" } else { "00" });
    for wrong in ["", "00", "no slot", &slot[2..], &changed, &format!("{slot}00")] {
        let reply = release(&mut client, &json!(wrong)).await;
        assert_eq!(reply.status, 400, "{wrong}");
        let error = &reply.problem()["errors"][0];
        assert_eq!(error["field"], "slot");
        assert!(error["detail"].as_str().unwrap().contains("send back the value of `slot`"));
    }
    assert_eq!(release(&mut client, &json!(slot)).await.json()["released"], 1);
}
