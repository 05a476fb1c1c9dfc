//! GitHub: primary limits by the hour, secondary ones against bursts.

use std::time::Duration;

use sluicegate::Refusal;
use sluicegate_rules::{AttributeValue, Request};

use super::policy_test::{PolicyAnswer, PolicyTest};

const OCTOCAT: [(&str, AttributeValue<'_>); 2] =
    [("user", AttributeValue::Text("octocat")), ("endpoint", AttributeValue::Text("repos/get"))];
const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// Makes a request that ends at once.
fn visit(policy: &PolicyTest, request: &Request<'_>) -> PolicyAnswer {
    let answer = policy.ask(request);
    if let Some(slot) = &answer.slot {
        assert_eq!(policy.release(slot).released, 1);
    }
    answer
}

fn get() -> Request<'static> {
    Request::new().method("GET").target("/repos/octocat/hello-world")
}

#[test]
fn admits_five_thousand_an_hour_for_a_user_and_resets_on_the_hour() {
    let policy = PolicyTest::of("github");
    let request = get().attributes(&OCTOCAT);
    policy.wait(Duration::from_secs(600));
    for number in 1..=5_000_u64 {
        // Slowly enough for the limit per minute.
        if number % 400 == 0 {
            policy.wait(MINUTE);
        }
        let answer = visit(&policy, &request);
        assert!(answer.allowed, "request {number}: {answer:?}");
        assert_eq!(answer.left("primary"), Some(5_000 - number));
    }
    let left = HOUR.saturating_sub(policy.elapsed());
    assert_eq!(policy.refuse("primary", &request).retry_after, Some(left), "at the full hour");

    let other_endpoint = [OCTOCAT[0], ("endpoint", AttributeValue::Text("issues/list"))];
    policy.refuse("primary", &get().attributes(&other_endpoint));
    let somebody = [("user", AttributeValue::Text("hubot")), OCTOCAT[1]];
    assert!(policy.ask(&get().attributes(&somebody)).allowed);

    assert_eq!(policy.come_back("primary", &request), left);
    assert_eq!(visit(&policy, &request).left("primary"), Some(4_998), "all of it is back");
}

#[test]
fn admits_sixty_an_hour_for_an_address_without_a_token() {
    let policy = PolicyTest::of("github");
    let request = get().peer([203, 0, 113, 9].into());
    assert_eq!(policy.burst(&request), 60);
    assert_eq!(policy.refuse("without-token", &request).retry_after, Some(HOUR));
    assert_eq!(policy.burst(&get().peer([203, 0, 113, 10].into())), 60, "others have their own");

    // Authenticated requests are counted separately, even from that address.
    let answer = policy.admit(1, &request.attributes(&OCTOCAT));
    assert_eq!((answer.left("primary"), answer.left("without-token")), (Some(4_999), None));
    assert_eq!(policy.come_back("without-token", &request), HOUR);
}

#[test]
fn lets_a_user_have_a_hundred_in_progress() {
    let policy = PolicyTest::of("github");
    let request = get().attributes(&OCTOCAT);
    let answer = policy.admit(100, &request);
    assert_eq!(policy.refuse("in-progress", &request).refusal, Some(Refusal::Busy));
    let elsewhere = [OCTOCAT[0], ("endpoint", AttributeValue::Text("issues/list"))];
    policy.refuse("in-progress", &get().attributes(&elsewhere));
    policy.release(&answer.slot.expect("it is in progress"));
    assert_eq!(policy.burst(&request), 1);
    // No request takes longer than ten seconds, so the slots of longer ones have expired.
    policy.wait(Duration::from_micros(9_999_999));
    policy.refuse("in-progress", &request);
    policy.wait(Duration::from_micros(1));
    assert_eq!(policy.burst(&request), 100);
}

#[test]
fn counts_points_by_endpoint_one_to_read_and_five_to_write() {
    let policy = PolicyTest::of("github");
    let request = get().attributes(&OCTOCAT);
    for _ in 0..896 {
        assert!(visit(&policy, &request).allowed);
    }
    // Four points are left: enough to read, not to write.
    let patch = Request::new().method("PATCH").target("/repos/octocat/hello-world");
    policy.refuse("points", &patch.attributes(&OCTOCAT));
    for left in (0..4).rev() {
        assert_eq!(visit(&policy, &request).left("points"), Some(left));
    }
    // All were made at the beginning of a minute. They count in full until it ends, and then less
    // by and by: the first point is back a 900th of a minute later.
    let wait = policy.refuse("points", &request).retry_after;
    assert_eq!(wait, Some(MINUTE + Duration::from_micros(66_667)));

    let elsewhere = [OCTOCAT[0], ("endpoint", AttributeValue::Text("issues/list"))];
    let answer = visit(&policy, &get().attributes(&elsewhere));
    assert_eq!(answer.left("points"), Some(899), "each endpoint has points of its own");
    assert_eq!(policy.come_back("points", &request), MINUTE + Duration::from_micros(66_667));
}

#[test]
fn distinguishes_reading_and_writing_methods() {
    let table = [
        ("GET", 1),
        ("HEAD", 1),
        ("OPTIONS", 1),
        ("POST", 5),
        ("PATCH", 5),
        ("PUT", 5),
        ("DELETE", 5),
    ];
    for (method, points) in table {
        let policy = PolicyTest::of("github");
        let request = Request::new().method(method).target("/repos/octocat/hello-world");
        let answer = visit(&policy, &request.attributes(&OCTOCAT));
        assert_eq!(answer.left("points"), Some(900 - points), "{method}");
        assert_eq!(answer.left("content").is_some(), points == 5, "{method}");
    }
}

/// A write to an endpoint of its own, so that points do not matter.
fn write(policy: &PolicyTest, user: &str, endpoint: usize) -> PolicyAnswer {
    let name = format!("endpoint-{endpoint}");
    let attributes =
        [("user", AttributeValue::Text(user)), ("endpoint", AttributeValue::Text(&name))];
    visit(policy, &Request::new().method("POST").target("/gists").attributes(&attributes))
}

#[test]
fn counts_eighty_writes_a_minute() {
    let policy = PolicyTest::of("github");
    for endpoint in 0..80 {
        assert!(write(&policy, "octocat", endpoint).allowed);
    }
    let refused = write(&policy, "octocat", 80);
    assert!(!refused.allowed);
    assert_eq!(refused.rule, "content");
    assert_eq!(refused.retry_after, Some(MINUTE + MINUTE / 80));
    assert!(write(&policy, "hubot", 80).allowed, "others have their own");
    policy.wait(2 * MINUTE);
    assert!(write(&policy, "octocat", 81).allowed);
}

#[test]
fn counts_five_hundred_writes_an_hour() {
    let policy = PolicyTest::of("github");
    for endpoint in 0..500 {
        if endpoint % 40 == 0 {
            policy.wait(MINUTE);
        }
        assert!(write(&policy, "octocat", endpoint).allowed, "write {endpoint}");
    }
    let refused = write(&policy, "octocat", 500);
    assert_eq!((refused.allowed, &*refused.rule), (false, "content"));
    // All in one hour, of which the first 500th is forgotten 7.2 seconds into the next.
    let wait = HOUR.saturating_sub(policy.elapsed()) + HOUR / 500;
    assert_eq!(refused.retry_after, Some(wait));
}
