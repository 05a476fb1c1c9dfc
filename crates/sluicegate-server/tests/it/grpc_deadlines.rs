//! Tests of the deadlines of calls.

use std::future::pending;
use std::sync::{Arc, Mutex};

use prost::Message;
use sluicegate::{Batch, Check, CheckError, ManualClock, Set, Span, Store};
use sluicegate_server::{Server, StoreSize, StoreStats};

use super::flaky_store::FlakyStore;
use super::grpc::{
    GrpcTestServer, LIMIT, RateLimitDescriptor, RateLimitOverride, RateLimitRequest,
    RateLimitResponse, descriptor, rate_limit_response::Code,
};
use super::grpc_calls::{call, encoded_call, framed, send};
use super::test_server::by_rules;

const RULES: &str = "
identify:
  user: { attribute: user }
rules:
  - { name: all, key: [], limit: 5/min, on_store_error: allow }
  - name: monthly
    match: { attribute: { user: m } }
    key: user
    limit: 9/month
    algorithm: fixed_window
    on_store_error: allow
";

/// An unreachable store that records the deadline of each set.
struct DeadlineRecorder {
    store: FlakyStore,
    seen: Arc<Mutex<Vec<Option<Span>>>>,
}

impl Store for DeadlineRecorder {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.store.clock()
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        self.seen.lock().unwrap().extend(batch.sets().iter().map(Set::within));
        self.store.apply(batch).await
    }

    fn apply_detached(&self, _: Check<'_>) {}
}

impl StoreStats for DeadlineRecorder {
    fn size(&self) -> StoreSize {
        StoreSize::default()
    }
}

/// Returns calls that use each method of the store.
fn calls() -> [Vec<RateLimitDescriptor>; 5] {
    let [any, monthly] = ["a", "m"].map(|user| descriptor(&[("user", user)]));
    let limit = Some(RateLimitOverride { requests_per_unit: 1_000, unit: 2 });
    let own = RateLimitDescriptor { limit, ..any.clone() };
    [
        vec![any.clone()],
        vec![monthly.clone()],
        vec![own.clone()],
        vec![own, any.clone()],
        vec![any, monthly],
    ]
}

#[tokio::test]
async fn the_store_gets_the_deadline_of_the_call() {
    let (store, control) = FlakyStore::new(ManualClock::default());
    control.fail("no answer");
    let seen = Arc::default();
    let store = DeadlineRecorder { store, seen: Arc::clone(&seen) };
    let gate = GrpcTestServer::open(Server::new(by_rules(store, RULES))).await;
    for descriptors in calls() {
        let message = RateLimitRequest { domain: "edge".to_owned(), descriptors, hits_addend: 0 };
        for (timeout, within) in [(Some("5m"), Some(2)), (Some("1S"), Some(997)), (None, None)] {
            let headers = timeout.map(|timeout| ("grpc-timeout", timeout));
            let request = || call(LIMIT, framed(&message.encode_to_vec()), headers.as_slice());
            let mut deadlines = Vec::new();
            // On a busy machine, 5 ms may pass before the store is called.
            for _ in 0..10_000 {
                let (failed, body, _) = send(&gate, request()).await;
                deadlines.append(&mut seen.lock().unwrap());
                if let Some(encoded) = body.get(5..) {
                    let answer = RateLimitResponse::decode(encoded).unwrap();
                    assert_eq!(
                        answer.overall_code(),
                        Code::Ok,
                        "the fallback of the rules decides"
                    );
                } else {
                    assert_eq!(
                        (timeout, &failed.headers()["grpc-status"]),
                        (Some("5m"), &"4".parse().unwrap())
                    );
                }
                if !deadlines.is_empty() {
                    break;
                }
            }
            assert_eq!(deadlines, [within.map(Span::from_millis)], "{timeout:?}: {message:?}");
        }
    }
}

/// A store that never answers.
struct SilentStore(ManualClock);

impl Store for SilentStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        &self.0
    }

    async fn apply(&self, _: &mut Batch<'_>) -> Result<(), CheckError> {
        pending().await
    }

    fn apply_detached(&self, _: Check<'_>) {}
}

impl StoreStats for SilentStore {
    fn size(&self) -> StoreSize {
        StoreSize::default()
    }
}

#[tokio::test]
async fn no_call_takes_longer_than_its_timeout() {
    let silent = SilentStore(ManualClock::default());
    let gate = GrpcTestServer::open(Server::new(by_rules(silent, RULES))).await;
    for (timeout, waited) in [("20m", "20"), ("3m", "3"), ("1n", "0"), ("0m", "0")] {
        let (head, _, _) =
            send(&gate, call(LIMIT, encoded_call(), &[("grpc-timeout", timeout)])).await;
        assert_eq!(head.headers()["grpc-status"], "4");
        let message = head.headers()["grpc-message"].to_str().unwrap();
        assert!(
            message.starts_with(&format!("not%20decided%20within%20{waited}%20ms")),
            "{message}"
        );
    }
}
