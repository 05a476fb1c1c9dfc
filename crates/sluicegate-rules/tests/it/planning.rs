//! Tests of the allocations of planning.

use std::fmt::Write as _;

use sluicegate::Time;
use sluicegate_rules::{AttributeValue, Directory, PlanBuffer, Request, RuleSet};

fn rules(count: usize) -> RuleSet {
    let mut text = String::from(
        "
identify:
  user: { header: x-user-id }
  key: { header: x-api-key }
  tier: { header: x-tier, default: free }
tiers:
  free: { api: 100/min }
  gold: { api: 1000/min }
rules:
  - { name: by-tier, key: user, limit: { tier: api } }
  - { name: per-address, key: ip, limit: 1000/min }
  - { name: per-user, key: user, limit: [10/s, 100/min] }
  - { name: per-key, key: [key, ip], limit: 100/min }
  - { name: gold, match: { attribute: { plan: gold } }, key: user, limit: 5/min }
",
    );
    for index in 0..count {
        let _ = writeln!(
            text,
            "  - {{ name: r{index}, match: {{ path: '/r{index}/{{id}}', method: GET }}, key: user, limit: 10/s }}"
        );
    }
    RuleSet::parse(&text).unwrap()
}

#[test]
fn a_plan_allocates_nothing_while_its_keys_are_short() {
    let (rules, directory) = (rules(100), Directory::new());
    let headers = [("X-User-Id", "4711"), ("x-api-key", "sk_live_4eC39HqLyjWDarjtT1zdp7dc")];
    let attributes = [("plan", AttributeValue::Text("gold"))];
    let request = Request::new()
        .method("GET")
        .target("/r7/x?q=1")
        .peer([203, 0, 113, 9].into())
        .headers(&headers)
        .attributes(&attributes);
    let mut checks = 0;
    let seen = allocation_counter::measure(|| {
        let mut buffer = PlanBuffer::new();
        let planned = rules.plan(&directory, &request, Time::EPOCH, &mut buffer);
        checks = planned.plan().checks().len();
    });
    assert_eq!(checks, 7, "two windows for the user, and five other rules");
    assert_eq!(seen.count_total, 0);
}

#[test]
fn a_plan_buffer_can_be_reused_and_keeps_nothing() {
    let (rules, directory, mut buffer) = (rules(3), Directory::new(), PlanBuffer::new());
    let users: Vec<String> = (0..50_usize).map(|length| "u".repeat(length * 20 + 1)).collect();
    let mut keys = Vec::new();
    for user in users.iter().chain(&users) {
        let headers = [("x-user-id", user.as_str())];
        let request = Request::new().method("GET").target("/r1/x").headers(&headers);
        let planned = rules.plan(&directory, &request, Time::EPOCH, &mut buffer);
        keys.push(planned.plan().checks()[2].key().to_vec());
    }
    assert_eq!(keys[..users.len()], keys[users.len()..]);
    assert!(keys.iter().all(|key| key.len() < 300), "long values are digested");
    keys.truncate(users.len());
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), users.len());
}
