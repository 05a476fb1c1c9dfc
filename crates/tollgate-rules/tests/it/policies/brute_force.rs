//! Logins: blocked after failures, each time for longer.

use std::net::IpAddr;
use std::time::Duration;

use tollgate::Refusal;
use tollgate_rules::{Request, Value};

use super::stage::Stage;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
const ATTACKER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

fn login() -> Request<'static> {
    Request::new().method("POST").target("/login").peer(ATTACKER)
}

fn user(name: &str) -> [(&'static str, Value<'_>); 1] {
    [("user", Value::Text(name))]
}

/// Tries to log in and fails, so many times.
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
    assert_eq!(stage.admit(10, &request).left("login-of-user"), Some(1), "asking costs nothing");
    for status in [200, 402, 404, 500] {
        stage.report(status, &request);
        assert!(stage.ask(&request).allowed, "{status} is no failure to log in");
    }
    stage.report(403, &request);

    let refused = stage.refuse("login-of-user", &request);
    assert!(matches!(refused.refusal, Some(Refusal::Blocked { .. })));
    assert_eq!(refused.retry_after, Some(15 * MINUTE));
    let ben = user("ben");
    assert!(stage.ask(&login().attributes(&ben)).allowed, "another user from there");
    let home = IpAddr::from([198, 51, 100, 7]);
    assert!(stage.ask(&request.peer(home)).allowed, "the same user from elsewhere");
    assert_eq!(stage.come_back("login-of-user", &request), 15 * MINUTE);
}

#[test]
fn counts_failures_of_the_last_ten_minutes_only() {
    let stage = Stage::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail(&stage, 4, &request);
    stage.wait(10 * MINUTE);
    fail(&stage, 4, &request);
    assert!(stage.ask(&request).allowed);
    stage.wait(Duration::from_micros(599_999_999));
    fail(&stage, 1, &request);
    stage.refuse("login-of-user", &request);
}

#[test]
fn doubles_each_further_block_up_to_a_day() {
    let stage = Stage::of("brute-force");
    let ada = user("ada");
    let request = login().attributes(&ada);
    let minutes = [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440];
    for block in minutes {
        fail(&stage, 5, &request);
        let wait = stage.refuse("login-of-user", &request).retry_after.expect("it ends");
        assert_eq!(wait, block * MINUTE);
        stage.wait(wait);
    }
    // Who keeps quiet for as long as the last block was begins anew.
    stage.wait(DAY);
    fail(&stage, 5, &request);
    assert_eq!(stage.refuse("login-of-user", &request).retry_after, Some(15 * MINUTE));
}

/// Fails so many times, each time with another name.
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
fn blocks_an_address_that_tries_many_users() {
    let stage = Stage::of("brute-force");
    let mut names = 0..;
    let ada = user("ada");
    let request = login().attributes(&ada);
    fail_with_many_names(&stage, 49, 401, &mut names);
    // Those of ten minutes ago do not count any more.
    stage.wait(10 * MINUTE);
    fail_with_many_names(&stage, 49, 401, &mut names);
    stage.report(404, &request);
    assert!(stage.ask(&request).allowed);
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
