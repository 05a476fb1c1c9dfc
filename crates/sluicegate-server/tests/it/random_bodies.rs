//! Property tests: every body gets a verdict or a list of errors.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::raw_client::Client;
use super::test_server::TestServer;

const RULES: &str = r#"
rules:
  - { name: api, key: [ip, user], limit: 9/min, cost: { "GET /search": 5 } }
  - { name: slots, match: { path: "/a/**" }, key: user, limit: { concurrent: 2 } }
  - { name: login, match: { method: POST }, key: user, cooldown: { after: 2, within: 1m, block: 1m } }
"#;

/// One server and one connection for all cases.
///
/// An incomplete response breaks the next case.
struct Fixture {
    runtime: Runtime,
    _gate: TestServer,
    client: std::cell::RefCell<Client>,
}

impl Fixture {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (gate, _) = runtime.block_on(TestServer::by(RULES));
        let client = runtime.block_on(gate.client()).into();
        Self { runtime, _gate: gate, client }
    }

    fn ask(&self, body: &[u8]) -> Result<(), TestCaseError> {
        let mut client = self.client.borrow_mut();
        // A timeout, so that a hanging server fails the test.
        let limit = Duration::from_secs(60);
        let response = async { timeout(limit, client.throttle(body)).await };
        let reply = self.runtime.block_on(response).unwrap();
        let answer: Value = serde_json::from_slice(&reply.body).unwrap();
        match reply.status {
            200 => prop_assert_eq!(&answer["allowed"], true),
            429 => prop_assert_eq!(&answer["allowed"], false),
            400 => prop_assert!(!answer["errors"].as_array().unwrap().is_empty()),
            status => prop_assert!(false, "answered with {}", status),
        }
        for path in ["/v1/check", "/v1/check/batch", "/v1/report", "/v1/release"] {
            let response = async { timeout(limit, client.post(path, body)).await };
            let reply = self.runtime.block_on(response).unwrap();
            let answer: Value = serde_json::from_slice(&reply.body).unwrap();
            match reply.status {
                200 | 429 => prop_assert!(answer.is_object() || answer.is_array()),
                400 => prop_assert!(!answer["errors"].as_array().unwrap().is_empty()),
                status => prop_assert!(false, "{} answered with {}", path, status),
            }
        }
        Ok(())
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Bodies with the right fields, often of the right type, so that most reach the store.
fn any_request() -> impl Strategy<Value = Value> {
    let algorithms = [
        "token_bucket",
        "leaky_bucket",
        "queue",
        "fixed_window",
        "sliding_window",
        "sliding_log",
        "cooldown",
    ];
    let units = prop::sample::select(vec!["us", "ms", "s", "min", "day", "week", "month"]);
    let quota = (0..=u64::MAX, 0..64_u32, 1..100_u32, units, prop::option::of(0..100_u64));
    let quota = quota.prop_map(|(amount, shift, count, unit, burst)| {
        let burst = burst.map(|burst| format!(" burst {burst}")).unwrap_or_default();
        format!("{}/{count}{unit}{burst}", amount >> shift)
    });
    let cost = prop_oneof![0..10_u64, any::<u64>()];
    (".{1,20}", quota, prop::sample::select(algorithms.to_vec()), cost, any_json()).prop_map(
        |(key, quota, algorithm, cost, odd)| {
            let mut body =
                json!({"key": key, "quota": quota, "algorithm": algorithm, "cost": cost});
            if algorithm == "sliding_window" {
                body["slices"] = odd;
            }
            body
        },
    )
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn arbitrary_bytes_are_answered() {
    let fixture = Fixture::new();
    proptest!(cases(256), |(body in prop::collection::vec(any::<u8>(), 0..2_000))| {
        fixture.ask(&body)?;
    });
}

#[test]
fn arbitrary_json_is_answered() {
    let fixture = Fixture::new();
    proptest!(cases(256), |(body in any_json())| fixture.ask(body.to_string().as_bytes())?);
}

/// Bodies of checks, with values that often have the right type.
fn any_check() -> impl Strategy<Value = Value> {
    let entries = || prop::collection::vec((".{0,8}", any_json()), 0..4);
    let names = prop::sample::select(vec!["user", "ip", "method", "path", "x"]);
    let attributes = prop::collection::vec((names, any_json()), 0..4);
    (attributes, entries(), any_json(), 0..5_u8).prop_map(|(attributes, headers, odd, place)| {
        let attributes: Map<_, _> =
            attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let headers: Map<_, _> = headers.into_iter().collect();
        let mut body = json!({"attributes": attributes, "headers": headers, "status": 401});
        if let Some(field) = ["peer", "cost", "body_size", "failures"].get(usize::from(place)) {
            body[*field] = odd;
        }
        if place % 2 == 0 {
            body.as_object_mut().unwrap().remove("status");
        }
        body
    })
}

#[test]
fn arbitrary_checks_are_answered() {
    let fixture = Fixture::new();
    proptest!(cases(500), |(body in any_check())| {
        fixture.ask(body.to_string().as_bytes())?;
    });
}

#[test]
fn arbitrary_requests_are_answered() {
    let fixture = Fixture::new();
    proptest!(cases(1_000), |(body in any_request())| {
        fixture.ask(body.to_string().as_bytes())?;
    });
}
