//! Tests of descriptors: their counters, and limit overrides.

use super::grpc::{GrpcTestServer, RateLimitDescriptor, RateLimitOverride, Unit, descriptor};

const RULES: &str = "
identify:
  user: { attribute: user }
rules:
  - { name: per-user, match: { domain: edge, descriptor: { user: '*' } }, key: user, limit: 10/min }
  - { name: network, match: { attribute: { network: '*' } }, key: ip, limit: 3/min }
";

fn user(name: &str) -> RateLimitDescriptor {
    descriptor(&[("user", name)])
}

#[tokio::test]
async fn remote_address_is_the_address_of_the_caller() {
    let gate = GrpcTestServer::by(RULES).await;
    let from = |address| descriptor(&[("network", "x"), ("remote_address", address)]);
    assert_eq!(gate.statuses(&[from("2001:db8::1")]).await, [(false, 2)]);
    assert_eq!(gate.statuses(&[from("2001:db8::2")]).await, [(false, 1)], "of the same network");
    assert_eq!(gate.statuses(&[from("2001:db8:1::2")]).await, [(false, 2)]);
}

#[tokio::test]
async fn a_limit_override_replaces_the_rules() {
    let gate = GrpcTestServer::by(RULES).await;
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
        assert_eq!(gate.statuses(&[descriptor]).await, [(true, 0)]);
    }
    assert_eq!(
        gate.statuses(&[limited(0, 2)]).await,
        [(true, 1)],
        "a limit of zero admits nothing"
    );
    assert_eq!(gate.statuses(&[limited(3, 2), user("a")]).await, [(false, 2), (false, 9)]);
    let other = descriptor(&[("user", "a"), ("path", "/")]);
    let other = RateLimitDescriptor { limit: limited(3, 2).limit, ..other };
    assert_eq!(gate.statuses(&[other]).await, [(false, 2)], "other entries, another counter");
}
