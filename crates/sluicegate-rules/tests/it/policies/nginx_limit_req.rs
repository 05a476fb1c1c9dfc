//! nginx: the forms of `limit_req`, all at ten a second.

use std::time::Duration;

use sluicegate_rules::Request;

use super::policy_test::PolicyTest;

fn get(target: &'static str) -> Request<'static> {
    Request::new().method("GET").target(target).peer([203, 0, 113, 9].into())
}

fn delays(policy: &PolicyTest, request: &Request<'_>, count: usize) -> Vec<u64> {
    let millis = |delay: Duration| u64::try_from(delay.as_millis()).unwrap();
    (0..count).map(|_| millis(policy.admit(1, request).delay)).collect()
}

#[test]
fn plain_admits_one_every_hundred_milliseconds() {
    let policy = PolicyTest::of("nginx-limit-req");
    let request = get("/plain/");
    assert_eq!(policy.burst(&request), 1);
    assert_eq!(policy.come_back("plain", &request), Duration::from_millis(100));
    policy.wait(Duration::from_secs(10));
    assert_eq!(policy.burst(&request), 1, "a pause saves nothing");
}

#[test]
fn burst_lets_twenty_wait_their_turn() {
    let policy = PolicyTest::of("nginx-limit-req");
    let request = get("/queued/");
    let turns: Vec<u64> = (0..=20).map(|place| place * 100).collect();
    assert_eq!(delays(&policy, &request, 21), turns);
    assert_eq!(policy.refuse("queued", &request).retry_after, Some(Duration::from_millis(100)));
    policy.wait(Duration::from_millis(500));
    assert_eq!(delays(&policy, &request, 5), [1_600, 1_700, 1_800, 1_900, 2_000]);
    policy.refuse("queued", &request);
}

#[test]
fn nodelay_admits_the_same_number_at_once() {
    let policy = PolicyTest::of("nginx-limit-req");
    let request = get("/nodelay/");
    assert_eq!(delays(&policy, &request, 21), [0; 21]);
    assert_eq!(policy.come_back("nodelay", &request), Duration::from_millis(100));
    policy.wait(Duration::from_secs(1));
    assert_eq!(policy.burst(&request), 10);
}

#[test]
fn delay_admits_nine_at_once_and_twelve_after_a_wait() {
    let policy = PolicyTest::of("nginx-limit-req");
    let request = get("/delay/");
    assert_eq!(delays(&policy, &request, 9), [0; 9]);
    assert_eq!(delays(&policy, &request, 12), [650; 12]);
    // The delay is the average of nginx's delays of 100 to 1,200 ms.
    assert_eq!((1..=12).map(|place| place * 100).sum::<u64>() / 12, 650);
    let refused = policy.refuse("delayed", &request);
    assert_eq!(refused.retry_after, Some(Duration::from_millis(100)));
}

#[test]
fn delay_keeps_to_ten_a_second_in_the_long_run() {
    let policy = PolicyTest::of("nginx-limit-req");
    let request = get("/delay/");
    assert_eq!(policy.burst(&request), 21);
    for second in 1..=10 {
        policy.wait(Duration::from_secs(1));
        assert_eq!(policy.burst(&request), 10, "second {second}");
    }
}

#[test]
fn counts_each_address_by_itself() {
    let policy = PolicyTest::of("nginx-limit-req");
    for (target, admitted) in [("/plain/", 1), ("/queued/", 21), ("/nodelay/", 21), ("/delay/", 21)]
    {
        assert_eq!(policy.burst(&get(target)), admitted, "{target}");
        let other = get(target).peer([203, 0, 113, 10].into());
        assert_eq!(policy.admit(1, &other).delay, Duration::ZERO, "{target}");
        assert_eq!(policy.burst(&other), admitted - 1, "{target}");
    }
}
