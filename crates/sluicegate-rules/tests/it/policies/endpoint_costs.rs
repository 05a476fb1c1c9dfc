//! Costs by endpoint: one budget, unequal requests.

use std::time::Duration;

use sluicegate_rules::Request;

use super::policy_test::PolicyTest;

const ADA: [(&str, &str); 1] = [("x-user-id", "ada")];

fn request(method: &'static str, target: &'static str) -> Request<'static> {
    Request::new().method(method).target(target).headers(&ADA)
}

#[test]
fn admits_as_many_of_each_as_the_budget_affords() {
    let table = [
        (request("GET", "/profile"), 1_000, 60),
        (request("GET", "/search?q=sluicegate"), 200, 300),
        (request("POST", "/upload"), 20, 3_000),
        (request("POST", "/video"), 5, 12_000),
        (request("DELETE", "/video"), 1_000, 60),
    ];
    for (request, count, back) in table {
        let policy = PolicyTest::of("endpoint-costs");
        assert_eq!(policy.burst(&request), count, "{request:?}");
        assert_eq!(policy.come_back("points", &request), Duration::from_millis(back));
    }
}

#[test]
fn spends_one_budget_on_all_of_them() {
    let policy = PolicyTest::of("endpoint-costs");
    let mut left = 1_000;
    let visits = [
        ("GET", "/profile", 1),
        ("GET", "/search", 5),
        ("POST", "/upload", 50),
        ("POST", "/video", 200),
    ];
    for (method, target, cost) in visits {
        left -= cost;
        assert_eq!(policy.admit(1, &request(method, target)).remaining, left);
    }
    policy.admit(3, &request("POST", "/video"));
    // 144 are left: no video, but two uploads and a little more.
    let wait = Duration::from_millis((200 - 144) * 60);
    assert_eq!(policy.refuse("points", &request("POST", "/video")).retry_after, Some(wait));
    assert_eq!(policy.burst(&request("POST", "/upload")), 2);
    assert_eq!(policy.burst(&request("GET", "/search")), 8);
    assert_eq!(policy.burst(&request("GET", "/profile")), 4);
}

#[test]
fn every_spelling_of_a_path_costs_the_same() {
    let policy = PolicyTest::of("endpoint-costs");
    for target in ["/video", "//video", "/./video", "/%76ideo", "/x/../video?y"] {
        policy.admit(1, &request("POST", target));
    }
    policy.refuse("points", &request("GET", "/profile"));
}

#[test]
fn gives_each_user_its_own_budget() {
    let policy = PolicyTest::of("endpoint-costs");
    assert_eq!(policy.burst(&request("POST", "/video")), 5);
    let ben = [("x-user-id", "ben")];
    assert_eq!(policy.burst(&request("POST", "/video").headers(&ben)), 5);
}
