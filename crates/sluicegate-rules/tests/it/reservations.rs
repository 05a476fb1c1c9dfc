//! Tests of reservations: an estimate is charged, and settled once to the actual cost.

use sluicegate::{Cost, Refusal, Span};
use sluicegate_rules::{Evaluation, InvalidReceipt, ReceiptKind, SettleOutcome};

use sluicegate_testkit::at_once;

use crate::harness::{Call, TestLimiter};

/// The error for a text that is no reservation.
const INVALID: InvalidReceipt = InvalidReceipt { kind: ReceiptKind::Reservation };

const TOKENS: &str = "
secret: abcdefghijklmnopqrstuvwxyz0123456789
rules:
  - { name: requests, key: user, limit: 10/min, cost: 1 }
  - { name: tokens, key: user, limit: [1000/hour, 5000/day] }
";

fn ann() -> Call {
    Call::new().text("user", "ann")
}

fn reserve(gate: &TestLimiter, call: &Call) -> String {
    reserved(gate, call).unwrap()
}

fn reserved(gate: &TestLimiter, call: &Call) -> Option<String> {
    gate.gate.check(&call.request(), text).now().unwrap()
}

fn text(answer: &Evaluation<'_>) -> Option<String> {
    answer.reservation()
}

fn tried(gate: &TestLimiter, text: &str, actual: u64) -> Result<SettleOutcome, InvalidReceipt> {
    at_once(gate.gate.settle(text, Cost::new(actual).unwrap())).map(Result::unwrap)
}

fn settle(gate: &TestLimiter, text: &str, actual: u64) -> SettleOutcome {
    tried(gate, text, actual).unwrap()
}

/// The remaining units of each limit.
fn left(gate: &TestLimiter, call: &Call) -> Vec<u64> {
    let answer = gate.ask(&call.clone().cost(0));
    answer.left.iter().map(|(_, left)| *left).collect()
}

/// The final charge of each limit.
fn charged(settled: &SettleOutcome) -> Vec<Option<u64>> {
    let granted = |one: &sluicegate_rules::SettledLimit| one.decision.map(|made| made.granted());
    settled.limits.iter().map(granted).collect()
}

#[test]
fn an_unsettled_reservation_stays_charged_until_it_expires() {
    let gate = TestLimiter::of("rules: [{ name: tokens, key: user, limit: 1000/min }]");
    let [early, late] = [(); 2].map(|()| reserve(&gate, &ann().cost(100)));
    gate.wait(Span::from_secs(599));
    // Refilled long ago, except for the debt beyond the capacity.
    assert!(settle(&gate, &early, 700).is_settled());
    assert_eq!(left(&gate, &ann()), [400]);
    gate.wait(Span::from_secs(1));
    let before = left(&gate, &ann());
    let settled = settle(&gate, &late, 700);
    assert_eq!((settled.is_settled(), settled.refusal()), (false, Some(Refusal::Lost)));
    assert_eq!(left(&gate, &ann()), before);
    let charged = TestLimiter::of(TOKENS);
    reserve(&charged, &ann().cost(600));
    charged.wait(Span::from_secs(60));
    assert_eq!(left(&charged, &ann()), [10, 416, 4_403], "units recover only with time");
}

#[test]
fn each_tier_and_caller_settles_by_its_own_limit() {
    let gate = TestLimiter::of(
        "
identify: { tier: { lookup: user, table: { ann: gold }, default: free } }
tiers: { free: { tokens: 100/min }, gold: { tokens: 10000/min } }
rules:
  - { name: tokens, key: user, limit: { tier: tokens } }
  - { name: own, key: user, limit: 10/min }
overrides: [{ caller: { user: ann }, rule: own, limit: 10000/min }]
",
    );
    let text = reserve(&gate, &ann().cost(4_000));
    gate.wait(Span::from_secs(12));
    assert_eq!(left(&gate, &ann()), [8_000, 8_000]);
    settle(&gate, &text, 3_500);
    assert_eq!(
        left(&gate, &ann()),
        [8_500, 8_500],
        "500 of them, and not what they would be at 100/min"
    );
}

