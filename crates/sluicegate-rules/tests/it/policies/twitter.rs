//! Twitter: windows of 15 minutes, by endpoint and by the kind of token.

use std::time::Duration;

use sluicegate_rules::{AttributeValue, Request};

use super::policy_test::PolicyTest;

const WINDOW: Duration = Duration::from_secs(15 * 60);

fn token(name: &'static str, auth: &'static str) -> [(&'static str, AttributeValue<'static>); 2] {
    [("token", AttributeValue::Text(name)), ("auth", AttributeValue::Text(auth))]
}

#[test]
fn admits_the_quota_of_the_kind_of_token() {
    let table = [
        ("/2/users/2244994945", "user-by-id", "app", 300),
        ("/2/users/2244994945", "user-by-id", "user", 900),
        ("/2/users/by/username/XDevelopers", "user-by-name", "app", 300),
        ("/2/users/by/username/XDevelopers", "user-by-name", "user", 900),
        ("/2/tweets/search/recent?query=cats", "recent-search", "app", 450),
        ("/2/tweets/search/recent?query=cats", "recent-search", "user", 300),
    ];
    for (target, rule, auth, amount) in table {
        let policy = PolicyTest::of("twitter");
        let attributes = token("t1", auth);
        let request = Request::new().method("GET").target(target).attributes(&attributes);
        // Late in a window: all of it may be used, and comes back with the next.
        policy.wait(WINDOW.saturating_sub(Duration::from_secs(10)));
        assert_eq!(policy.burst(&request), amount, "{target} with the token of an {auth}");
        assert_eq!(policy.come_back(rule, &request), Duration::from_secs(10));
        assert_eq!(policy.burst(&request), amount - 1);
        assert_eq!(policy.refuse(rule, &request).retry_after, Some(WINDOW));
    }
}

#[test]
fn counts_each_endpoint_and_each_token_by_itself() {
    let policy = PolicyTest::of("twitter");
    let (mine, yours) = (token("t1", "user"), token("t2", "user"));
    let get = |target| Request::new().method("GET").target(target);
    assert_eq!(policy.burst(&get("/2/users/1").attributes(&mine)), 900);
    // Another id is the same endpoint.
    policy.refuse("user-by-id", &get("/2/users/2").attributes(&mine));
    assert_eq!(policy.burst(&get("/2/users/by/username/jack").attributes(&mine)), 900);
    for (target, amount) in
        [("/2/users/1", 900), ("/2/users/by/username/jack", 900), ("/2/tweets/search/recent", 300)]
    {
        assert_eq!(policy.burst(&get(target).attributes(&yours)), amount, "{target}");
    }
    assert_eq!(policy.burst(&get("/2/tweets/search/recent").attributes(&mine)), 300);
    policy.refuse("user-by-id", &get("/2/users/1"));
}

#[test]
fn treats_a_token_of_unknown_kind_as_an_app_token() {
    let policy = PolicyTest::of("twitter");
    let attributes = token("t1", "superuser");
    let request = Request::new().method("GET").target("/2/users/1").attributes(&attributes);
    assert_eq!(policy.burst(&request), 300);
}
