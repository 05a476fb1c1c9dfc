//! A service with plans: the quota of each, and the effect of a change of plan.

use std::time::Duration;

use sluicegate_rules::Request;

use super::stage::{Stage, with_table};

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
        let stage = Stage::of("saas-tiers");
        let headers = [("x-organisation", organisation)];
        let request = get().headers(&headers);
        // As one request of that cost, and then one more.
        let answer = stage.admit(1, &request.cost(minute - 1));
        assert_eq!(
            (answer.left("per-minute"), answer.left("per-day")),
            (Some(1), Some(day - minute + 1))
        );
        assert_eq!(stage.burst(&request), 1, "{organisation}");
        let each = Duration::from_secs(60).as_micros() / u128::from(minute);
        assert_eq!(stage.come_back("per-minute", &request).as_micros(), each);
    }
}

#[test]
fn ends_the_day_at_midnight() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "nobody-we-know")];
    let request = get().headers(&headers);
    for _ in 0..10 {
        stage.admit(100, &request);
        stage.wait(Duration::from_secs(60));
    }
    let midnight = Duration::from_secs(86_400 - 600);
    assert_eq!(stage.come_back("per-day", &request), midnight);
    assert_eq!(stage.ask(&request).left("per-day"), Some(998));
    let another = [("x-organisation", "nobody-either")];
    assert_eq!(stage.ask(&get().headers(&another)).left("per-day"), Some(999));
}

#[test]
fn never_limits_our_own_jobs() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "our-own-jobs")];
    let answer = stage.admit(20_000, &get().headers(&headers));
    assert!(answer.left.is_empty(), "nothing is counted");
}

#[test]
fn an_upgrade_adds_the_difference_and_not_a_second_quota() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "bookshop")];
    let request = get().headers(&headers);
    let answer = stage.admit(90, &request);
    assert_eq!((answer.left("per-minute"), answer.left("per-day")), (Some(10), Some(910)));

    stage.replace(with_table("saas-tiers", TABLE, "bookshop,premium\n"));
    let answer = stage.admit(1, &request.cost(0));
    assert_eq!((answer.left("per-minute"), answer.left("per-day")), (Some(9_910), Some(999_910)));
    stage.admit(1, &request.cost(9_909));
    assert_eq!(stage.burst(&request), 1);
    stage.refuse("per-minute", &request);
}

#[test]
fn a_downgrade_applies_from_the_next_request() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "newspaper")];
    let request = get().headers(&headers);
    stage.admit(1, &request.cost(5_000));

    stage.replace(with_table("saas-tiers", TABLE, "newspaper,basic\n"));
    let refused = stage.refuse("per-minute", &request);
    assert_eq!((refused.left("per-minute"), refused.left("per-day")), (Some(0), Some(45_000)));
    assert_eq!(stage.come_back("per-minute", &request), Duration::from_millis(60));
    stage.wait(Duration::from_secs(60));
    assert_eq!(stage.burst(&request), 1_000, "there is no debt beyond the capacity of a plan");
}

#[test]
fn a_cancelled_plan_falls_back_to_free_from_the_next_request() {
    // Even the last customer.
    for table in ["caller,tier\n", "bakery,basic\n"] {
        let stage = Stage::of("saas-tiers");
        let headers = [("x-organisation", "newspaper")];
        let request = get().headers(&headers);
        stage.admit(1, &request.cost(5_000));

        stage.replace(with_table("saas-tiers", TABLE, table));
        // 5,000 of 100 a minute, and of 1,000 a day: both are used up.
        let refused = stage.refuse("per-day", &request);
        assert_eq!(refused.retry_after, Some(Duration::from_secs(86_400)));
        assert_eq!(refused.left("per-minute"), Some(0));
        stage.wait(Duration::from_secs(86_400));
        assert_eq!(stage.burst(&request), 100, "the next day like everyone on the plan");
    }
}

#[test]
fn a_downgrade_and_upgrade_within_a_minute_gains_nothing() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "bookshop")];
    let request = get().headers(&headers);
    stage.admit(90, &request);
    for _ in 0..3 {
        stage.replace(with_table("saas-tiers", TABLE, "bookshop,premium\n"));
        stage.admit(1, &request.cost(0));
        stage.replace(with_table("saas-tiers", TABLE, "bookshop,free\n"));
        stage.admit(1, &request.cost(0));
    }
    assert!(stage.burst(&request) <= 10, "the change gains nothing");
}

#[test]
fn a_change_of_plan_does_not_affect_other_callers() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "bakery")];
    let request = get().headers(&headers);
    stage.admit(400, &request);
    stage.replace(with_table("saas-tiers", TABLE, "bakery,basic\nbookshop,premium\n"));
    assert_eq!(stage.burst(&request), 600);
}

#[test]
fn requires_the_organisation() {
    Stage::of("saas-tiers").refuse("per-minute", &get());
}
