//! Stripe: request rate, requests in progress, and two load shedders.

use std::time::Duration;

use sluicegate::Refusal;
use sluicegate_rules::{AttributeValue, Request};

use super::policy_test::PolicyTest;

const LIVE: [(&str, AttributeValue<'_>); 2] =
    [("account", AttributeValue::Text("acct_1")), ("mode", AttributeValue::Text("live"))];
const TEST: [(&str, AttributeValue<'_>); 2] =
    [("account", AttributeValue::Text("acct_1")), ("mode", AttributeValue::Text("test"))];

fn charge() -> Request<'static> {
    Request::new().method("POST").target("/v1/charges")
}

fn list() -> Request<'static> {
    Request::new().method("GET").target("/v1/charges?limit=10")
}

#[test]
fn admits_a_hundred_a_second_in_live_mode_and_25_in_test_mode() {
    for (attributes, rate, each) in [(&LIVE, 100, 10), (&TEST, 25, 40)] {
        let policy = PolicyTest::of("stripe");
        let request = charge().attributes(attributes);
        // Each ends before the next begins, so that only the rate counts.
        for left in (0..rate).rev() {
            let answer = policy.admit(1, &request);
            assert_eq!(answer.left("requests"), Some(left));
            policy.release(&answer.slot.expect("it is in progress"));
        }
        let wait = policy.refuse("requests", &request).retry_after;
        assert_eq!(wait, Some(Duration::from_millis(each)), "one is back every {each} ms");
        assert_eq!(policy.come_back("requests", &request), Duration::from_millis(each));
    }
}

#[test]
fn lets_an_account_have_twenty_in_progress() {
    let policy = PolicyTest::of("stripe");
    let request = charge().attributes(&LIVE);
    let answer = policy.admit(20, &request);
    let refused = policy.refuse("in-progress", &request);
    assert_eq!((refused.refusal, refused.retry_after), (Some(Refusal::Busy), None));
    assert_eq!(
        refused.left("requests"),
        answer.left("requests"),
        "a refused request is not charged"
    );

    let released = policy.release(&answer.slot.expect("it is in progress"));
    assert_eq!((released.released, released.gone), (1, 0));
    assert_eq!(policy.burst(&request), 1, "one ended, one more begins");

    let other =
        [("account", AttributeValue::Text("acct_2")), ("mode", AttributeValue::Text("live"))];
    assert_eq!(policy.burst(&charge().attributes(&other)), 20, "others have slots of their own");
}

#[test]
fn expires_the_slots_of_requests_that_never_end() {
    let policy = PolicyTest::of("stripe");
    let request = charge().attributes(&LIVE);
    policy.admit(20, &request);
    policy.wait(Duration::from_micros(79_999_999));
    policy.refuse("in-progress", &request);
    policy.wait(Duration::from_micros(1));
    assert_eq!(policy.burst(&request), 20);
}

#[test]
fn keeps_a_fifth_of_the_fleet_for_charges() {
    let policy = PolicyTest::of("stripe");
    let mut slots = Vec::new();
    for account in ["a", "b", "c", "d"] {
        let attributes =
            [("account", AttributeValue::Text(account)), ("mode", AttributeValue::Text("live"))];
        for number in 0..20 {
            let request = list().attributes(&attributes).peer([203, 0, 113, number].into());
            slots.extend(policy.admit(1, &request).slot);
        }
    }
    // Slots of requests that never end expire after 80 seconds.
    policy.wait(Duration::from_micros(79_999_999));
    let fifth = [("account", AttributeValue::Text("e")), ("mode", AttributeValue::Text("live"))];
    let refused = policy.refuse("fleet", &list().attributes(&fifth));
    assert_eq!(refused.refusal, Some(Refusal::Busy));
    assert_eq!(policy.burst(&charge().attributes(&fifth)), 20, "the reserve is for these");

    // A listing holds two slots, its account's and the fleet's; one token releases both.
    let released = policy.release(&slots[0]);
    assert_eq!((released.released, released.gone), (2, 0));
    let sixth = [("account", AttributeValue::Text("f")), ("mode", AttributeValue::Text("live"))];
    assert_eq!(policy.burst(&list().attributes(&sixth)), 1);
    policy.wait(Duration::from_micros(1));
    assert_eq!(policy.burst(&list().attributes(&sixth)), 19);
}

#[test]
fn sheds_test_mode_first_then_reads_then_writes_and_never_charges() {
    let trickle = |utilisation: i64, mode: &str, request: Request<'static>| {
        let policy = PolicyTest::of("stripe");
        let attributes = [
            ("account", AttributeValue::Text("acct_1")),
            ("mode", AttributeValue::Text(mode)),
            ("utilisation", AttributeValue::Whole(utilisation)),
        ];
        let request = request.attributes(&attributes).peer([203, 0, 113, 9].into());
        let allowed = policy.burst(&request);
        // All accounts share the fleet.
        let elsewhere = policy.ask(&request.peer([198, 51, 100, 7].into()));
        assert!(!elsewhere.allowed);
        (allowed, elsewhere.rule)
    };
    let refund = Request::new().method("POST").target("/v1/refunds");
    let table = [
        (89, "test", charge(), 20, "in-progress"),
        (90, "test", charge(), 1, "shed-test-mode"),
        (90, "live", list(), 20, "in-progress"),
        (94, "live", list(), 20, "in-progress"),
        (95, "live", list(), 1, "shed-reads"),
        (97, "live", refund, 20, "in-progress"),
        (98, "live", refund, 1, "shed-writes"),
        (100, "live", charge(), 20, "in-progress"),
    ];
    for (utilisation, mode, request, allowed, by) in table {
        let found = trickle(utilisation, mode, request);
        assert_eq!(found, (allowed, by.to_owned()), "{utilisation} % in {mode} mode");
    }
}

#[test]
fn requires_the_account() {
    let policy = PolicyTest::of("stripe");
    policy.refuse("requests", &charge());
}
