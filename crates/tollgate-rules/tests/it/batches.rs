//! Batches: every request is decided as if the requests had been sent one after another.

use tollgate::{Span, Time};

use super::gate::{Call, Decided, Gate, NOVEMBER, Told};
use super::random::Random;

const RULES: &str = r#"
identify:
  user: { header: x-user-id }
  token: { header: x-token, if_missing: "401" }
  tier: { lookup: user, table: { u1: premium }, default: free }
tiers:
  free: { api: 4/min }
  premium: { api: 9/min }
rules:
  - { name: all, key: [], limit: 20/min }
  - { name: api, key: user, limit: { tier: api } }
  - { name: exports, match: { path: /export }, key: user, limit: [3/day, 8/month], algorithm: fixed_window }
  - { name: soft, match: { path: /soft }, key: user, limit: 2/min, soft: { extra: 2, delay: 50ms } }
  - { name: shadow, match: { path: /soft }, key: user, limit: 1/day, algorithm: fixed_window, mode: shadow }
  - { name: keyed, match: { path: /keyed }, key: token, limit: 2/min }
  - { name: slots, match: { path: /slots }, key: [], limit: { concurrent: 3 } }
block: [{ user: u4 }]
allow: [{ user: u3 }]
"#;

fn call(path: &str, user: &str) -> Call {
    Call::to("GET", path).header("x-user-id", user)
}

/// A slot names the process that handed it out; only whether there is one is compared.
fn comparable(told: Told) -> Told {
    Told { slot: told.slot.map(|_| String::new()), ..told }
}

#[test]
fn the_request_behind_the_last_unit_is_refused_and_no_other() {
    let text = "
        rules:
          - { name: all, key: [], limit: 2/min }
          - { name: exports, match: { path: /export }, key: [], limit: 5/day, algorithm: fixed_window }
    ";
    let calls = ["/export", "/a", "/b"].map(|path| Call::to("GET", path));
    let allowed: Vec<bool> = Gate::of(text).ask_batch(&calls).iter().map(|it| it.allowed).collect();
    assert_eq!(allowed, [true, true, false]);
}

#[test]
fn a_batch_is_decided_as_its_requests_one_by_one() {
    const PATHS: [&str; 5] = ["/", "/export", "/soft", "/keyed", "/slots"];
    const USERS: [&str; 5] = ["u0", "u1", "u2", "u3", "u4"];
    let mut seen = Vec::new();
    for seed in 0..40 {
        let mut random = Random::new(seed);
        // Half of the walks cross the end of a month.
        let before = if seed % 2 == 0 { 0 } else { 90_000_000 };
        let start = Time::from_micros(NOVEMBER.as_micros() - before);
        let (together, alone) = (Gate::at(start, RULES), Gate::at(start, RULES));
        for round in 0..6 {
            let calls: Vec<Call> = (0..random.below(50))
                .map(|_| {
                    let path = random.one_of(&PATHS).unwrap();
                    let call = call(path, random.one_of(&USERS).unwrap());
                    if random.below(4) == 0 { call.cost(2) } else { call }
                })
                .collect();
            let batch = together.ask_batch(&calls);
            for (place, (call, told)) in calls.iter().zip(batch).enumerate() {
                seen.push(told.outcome.clone());
                let single = comparable(alone.ask(call));
                assert_eq!(comparable(told), single, "{seed}, {round}, {place}: {call:?}");
            }
            let passed = Span::from_secs(5 + random.below(30) as u64);
            together.wait(passed);
            alone.wait(passed);
        }
    }
    for outcome in [Decided::Asked, Decided::Free, Decided::Blocked] {
        assert!(seen.contains(&outcome), "{outcome:?}");
    }
    assert!(seen.contains(&Decided::Unidentified("token".to_owned())));
}
