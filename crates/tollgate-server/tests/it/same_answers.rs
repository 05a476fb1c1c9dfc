//! One trace, asked over HTTP and in the library: the answers are the same.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate::{Check, Clock, Cost, Decision, Limit, Limiter, ManualClock, Memory, Slices, Span};

use super::gate::Gate;

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

#[tokio::test]
async fn http_and_the_library_give_the_same_answers() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    let clock = ManualClock::at(gate.clock.now());
    let library = Limiter::new(Memory::with_clock(clock.clone()));
    // A small generator is enough: the same numbers every time.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
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
