//! What descriptors are charged to, how much, and what is told about each.

use std::time::Duration;

use super::grpc::{
    DescriptorStatus, GrpcGate, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, Unit,
    descriptor, rate_limit_response::Code, rate_limit_response::RateLimit,
};

const RULES: &str = "
identify:
  user: { attribute: user }
  address: { attribute: remote_address }
  tier: { attribute: tier, default: partner }
tiers:
  partner: { partners: unlimited }
rules:
  - { name: per-user, match: { domain: edge, descriptor: { user: '*' } }, key: user, limit: 10/min }
  - { name: logins, match: { descriptor: { kind: login, user: '*' } }, key: user, limit: 2/hour, algorithm: fixed_window }
  - { name: per-address, match: { attribute: { remote_address: '*' } }, key: address, limit: 100/min burst 20 }
  - { name: tokens, match: { descriptor: { tokens: '*' } }, key: [], limit: 10/min, debt: true }
  - { name: odd, match: { descriptor: { odd: '*' } }, key: [], limit: 5 per 15 minutes }
  - { name: watched, match: { descriptor: { watched: '*' } }, key: [], limit: 1/day, mode: shadow }
  - { name: free, match: { descriptor: { free: '*' } }, key: [], limit: { tier: partners } }
  - { name: monthly, match: { descriptor: { monthly: '*' } }, key: [], limit: 7/month, algorithm: fixed_window }
  - { name: network, match: { attribute: { network: '*' } }, key: ip, limit: 3/min }
";

fn user(name: &str) -> RateLimitDescriptor {
    descriptor(&[("user", name)])
}

fn hits(units: u64) -> RateLimitDescriptor {
    RateLimitDescriptor { hits_addend: Some(units), ..user("a") }
}

#[tokio::test]
async fn a_status_says_which_limit_it_is_and_how_it_stands() {
    let gate = GrpcGate::by(RULES).await;
    for (entries, name, amount, unit, remaining, seconds) in [
        (&[("user", "a")][..], "per-user", 10, Unit::Minute, 9, 6),
        (&[("kind", "login"), ("user", "a")], "logins", 2, Unit::Hour, 1, 3_600),
        (&[("remote_address", "203.0.113.9")], "per-address", 100, Unit::Minute, 19, 1),
        (&[("odd", "x")], "odd", 5, Unit::Unknown, 4, 180),
        (&[("monthly", "x")], "monthly", 7, Unit::Month, 6, 31 * 86_400),
    ] {
        let answer = gate.ask(&[descriptor(entries)]).await;
        assert_eq!(answer.overall_code(), Code::Ok);
        let wanted = DescriptorStatus {
            code: Code::Ok.into(),
            current_limit: Some(RateLimit {
                name: name.into(),
                requests_per_unit: amount,
                unit: unit.into(),
            }),
            limit_remaining: remaining,
            duration_until_reset: Some(prost_types::Duration { seconds, nanos: 0 }),
        };
        assert_eq!(answer.statuses, [wanted], "{name}");
        assert!(answer.raw_body.is_empty());
        assert!(answer.request_headers_to_add.is_empty());
    }
}

#[tokio::test]
async fn what_no_rule_limits_is_let_through_without_a_limit() {
    let gate = GrpcGate::by(RULES).await;
    for (entries, remaining) in [
        (&[("nobody", "knows")][..], 0),
        // One entry more than the rules name, and so none of theirs.
        (&[("user", "a"), ("path", "/")], 0),
        (&[("kind", "logout"), ("user", "a")], 0),
        (&[("free", "x")], u32::MAX),
    ] {
        let answer = gate.ask(&[descriptor(entries)]).await;
        let status = DescriptorStatus {
            code: Code::Ok.into(),
            limit_remaining: remaining,
            ..Default::default()
        };
        assert_eq!((answer.overall_code(), answer.statuses), (Code::Ok, vec![status]));
        let headers = answer.response_headers_to_add.iter().map(|header| header.key.as_str());
        assert!(headers.eq((remaining > 0).then_some("x-ratelimit-tier")));
    }
    let call = RateLimitRequest {
        domain: "other".to_owned(),
        descriptors: vec![user("a")],
        hits_addend: 0,
    };
    let answer = gate.limit(call).await.unwrap();
    assert_eq!(answer.statuses[0].current_limit, None, "another domain has other rules");
}

