//! Estimates are charged, and settled when it is known what they came to.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Reply};
use super::gate::Gate;

const RULES: &str = "
rules:
  - { name: requests, key: user, limit: 10/min, cost: 1 }
  - { name: tokens, key: user, limit: 1000/hour, debt: true }
";

fn ask(cost: u64) -> Value {
    json!({"attributes": {"user": "42"}, "cost": cost, "reserve": true})
}

async fn reserve(client: &mut Client, cost: u64) -> Value {
    let reply = client.post("/v1/check", ask(cost).to_string()).await;
    assert_eq!(reply.status, 200);
    reply.json()["reservation"].clone()
}

async fn settle(client: &mut Client, reservation: &Value, cost: u64) -> Reply {
    let body = json!({"reservation": reservation, "cost": cost});
    client.post("/v1/settle", body.to_string()).await
}

/// What is left of both limits.
async fn left(client: &mut Client) -> [u64; 2] {
    let verdict = client.post("/v1/check", r#"{"attributes":{"user":"42"},"cost":0}"#).await.json();
    [0, 1].map(|index| verdict["decisions"][index]["remaining"].as_u64().unwrap())
}

#[tokio::test]
async fn an_estimate_is_corrected_once() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let reservation = reserve(&mut client, 600).await;
    assert_eq!(left(&mut client).await, [9, 400]);
    let settled = settle(&mut client, &reservation, 250).await;
    assert_eq!((settled.status, settled.header("cache-control")), (200, Some("no-store")));
    let expected = json!({
        "settled": true, "reason": null, "cost": 250,
        "decisions": [
            {"rule": "requests", "limit_name": "requests", "algorithm": "token_bucket",
             "settled": true, "reason": null, "estimated": 1, "charged": 1,
             "limit": 10, "remaining": 9, "reset_after_ms": 6_000},
            {"rule": "tokens", "limit_name": "tokens", "algorithm": "token_bucket",
             "settled": true, "reason": null, "estimated": 600, "charged": 250,
             "limit": 1000, "remaining": 750, "reset_after_ms": 900_000}]});
    assert_eq!(settled.json(), expected);
    for cost in [250, 0, 9_000] {
        let again = settle(&mut client, &reservation, cost).await;
        assert_eq!(again.status, 200);
        let told = again.json();
        assert_eq!((&told["settled"], &told["reason"]), (&json!(false), &json!("spent")));
        assert_eq!(told["decisions"][1]["charged"], json!(null));
    }
    assert_eq!(left(&mut client).await, [9, 750]);
}

#[tokio::test]
async fn more_is_owed_and_nothing_is_given_back() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let reservation = reserve(&mut client, 600).await;
    let told = settle(&mut client, &reservation, 5_000).await.json();
    assert_eq!(told["decisions"][1]["charged"], 2_000, "as much again, and no more");
    let refused = client.post("/v1/check", ask(1).to_string()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("3604")));
    assert_eq!(refused.json().get("reservation"), None, "nothing was charged");

    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let reservation = reserve(&mut client, 600).await;
    assert_eq!(settle(&mut client, &reservation, 0).await.json()["settled"], true);
    assert_eq!(left(&mut client).await, [10, 1_000]);
}

#[tokio::test]
async fn one_of_a_list_reserves_for_itself() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let plain = json!({"attributes": {"user": "42"}, "cost": 10});
    let list = json!([plain, ask(100), ask(2_000)]).to_string();
    let verdicts = client.post("/v1/check/batch", list).await.json();
    assert_eq!((verdicts[0].get("reservation"), verdicts[2].get("reservation")), (None, None));
    let settled = settle(&mut client, &verdicts[1]["reservation"], 0).await.json();
    assert_eq!(settled["settled"], true);
    assert_eq!(left(&mut client).await, [9, 990]);
}

#[tokio::test]
async fn one_that_lapsed_stays_charged() {
    let (gate, _) = Gate::by("rules: [{ name: tokens, key: user, limit: 1000/min }]").await;
    let mut client = gate.client().await;
    let reservation = reserve(&mut client, 600).await;
    gate.clock.advance(Duration::from_secs(600));
    let told = settle(&mut client, &reservation, 900).await.json();
    assert_eq!((&told["settled"], &told["reason"]), (&json!(false), &json!("lost")));
}

#[tokio::test]
async fn what_is_not_a_reservation_is_a_mistake() {
    let rules = "rules: [{ name: tokens, key: user, limit: 1000/min }, \
                         { name: slots, key: user, limit: { concurrent: 5 } }]";
    let (gate, _) = Gate::by(rules).await;
    let mut client = gate.client().await;
    let verdict = client.post("/v1/check", ask(10).to_string()).await.json();
    let [reservation, slot] =
        ["reservation", "slot"].map(|field| verdict[field].as_str().unwrap().to_owned());
    let (foreign, _) = Gate::by(rules).await;
    let foreign = reserve(&mut foreign.client().await, 10).await;
    let changed = reservation.replacen(['0', '1'], "2", 1);
    let cut = &reservation[..reservation.len() - 2];
    for wrong in ["", "00", &slot, foreign.as_str().unwrap(), &changed, cut] {
        let reply = settle(&mut client, &json!(wrong), 0).await;
        assert_eq!(reply.status, 400, "{wrong}");
        let error = &reply.problem()["errors"][0];
        assert_eq!(error["field"], "reservation");
        assert!(error["detail"].as_str().unwrap().contains("send back the text of `reservation`"));
    }
    for path in ["/v1/release", "/v1/renew"] {
        let reply = client.post(path, json!({"slot": reservation}).to_string()).await;
        assert_eq!(reply.status, 400, "a reservation is no slot");
    }
    assert_eq!(settle(&mut client, &json!(reservation), 0).await.json()["settled"], true);
}
