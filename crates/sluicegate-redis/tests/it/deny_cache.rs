//! Tests that known refusals cost the server nothing.

use sluicegate::{Clock, Limiter, ManualClock};
use sluicegate_conformance::limits::every_algorithm;
use sluicegate_core::{Check, Limit, Span, Time};
use sluicegate_testkit::{ServerKind, retry_if_stalled};

use crate::harness::TestBed;

/// Every algorithm whose refusals last.
fn limits() -> impl Iterator<Item = Limit> {
    every_algorithm(2, "min").into_iter().filter(|limit| limit.algorithm() != "concurrency")
}

fn quiet(kind: ServerKind) {
    let stage = TestBed::on(kind);
    let clock = ManualClock::default();
    clock.set(Time::from_micros(1_800_000_000_000_000));
    let store = stage.start(stage.apart().driven_by(clock.clone()));
    let limiter = Limiter::new(store);
    let store = limiter.store();
    for limit in limits() {
        let check = || Check::new(&limit, "caller");
        let take = || stage.block_on(limiter.check(check()).into_future()).unwrap();
        while take().is_allowed() {}
        take();
        let calls = store.counts().calls;
        let refused: Vec<_> = (0..100).map(|_| take()).collect();
        assert!(refused.iter().all(|decision| !decision.is_allowed()), "{}", limit.name());
        assert_eq!(store.counts().calls, calls, "{}: no call was made", limit.name());
        let wait = take().retry_after().unwrap();
        clock.set(clock.now() + Span::from_micros(wait.as_micros() - 1));
        assert!(!take().is_allowed(), "{}: a microsecond early", limit.name());
        assert_eq!(store.counts().calls, calls, "{}: still", limit.name());
        clock.set(clock.now() + Span::from_micros(1));
        assert!(take().is_allowed(), "{}: after the announced wait", limit.name());
        assert_eq!(store.counts().calls, calls + 1, "{}: one call", limit.name());
    }
}

#[test]
fn refused_callers_cost_no_call_until_they_can_be_admitted() {
    retry_if_stalled(|| quiet(ServerKind::Redis));
}

#[test]
fn refused_callers_cost_valkey_no_call_until_they_can_be_admitted() {
    retry_if_stalled(|| quiet(ServerKind::Valkey));
}
