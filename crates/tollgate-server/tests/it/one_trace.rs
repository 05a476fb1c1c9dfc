//! One trace, asked in every protocol and in this process, in memory and on Redis: the answers are
//! the same.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tollgate::{Decision, ManualClock, Memory, Verdict};
use tollgate_redis::{Options, Redis};
use tollgate_rules::{Answered, Request, Tollgate, Value as Attribute};
use tollgate_server::{Measured, Server};

use super::client::Client;
use super::gate::{Gate, by_rules};
use super::grpc::{GrpcGate, RateLimitDescriptor, descriptor, rate_limit_response::Code};
use super::resp_client::{Answer, RespClient};
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

/// A request of the trace.
struct Step {
    user: String,
    method: &'static str,
    path: &'static str,
    cost: u64,
}

impl Step {
    fn new(mut next: impl FnMut(u64) -> u64) -> Self {
        Self {
            user: format!("u{}", next(4)),
            method: ["GET", "POST", "PUT"][usize::try_from(next(3)).unwrap()],
            path: ["/", "/hourly"][usize::try_from(next(2)).unwrap()],
            cost: 1 + next(3),
        }
    }

    fn attributes(&self) -> [(&str, &str); 3] {
        [("user", &self.user), ("method", self.method), ("path", self.path)]
    }
}

/// All who are asked, each with counters of its own.
struct Asked<S> {
    clocks: [ManualClock; 4],
    library: Arc<Tollgate<S>>,
    _servers: [Gate; 2],
    http: Client,
    resp: RespClient,
    grpc: GrpcGate,
}

impl<S: Measured> Asked<S> {
    async fn on(clocks: [ManualClock; 4], stores: [S; 4]) -> Self {
        let [library, by_http, by_resp, by_grpc] = stores.map(|store| by_rules(store, RULES));
        let by_http = Gate::open_with(Server::new(by_http), clocks[1].clone()).await;
        let by_resp = Gate::open_with(Server::new(by_resp), clocks[2].clone()).await;
        let grpc = GrpcGate::open(Server::new(by_grpc), clocks[3].clone()).await;
        let (http, resp) = (by_http.client().await, by_resp.resp().await);
        Self { clocks, library, _servers: [by_http, by_resp], http, resp, grpc }
    }

    async fn by_library(&self, step: &Step) -> Said {
        let values = step.attributes().map(|(name, text)| (name, Attribute::Text(text)));
        let request = Request::new().attributes(&values).cost(step.cost);
        self.library.decide(&request, said).await.unwrap()
    }

    async fn over_http(&mut self, step: &Step) -> Said {
        let attributes = BTreeMap::from(step.attributes());
        let body = json!({"attributes": attributes, "cost": step.cost}).to_string();
        let found = self.http.post("/v1/check", body).await.json();
        (found["allowed"] == true, found["remaining"].as_u64())
    }

    async fn over_resp(&mut self, step: &Step) -> Said {
        let words = step.attributes().map(|(name, text)| format!("{name} {text}")).join(" ");
        let found = self.resp.ask(&format!("TOLLGATE.CHECK {words} COST {}", step.cost)).await;
        let remaining = match found.get("remaining") {
            Answer::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        (*found.get("allowed") == Answer::Integer(1), remaining)
    }

    async fn over_grpc(&self, step: &Step) -> Said {
        let hits_addend = Some(step.cost);
        let asked = RateLimitDescriptor { hits_addend, ..descriptor(&step.attributes()) };
        let answer = self.grpc.ask(&[asked]).await;
        let status = &answer.statuses[0];
        let remaining = status.current_limit.as_ref().map(|_| status.limit_remaining.into());
        (status.code() == Code::Ok, remaining)
    }

    /// Asks all of them the same, and the library in memory what is right.
    async fn follow_the_library(mut self) {
        let clock = ManualClock::default();
        let model = by_rules(Memory::with_clock(clock.clone()), RULES);
        let mut next = numbers();
        let mut met = BTreeMap::<Said, u32>::new();
        for number in 0..steps() {
            let gaps = [0, next(1_000), next(900_000)];
            let gap = Duration::from_micros(gaps[usize::try_from(next(3)).unwrap()]);
            for clock in self.clocks.iter().chain([&clock]) {
                clock.advance(gap);
            }
            let step = Step::new(&mut next);
            let values = step.attributes().map(|(name, text)| (name, Attribute::Text(text)));
            let request = Request::new().attributes(&values).cost(step.cost);
            let expected = model.decide_now(&request, said).unwrap();
            let found = [
                ("library", self.by_library(&step).await),
                ("HTTP", self.over_http(&step).await),
                ("RESP", self.over_resp(&step).await),
                ("gRPC", self.over_grpc(&step).await),
            ];
            for (protocol, found) in found {
                let asked = (step.attributes(), step.cost);
                assert_eq!(found, expected, "{protocol}, step {number}: {asked:?}");
            }
            *met.entry(expected).or_default() += 1;
        }
        for allowed in [false, true] {
            let times: u32 =
                met.iter().filter(|(said, _)| said.0 == allowed).map(|(_, times)| times).sum();
            assert!(times > steps() / 10, "both answers, often: {met:?}");
        }
    }
}

fn clocks() -> [ManualClock; 4] {
    [(); 4].map(|()| ManualClock::default())
}

#[tokio::test]
async fn every_protocol_answers_as_the_library_does() {
    let clocks = clocks();
    let stores = clocks.clone().map(Memory::with_clock);
    Asked::on(clocks, stores).await.follow_the_library().await;
}

#[test]
fn every_protocol_answers_on_redis_as_the_library_does_in_memory() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tollgate_testbed::retry_if_stalled(|| runtime.block_on(all_follow_on_redis()));
}

async fn all_follow_on_redis() {
    let server = tollgate_testbed::Server::redis();
    let clocks = clocks();
    let mut number = 0;
    let stores = clocks.clone().map(|clock| {
        number += 1;
        let options = Options::new(&server.url()).unwrap().prefix(&format!("tollgate:{number}:"));
        // As long as can be: a busy machine is no outage.
        let options = options.unwrap().deadline(Duration::from_secs(1)).unwrap();
        // What is refused without a trip is told by one limit alone, and others may be stricter.
        Redis::start(options.deny_cache(false).driven_by(clock)).unwrap()
    });
    for store in &stores {
        assert!(store.reached(tollgate_testbed::PATIENCE).await, "{:?}", store.health());
    }
    Asked::on(clocks, stores).await.follow_the_library().await;
}
