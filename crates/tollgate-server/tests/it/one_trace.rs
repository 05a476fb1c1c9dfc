//! One trace, asked in every protocol and in this process: the answers are the same.

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use serde_json::json;
use tollgate::{Clock, Decision, ManualClock, Memory, Verdict};
use tollgate_rules::{Answered, Request, Value as Attribute};

use super::gate::{Gate, by_rules};
use super::grpc::{GrpcGate, RateLimitDescriptor, descriptor, rate_limit_response::Code};
use super::resp_client::Answer;
use super::same_answers::numbers;

const RULES: &str = "
identify:
  user: { attribute: user }
  tier: { lookup: user, table: { u1: premium }, default: free }
tiers:
  free: { api: [3/s, 30/min] }
  premium: { api: 9/s }
rules:
  - { name: api, key: user, limit: { tier: api } }
  - { name: writes, match: { method: POST }, key: user, limit: 5/2s, algorithm: sliding_log }
  - { name: reads, match: { method: GET }, key: [], limit: 7/3s, algorithm: sliding_window }
  - { name: shadow, key: [], limit: 4/s, mode: shadow }
  - { name: hourly, match: { path: /hourly }, key: user, limit: 40/min, algorithm: fixed_window }
block: [{ user: u3 }]
";

/// What is said of a request: whether it is allowed, and what is left of the limit that says most.
type Said = (bool, Option<u64>);

fn said(answered: &Answered<'_>) -> Said {
    let strictest = answered.verdict.and_then(Verdict::strictest);
    (answered.is_allowed(), strictest.map(|strictest| strictest.decision).map(Decision::remaining))
}

/// How many requests: enough to meet everything, or a hundred thousand if there is time.
fn steps() -> u32 {
    if env::var_os("TOLLGATE_LONG").is_some() { 100_000 } else { 2_000 }
}

#[tokio::test]
async fn every_protocol_answers_as_the_library_does() {
    let (by_http, _) = Gate::by(RULES).await;
    let (by_resp, _) = Gate::by(RULES).await;
    let by_grpc = GrpcGate::by(RULES).await;
    let (mut http, mut resp) = (by_http.client().await, by_resp.resp().await);
    let clock = ManualClock::at(by_http.clock.now());
    let library = by_rules(Memory::with_clock(clock.clone()), RULES);
    let mut next = numbers();
    let mut met = BTreeMap::<Said, u32>::new();
    for step in 0..steps() {
        let gaps = [0, next(1_000), next(900_000)];
        let gap = Duration::from_micros(gaps[usize::try_from(next(3)).unwrap()]);
        for clock in [&clock, &by_http.clock, &by_resp.clock, &by_grpc.clock] {
            clock.advance(gap);
        }
        let user = format!("u{}", next(4));
        let method = ["GET", "POST", "PUT"][usize::try_from(next(3)).unwrap()];
        let path = ["/", "/hourly"][usize::try_from(next(2)).unwrap()];
        let cost = 1 + next(3);

        let attributes = [("user", user.as_str()), ("method", method), ("path", path)];
        let values = attributes.map(|(name, text)| (name, Attribute::Text(text)));
        let request = Request::new().attributes(&values).cost(cost);
        let expected = library.decide_now(&request, said).unwrap();

        let body =
            json!({"attributes": {"user": user, "method": method, "path": path}, "cost": cost});
        let found = http.post("/v1/check", body.to_string()).await.json();
        let found = (found["allowed"] == true, found["remaining"].as_u64());
        assert_eq!(found, expected, "over HTTP, step {step}: {body}");

        let command = format!("TOLLGATE.CHECK user {user} method {method} path {path} COST {cost}");
        let found = resp.ask(&command).await;
        let remaining = match found.get("remaining") {
            Answer::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let found = (*found.get("allowed") == Answer::Integer(1), remaining);
        assert_eq!(found, expected, "over RESP, step {step}: {command}");

        let asked = RateLimitDescriptor { hits_addend: Some(cost), ..descriptor(&attributes) };
        let answer = by_grpc.ask(&[asked]).await;
        let status = &answer.statuses[0];
        let remaining = status.current_limit.as_ref().map(|_| status.limit_remaining.into());
        let found = (status.code() == Code::Ok, remaining);
        assert_eq!(found, expected, "over gRPC, step {step}: {body}");
        *met.entry(expected).or_default() += 1;
    }
    for allowed in [false, true] {
        let times: u32 =
            met.iter().filter(|(said, _)| said.0 == allowed).map(|(_, times)| times).sum();
        assert!(times > steps() / 10, "both answers, often: {met:?}");
    }
}
