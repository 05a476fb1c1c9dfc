//! Tests of `SLUICEGATE.CHECK` against the responses over HTTP.

use serde_json::{Value, json};

use super::resp_client::{RespReply, command, words};
use super::test_server::TestServer;

const RULES: &str = r#"
identify:
  tier: { lookup: user, table: { u1: premium }, default: free }
tiers:
  free: { api: 3/min }
  premium: { api: 9/min }
rules:
  - { name: api, key: user, limit: { tier: api } }
  - { name: keyed, match: { path: /keyed }, key: token, if_missing: "401", limit: 5/min }
  - { name: turns, match: { path: /turns }, key: [], limit: 6/min burst 3, algorithm: queue }
  - { name: slots, match: { path: /slots }, key: [], limit: { concurrent: 2 } }
  - { name: young, match: { attribute: { age: "< 30" } }, key: [], limit: 1/min }
block: [{ user: u3 }]
"#;

const FIELDS: [&str; 13] = [
    "allowed",
    "rule",
    "reason",
    "limit",
    "remaining",
    "retry_after_ms",
    "reset_after_ms",
    "delay_ms",
    "cost",
    "tier",
    "identity",
    "slot",
    "by",
];

/// Converts an HTTP response to the expected RESP reply.
fn expected_reply(body: &Value) -> Vec<(&'static str, RespReply)> {
    let number = |value: &Value| RespReply::Integer(value.as_i64().unwrap_or(-1));
    let text = |value: &Value| value.as_str().map_or(RespReply::Null, RespReply::text);
    let fields = FIELDS.into_iter().map(|name| {
        let value = &body[name];
        let converted = match name {
            "allowed" => RespReply::Integer(i64::from(value.as_bool().unwrap())),
            "by" => RespReply::text(value.as_str().unwrap_or("store")),
            "rule" | "reason" | "tier" | "identity" | "slot" => text(value),
            _ => number(value),
        };
        (name, converted)
    });
    fields.collect()
}

#[tokio::test]
async fn replies_match_the_responses_over_http() {
    let (gate, twin) = (TestServer::by(RULES).await.0, TestServer::by(RULES).await.0);
    let (mut client, mut http) = (gate.resp().await, twin.client().await);
    for version in ["HELLO 2", "HELLO 3"] {
        client.ask(version).await;
        for (arguments, cost) in [
            ("user u0", None),
            ("user u0", Some(2)),
            ("user u0", None),
            ("user u0", Some(0)),
            ("user u0", Some(4)),
            ("user u1", None),
            ("user u2 path /turns", None),
            ("user u2 path /turns", None),
            ("user u3", None),
            ("user u4 path /keyed", None),
            ("user u4 path /keyed token t", None),
            ("user u5 age 12", None),
            ("user u6 age 12", None),
            ("user u6 age 30", None),
            ("nothing known", None),
        ] {
            let words: Vec<&str> = arguments.split(' ').collect();
            let mut body = json!({"attributes": {}});
            for pair in words.chunks(2) {
                body["attributes"][pair[0]] = json!(pair[1]);
            }
            let mut sent = format!("SLUICEGATE.CHECK {arguments}");
            if let Some(cost) = cost {
                body["cost"] = json!(cost);
                sent = format!("{sent} COST {cost}");
            }
            let expected = expected_reply(&http.post("/v1/check", body.to_string()).await.json());
            let found = client.ask(&sent).await;
            for (name, value) in &expected {
                assert_eq!(found.get(name), value, "{name} of {sent}");
            }
            match found {
                RespReply::Map(entries) => assert_eq!((entries.len(), version), (13, "HELLO 3")),
                RespReply::List(items) => {
                    assert_eq!((items.len(), version), (26, "HELLO 2"));
                    let names: Vec<_> = items.chunks(2).map(|pair| pair[0].clone()).collect();
                    assert_eq!(names, FIELDS.map(RespReply::text), "the order is fixed");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn checks_and_throttles_in_one_pipeline_keep_their_order() {
    let gate = TestServer::by(RULES).await.0;
    let mut client = gate.resp().await;
    let sent = [
        "SLUICEGATE.CHECK user u1",
        "CL.THROTTLE k 8 9 60",
        "SLUICEGATE.CHECK user u1 cost 2",
        "PING",
    ];
    client.send(sent.map(words).concat().repeat(2)).await;
    for (checked, throttled) in [(8, 8), (5, 7)] {
        assert_eq!(*client.answer().await.get("remaining"), RespReply::Integer(checked));
        let RespReply::List(numbers) = client.answer().await else { panic!("no list") };
        assert_eq!(numbers[2], RespReply::Integer(throttled));
        assert_eq!(*client.answer().await.get("remaining"), RespReply::Integer(checked - 2));
        assert_eq!(client.answer().await, RespReply::Simple("PONG".to_owned()));
    }
}

#[tokio::test]
async fn a_slot_can_be_released_over_http() {
    let gate = TestServer::by(RULES).await.0;
    let (mut client, mut http) = (gate.resp().await, gate.client().await);
    let held = client.ask("SLUICEGATE.CHECK user a path /slots").await;
    let RespReply::Text(slot) = held.get("slot") else { panic!("no slot: {held:?}") };
    let released = http.post("/v1/release", json!({"slot": slot}).to_string()).await;
    assert_eq!(released.json()["released"], 1);
}

#[tokio::test]
async fn argument_errors_have_a_remedy() {
    let gate = TestServer::by(RULES).await.0;
    let mut client = gate.resp().await;
    let many: Vec<String> = (0..257).map(|number| format!("a{number} v")).collect();
    let many = many.join(" ");
    let example =
        "send names and values in pairs, as in SLUICEGATE.CHECK user 42 path /checkout COST 1";
    let cost = "use a whole number from 0 to 9007199254740991";
    for (arguments, expected) in [
        ("SLUICEGATE.CHECK user 1 path", format!("the attribute 'path' has no value; {example}")),
        (
            "SLUICEGATE.CHECK user 1 user 2",
            "the attribute 'user' is given more than once; give it once".to_owned(),
        ),
        (
            "SLUICEGATE.CHECK COST 1 cost 2",
            "the attribute 'cost' is given more than once; give it once".to_owned(),
        ),
        ("SLUICEGATE.CHECK user 1 COST x", format!("the cost is 'x'; {cost}")),
        ("SLUICEGATE.CHECK user 1 COST -1", format!("the cost is '-1'; {cost}")),
        (
            "SLUICEGATE.CHECK user 1 COST 9007199254740992",
            format!("the cost is '9007199254740992'; {cost}"),
        ),
        (
            &*format!("SLUICEGATE.CHECK {many}"),
            "there are 257 attributes; send at most 256".to_owned(),
        ),
    ] {
        assert_eq!(
            client.ask(arguments).await,
            RespReply::Error(format!("ERR {expected}")),
            "{arguments}"
        );
    }
    client.send(command(&[&b"SLUICEGATE.CHECK"[..], b"user", b"\xff"])).await;
    let error = "ERR the attribute 'user' is not UTF-8; send it as UTF-8";
    assert_eq!(client.answer().await, RespReply::error(error));
}
