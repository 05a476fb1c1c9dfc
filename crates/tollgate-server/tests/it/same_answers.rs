//! One trace, asked over HTTP and in the library: the answers are the same.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate::{Check, Clock, Cost, Decision, Limit, Limiter, ManualClock, Memory, Slices, Span};
use tollgate_rules::{Answered, Outcome, Purpose, Request, Value as Attribute};

use super::gate::{Gate, by_rules};

const QUOTAS: [&str; 5] = ["3/s", "7/3s", "10/min", "5/s", "1/2s"];

/// A limit as `/v1/throttle` makes it of its fields.
fn limit(algorithm: usize, quota: &str) -> (Value, Limit) {
    let name =
        ["token_bucket", "leaky_bucket", "queue", "fixed_window", "sliding_window", "sliding_log"]
            [algorithm];
    let parsed = quota.parse().unwrap();
    let limit = match algorithm {
        0 => Limit::token_bucket("token_bucket", parsed),
        1 => Limit::leaky_bucket("leaky_bucket", parsed),
        2 => Limit::queue("queue", parsed),
        3 => Limit::fixed_window("fixed_window", parsed),
        4 => Limit::sliding_window("sliding_window", parsed, Slices::Weighted(1)),
        _ => Limit::sliding_log("sliding_log", parsed),
    };
    (json!({"quota": quota, "algorithm": name}), limit.unwrap().without_debt())
}

fn said(decision: &Decision) -> Value {
    json!({
        "allowed": decision.is_allowed(),
        "reason": decision.refusal().map(tollgate::Refusal::as_str),
        "limit": decision.limit(),
        "remaining": decision.remaining(),
        "retry_after_ms": decision.retry_after().map(Span::as_millis_ceil),
        "reset_after_ms": decision.reset_after().as_millis_ceil(),
        "delay_ms": decision.delay().as_millis_ceil(),
    })
}

/// A small generator is enough: the same numbers every time.
pub(crate) fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[tokio::test]
async fn http_and_the_library_give_the_same_answers() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    let clock = ManualClock::at(gate.clock.now());
    let library = Limiter::new(Memory::with_clock(clock.clone()));
    let mut next = numbers();
    let mut refusals = 0;
    for step in 0..3_000 {
        let gap = Duration::from_micros(
            [0, next(1_000), next(300_000), next(4_000_000)][usize::try_from(next(4)).unwrap()],
        );
        clock.advance(gap);
        gate.clock.advance(gap);
        let algorithm = usize::try_from(next(6)).unwrap();
        let (mut body, limit) = limit(algorithm, QUOTAS[usize::try_from(next(5)).unwrap()]);
        let (key, cost) = (format!("key {}", next(2)), next(4));
        body["key"] = json!(key);
        body["cost"] = json!(cost);
        let check = Check::new(&limit, &key).cost(Cost::new(cost).unwrap());
        let expected = said(&library.check(check).now().unwrap());
        let mut found = client.throttle(body.to_string()).await.json();
        let fields = expected.as_object().unwrap();
        found.as_object_mut().unwrap().retain(|field, _| fields.contains_key(field));
        assert_eq!(found, expected, "step {step}: {body}");
        refusals += u32::from(found["allowed"] == false);
    }
    assert!((500..2_500).contains(&refusals), "both answers, often: {refusals}");
}

const RULES: &str = r#"
identify:
  tier: { lookup: user, table: { u1: premium }, default: free }
tiers:
  free: { api: [3/s, 30/min] }
  premium: { api: 9/s }
rules:
  - { name: api, key: user, limit: { tier: api } }
  - { name: writes, match: { method: POST }, key: user, limit: 5/2s, algorithm: sliding_log }
  - { name: soft, match: { path: "/soft/**" }, key: user, limit: 2/s, soft: { extra: 2, delay: 50ms } }
  - { name: shadow, key: [], limit: 4/s, mode: shadow }
  - { name: keyed, match: { path: /keyed }, key: token, if_missing: "401", limit: 1/s }
  - { name: turns, match: { path: /turns }, key: [], limit: 2/s burst 3, algorithm: queue }
  - { name: login, match: { path: /login }, key: user, cooldown: { after: 3, within: 5s, block: 3s } }
block: [{ user: u3 }]
"#;

/// What HTTP has to say of what the rules answered in this process.
fn said_of(answered: &Answered<'_>) -> Value {
    let (planned, verdict) = (answered.planned, answered.verdict);
    let strictest = verdict.and_then(tollgate::Verdict::strictest);
    let decision = strictest.map(|strictest| strictest.decision);
    let reason = match planned.outcome() {
        Outcome::Blocked => Some("listed"),
        Outcome::Unidentified { .. } => Some("unidentified"),
        Outcome::Ask | Outcome::Free => {
            decision.and_then(Decision::refusal).map(tollgate::Refusal::as_str)
        }
    };
    json!({
        "allowed": answered.is_allowed(),
        "reason": reason,
        "limit": decision.map(Decision::limit),
        "remaining": decision.map(Decision::remaining),
        "cost": planned.cost(),
        "retry_after_ms": verdict.and_then(|verdict| verdict.retry_after()?.as_millis_ceil().into()),
        "reset_after_ms": decision.map(|decision| decision.reset_after().as_millis_ceil()),
        "delay_ms": verdict.map_or(0, |verdict| verdict.delay().as_millis_ceil()),
    })
}

#[tokio::test]
async fn http_and_the_rules_in_process_give_the_same_answers() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let clock = ManualClock::at(gate.clock.now());
    let library = by_rules(Memory::with_clock(clock.clone()), RULES);
    let mut next = numbers();
    let mut outcomes = std::collections::BTreeMap::<String, u32>::new();
    for step in 0..3_000 {
        let gap = Duration::from_micros(
            [0, next(1_000), next(900_000)][usize::try_from(next(3)).unwrap()],
        );
        clock.advance(gap);
        gate.clock.advance(gap);
        let user = format!("u{}", next(4));
        let method = ["GET", "POST"][usize::try_from(next(2)).unwrap()];
        let path =
            ["/", "/soft/a", "/keyed", "/turns", "/login"][usize::try_from(next(5)).unwrap()];
        let cost = next(3);
        let attributes = [
            ("user", Attribute::Text(&user)),
            ("method", Attribute::Text(method)),
            ("path", Attribute::Text(path)),
        ];
        let request = Request::new().attributes(&attributes).cost(cost);
        let mut body = json!({"attributes": {"user": user, "method": method, "path": path}});
        if path == "/login" && next(2) == 0 {
            let request = Request::new().attributes(&attributes);
            let reported = library.decide_for(Purpose::Failure(None), &request, |_| ());
            reported.await.unwrap();
            body["failed"] = json!(true);
            assert_eq!(client.post("/v1/report", body.to_string()).await.status, 200);
            continue;
        }
        body["cost"] = json!(cost);
        let expected = library.decide_now(&request, said_of).unwrap();
        let mut found = client.post("/v1/check", body.to_string()).await.json();
        let fields = expected.as_object().unwrap();
        found.as_object_mut().unwrap().retain(|field, _| fields.contains_key(field));
        assert_eq!(found, expected, "step {step}: {body}");
        *outcomes.entry(found["reason"].to_string()).or_default() += 1;
    }
    for reason in ["null", "\"exhausted\"", "\"blocked\"", "\"listed\"", "\"unidentified\""] {
        assert!(outcomes.get(reason).is_some_and(|times| *times > 10), "{outcomes:?}");
    }
}
