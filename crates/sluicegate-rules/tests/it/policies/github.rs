//! GitHub: primary limits by the hour, secondary ones against bursts.

use std::time::Duration;

use sluicegate::Refusal;
use sluicegate_rules::{Request, Value};

use super::stage::{Answer, Stage};

const OCTOCAT: [(&str, Value<'_>); 2] =
    [("user", Value::Text("octocat")), ("endpoint", Value::Text("repos/get"))];
const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// Makes a request that ends at once.
fn visit(stage: &Stage, request: &Request<'_>) -> Answer {
    let answer = stage.ask(request);
    if let Some(slot) = &answer.slot {
        assert_eq!(stage.release(slot).released, 1);
    }
    answer
}

fn get() -> Request<'static> {
    Request::new().method("GET").target("/repos/octocat/hello-world")
}

#[test]
fn admits_five_thousand_an_hour_for_a_user_and_resets_on_the_hour() {
    let stage = Stage::of("github");
    let request = get().attributes(&OCTOCAT);
    stage.wait(Duration::from_secs(600));
    for number in 1..=5_000_u64 {
        // Slowly enough for the limit per minute.
        if number % 400 == 0 {
            stage.wait(MINUTE);
        }
        let answer = visit(&stage, &request);
        assert!(answer.allowed, "request {number}: {answer:?}");
        assert_eq!(answer.left("primary"), Some(5_000 - number));
    }
    let left = HOUR.saturating_sub(stage.elapsed());
    assert_eq!(stage.refuse("primary", &request).retry_after, Some(left), "at the full hour");

    let other_endpoint = [OCTOCAT[0], ("endpoint", Value::Text("issues/list"))];
    stage.refuse("primary", &get().attributes(&other_endpoint));
    let somebody = [("user", Value::Text("hubot")), OCTOCAT[1]];
    assert!(stage.ask(&get().attributes(&somebody)).allowed);

    assert_eq!(stage.come_back("primary", &request), left);
    assert_eq!(visit(&stage, &request).left("primary"), Some(4_998), "all of it is back");
}

#[test]
fn admits_sixty_an_hour_for_an_address_without_a_token() {
    let stage = Stage::of("github");
    let request = get().peer([203, 0, 113, 9].into());
    assert_eq!(stage.burst(&request), 60);
    assert_eq!(stage.refuse("without-token", &request).retry_after, Some(HOUR));
    assert_eq!(stage.burst(&get().peer([203, 0, 113, 10].into())), 60, "others have their own");

    // Authenticated requests are counted separately, even from that address.
    let answer = stage.admit(1, &request.attributes(&OCTOCAT));
    assert_eq!((answer.left("primary"), answer.left("without-token")), (Some(4_999), None));
    assert_eq!(stage.come_back("without-token", &request), HOUR);
}

#[test]
fn lets_a_user_have_a_hundred_in_progress() {
    let stage = Stage::of("github");
    let request = get().attributes(&OCTOCAT);
    let answer = stage.admit(100, &request);
    assert_eq!(stage.refuse("in-progress", &request).refusal, Some(Refusal::Busy));
    let elsewhere = [OCTOCAT[0], ("endpoint", Value::Text("issues/list"))];
    stage.refuse("in-progress", &get().attributes(&elsewhere));
    stage.release(&answer.slot.expect("it is in progress"));
    assert_eq!(stage.burst(&request), 1);
    // No request takes longer than ten seconds, so the slots of longer ones have expired.
    stage.wait(Duration::from_micros(9_999_999));
    stage.refuse("in-progress", &request);
    stage.wait(Duration::from_micros(1));
    assert_eq!(stage.burst(&request), 100);
}

#[test]
fn counts_points_by_endpoint_one_to_read_and_five_to_write() {
    let stage = Stage::of("github");
    let request = get().attributes(&OCTOCAT);
    for _ in 0..896 {
        assert!(visit(&stage, &request).allowed);
    }
    // Four points are left: enough to read, not to write.
    let patch = Request::new().method("PATCH").target("/repos/octocat/hello-world");
    stage.refuse("points", &patch.attributes(&OCTOCAT));
    for left in (0..4).rev() {
        assert_eq!(visit(&stage, &request).left("points"), Some(left));
    }
    // All were made at the beginning of a minute. They count in full until it ends, and then less
    // by and by: the first point is back a 900th of a minute later.
    let wait = stage.refuse("points", &request).retry_after;
    assert_eq!(wait, Some(MINUTE + Duration::from_micros(66_667)));

    let elsewhere = [OCTOCAT[0], ("endpoint", Value::Text("issues/list"))];
    let answer = visit(&stage, &get().attributes(&elsewhere));
    assert_eq!(answer.left("points"), Some(899), "each endpoint has points of its own");
    assert_eq!(stage.come_back("points", &request), MINUTE + Duration::from_micros(66_667));
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
        let stage = Stage::of("github");
        let request = Request::new().method(method).target("/repos/octocat/hello-world");
        let answer = visit(&stage, &request.attributes(&OCTOCAT));
        assert_eq!(answer.left("points"), Some(900 - points), "{method}");
        assert_eq!(answer.left("content").is_some(), points == 5, "{method}");
    }
}

/// A write to an endpoint of its own, so that points do not matter.
fn write(stage: &Stage, user: &str, endpoint: usize) -> Answer {
    let name = format!("endpoint-{endpoint}");
    let attributes = [("user", Value::Text(user)), ("endpoint", Value::Text(&name))];
    visit(stage, &Request::new().method("POST").target("/gists").attributes(&attributes))
}

#[test]
fn counts_eighty_writes_a_minute() {
    let stage = Stage::of("github");
    for endpoint in 0..80 {
        assert!(write(&stage, "octocat", endpoint).allowed);
    }
    let refused = write(&stage, "octocat", 80);
    assert!(!refused.allowed);
    assert_eq!(refused.rule, "content");
    assert_eq!(refused.retry_after, Some(MINUTE + MINUTE / 80));
    assert!(write(&stage, "hubot", 80).allowed, "others have their own");
    stage.wait(2 * MINUTE);
    assert!(write(&stage, "octocat", 81).allowed);
}

#[test]
fn counts_five_hundred_writes_an_hour() {
    let stage = Stage::of("github");
    for endpoint in 0..500 {
        if endpoint % 40 == 0 {
            stage.wait(MINUTE);
        }
        assert!(write(&stage, "octocat", endpoint).allowed, "write {endpoint}");
    }
    let refused = write(&stage, "octocat", 500);
    assert_eq!((refused.allowed, &*refused.rule), (false, "content"));
    // All in one hour, of which the first 500th is forgotten 7.2 seconds into the next.
    let wait = HOUR.saturating_sub(stage.elapsed()) + HOUR / 500;
    assert_eq!(refused.retry_after, Some(wait));
}
