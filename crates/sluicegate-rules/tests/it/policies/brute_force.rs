//! Logins: blocked after failures, each time for longer.

use std::net::IpAddr;
use std::time::Duration;

use sluicegate::Refusal;
use sluicegate_rules::{AttributeValue, Request};

use super::policy_test::PolicyTest;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
const ATTACKER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

fn login() -> Request<'static> {
    Request::new().method("POST").target("/login").peer(ATTACKER)
}

fn user(name: &str) -> [(&'static str, AttributeValue<'_>); 1] {
    [("account", AttributeValue::Text(name))]
}

/// Makes failed logins.
fn fail(policy: &PolicyTest, times: usize, request: &Request<'_>) {
    for _ in 0..times {
        policy.admit(1, request);
        policy.report(401, request);
    }
}

#[test]
fn blocks_after_five_failures_for_fifteen_minutes() {
    let policy = PolicyTest::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail(&policy, 4, &request);
    for status in [200, 302] {
        assert_eq!(policy.admit(1, &request).left("login-of-account-from-address"), Some(0));
        policy.report(status, &request);
    }
    for status in [402, 404, 500] {
        policy.admit(1, &request);
        policy.report(status, &request);
        // Neither failure nor success: the attempt counts until it expires.
        assert_eq!(policy.come_back("login-of-account-from-address", &request), 10 * SECOND);
        policy.report(200, &request);
    }
    policy.report(403, &request);

    let refused = policy.refuse("login-of-account-from-address", &request);
    assert!(matches!(refused.refusal, Some(Refusal::Blocked { .. })));
    assert_eq!(refused.retry_after, Some(15 * MINUTE));
    let ben = user("ben");
    assert!(policy.ask(&login().attributes(&ben)).allowed, "another user from there");
    let home = IpAddr::from([198, 51, 100, 7]);
    assert!(policy.ask(&request.peer(home)).allowed, "the same user from elsewhere");
    assert_eq!(policy.come_back("login-of-account-from-address", &request), 15 * MINUTE);
}

#[test]
fn counts_failures_of_the_last_ten_minutes_only() {
    let policy = PolicyTest::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail(&policy, 4, &request);
    policy.wait(10 * MINUTE);
    fail(&policy, 4, &request);
    policy.wait(Duration::from_micros(599_999_999));
    fail(&policy, 1, &request);
    policy.refuse("login-of-account-from-address", &request);
}

#[test]
fn doubles_each_further_block_up_to_a_day() {
    let policy = PolicyTest::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    let minutes = [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440];
    for block in minutes {
        fail(&policy, 5, &request);
        let wait =
            policy.refuse("login-of-account-from-address", &request).retry_after.expect("it ends");
        assert_eq!(wait, block * MINUTE);
        policy.wait(wait);
    }
    // After a pause as long as the last block, the blocks start again from the first.
    policy.wait(DAY);
    fail(&policy, 5, &request);
    assert_eq!(
        policy.refuse("login-of-account-from-address", &request).retry_after,
        Some(15 * MINUTE)
    );
}

/// Makes failed logins, each with another name.
fn fail_with_many_names(
    policy: &PolicyTest,
    times: usize,
    status: u16,
    names: &mut impl Iterator<Item = u32>,
) {
    for number in names.take(times) {
        let name = format!("user-{number}");
        let attributes = user(&name);
        let request = login().attributes(&attributes);
        policy.admit(1, &request);
        policy.report(status, &request);
    }
}

#[test]
fn evaluates_five_of_two_hundred_guesses_at_once() {
    let policy = PolicyTest::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    assert_eq!(policy.burst(&request), 5);
    let refused = policy.refuse("login-of-account-from-address", &request);
    assert_eq!(refused.retry_after, Some(10 * SECOND), "until the first attempt expires");
    // A reported attempt makes room for another one only if it did not fail.
    policy.report(401, &request);
    policy.refuse("login-of-account-from-address", &request);
    policy.report(200, &request);
    assert_eq!(policy.burst(&request), 1);
}

#[test]
fn varying_the_account_gives_an_address_no_more_guesses() {
    let policy = PolicyTest::of("brute-force");
    let admitted = (0..200).filter(|number| {
        let name = format!("account-{number}");
        policy.ask(&login().attributes(&user(&name))).allowed
    });
    assert_eq!(admitted.count(), 50);
}

#[test]
fn many_addresses_give_no_more_guesses_for_an_account() {
    let policy = PolicyTest::of("brute-force");
    let ada = user("ada");
    let admitted = (0..=255).filter(|number| {
        let peer = IpAddr::from([203, 0, 113, *number]);
        policy.ask(&login().attributes(&ada).peer(peer)).allowed
    });
    assert_eq!(admitted.count(), 100);
    let network = |last| IpAddr::from([0x2001, 0xdb8, 0, 0, 1, 2, 3, last]);
    let ben = user("ben");
    let request = login().attributes(&ben);
    let admitted = (0..200).filter(|last| policy.ask(&request.peer(network(*last))).allowed);
    assert_eq!(admitted.count(), 5, "all of a /64 is one address");
}

#[test]
fn blocks_an_address_that_tries_many_users() {
    let policy = PolicyTest::of("brute-force");
    let mut names = 0..;
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail_with_many_names(&policy, 49, 401, &mut names);
    // Failures of ten minutes ago no longer count.
    policy.wait(10 * MINUTE);
    fail_with_many_names(&policy, 49, 401, &mut names);
    policy.report(404, &request);
    fail_with_many_names(&policy, 1, 403, &mut names);

    assert_eq!(policy.refuse("login-from-address", &request).retry_after, Some(15 * MINUTE));
    assert!(policy.ask(&request.peer([198, 51, 100, 7].into())).allowed);
    assert!(policy.ask(&Request::new().method("GET").target("/").peer(ATTACKER)).allowed);

    for block in [30, 60, 120, 240, 480, 960, 1_440, 1_440] {
        policy.wait(policy.refuse("login-from-address", &request).retry_after.expect("it ends"));
        fail_with_many_names(&policy, 50, 401, &mut names);
        let wait = policy.refuse("login-from-address", &request).retry_after;
        assert_eq!(wait, Some(block * MINUTE));
    }
}
