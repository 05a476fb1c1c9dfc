//! Tests of refusals, invalid calls, and calls while the store is unavailable.

use std::fmt::Write as _;

use prost_types::value::Kind;
use serde_json::Value;
use sluicegate::ManualClock;
use sluicegate_server::Server;
use tonic::Code as Failure;

use super::flaky_store::FlakyStore;
use super::grpc::{
    DescriptorStatus, GrpcTestServer, RateLimitRequest, RateLimitResponse, descriptor, error_of,
    rate_limit_response::Code,
};
use super::test_server::by_rules;

const RULES: &str = "
identify:
  user: { attribute: user }
  tenant: { attribute: tenant, if_missing: 401 }
rules:
  - { name: strict, match: { attribute: { kind: strict } }, key: user, limit: 5/min, on_store_error: deny }
  - { name: local, match: { attribute: { kind: local } }, key: user, limit: 5/min }
  - { name: open, match: { attribute: { kind: open } }, key: user, limit: 5/min, on_store_error: allow }
  - { name: tenants, match: { attribute: { kind: tenants } }, key: tenant, limit: 5/min }
block:
  - { user: mallory }
";

fn metadata(answer: &RateLimitResponse, name: &str) -> Option<Kind> {
    answer.dynamic_metadata.as_ref()?.fields.get(name)?.kind.clone()
}

#[allow(clippy::unnecessary_wraps, reason = "the type of the metadata")]
fn text(text: &str) -> Option<Kind> {
    Some(Kind::StringValue(text.to_owned()))
}

#[tokio::test]
async fn blocked_and_unidentified_descriptors_are_refused_without_charges() {
    let gate = GrpcTestServer::by(RULES).await;
    let local = descriptor(&[("kind", "local"), ("user", "a")]);
    for (entries, reason) in [
        (&[("kind", "local"), ("user", "mallory")][..], "listed"),
        (&[("kind", "tenants"), ("user", "a")], "unidentified"),
    ] {
        let answer = gate.ask(&[local.clone(), descriptor(entries)]).await;
        let codes: Vec<Code> = answer.statuses.iter().map(DescriptorStatus::code).collect();
        assert_eq!(
            (answer.overall_code(), codes),
            (Code::OverLimit, vec![Code::Ok, Code::OverLimit])
        );
        assert_eq!(metadata(&answer, "reason"), text(reason));
        assert!(!answer.raw_body.is_empty());
    }
    assert_eq!(gate.statuses(&[local]).await, [(false, 4)]);
}

#[tokio::test]
async fn each_rule_applies_its_own_fallback() {
    let (store, control) = FlakyStore::new(ManualClock::default());
    let gate = GrpcTestServer::open(Server::new(by_rules(store, RULES))).await;
    control.fail("connection refused");
    for (kind, code, by) in [
        ("strict", Code::OverLimit, "policy"),
        ("local", Code::Ok, "share"),
        ("open", Code::Ok, "policy"),
    ] {
        let answer = gate.ask(&[descriptor(&[("kind", kind), ("user", "a")])]).await;
        assert_eq!((answer.overall_code(), metadata(&answer, "by")), (code, text(by)), "{kind}");
        let known = answer.statuses[0].current_limit.is_some();
        assert_eq!(known, kind == "local", "unknown state is not reported");
        if code == Code::OverLimit {
            assert_eq!(metadata(&answer, "reason"), text("unreachable"));
            let body: Value = serde_json::from_slice(&answer.raw_body).unwrap();
            assert_eq!(body["title"], "Temporary reduced capacity");
        }
    }
}

