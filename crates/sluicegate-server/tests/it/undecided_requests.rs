//! Tests of requests that cannot be decided, alone and in batches.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use sluicegate::{Clock, ManualClock, Memory, Sleep, Time};
use sluicegate_server::Server;

use super::test_server::{TestServer, without_rules};

const MANY: &str = "the rules that apply to the request have 70 limits together, and at most 64 \
                    are decided in one step; narrow the `match` of some of them";

/// Returns rules of which more apply to `/many` than one step can decide.
fn rules() -> String {
    let mut rules = String::from(
        "rules:
  - { name: api, key: user, limit: 5/min, match: { path: /api } }
  - { name: slots, key: user, limit: { concurrent: 3 }, match: { path: /api } }\n",
    );
    for number in 0..70 {
        let rule = format!("name: many-{number}, key: user, limit: {}/min", number + 1);
        let _ = writeln!(rules, "  - {{ {rule}, match: {{ path: /many }} }}");
    }
    rules
}

#[tokio::test]
async fn an_undecided_item_of_a_batch_does_not_affect_the_others() {
    let (gate, _) = TestServer::by(&rules()).await;
    let mut client = gate.client().await;
    let at = |path: &str| json!({"attributes": {"user": "42", "path": path}});
    let list = json!([at("/api"), at("/many"), at("/api"), at("/none")]);
    let reply = client.post("/v1/check/batch", list.to_string()).await;
    assert_eq!(reply.status, 200);
    let verdicts = reply.json();
    assert_eq!(verdicts.as_array().unwrap().len(), 4);
    let error = MANY;
    assert_eq!(verdicts[1], json!({"allowed": null, "error": error}));
    for index in [0, 2, 3] {
        assert_eq!(verdicts[index]["allowed"], true, "{verdicts}");
        assert_eq!(verdicts[index].get("error"), None, "{verdicts}");
    }
    // Charges are reported, and slots that were taken can be released.
    let charged = verdicts[2]["decisions"][0]["remaining"].as_u64();
    assert_eq!((charged, &verdicts[2]["decisions"][0]["rule"]), (Some(3), &json!("api")));
    for index in [0, 2] {
        let slot = json!({"slot": verdicts[index]["slot"]}).to_string();
        assert_eq!(client.post("/v1/release", slot).await.json()["released"], 1);
    }
    let scrape = client.get("/metrics").await;
    let line = r#"sluicegate_decisions_total{rule="api",outcome="allowed"} 2"#;
    assert!(scrape.text().contains(line), "{}", scrape.text());
}

#[tokio::test]
async fn a_batch_of_undecidable_requests_gets_a_200() {
    let (gate, _) = TestServer::by(&rules()).await;
    let many = json!({"attributes": {"user": "42", "path": "/many"}});
    let list = json!([many, many]).to_string();
    let reply = gate.client().await.post("/v1/check/batch", list).await;
    assert_eq!(reply.status, 200);
    let verdicts = reply.json();
    assert_eq!((&verdicts[0]["allowed"], &verdicts[0]), (&json!(null), &verdicts[1]));
}

#[tokio::test]
async fn an_undecidable_request_gets_a_422() {
    let (gate, _) = TestServer::by(&rules()).await;
    let many = r#"{"attributes":{"user":"42","path":"/many"}}"#;
    for path in ["/v1/check", "/v1/check?deny_status=403"] {
        let reply = gate.client().await.post(path, many).await;
        assert_eq!(reply.status, 422, "not a refusal");
        assert_eq!(reply.problem()["detail"], MANY);
    }
}

/// A clock on which every month has ended before its counter is checked.
struct LeapingClock(ManualClock);

impl Clock for LeapingClock {
    fn now(&self) -> Time {
        self.0.advance(Duration::from_secs(40 * 24 * 60 * 60));
        self.0.now()
    }

    fn sleep_until(&self, time: Time) -> Sleep {
        self.0.sleep_until(time)
    }
}

#[tokio::test]
async fn an_undecided_throttle_does_not_affect_the_others() {
    let clock = ManualClock::default();
    let store = Memory::with_clock(LeapingClock(clock.clone()));
    let gate = TestServer::open_with(Server::new(without_rules(store)), clock).await;
    let mut client = gate.client().await;
    let monthly = json!({"key": "a", "quota": "5/month", "algorithm": "fixed_window"});
    let list = json!([{"key": "a", "quota": "5/min"}, monthly, {"key": "b", "quota": "5/min"}]);
    let reply = client.post("/v1/throttle/batch", list.to_string()).await;
    assert_eq!(reply.status, 200);
    let verdicts = reply.json();
    assert_eq!(verdicts.as_array().unwrap().len(), 3);
    assert_eq!(verdicts[1]["allowed"], json!(null));
    assert!(verdicts[1]["error"].as_str().is_some_and(|error| !error.is_empty()), "{verdicts}");
    assert_eq!([&verdicts[0]["allowed"], &verdicts[2]["allowed"]], [&json!(true); 2]);
    assert_eq!(client.throttle(monthly.to_string()).await.status, 503);
}
