//! Sets that are partly a node's own: charged to both or to neither.

use tollgate::{Clock, Limiter, ManualClock, PlainMemory, Plan};
use tollgate_core::{Ask, Check, Cost, Limit, Scope, Slices, Span, Time};
use tollgate_testbed::{Kind, retry_if_stalled};

use crate::chance::Chance;
use crate::stage::Stage;

fn limits() -> Vec<(Limit, Scope)> {
    let quota = |text: &str| text.parse().unwrap();
    vec![
        (Limit::token_bucket("node bucket", quota("30/min burst 3")).unwrap(), Scope::Node),
        (Limit::sliding_log("node log", quota("4/min")).unwrap(), Scope::Node),
        (Limit::token_bucket("shared bucket", quota("30/min burst 3")).unwrap(), Scope::Cluster),
        (Limit::fixed_window("shared window", quota("5/min")).unwrap(), Scope::Cluster),
        (
            Limit::sliding_window("shared slices", quota("5/min"), Slices::Strict(10)).unwrap(),
            Scope::Cluster,
        ),
    ]
}

fn start() -> ManualClock {
    let clock = ManualClock::default();
    clock.set(Time::from_micros(1_800_000_000_000_000));
    clock
}

/// The same questions to a plain memory that has all of the counters.
fn walk(stage: &Stage, seed: u64, deny_cache: bool) {
    let clock = start();
    let options = stage.apart().deny_cache(deny_cache).driven_by(clock.clone());
    let node = Limiter::new(stage.start(options));
    let model = Limiter::new(PlainMemory::with_clock(clock.clone()));
    let (limits, mut chance) = (limits(), Chance::new(seed));
    for step in 0..400 {
        clock.set(clock.now() + Span::from_micros(chance.below(3_000_000) * chance.below(2)));
        let mut plan = Plan::new();
        let mut asked = Vec::new();
        for _ in 0..=chance.below(3) {
            let (limit, scope) = &limits[chance.index(limits.len())];
            let key = ["ann", "bob"][chance.index(2)];
            if asked.contains(&(limit.name(), key)) {
                continue;
            }
            asked.push((limit.name(), key));
            let cost = Cost::from(u32::try_from(chance.below(3)).unwrap());
            let gives_back = chance.below(5) == 0;
            let ask = if gives_back { Ask::Refund(cost) } else { Ask::acquire(cost) };
            plan.require(Check::new(limit, key).ask(ask).scoped(*scope));
        }
        let own = model.check_plan(&plan).now().unwrap();
        let theirs = stage.block_on(node.check_plan(&plan).into_future()).unwrap();
        assert_eq!(theirs.is_allowed(), own.is_allowed(), "seed {seed}, step {step}: {asked:?}");
        let each = limits.iter().flat_map(|one| ["ann", "bob"].map(|key| (one, key)));
        let peeks: Vec<_> = each
            .map(|((limit, scope), key)| Check::new(limit, key).cost(Cost::ZERO).scoped(*scope))
            .collect();
        let own = model.check_many(&peeks).now().unwrap();
        let theirs = stage.block_on(node.check_many(&peeks).into_future()).unwrap();
        for ((peek, own), theirs) in peeks.iter().zip(own).zip(theirs) {
            let key = String::from_utf8_lossy(peek.key());
            let what = format!("seed {seed}, step {step}: {} {key}", peek.limit().name());
            assert_eq!(theirs.remaining(), own.remaining(), "{what} after {asked:?}");
        }
    }
    assert_eq!(node.store().counts().by_share, 0, "the server was there");
}

#[test]
fn a_set_of_both_is_charged_to_both_or_to_neither() {
    retry_if_stalled(|| {
        let stage = Stage::on(Kind::Redis);
        for seed in 0..2 {
            walk(&stage, seed, false);
            walk(&stage, seed, true);
        }
    });
}

#[test]
fn whom_the_node_refuses_the_server_is_not_asked_about() {
    retry_if_stalled(|| {
        let stage = Stage::on(Kind::Redis);
        let node = Limiter::new(stage.start(stage.apart().driven_by(start())));
        let own = Limit::token_bucket("own", "1/min burst 2".parse().unwrap()).unwrap();
        let shared = Limit::token_bucket("shared", "1/min burst 3".parse().unwrap()).unwrap();
        let mut plan = Plan::new();
        plan.require(Check::new(&shared, "caller"));
        plan.require(Check::new(&own, "caller").scoped(Scope::Node));
        let ask = || stage.block_on(node.check_plan(&plan).into_future()).unwrap();
        let left = |limit: &Limit, scope| {
            let peek = Check::new(limit, "caller").cost(Cost::ZERO).scoped(scope);
            stage.block_on(node.check(peek).into_future()).unwrap().remaining()
        };
        assert!(ask().is_allowed() && ask().is_allowed());
        let calls = node.store().counts().calls;
        assert!(!ask().is_allowed());
        assert_eq!(node.store().counts().calls, calls, "the node's own limit refused");
        assert_eq!(left(&shared, Scope::Cluster), 1, "nothing was charged");
    });
}

#[test]
fn whom_the_server_refuses_the_node_has_not_charged() {
    retry_if_stalled(|| {
        let stage = Stage::on(Kind::Redis);
        let node = Limiter::new(stage.start(stage.apart().deny_cache(false).driven_by(start())));
        let own = Limit::token_bucket("own", "1/min burst 5".parse().unwrap()).unwrap();
        let shared = Limit::token_bucket("shared", "1/min burst 2".parse().unwrap()).unwrap();
        let mut plan = Plan::new();
        plan.require(Check::new(&own, "caller").scoped(Scope::Node));
        plan.require(Check::new(&shared, "caller"));
        for admitted in [true, true, false, false, false, false] {
            let verdict = stage.block_on(node.check_plan(&plan).into_future()).unwrap();
            assert_eq!(verdict.is_allowed(), admitted);
        }
        let peek = Check::new(&own, "caller").cost(Cost::ZERO).scoped(Scope::Node);
        let left = stage.block_on(node.check(peek).into_future()).unwrap();
        assert_eq!(left.remaining(), 3, "two were admitted, four were given back");
    });
}
