//! The sets of a batch are decided as if they had come one after the other.

use tollgate::{Clock, ManualClock, Memory, Store, fresh_id};
use tollgate_core::{Ask, Check, Cost, Decision, Limit, Ruling, Scope, Set, Slices, Span, Time};
use tollgate_testbed::{Kind, retry_if_stalled};

use crate::chance::Chance;
use crate::stage::{Ground, Stage, cluster};

const KEYS: [&str; 4] = ["user", "address", "tenant", "route"];

fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    let limits = [
        Limit::token_bucket("bucket", quota("30/min burst 9")).unwrap(),
        Limit::token_bucket("other", quota("6/min burst 4")).unwrap(),
        Limit::sliding_log("log", quota("7/min")).unwrap(),
        Limit::sliding_window("window", quota("8/min"), Slices::Strict(6)).unwrap(),
    ];
    limits.into_iter().map(Limit::without_debt).collect()
}

/// A set of one to three counters of up to three keys, or something given back.
fn random_checks<'a>(chance: &mut Chance, limits: &'a [Limit]) -> Vec<Check<'a>> {
    let mut checks: Vec<Check<'a>> = Vec::new();
    let gives_back = chance.below(12) == 0;
    for _ in 0..=(if gives_back { 0 } else { chance.below(3) }) {
        let (limit, key) = (&limits[chance.index(limits.len())], KEYS[chance.index(KEYS.len())]);
        let is_same = |check: &Check<'_>| {
            check.limit().name() == limit.name() && check.key() == key.as_bytes()
        };
        if checks.iter().any(is_same) {
            continue;
        }
        let cost = Cost::from(1 + u32::try_from(chance.below(2)).unwrap());
        let ask = if gives_back { Ask::Refund(cost) } else { Ask::acquire(cost) };
        // Some counters are this node's own.
        let scope = if key == "route" { Scope::Node } else { Scope::Cluster };
        checks.push(Check::new(limit, key).ask(ask).scoped(scope));
    }
    checks
}

/// All that a decision says, but for the name of its receipt.
fn told(decision: Option<Decision>) -> Option<(bool, u64, u64, Option<Span>)> {
    decision.map(|decision| {
        let numbers = (decision.granted(), decision.remaining());
        (decision.is_allowed(), numbers.0, numbers.1, decision.retry_after())
    })
}

fn compare<G: Ground>(stage: &Stage<G>, seed: u64) {
    let clock = ManualClock::default();
    clock.set(Time::from_micros(1_800_000_000_000_000));
    let store = stage.start(stage.apart().driven_by(clock.clone()));
    let model = Memory::with_clock(clock.clone());
    let (limits, mut chance) = (limits(), Chance::new(seed));
    for batch in 0..40 {
        clock.set(clock.now() + Span::from_micros(chance.below(3_000_000)));
        let sets: Vec<_> = (0..20).map(|_| random_checks(&mut chance, &limits)).collect();
        let sets: Vec<_> = sets.iter().map(|checks| Set::all(checks, fresh_id())).collect();
        let count = sets.iter().map(|set| set.checks().len()).sum();
        let (mut decisions, mut applied) = (vec![None; count], Vec::new());
        stage.block_on(store.apply_many(&sets, &mut decisions, &mut applied)).unwrap();
        let mut rest = &decisions[..];
        for (index, (set, applied)) in sets.iter().zip(applied).enumerate() {
            let mut expected = vec![None; set.checks().len()];
            let own = stage.block_on(model.apply(set, &mut expected)).unwrap();
            let (found, after) = rest.split_at(expected.len());
            rest = after;
            let what = format!("seed {seed}, batch {batch}, set {index}: {set:#?}");
            assert_eq!(applied.ruling, own.ruling, "{what}");
            if own.ruling == Ruling::Refused && set.checks().len() > 1 {
                // A set that the node refuses alone is not put to the server.
                continue;
            }
            let found: Vec<_> = found.iter().map(|decision| told(*decision)).collect();
            let expected: Vec<_> = expected.iter().map(|decision| told(*decision)).collect();
            assert_eq!(found, expected, "{what}");
        }
    }
    assert_eq!(store.counts().by_share, 0, "the server was there");
}

#[test]
fn a_batch_keeps_its_order_on_one_server() {
    retry_if_stalled(|| {
        let stage = Stage::on(Kind::Redis);
        (0..4).for_each(|seed| compare(&stage, seed));
    });
}

#[test]
fn a_batch_keeps_its_order_on_a_cluster() {
    retry_if_stalled(|| {
        let stage = Stage::with(cluster(Kind::Redis, 0));
        (0..4).for_each(|seed| compare(&stage, seed));
    });
}