#[tokio::test]
async fn invalid_calls_fail_with_a_reason() {
    let gate = GrpcTestServer::by(RULES).await;
    let valid = || descriptor(&[("kind", "local"), ("user", "a")]);
    let many = |count: usize| vec![valid(); count];
    let mut entries = valid();
    entries.entries = vec![entries.entries[0].clone(); 65];
    let mut both = descriptor(&[("sluicegate", "charge"), ("user", "a")]);
    both.is_negative_hits = true;
    let mut limited = valid();
    limited.limit = Some(super::grpc::RateLimitOverride { requests_per_unit: 5, unit: 0 });
    let mut contradictory = vec![valid(), valid()];
    for (index, descriptor) in contradictory.iter_mut().enumerate() {
        let requests_per_unit = 5 + u32::try_from(index).unwrap();
        descriptor.limit = Some(super::grpc::RateLimitOverride { requests_per_unit, unit: 2 });
    }
    for (domain, descriptors, code, words) in [
        ("", vec![valid()], Failure::InvalidArgument, "no domain"),
        ("edge", vec![], Failure::InvalidArgument, "no descriptors"),
        ("edge", many(65), Failure::ResourceExhausted, "65 descriptors; send at most 64"),
        (
            "edge",
            vec![valid(), descriptor(&[])],
            Failure::InvalidArgument,
            "descriptor 2 of the call has no entries",
        ),
        ("edge", vec![descriptor(&[("", "x")])], Failure::InvalidArgument, "without a key"),
        ("edge", vec![entries], Failure::InvalidArgument, "65 entries; send at most 64"),
        (
            "edge",
            vec![descriptor(&[("sluicegate", "dance")])],
            Failure::InvalidArgument,
            "the only value is `charge`",
        ),
        ("edge", vec![both], Failure::InvalidArgument, "both charges and refunds"),
        ("edge", vec![limited], Failure::InvalidArgument, "the unknown unit 0"),
        ("edge", contradictory, Failure::InvalidArgument, "two different limits"),
    ] {
        let call = RateLimitRequest { domain: domain.to_owned(), descriptors, hits_addend: 0 };
        let (found, text) = error_of(gate.limit(call).await);
        assert_eq!(found, code, "{text}");
        assert!(text.contains(words), "{text}");
    }
    let answer = gate.statuses(&many(64)).await;
    assert_eq!(answer.iter().filter(|(over, _)| *over).count(), 59, "64 are decided, 5 fit");
}

/// A client can cause this with a header that Envoy copies into a descriptor.
#[tokio::test]
async fn a_call_that_is_too_long_is_refused_instead_of_failing() {
    let gate = GrpcTestServer::by(RULES).await;
    let long = "x".repeat(66_000);
    for descriptors in [
        vec![descriptor(&[("kind", "open"), ("user", &long)])],
        vec![descriptor(&[("kind", "open"), ("user", "a")]); 10_000],
    ] {
        let answer = gate.ask(&descriptors).await;
        assert_eq!(answer.overall_code(), Code::OverLimit);
        let body: Value = serde_json::from_slice(&answer.raw_body).unwrap();
        assert!(body["detail"].as_str().unwrap().contains("longer than 65536 bytes"), "{body}");
    }
    // The key of a limit override consists of the entries.
    let mut limited = descriptor(&[("user", &long[..4_200])]);
    limited.limit = Some(super::grpc::RateLimitOverride { requests_per_unit: 5, unit: 2 });
    let answer = gate.ask(&[limited]).await;
    assert_eq!(answer.overall_code(), Code::OverLimit);
    let body: Value = serde_json::from_slice(&answer.raw_body).unwrap();
    assert!(body["detail"].as_str().unwrap().contains("4096"), "{body}");
}

#[tokio::test]
async fn a_call_with_more_than_64_checks_fails() {
    let mut rules = String::from("rules:\n");
    for number in 0..33 {
        writeln!(rules, "  - {{ name: rule-{number}, key: [], limit: 9/min }}").unwrap();
    }
    let gate = GrpcTestServer::by(&rules).await;
    let one = descriptor(&[("a", "b")]);
    assert_eq!(gate.ask(std::slice::from_ref(&one)).await.overall_code(), Code::Ok);
    let descriptors = vec![one.clone(), one];
    let call = RateLimitRequest { domain: "edge".to_owned(), descriptors, hits_addend: 0 };
    let (code, text) = error_of(gate.limit(call).await);
    assert_eq!(code, Failure::ResourceExhausted);
    assert!(text.contains("66 checks in one step; use at most 64"), "{text}");
}
