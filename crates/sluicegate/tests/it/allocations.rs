//! A check of one limit allocates nothing once its counter exists.

use sluicegate::{Check, Cost, Limit, Limiter, ManualClock, Memory, Plan};
use sluicegate_conformance::limits::every_algorithm;

/// The limits without stored lists: one of every algorithm, and a bucket that counts in fractions.
fn limits() -> Vec<Limit> {
    let fractions = Limit::token_bucket("fractions", "333333/s burst 50".parse().expect("a quota"));
    let lists = ["sliding_log", "concurrency"];
    let limits = every_algorithm(100, "min").into_iter();
    let limits = limits.filter(|limit| !lists.contains(&limit.algorithm()));
    limits.chain([fractions.expect("a limit")]).collect()
}

#[test]
fn a_check_of_one_limit_allocates_nothing() {
    for limit in limits() {
        let limiter = Limiter::new(Memory::with_clock(ManualClock::default()));
        let check = || limiter.check(Check::new(&limit, "user:42")).now().expect("decided");
        assert!(check().is_allowed(), "the counter exists from here on");
        let mut refused = 0;
        let seen = allocation_counter::measure(|| {
            refused = (0..200).filter(|_| !check().is_allowed()).count();
        });
        assert!(refused > 0, "both answers were given");
        assert_eq!(seen.count_total, 0, "{}", limit.name());
    }
}

#[test]
fn a_peek_at_nothing_allocates_nothing() {
    for limit in limits() {
        let limiter = Limiter::new(Memory::with_clock(ManualClock::default()));
        let seen = allocation_counter::measure(|| {
            let check = Check::new(&limit, "nobody").cost(Cost::ZERO);
            assert!(limiter.check(check).now().expect("decided").is_allowed());
        });
        assert_eq!(seen.count_total, 0, "{}", limit.name());
        assert!(limiter.store().is_empty(), "and leaves nothing behind");
    }
}

#[test]
fn deciding_a_plan_of_two_allocates_nothing() {
    let limits = limits();
    let limiter = Limiter::new(Memory::with_clock(ManualClock::default()));
    let mut plan = Plan::new();
    plan.require(Check::new(&limits[0], "user:42"));
    plan.require(Check::new(&limits[1], "user:42"));
    let check = || limiter.check_plan(&plan).now().expect("decided");
    assert!(check().is_allowed());
    let seen = allocation_counter::measure(|| assert!(check().is_allowed()));
    assert_eq!(seen.count_total, 0);
}

#[test]
fn planning_a_request_that_owes_eight_checks_allocates_nothing() {
    let limits = limits();
    let seen = allocation_counter::measure(|| {
        let mut plan = Plan::new();
        for index in 0..8 {
            plan.require(Check::new(&limits[index % limits.len()], "user:42"));
        }
        assert_eq!(plan.checks().len(), 8);
    });
    assert_eq!(seen.count_total, 0);
}
