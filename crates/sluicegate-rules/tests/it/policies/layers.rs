//! Layers: a request passes all or is charged to none.

use std::time::Duration;

use sluicegate_rules::Request;

use super::policy_test::PolicyTest;

const MINUTE: Duration = Duration::from_secs(60);

fn buy() -> Request<'static> {
    Request::new().method("POST").target("/checkout").peer([203, 0, 113, 9].into())
}

fn look() -> Request<'static> {
    Request::new().method("GET").target("/").peer([203, 0, 113, 9].into())
}

#[test]
fn a_refusal_by_one_rule_charges_none() {
    let policy = PolicyTest::of("layers");
    let ada = [("x-user-id", "ada")];
    let answer = policy.admit(5, &buy().headers(&ada));
    let left = |rule| answer.left(rule);
    assert_eq!((left("address"), left("user"), left("checkout")), (Some(9_995), Some(95), Some(0)));

    for _ in 0..50 {
        policy.refuse("checkout", &buy().headers(&ada));
    }
    let answer = policy.admit(1, &look().headers(&ada));
    assert_eq!((answer.left("address"), answer.left("user")), (Some(9_994), Some(94)));

    assert_eq!(policy.burst(&look().headers(&ada)), 94);
    // Now both refuse; the one with the longer wait is reported.
    let refused = policy.refuse("checkout", &buy().headers(&ada));
    assert_eq!(refused.retry_after, Some(MINUTE));
    let refused = policy.refuse("user", &look().headers(&ada));
    assert_eq!(refused.retry_after, Some(Duration::from_millis(600)));
    let ben = [("x-user-id", "ben")];
    let answer = policy.admit(1, &look().headers(&ben));
    assert_eq!(answer.left("address"), Some(9_899), "100 of ada, one of ben, no refused one");
    assert_eq!(policy.burst(&buy().headers(&ben)), 5, "a checkout of its own");
}

#[test]
fn never_admits_more_than_five_purchases_in_any_minute() {
    let policy = PolicyTest::of("layers");
    let ada = [("x-user-id", "ada")];
    let request = buy().headers(&ada);
    for _ in 0..5 {
        policy.admit(1, &request);
        policy.wait(Duration::from_secs(10));
    }
    // The first was 50 seconds ago.
    assert_eq!(policy.come_back("checkout", &request), Duration::from_secs(10));
    assert_eq!(policy.come_back("checkout", &request), Duration::from_secs(10));
}

#[test]
fn limits_an_address_over_all_its_users() {
    let policy = PolicyTest::of("layers");
    for user in 0..100 {
        let name = user.to_string();
        let headers = [("x-user-id", name.as_str())];
        assert_eq!(policy.burst(&look().headers(&headers)), 100);
    }
    let next = [("x-user-id", "100")];
    let request = look().headers(&next);
    let refused = policy.refuse("address", &request);
    // 10,000 a day come back one by one, every 8.64 seconds.
    assert_eq!(refused.retry_after, Some(Duration::from_millis(8_640)));
    assert_eq!(refused.left("user"), Some(100), "nothing is charged");
    assert_eq!(policy.come_back("address", &request), Duration::from_millis(8_640));
    assert!(policy.ask(&look().headers(&next).peer([203, 0, 113, 10].into())).allowed);
}

#[test]
fn unidentified_users_share_one_counter() {
    let policy = PolicyTest::of("layers");
    assert_eq!(policy.burst(&look()), 100);
    policy.refuse("user", &look().peer([203, 0, 113, 10].into()));
}
