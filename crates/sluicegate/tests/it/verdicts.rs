//! Decisions combined into one verdict, with the strictest one.

use sluicegate::{
    ChargeId, Check, Cost, Limit, Limiter, ManualClock, Memory, Operation, Plan, Span,
};

type ManualLimiter = Limiter<Memory<ManualClock>>;

fn limiter() -> ManualLimiter {
    Limiter::new(Memory::with_clock(ManualClock::default()))
}

fn bucket(name: &'static str, text: &str) -> Limit {
    Limit::token_bucket(name, text.parse().unwrap()).unwrap()
}

fn drain(limiter: &ManualLimiter, limit: &Limit) {
    let all = Cost::new(limit.capacity()).unwrap();
    assert!(limiter.check(Check::new(limit, "key").cost(all)).now().unwrap().is_allowed());
}

fn plan<'a>(limits: &[&'a Limit]) -> Plan<'a> {
    let mut plan = Plan::new();
    for limit in limits {
        plan.require(Check::new(limit, "key"));
    }
    plan
}

#[test]
fn the_longest_refusal_counts() {
    let limiter = limiter();
    let (second, hour, day) = (bucket("s", "1/s"), bucket("h", "1/hour"), bucket("d", "9/day"));
    drain(&limiter, &second);
    drain(&limiter, &hour);
    let verdict = limiter.check_plan(&plan(&[&second, &day, &hour])).now().unwrap();
    assert!(!verdict.is_allowed());
    assert_eq!(verdict.strictest().unwrap().check, 2);
    assert_eq!(verdict.retry_after(), Some(Span::from_secs(3_600)));
}

#[test]
fn never_is_longer_than_unknown_is_longer_than_any_time() {
    let limiter = limiter();
    let day = bucket("d", "1/day");
    let slots = Limit::concurrency("slots", 1, Span::from_secs(1)).unwrap();
    drain(&limiter, &day);
    drain(&limiter, &slots);
    let verdict = limiter.check_plan(&plan(&[&day, &slots])).now().unwrap();
    assert_eq!((verdict.strictest().unwrap().check, verdict.retry_after()), (1, None));
    let mut plan = plan(&[&day, &slots]);
    plan.require(Check::new(&day, "other").cost(Cost::from(2)));
    let verdict = limiter.check_plan(&plan).now().unwrap();
    let strictest = verdict.strictest().unwrap();
    assert_eq!(strictest.check, 2);
    assert_eq!(strictest.decision.refusal().unwrap().as_str(), "cost_above_limit");
}

#[test]
fn the_alternative_that_opens_first_counts() {
    let limiter = limiter();
    let (main, grace) = (bucket("main", "1/day"), bucket("grace", "1/hour"));
    drain(&limiter, &main);
    let mut plan = Plan::new();
    plan.require(Check::new(&main, "key")).or(Check::new(&grace, "key"));
    let verdict = limiter.check_plan(&plan).now().unwrap();
    assert!(verdict.is_allowed(), "grace admits");
    assert_eq!(verdict.strictest().unwrap().check, 1);
    let verdict = limiter.check_plan(&plan).now().unwrap();
    assert_eq!(verdict.strictest().unwrap().check, 1);
    assert_eq!(verdict.retry_after(), Some(Span::from_secs(3_600)));
    assert!(limiter.check_plan(&plan).now().unwrap().decisions()[0].is_some());
}

#[test]
fn an_alternative_that_admits_clears_the_first_refusal() {
    let limiter = limiter();
    let (main, grace) = (bucket("main", "1/day"), bucket("grace", "9/day"));
    let minute = bucket("minute", "1/min");
    drain(&limiter, &main);
    drain(&limiter, &minute);
    let mut plan = Plan::new();
    plan.require(Check::new(&main, "key")).or(Check::new(&grace, "key"));
    plan.require(Check::new(&minute, "key"));
    let verdict = limiter.check_plan(&plan).now().unwrap();
    assert_eq!(verdict.strictest().unwrap().check, 2, "the day is not what stands in the way");
    assert_eq!(verdict.retry_after(), Some(Span::from_secs(60)));
}