#[tokio::test]
async fn all_descriptors_are_charged_or_none_is() {
    let gate = GrpcGate::by(RULES).await;
    let login = descriptor(&[("kind", "login"), ("user", "a")]);
    let unknown = descriptor(&[("nobody", "knows")]);
    let call = [user("a"), login.clone(), unknown, user("b")];
    for left in [1, 0] {
        let standing = 8 + left;
        let found = gate.standings(&call).await;
        assert_eq!(found, [(false, standing), (false, left), (false, 0), (false, standing)]);
    }
    let found = gate.standings(&call).await;
    assert_eq!(found, [(false, 8), (true, 0), (false, 0), (false, 8)], "in their order");
    assert_eq!(gate.standings(&[user("a"), user("b")]).await, [(false, 7), (false, 7)]);
}

#[tokio::test]
async fn a_counter_reached_twice_sees_its_own_first_charge() {
    let gate = GrpcGate::by(RULES).await;
    assert_eq!(gate.standings(&[user("a"), user("a")]).await, [(false, 9), (false, 8)]);
    let seven = hits(7);
    assert_eq!(gate.standings(&[seven.clone(), hits(2)]).await, [(false, 8), (true, 8)]);
    assert_eq!(gate.standings(&[seven]).await, [(false, 1)], "nothing was charged");
}

#[tokio::test]
async fn a_descriptor_says_what_it_costs_or_the_call_does() {
    let gate = GrpcGate::by(RULES).await;
    let ask = async |descriptor, hits_addend| {
        let descriptors = vec![descriptor];
        let call = RateLimitRequest { domain: "edge".to_owned(), descriptors, hits_addend };
        gate.limit(call).await.unwrap().statuses[0].limit_remaining
    };
    assert_eq!(ask(user("a"), 0).await, 9, "none is one");
    assert_eq!(ask(user("a"), 3).await, 6);
    assert_eq!(ask(hits(2), 5).await, 4, "its own counts before the call's");
    assert_eq!(ask(hits(0), 5).await, 4, "zero only looks");
    assert_eq!(ask(hits(0), 0).await, 4);
    assert_eq!(ask(hits(u64::MAX), 0).await, 4, "more than there can be");
    assert_eq!(ask(user("a"), u32::MAX).await, 4);
    assert_eq!(ask(user("a"), 4).await, 0);
}

#[tokio::test]
async fn who_only_looks_is_over_the_limit_when_nothing_is_left() {
    let gate = GrpcGate::by(RULES).await;
    assert_eq!(gate.standings(&[hits(0)]).await, [(false, 10)]);
    assert_eq!(gate.standings(&[hits(10)]).await, [(false, 0)]);
    let answer = gate.ask(&[hits(0)]).await;
    assert_eq!(
        (answer.overall_code(), answer.statuses[0].code()),
        (Code::OverLimit, Code::OverLimit)
    );
    let body: serde_json::Value = serde_json::from_slice(&answer.raw_body).unwrap();
    assert_eq!((&body["status"], &body["title"]), (&429.into(), &"Quota exceeded".into()));
    gate.clock.advance(Duration::from_secs(6));
    assert_eq!(gate.standings(&[hits(0)]).await, [(false, 1)]);
}

#[tokio::test]
async fn what_has_happened_already_is_charged_whatever_is_left() {
    let gate = GrpcGate::by(RULES).await;
    let used = |key, units| RateLimitDescriptor {
        hits_addend: Some(units),
        ..descriptor(&[(key, "a"), ("tollgate", "charge")])
    };
    let look = |key| RateLimitDescriptor { hits_addend: Some(0), ..descriptor(&[(key, "a")]) };
    for (key, debt) in [("user", 0), ("tokens", 3)] {
        assert_eq!(gate.standings(&[used(key, 8)]).await, [(false, 2)]);
        assert_eq!(gate.standings(&[used(key, 5)]).await, [(false, 0)], "too late to refuse");
        assert_eq!(gate.standings(&[look(key)]).await, [(true, 0)]);
        gate.clock.advance(Duration::from_secs(6 * debt));
        assert_eq!(gate.standings(&[look(key)]).await, [(true, 0)], "a debt is paid first");
        gate.clock.advance(Duration::from_secs(6));
        assert_eq!(gate.standings(&[look(key)]).await, [(false, 1)]);
    }
}

