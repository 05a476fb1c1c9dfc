//! AWS API Gateway: a throttle and a monthly quota for each key, by plan.

use std::time::Duration;

use sluicegate_rules::Request;

use super::policy_test::PolicyTest;

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn throttles_by_rate_and_burst_of_the_plan() {
    let table = [
        ("key-of-anybody", 10, 20),
        ("key-of-a-startup", 100, 200),
        ("key-of-a-bank", 1_000, 2_000),
    ];
    for (key, rate, burst) in table {
        let policy = PolicyTest::of("aws-api-gateway");
        let headers = [("x-api-key", key)];
        let request = Request::new().method("GET").target("/pets").headers(&headers);
        assert_eq!(policy.burst(&request), burst, "{key}");
        let each = Duration::from_secs(1) / u32::try_from(rate).unwrap();
        assert_eq!(policy.come_back("throttle", &request), each);
        policy.wait(Duration::from_secs(1));
        assert_eq!(policy.burst(&request), rate, "a second later");
        policy.wait(Duration::from_secs(60));
        assert_eq!(policy.burst(&request), burst, "never more than the burst");
    }
}

#[test]
fn ends_a_quota_with_the_month() {
    let policy = PolicyTest::of("aws-api-gateway");
    let headers = [("x-api-key", "key-of-anybody")];
    let request = Request::new().method("GET").target("/pets").headers(&headers);
    for _ in 0..500 {
        policy.admit(20, &request);
        policy.wait(Duration::from_secs(2));
    }
    // 10,000 in the first 1,000 seconds of a month of 31 days.
    let refused = policy.refuse("quota", &request);
    assert_eq!(refused.retry_after, Some(Duration::from_secs(31 * 86_400 - 1_000)));
    assert_eq!((refused.limit, refused.left("throttle")), (10_000, Some(20)));

    let others = [("x-api-key", "key-of-a-startup")];
    assert_eq!(policy.admit(1, &request.headers(&others)).left("quota"), Some(999_999));

    policy.come_back("quota", &request);
    assert_eq!(policy.elapsed(), 31 * DAY);
    assert_eq!(policy.admit(1, &request).left("quota"), Some(9_998));
}

#[test]
fn has_no_quota_on_the_largest_plan() {
    let policy = PolicyTest::of("aws-api-gateway");
    let headers = [("x-api-key", "key-of-a-bank")];
    let request = Request::new().method("GET").target("/pets").headers(&headers);
    assert_eq!(policy.admit(1, &request).left("quota"), None);
}

#[test]
fn requires_a_key() {
    let policy = PolicyTest::of("aws-api-gateway");
    policy.refuse("throttle", &Request::new().method("GET").target("/pets"));
}