#[test]
fn allowed_shows_the_smallest_share_left() {
    let limiter = limiter();
    let (wide, narrow) = (bucket("wide", "1000/day"), bucket("narrow", "10/day"));
    let verdict = limiter.check_plan(&plan(&[&wide, &narrow])).now().unwrap();
    assert_eq!(verdict.strictest().unwrap().check, 1);
    assert_eq!(verdict.retry_after(), None);
}

#[test]
fn the_longest_delay_is_the_request_s() {
    let limiter = limiter();
    let quick = Limit::queue("quick", "10/s".parse().unwrap()).unwrap();
    let slow = Limit::queue("slow", "1/s".parse().unwrap()).unwrap();
    let plan = plan(&[&slow, &quick]);
    assert_eq!(limiter.check_plan(&plan).now().unwrap().delay(), Span::ZERO);
    assert_eq!(limiter.check_plan(&plan).now().unwrap().delay(), Span::from_secs(1));
}

#[test]
fn the_check_that_admits_says_how_long_to_hold_back() {
    let limiter = limiter();
    let (soft, hard) = (bucket("soft", "2/day"), bucket("hard", "3/day"));
    let mut plan = Plan::new();
    let slow = Check::new(&hard, "key").delayed(Span::from_millis(500));
    plan.require(Check::new(&soft, "key").delayed(Span::from_millis(900))).or(slow);
    let delays: Vec<Option<Span>> = (0..6)
        .map(|_| limiter.check_plan(&plan).now().unwrap())
        .map(|verdict| {
            assert!(verdict.is_allowed() || verdict.delay() == Span::ZERO, "nothing to hold back");
            verdict.is_allowed().then_some(verdict.delay())
        })
        .collect();
    let [first, second] = [900, 500].map(|millis| Some(Span::from_millis(millis)));
    assert_eq!(delays, [first, first, second, second, second, None], "never that of a refusal");
}

#[test]
fn a_delay_of_its_own_comes_on_top_of_the_limit_s() {
    let limiter = limiter();
    let queue = Limit::queue("queue", "1/s".parse().unwrap()).unwrap();
    let wide = bucket("wide", "9/day");
    let mut plan = Plan::new();
    plan.require(Check::new(&wide, "key").delayed(Span::from_millis(1_200)));
    plan.require(Check::new(&queue, "key").delayed(Span::from_millis(500)));
    let delay = || limiter.check_plan(&plan).now().unwrap().delay();
    assert_eq!(delay(), Span::from_millis(1_200), "the longest, not the sum over checks");
    assert_eq!(delay(), Span::from_millis(1_500), "a second in line and half of one more");
}

#[test]
fn a_change_of_tier_never_determines_a_verdict() {
    let limiter = limiter();
    let (free, premium) = (bucket("api", "100/min"), bucket("api", "10000/min"));
    let from = "100/min".parse().unwrap();
    assert!(
        limiter.check(Check::new(&free, "key").cost(Cost::from(90))).now().unwrap().is_allowed()
    );
    let check = Check::new(&premium, "key");
    let mut plan = Plan::new();
    plan.require(check.with_operation(Operation::Rescale { from, id: ChargeId::from_bits(7) }));
    plan.require(check.cost(Cost::ZERO));
    let verdict = limiter.check_plan(&plan).now().unwrap();
    let strictest = verdict.strictest().unwrap();
    assert_eq!((strictest.check, strictest.decision.remaining()), (1, 9_910));
}

#[test]
fn an_independent_plan_charges_the_limits_that_admit() {
    let limiter = limiter();
    let (full, empty) = (bucket("full", "5/day"), bucket("empty", "1/day"));
    drain(&limiter, &empty);
    let mut plan = plan(&[&full, &empty]);
    plan.independently();
    assert!(!limiter.check_plan(&plan).now().unwrap().is_allowed());
    assert_eq!(limiter.peek(&full, "key").now().unwrap().remaining(), 4);
}
