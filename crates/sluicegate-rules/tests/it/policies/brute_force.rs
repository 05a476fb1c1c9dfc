//! Logins: blocked after failures, each time for longer.

use std::net::IpAddr;
use std::time::Duration;

use sluicegate::Refusal;
use sluicegate_rules::{Request, Value};

use super::stage::Stage;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
const ATTACKER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

fn login() -> Request<'static> {
    Request::new().method("POST").target("/login").peer(ATTACKER)
}

fn user(name: &str) -> [(&'static str, Value<'_>); 1] {
    [("account", Value::Text(name))]
}

/// Makes failed logins.
fn fail(stage: &Stage, times: usize, request: &Request<'_>) {
    for _ in 0..times {
        stage.admit(1, request);
        stage.report(401, request);
    }
}

#[test]
fn blocks_after_five_failures_for_fifteen_minutes() {
    let stage = Stage::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail(&stage, 4, &request);
    for status in [200, 302] {
        assert_eq!(stage.admit(1, &request).left("login-of-account-from-address"), Some(0));
        stage.report(status, &request);
    }
    for status in [402, 404, 500] {
        stage.admit(1, &request);
        stage.report(status, &request);
        // Neither failure nor success: the attempt counts until it expires.
        assert_eq!(stage.come_back("login-of-account-from-address", &request), 10 * SECOND);
        stage.report(200, &request);
    }
    stage.report(403, &request);

    let refused = stage.refuse("login-of-account-from-address", &request);
    assert!(matches!(refused.refusal, Some(Refusal::Blocked { .. })));
    assert_eq!(refused.retry_after, Some(15 * MINUTE));
    let ben = user("ben");
    assert!(stage.ask(&login().attributes(&ben)).allowed, "another user from there");
    let home = IpAddr::from([198, 51, 100, 7]);
    assert!(stage.ask(&request.peer(home)).allowed, "the same user from elsewhere");
    assert_eq!(stage.come_back("login-of-account-from-address", &request), 15 * MINUTE);
}

#[test]
fn counts_failures_of_the_last_ten_minutes_only() {
    let stage = Stage::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail(&stage, 4, &request);
    stage.wait(10 * MINUTE);
    fail(&stage, 4, &request);
    stage.wait(Duration::from_micros(599_999_999));
    fail(&stage, 1, &request);
    stage.refuse("login-of-account-from-address", &request);
}

#[test]
fn doubles_each_further_block_up_to_a_day() {
    let stage = Stage::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    let minutes = [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440];
    for block in minutes {
        fail(&stage, 5, &request);
        let wait =
            stage.refuse("login-of-account-from-address", &request).retry_after.expect("it ends");
        assert_eq!(wait, block * MINUTE);
        stage.wait(wait);
    }
    // After a pause as long as the last block, the blocks start again from the first.
    stage.wait(DAY);
    fail(&stage, 5, &request);
    assert_eq!(
        stage.refuse("login-of-account-from-address", &request).retry_after,
        Some(15 * MINUTE)
    );
}

/// Makes failed logins, each with another name.
fn fail_with_many_names(
    stage: &Stage,
    times: usize,
    status: u16,
    names: &mut impl Iterator<Item = u32>,
) {
    for number in names.take(times) {
        let name = format!("user-{number}");
        let attributes = user(&name);
        let request = login().attributes(&attributes);
        stage.admit(1, &request);
        stage.report(status, &request);
    }
}

#[test]
fn evaluates_five_of_two_hundred_guesses_at_once() {
    let stage = Stage::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    assert_eq!(stage.burst(&request), 5);
    let refused = stage.refuse("login-of-account-from-address", &request);
    assert_eq!(refused.retry_after, Some(10 * SECOND), "until the first attempt expires");
    // A reported attempt makes room for another one only if it did not fail.
    stage.report(401, &request);
    stage.refuse("login-of-account-from-address", &request);
    stage.report(200, &request);
    assert_eq!(stage.burst(&request), 1);
}

#[test]
fn varying_the_account_gives_an_address_no_more_guesses() {
    let stage = Stage::of("brute-force");
    let admitted = (0..200).filter(|number| {
        let name = format!("account-{number}");
        stage.ask(&login().attributes(&user(&name))).allowed
    });
    assert_eq!(admitted.count(), 50);
}

#[test]
fn many_addresses_give_no_more_guesses_for_an_account() {
    let stage = Stage::of("brute-force");
    let ada = user("ada");
    let admitted = (0..=255).filter(|number| {
        let peer = IpAddr::from([203, 0, 113, *number]);
        stage.ask(&login().attributes(&ada).peer(peer)).allowed
    });
    assert_eq!(admitted.count(), 100);
    let network = |last| IpAddr::from([0x2001, 0xdb8, 0, 0, 1, 2, 3, last]);
    let ben = user("ben");
    let request = login().attributes(&ben);
    let admitted = (0..200).filter(|last| stage.ask(&request.peer(network(*last))).allowed);
    assert_eq!(admitted.count(), 5, "all of a /64 is one address");
}

#[test]
fn blocks_an_address_that_tries_many_users() {
    let stage = Stage::of("brute-force");
    let mut names = 0..;
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail_with_many_names(&stage, 49, 401, &mut names);
    // Failures of ten minutes ago no longer count.
    stage.wait(10 * MINUTE);
    fail_with_many_names(&stage, 49, 401, &mut names);
    stage.report(404, &request);
    fail_with_many_names(&stage, 1, 403, &mut names);

    assert_eq!(stage.refuse("login-from-address", &request).retry_after, Some(15 * MINUTE));
    assert!(stage.ask(&request.peer([198, 51, 100, 7].into())).allowed);
    assert!(stage.ask(&Request::new().method("GET").target("/").peer(ATTACKER)).allowed);

    for block in [30, 60, 120, 240, 480, 960, 1_440, 1_440] {
        stage.wait(stage.refuse("login-from-address", &request).retry_after.expect("it ends"));
        fail_with_many_names(&stage, 50, 401, &mut names);
        let wait = stage.refuse("login-from-address", &request).retry_after;
        assert_eq!(wait, Some(block * MINUTE));
    }
}
