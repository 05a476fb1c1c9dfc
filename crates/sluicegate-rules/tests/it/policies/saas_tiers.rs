//! A service with plans: the quota of each, and the effect of a change of plan.

use std::time::Duration;

use sluicegate_rules::Request;

use super::policy_test::{PolicyTest, with_table};

const TABLE: &str = "tables/organisations.csv";

fn get() -> Request<'static> {
    Request::new().method("GET").target("/")
}

#[test]
fn admits_the_quota_of_the_plan() {
    let table = [
        ("nobody-we-know", 100, 1_000),
        ("bakery", 1_000, 50_000),
        ("newspaper", 10_000, 1_000_000),
        ("airline", 100_000, 10_000_000),
    ];
    for (organisation, minute, day) in table {
        let policy = PolicyTest::of("saas-tiers");
        let headers = [("x-organisation", organisation)];
        let request = get().headers(&headers);
        // As one request of that cost, and then one more.
        let answer = policy.admit(1, &request.cost(minute - 1));
        assert_eq!(
            (answer.left("per-minute"), answer.left("per-day")),
            (Some(1), Some(day - minute + 1))
        );
        assert_eq!(policy.burst(&request), 1, "{organisation}");
        let each = Duration::from_secs(60).as_micros() / u128::from(minute);
        assert_eq!(policy.come_back("per-minute", &request).as_micros(), each);
    }
}

#[test]
fn ends_the_day_at_midnight() {
    let policy = PolicyTest::of("saas-tiers");
    let headers = [("x-organisation", "nobody-we-know")];
    let request = get().headers(&headers);
    for _ in 0..10 {
        policy.admit(100, &request);
        policy.wait(Duration::from_secs(60));
    }
    let midnight = Duration::from_secs(86_400 - 600);
    assert_eq!(policy.come_back("per-day", &request), midnight);
    assert_eq!(policy.ask(&request).left("per-day"), Some(998));
    let another = [("x-organisation", "nobody-either")];
    assert_eq!(policy.ask(&get().headers(&another)).left("per-day"), Some(999));
}

#[test]
fn never_limits_our_own_jobs() {
    let policy = PolicyTest::of("saas-tiers");
    let headers = [("x-organisation", "our-own-jobs")];
    let answer = policy.admit(20_000, &get().headers(&headers));
    assert!(answer.left.is_empty(), "nothing is counted");
}

#[test]
fn an_upgrade_adds_the_difference_and_not_a_second_quota() {
    let policy = PolicyTest::of("saas-tiers");
    let headers = [("x-organisation", "bookshop")];
    let request = get().headers(&headers);
    let answer = policy.admit(90, &request);
    assert_eq!((answer.left("per-minute"), answer.left("per-day")), (Some(10), Some(910)));

    policy.replace(with_table("saas-tiers", TABLE, "bookshop,premium\n"));
    let answer = policy.admit(1, &request.cost(0));
    assert_eq!((answer.left("per-minute"), answer.left("per-day")), (Some(9_910), Some(999_910)));
    policy.admit(1, &request.cost(9_909));
    assert_eq!(policy.burst(&request), 1);
    policy.refuse("per-minute", &request);
}

#[test]
fn a_downgrade_applies_from_the_next_request() {
    let policy = PolicyTest::of("saas-tiers");
    let headers = [("x-organisation", "newspaper")];
    let request = get().headers(&headers);
    policy.admit(1, &request.cost(5_000));

    policy.replace(with_table("saas-tiers", TABLE, "newspaper,basic\n"));
    let refused = policy.refuse("per-minute", &request);
    assert_eq!((refused.left("per-minute"), refused.left("per-day")), (Some(0), Some(45_000)));
    assert_eq!(policy.come_back("per-minute", &request), Duration::from_millis(60));
    policy.wait(Duration::from_secs(60));
    assert_eq!(policy.burst(&request), 1_000, "there is no debt beyond the capacity of a plan");
}

#[test]
fn a_cancelled_plan_falls_back_to_free_from_the_next_request() {
    // Even the last customer.
    for table in ["caller,tier\n", "bakery,basic\n"] {
        let policy = PolicyTest::of("saas-tiers");
        let headers = [("x-organisation", "newspaper")];
        let request = get().headers(&headers);
        policy.admit(1, &request.cost(5_000));

        policy.replace(with_table("saas-tiers", TABLE, table));
        // 5,000 of 100 a minute, and of 1,000 a day: both are used up.
        let refused = policy.refuse("per-day", &request);
        assert_eq!(refused.retry_after, Some(Duration::from_secs(86_400)));
        assert_eq!(refused.left("per-minute"), Some(0));
        policy.wait(Duration::from_secs(86_400));
        assert_eq!(policy.burst(&request), 100, "the next day like everyone on the plan");
    }
}

#[test]
fn a_downgrade_and_upgrade_within_a_minute_gains_nothing() {
    let policy = PolicyTest::of("saas-tiers");
    let headers = [("x-organisation", "bookshop")];
    let request = get().headers(&headers);
    policy.admit(90, &request);
    for _ in 0..3 {
        policy.replace(with_table("saas-tiers", TABLE, "bookshop,premium\n"));
        policy.admit(1, &request.cost(0));
        policy.replace(with_table("saas-tiers", TABLE, "bookshop,free\n"));
        policy.admit(1, &request.cost(0));
    }
    assert!(policy.burst(&request) <= 10, "the change gains nothing");
}

#[test]
fn a_change_of_plan_does_not_affect_other_callers() {
    let policy = PolicyTest::of("saas-tiers");
    let headers = [("x-organisation", "bakery")];
    let request = get().headers(&headers);
    policy.admit(400, &request);
    policy.replace(with_table("saas-tiers", TABLE, "bakery,basic\nbookshop,premium\n"));
    assert_eq!(policy.burst(&request), 600);
}

#[test]
fn requires_the_organisation() {
    PolicyTest::of("saas-tiers").refuse("per-minute", &get());
}