#[tokio::test]
async fn hits_that_are_negative_are_given_back() {
    let gate = GrpcGate::by(RULES).await;
    let back =
        |units| RateLimitDescriptor { hits_addend: units, is_negative_hits: true, ..user("a") };
    assert_eq!(gate.standings(&[hits(8)]).await, [(false, 2)]);
    assert_eq!(gate.standings(&[back(Some(3))]).await, [(false, 5)]);
    assert_eq!(gate.standings(&[back(None)]).await, [(false, 6)], "none is one");
    assert_eq!(gate.standings(&[back(Some(0))]).await, [(false, 6)]);
    assert_eq!(gate.standings(&[hits(6)]).await, [(false, 0)]);
    assert_eq!(gate.standings(&[back(Some(0))]).await, [(false, 0)], "nobody is asked");
    assert_eq!(gate.standings(&[back(Some(50))]).await, [(false, 10)], "never more than there are");
    let limited = |is_negative_hits| RateLimitDescriptor {
        limit: Some(RateLimitOverride { requests_per_unit: 5, unit: 2 }),
        is_negative_hits,
        ..user("a")
    };
    let (take, give) = (limited(false), limited(true));
    assert_eq!(gate.standings(&[take.clone(), take]).await, [(false, 4), (false, 3)]);
    assert_eq!(gate.standings(&[give]).await, [(false, 4)]);
}

#[tokio::test]
async fn a_shadow_is_in_nobodys_way() {
    let gate = GrpcGate::by(RULES).await;
    let watched = descriptor(&[("watched", "x")]);
    for _ in 0..3 {
        let answer = gate.ask(&[watched.clone(), user("a")]).await;
        assert_eq!(answer.overall_code(), Code::Ok);
        assert_eq!(answer.statuses[0].current_limit, None, "nor told about");
        assert_eq!(answer.statuses[1].current_limit.as_ref().unwrap().name, "per-user");
    }
}

#[tokio::test]
async fn the_address_of_envoys_client_is_the_address() {
    let gate = GrpcGate::by(RULES).await;
    let from = |address| descriptor(&[("network", "x"), ("remote_address", address)]);
    assert_eq!(gate.standings(&[from("2001:db8::1")]).await, [(false, 2)]);
    assert_eq!(gate.standings(&[from("2001:db8::2")]).await, [(false, 1)], "of the same network");
    assert_eq!(gate.standings(&[from("2001:db8:1::2")]).await, [(false, 2)]);
}

#[tokio::test]
async fn a_limit_that_comes_with_a_descriptor_stands_in_for_those_of_rules() {
    let gate = GrpcGate::by(RULES).await;
    let limited = |requests_per_unit, unit| RateLimitDescriptor {
        limit: Some(RateLimitOverride { requests_per_unit, unit }),
        ..user("a")
    };
    for (number, unit, seconds) in [
        (1, Unit::Second, 1),
        (2, Unit::Minute, 30),
        (3, Unit::Hour, 1_800),
        (4, Unit::Day, 43_200),
        (5, Unit::Month, 31 * 86_400),
        (6, Unit::Year, 365 * 86_400),
    ] {
        let mut descriptor = limited(2, number);
        descriptor.entries[0].value = number.to_string();
        let answer = gate.ask(&[descriptor.clone()]).await;
        let status = &answer.statuses[0];
        let limit = status.current_limit.as_ref().unwrap();
        assert_eq!((limit.requests_per_unit, limit.unit()), (2, unit));
        assert_eq!((limit.name.as_str(), status.limit_remaining), ("descriptor", 1));
        assert_eq!(status.duration_until_reset.unwrap().seconds, seconds, "{unit:?}");
        gate.ask(&[descriptor.clone()]).await;
        assert_eq!(gate.standings(&[descriptor]).await, [(true, 0)]);
    }
    assert_eq!(gate.standings(&[limited(0, 2)]).await, [(true, 1)], "none at all");
    assert_eq!(gate.standings(&[limited(3, 2), user("a")]).await, [(false, 2), (false, 9)]);
    let other = descriptor(&[("user", "a"), ("path", "/")]);
    let other = RateLimitDescriptor { limit: limited(3, 2).limit, ..other };
    assert_eq!(gate.standings(&[other]).await, [(false, 2)], "other entries, another counter");
}
