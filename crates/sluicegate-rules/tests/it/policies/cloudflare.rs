//! Cloudflare: a window estimated from two counts.

use std::time::Duration;

use sluicegate_rules::Request;

use super::policy_test::PolicyTest;

const MINUTE: Duration = Duration::from_secs(60);

fn get() -> Request<'static> {
    Request::new().method("GET").target("/").peer([203, 0, 113, 9].into())
}

#[test]
fn matches_the_published_example() {
    let policy = PolicyTest::of("cloudflare");
    policy.admit(42, &get());
    policy.wait(MINUTE + Duration::from_secs(15));
    // 42 × 45/60 = 31.5 still count, so 18 more come to 49.5 of 50.
    assert_eq!(policy.burst(&get()), 18);
    // Half a request too many; at 42 a minute, 42/60 of one expire per second.
    let wait = Duration::from_micros(714_286);
    assert_eq!(policy.come_back("site", &get()), wait);
}

#[test]
fn admits_fifty_which_expire_over_the_next_minute() {
    let policy = PolicyTest::of("cloudflare");
    assert_eq!(policy.burst(&get()), 50);
    let first_back = MINUTE + MINUTE / 50;
    assert_eq!(policy.come_back("site", &get()), first_back);
    policy.wait(2 * MINUTE);
    assert_eq!(policy.burst(&get()), 50, "two minutes later all have expired");
}

#[test]
fn admits_five_logins_a_minute() {
    let policy = PolicyTest::of("cloudflare");
    let login = Request::new().method("POST").target("/login").peer([203, 0, 113, 9].into());
    assert_eq!(policy.burst(&login), 5);
    assert_eq!(policy.refuse("login", &login).retry_after, Some(MINUTE + MINUTE / 5));
    assert_eq!(policy.burst(&get()), 45, "logins count for the site, refused ones do not");
    assert_eq!(policy.burst(&login.peer([203, 0, 113, 10].into())), 5, "others have their own");
}

#[test]
fn counts_the_client_behind_the_proxy_and_ignores_other_senders() {
    let policy = PolicyTest::of("cloudflare");
    let answer = |client: &'static str| [("cf-connecting-ip", client)];
    let (one, two) = (answer("203.0.113.9"), answer("198.51.100.7"));
    let proxy = get().peer([192, 0, 2, 1].into());
    assert_eq!(policy.burst(&proxy.headers(&one)), 50);
    assert_eq!(policy.burst(&proxy.headers(&two)), 50);
    policy.refuse("site", &get().headers(&two));
    assert_eq!(policy.burst(&get().peer([203, 0, 113, 77].into()).headers(&one)), 50);
}

#[test]
fn counts_an_ipv6_customer_once() {
    let policy = PolicyTest::of("cloudflare");
    let from = |address: &str| get().peer(address.parse().unwrap());
    assert_eq!(policy.burst(&from("2001:db8:1:2::1")), 50);
    policy.refuse("site", &from("2001:db8:1:2:ffff::9"));
    assert_eq!(policy.burst(&from("2001:db8:1:3::1")), 50);
}
