//! Whatever is sent, the answer is a verdict or a list of mistakes.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::client::Client;
use super::gate::Gate;

/// One server and one connection for all cases: an answer that is not whole breaks the next.
struct Asking {
    runtime: Runtime,
    _gate: Gate,
    client: std::cell::RefCell<Client>,
}

impl Asking {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let gate = runtime.block_on(Gate::open());
        let client = runtime.block_on(gate.client()).into();
        Self { runtime, _gate: gate, client }
    }

    fn ask(&self, body: &[u8]) -> Result<(), TestCaseError> {
        let mut client = self.client.borrow_mut();
        // Only so that a server that hangs fails the test instead of hanging it too.
        let patience = Duration::from_secs(60);
        let answered = async { timeout(patience, client.throttle(body)).await };
        let reply = self.runtime.block_on(answered).unwrap();
        let answer: Value = serde_json::from_slice(&reply.body).unwrap();
        match reply.status {
            200 => prop_assert_eq!(&answer["allowed"], true),
            429 => prop_assert_eq!(&answer["allowed"], false),
            400 => prop_assert!(!answer["errors"].as_array().unwrap().is_empty()),
            status => prop_assert!(false, "answered with {}", status),
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

/// Bodies with the right fields, often of the right type: most of them get as far as the store.
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
    let asking = Asking::new();
    proptest!(cases(256), |(body in prop::collection::vec(any::<u8>(), 0..2_000))| {
        asking.ask(&body)?;
    });
}

#[test]
fn arbitrary_json_is_answered() {
    let asking = Asking::new();
    proptest!(cases(256), |(body in any_json())| asking.ask(body.to_string().as_bytes())?);
}

#[test]
fn arbitrary_requests_are_answered() {
    let asking = Asking::new();
    proptest!(cases(1_000), |(body in any_request())| {
        asking.ask(body.to_string().as_bytes())?;
    });
}