#[test]
fn a_reservation_is_valid_on_every_node_with_the_secret() {
    let gate = TestLimiter::of(TOKENS);
    let other = gate.another(TOKENS);
    let text = reserve(&gate, &ann().cost(600));
    assert!(settle(&other, &text, 100).is_settled());
    assert_eq!(settle(&gate, &text, 0).refusal(), Some(Refusal::Spent));
    assert_eq!(left(&gate, &ann()), [9, 900, 4_900]);
    let stranger = gate.another(&TOKENS.replace("abc", "xyz"));
    let text = reserve(&gate, &ann().cost(600));
    assert_eq!(tried(&stranger, &text, 0), Err(INVALID));
}

#[test]
fn node_scoped_charges_are_settled_only_on_their_node() {
    let node = TOKENS.replace("1000/hour, 5000/day]", "1000/hour], scope: node");
    let gate = TestLimiter::of(&node);
    let other = gate.another(&node);
    let text = reserve(&gate, &ann().cost(600));
    let settled = settle(&other, &text, 0);
    assert_eq!(charged(&settled), [Some(0), None]);
    assert_eq!(left(&gate, &ann()), [10, 400]);
    let here = settle(&gate, &text, 0);
    assert_eq!((here.is_settled(), here.refusal()), (false, Some(Refusal::Spent)));
    assert_eq!(charged(&here), [Some(0), Some(0)], "the charge of this node");
    assert_eq!(left(&gate, &ann()), [10, 1_000]);
}

#[test]
fn modified_reservations_and_slots_are_refused() {
    let gate = TestLimiter::of(
        "rules: [{ name: tokens, key: user, limit: 100/min }, \
                 { name: slots, key: user, limit: { concurrent: 9 } }]",
    );
    let slot = gate.admit(1, &ann()).slot.unwrap();
    assert_eq!(tried(&gate, &slot, 0), Err(INVALID));
    let text = reserve(&gate, &ann().cost(10));
    assert!(at_once(gate.gate.release(&text)).is_err(), "a reservation is not a slot");
    assert!(at_once(gate.gate.renew(&text)).is_err());
    let mut forged = text.clone().into_bytes();
    for at in 0..forged.len() {
        let letter = forged[at];
        forged[at] = if letter == b'A' { b'B' } else { b'A' };
        assert_eq!(tried(&gate, str::from_utf8(&forged).unwrap(), 0), Err(INVALID), "{at}");
        forged[at] = letter;
    }
    for end in 0..text.len() {
        assert_eq!(tried(&gate, &text[..end], 0), Err(INVALID), "{end}");
    }
    assert_eq!(tried(&gate, &format!("{text}AAAA"), 0), Err(INVALID));
    assert!(settle(&gate, &text, 0).is_settled());
}

#[test]
fn reservations_survive_a_change_of_rules_but_not_of_their_rule() {
    let gate = TestLimiter::of(TOKENS);
    let [first, second] = [(); 2].map(|()| reserve(&gate, &ann().cost(100)));
    gate.replace(&TOKENS.replace("5000/day", "8000/day"));
    assert_eq!(charged(&settle(&gate, &first, 50)).len(), 3);
    gate.replace("secret: abcdefghijklmnopqrstuvwxyz0123456789\nrules: [{ name: requests, key: user, limit: 10/min, cost: 1 }]");
    let settled = settle(&gate, &second, 50);
    assert_eq!(charged(&settled), [Some(1), None, None]);
    assert_eq!(settled.limits[1].of, None);
    gate.replace("secret: abcdefghijklmnopqrstuvwxyz0123456789\nrules: []");
    assert_eq!(settle(&gate, &second, 50).refusal(), Some(Refusal::Lost));
}
