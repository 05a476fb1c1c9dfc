//! Calls that say how long they wait.

use std::future::pending;
use std::sync::{Arc, Mutex};

use prost::Message;
use sluicegate::{Applied, Check, CheckError, Decision, ManualClock, Set, Span, Store};
use sluicegate_server::{Measured, Server, Size};

use super::fading::Fading;
use super::gate::by_rules;
use super::grpc::{
    GrpcGate, LIMIT, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, RateLimitResponse,
    descriptor, rate_limit_response::Code,
};
use super::grpc_calls::{asked, call, framed, send};

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

/// A store that has given up whatever it is asked for, and for how long each of it was of use.
struct GivenUp {
    store: Fading,
    seen: Arc<Mutex<Vec<Option<Span>>>>,
}

impl Store for GivenUp {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.store.clock()
    }

    async fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        self.seen.lock().unwrap().push(set.within());
        self.store.apply(set, decisions).await
    }

    fn apply_detached(&self, _: Check<'_>) {}
}

impl Measured for GivenUp {
    fn size(&self) -> Size {
        Size::default()
    }
}

/// Calls that reach the store in different ways.
fn ways() -> [Vec<RateLimitDescriptor>; 5] {
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
async fn a_store_is_told_how_long_its_answer_is_of_use() {
    let (store, hand) = Fading::new(ManualClock::default());
    hand.fade("no answer");
    let seen = Arc::default();
    let store = GivenUp { store, seen: Arc::clone(&seen) };
    let gate = GrpcGate::open(Server::new(by_rules(store, RULES))).await;
    for descriptors in ways() {
        let asked = RateLimitRequest { domain: "edge".to_owned(), descriptors, hits_addend: 0 };
        for (timeout, within) in [(Some("5m"), Some(2)), (Some("1S"), Some(997)), (None, None)] {
            let headers = timeout.map(|timeout| ("grpc-timeout", timeout));
            let request = || call(LIMIT, framed(&asked.encode_to_vec()), headers.as_slice());
            let mut heard = Vec::new();
            // On a busy machine 5 ms may have passed before anything was asked.
            for _ in 0..10_000 {
                let (failed, body, _) = send(&gate, request()).await;
                heard.append(&mut seen.lock().unwrap());
                if let Some(message) = body.get(5..) {
                    let answer = RateLimitResponse::decode(message).unwrap();
                    assert_eq!(answer.overall_code(), Code::Ok, "as the rules have it");
                } else {
                    assert_eq!(
                        (timeout, &failed.headers()["grpc-status"]),
                        (Some("5m"), &"4".parse().unwrap())
                    );
                }
                if !heard.is_empty() {
                    break;
                }
            }
            assert_eq!(heard, [within.map(Span::from_millis)], "{timeout:?}: {asked:?}");
        }
    }
}

/// A store that never answers.
struct Silent(ManualClock);

impl Store for Silent {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        &self.0
    }

    async fn apply<'a>(
        &'a self,
        _: &'a Set<'a>,
        _: &'a mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        pending().await
    }

    fn apply_detached(&self, _: Check<'_>) {}
}

impl Measured for Silent {
    fn size(&self) -> Size {
        Size::default()
    }
}

#[tokio::test]
async fn nobody_waits_longer_than_it_says_it_does() {
    let silent = Silent(ManualClock::default());
    let gate = GrpcGate::open(Server::new(by_rules(silent, RULES))).await;
    for (timeout, waited) in [("20m", "20"), ("3m", "3"), ("1n", "0"), ("0m", "0")] {
        let (head, _, _) = send(&gate, call(LIMIT, asked(), &[("grpc-timeout", timeout)])).await;
        assert_eq!(head.headers()["grpc-status"], "4");
        let told = head.headers()["grpc-message"].to_str().unwrap();
        assert!(told.starts_with(&format!("not%20decided%20within%20{waited}%20ms")), "{told}");
    }
}
