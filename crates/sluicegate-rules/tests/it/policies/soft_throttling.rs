//! Soft throttling: at once, then slowly, then not at all.

use std::time::Duration;

use sluicegate_rules::Request;

use super::policy_test::PolicyTest;

#[test]
fn admits_a_hundred_at_once_ten_slowly_and_no_more() {
    let policy = PolicyTest::of("soft-throttling");
    let headers = [("x-user-id", "ada")];
    let request = Request::new().method("GET").target("/").headers(&headers);
    policy.wait(Duration::from_secs(15));
    for minute in 0..3 {
        for number in 1..=100 {
            let answer = policy.admit(1, &request);
            assert_eq!(answer.delay, Duration::ZERO, "request {number} of minute {minute}");
        }
        for number in 101..=110 {
            let answer = policy.admit(1, &request);
            assert_eq!(
                answer.delay,
                Duration::from_millis(200),
                "request {number} of minute {minute}"
            );
        }
        let wait = policy.refuse("api", &request).retry_after.expect("the next minute comes");
        assert_eq!(wait, Duration::from_secs(if minute == 0 { 45 } else { 60 }));
        policy.wait(wait.saturating_sub(Duration::from_micros(1)));
        policy.refuse("api", &request);
        policy.wait(Duration::from_micros(1));
    }
}

#[test]
fn counts_each_user_by_itself() {
    let policy = PolicyTest::of("soft-throttling");
    for user in ["ada", "ben"] {
        let headers = [("x-user-id", user)];
        assert_eq!(policy.burst(&Request::new().headers(&headers)), 110);
    }
}
