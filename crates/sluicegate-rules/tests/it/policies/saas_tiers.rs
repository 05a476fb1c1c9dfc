//! A service with plans: what each may, and what a change of plan does.

use std::time::Duration;

use sluicegate_rules::Request;

use super::stage::{Stage, with_table};

const TABLE: &str = "tables/organisations.csv";

fn get() -> Request<'static> {
    Request::new().method("GET").target("/")
}

#[test]
fn admits_as_much_as_the_plan_says() {
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
        // As one request of that size, and as the last one of many.
        let told = stage.admit(1, &request.cost(minute - 1));
        assert_eq!(
            (told.left("per-minute"), told.left("per-day")),
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
    let told = stage.admit(20_000, &get().headers(&headers));
    assert!(told.left.is_empty(), "nothing is counted");
}

#[test]
fn an_upgrade_adds_room_and_is_no_second_allowance() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "bookshop")];
    let request = get().headers(&headers);
    let told = stage.admit(90, &request);
    assert_eq!((told.left("per-minute"), told.left("per-day")), (Some(10), Some(910)));

    stage.replace(with_table("saas-tiers", TABLE, "bookshop,premium\n"));
    let told = stage.admit(1, &request.cost(0));
    assert_eq!((told.left("per-minute"), told.left("per-day")), (Some(9_910), Some(999_910)));
    stage.admit(1, &request.cost(9_909));
    assert_eq!(stage.burst(&request), 1);
    stage.refuse("per-minute", &request);
}

#[test]
fn a_downgrade_holds_from_the_next_request_on() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "newspaper")];
    let request = get().headers(&headers);
    stage.admit(1, &request.cost(5_000));

    stage.replace(with_table("saas-tiers", TABLE, "newspaper,basic\n"));
    let refused = stage.refuse("per-minute", &request);
    assert_eq!((refused.left("per-minute"), refused.left("per-day")), (Some(0), Some(45_000)));
    assert_eq!(stage.come_back("per-minute", &request), Duration::from_millis(60));
    stage.wait(Duration::from_secs(60));
    assert_eq!(stage.burst(&request), 1_000, "nothing is owed beyond what a plan holds");
}

#[test]
fn whoever_cancels_is_free_from_the_next_request_on() {
    // Also the last customer of all.
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
        assert_eq!(stage.burst(&request), 100, "the next day as everybody");
    }
}

#[test]
fn going_down_and_up_again_within_a_minute_gains_nothing() {
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
    assert!(stage.burst(&request) <= 10, "it may only lose by it");
}

#[test]
fn a_change_of_plan_touches_nobody_else() {
    let stage = Stage::of("saas-tiers");
    let headers = [("x-organisation", "bakery")];
    let request = get().headers(&headers);
    stage.admit(400, &request);
    stage.replace(with_table("saas-tiers", TABLE, "bakery,basic\nbookshop,premium\n"));
    assert_eq!(stage.burst(&request), 600);
}

#[test]
fn wants_to_know_the_organisation() {
    Stage::of("saas-tiers").refuse("per-minute", &get());
}
