//! Tests of shadows: each is charged as if it alone were enforced, and never blocks.

use std::time::Duration;

use sluicegate::{Check, Cost, Limit, Limiter, ManualClock, Memory, Plan, Span, Verdict};
use sluicegate_testkit::Rng;

fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap()
}

fn limiter() -> (Limiter<Memory<ManualClock>>, ManualClock) {
    let clock = ManualClock::default();
    (Limiter::new(Memory::with_clock(clock.clone())), clock)
}

fn check(limiter: &Limiter<Memory<ManualClock>>, plan: &Plan<'_>) -> Verdict {
    limiter.check_plan(plan).now().unwrap()
}

fn plan<'a>(checks: impl IntoIterator<Item = Check<'a>>) -> Plan<'a> {
    let mut plan = Plan::new();
    checks.into_iter().for_each(|check| _ = plan.require(check));
    plan
}

/// Plans with shadows are compared with their requirements, and with each shadow enforced alone.
#[test]
fn a_shadow_is_charged_as_if_it_alone_were_enforced() {
    let windows = |name, quota: &str| Limit::sliding_log(name, quota.parse().unwrap()).unwrap();
    let limits = [
        bucket("required", "3/s burst 5"),
        windows("also required", "4/s"),
        bucket("shadow", "2/s burst 4"),
        windows("its second limit", "3/s"),
        bucket("its grace", "1/s"),
        Limit::fixed_window("another shadow", "7/min".parse().unwrap()).unwrap(),
    ];
    let mut rng = Rng::new(11);
    for _ in 0..200 {
        let (whole, clock) = limiter();
        let alone = [(); 3].map(|()| Limiter::new(Memory::with_clock(clock.clone())));
        let mut refused = [0; 3];
        for _ in 0..40 {
            clock.advance(Duration::from_millis(rng.below(400)));
            let key = ["ann", "bob"][rng.index(2)];
            let of = |index: usize, cost: u64| {
                Check::new(&limits[index], key).cost(Cost::new(cost).unwrap())
            };
            let cost = 1 + rng.below(3);
            let required = [of(0, cost), of(1, 1)];
            let shadow = [of(2, cost), of(3, 1), of(4, 1).or_else()];
            let other = [of(5, cost)];
            let mut both = plan(required);
            both.observe(shadow).observe(other);
            let found = check(&whole, &both);
            let expected = [plan(required), plan(shadow), plan(other)];
            let mut first = 0;
            for (set, (limiter, plan)) in alone.iter().zip(&expected).enumerate() {
                let expected = check(limiter, plan);
                let own = first..first + plan.checks().len();
                let answers = |decisions: &[Option<sluicegate::Decision>]| {
                    let facts = decisions.iter().map(|made| {
                        made.map(|it| (it.answer(), it.granted(), it.remaining(), it.reset_after()))
                    });
                    facts.collect::<Vec<_>>()
                };
                assert_eq!(answers(&found.decisions()[own]), answers(expected.decisions()));
                assert_eq!(found.is_admitted(first), expected.is_allowed());
                if set == 0 {
                    assert_eq!(found.is_allowed(), expected.is_allowed());
                    assert_eq!(found.retry_after(), expected.retry_after());
                    assert_eq!(found.delay(), expected.delay());
                }
                refused[set] += u32::from(!expected.is_allowed());
                first += plan.checks().len();
            }
        }
        assert!(refused.iter().all(|times| *times > 0), "{refused:?}");
    }
}

#[test]
fn a_shadow_beside_a_stricter_rule_refuses_what_it_would_refuse_alone() {
    let (limiter, _) = limiter();
    let (strict, loose) = (bucket("strict", "5/min"), bucket("loose", "20/min"));
    let mut request = plan([Check::new(&strict, "key")]);
    request.observe([Check::new(&loose, "key")]);
    let verdicts: Vec<Verdict> = (0..100).map(|_| check(&limiter, &request)).collect();
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_allowed()).count(), 5);
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_admitted(1)).count(), 20);
}

#[test]
fn a_shadow_determines_no_verdict_and_delays_no_request() {
    let (limiter, _) = limiter();
    let (wide, shadow) = (bucket("wide", "1000/day"), bucket("shadow", "1/day"));
    let mut request = plan([Check::new(&wide, "key")]);
    request.observe([Check::new(&shadow, "key").delayed(Span::from_secs(1))]);
    for shadow_admits in [true, false] {
        let verdict = check(&limiter, &request);
        assert!(verdict.is_allowed());
        assert_eq!((verdict.delay(), verdict.retry_after()), (Span::ZERO, None));
        assert_eq!(verdict.strictest().unwrap().check, 0);
        assert_eq!(verdict.decisions()[1].unwrap().is_allowed(), shadow_admits);
    }
    let mut only = Plan::new();
    only.observe([Check::new(&shadow, "key")]);
    let verdict = check(&limiter, &only);
    assert!(verdict.is_allowed() && verdict.strictest().is_none());
}

#[test]
fn requirements_come_before_shadows_however_they_are_added() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| bucket(name, "5/min"));
    let mut request = plan([Check::new(&a, "key")]);
    request.observe([Check::new(&c, "key")]).require(Check::new(&b, "key"));
    request.or(Check::new(&d, "key"));
    let names: Vec<&str> = request.checks().iter().map(|check| check.limit().name()).collect();
    assert_eq!(names, ["a", "b", "d", "c"]);
    assert_eq!(request.required().len(), 3);
    assert_eq!(request.shadows().map(<[_]>::len).collect::<Vec<_>>(), [1]);
    assert!(request.required()[2].is_alternative());
}

#[test]
fn a_refused_request_holds_no_slot_of_a_shadow() {
    let (limiter, _) = limiter();
    let strict = bucket("strict", "1/day");
    let slots = Limit::concurrency("slots", 1, Span::from_secs(60)).unwrap();
    let mut request = plan([Check::new(&strict, "key")]);
    request.observe([Check::new(&slots, "key")]);
    assert!(check(&limiter, &request).is_allowed());
    let held = *check(&limiter, &request).decisions()[1].as_ref().unwrap();
    assert!(!held.is_allowed(), "the first request is in flight");
    limiter
        .check(Check::new(&slots, "key").with_operation(sluicegate::Operation::Reset))
        .now()
        .unwrap();
    for _ in 0..2 {
        let verdicts = limiter.check_batch(&[request.clone(), request.clone()]).now();
        for verdict in verdicts {
            let verdict = verdict.unwrap();
            assert!(!verdict.is_allowed());
            assert!(verdict.decisions()[1].unwrap().is_allowed(), "refused requests hold no slot");
        }
    }
}
