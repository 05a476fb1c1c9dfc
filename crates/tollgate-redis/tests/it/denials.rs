//! Who certainly has to be refused costs the server nothing.

use std::time::Duration;

use tollgate::{By, Clock, Limiter, ManualClock, PlainMemory, Plan, Verdict};
use tollgate_core::{Answer, Ask, Check, Cost, Limit, Slices, Span, Time};
use tollgate_redis::Redis;
use tollgate_testbed::{Kind, PATIENCE, retry_if_stalled, wait_until};

use crate::asking::ask;
use crate::chance::Chance;
use crate::stage::Stage;

fn slow() -> Limit {
    Limit::token_bucket("slow", "6/min burst 2".parse().unwrap()).unwrap()
}

/// Every algorithm whose refusals last.
fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    vec![
        Limit::token_bucket("token", quota("6/min burst 2")).unwrap(),
        Limit::leaky_bucket("leaky", quota("6/min burst 2")).unwrap(),
        Limit::queue("queue", quota("6/min burst 1")).unwrap(),
        Limit::fixed_window("fixed", quota("2/min")).unwrap(),
        Limit::sliding_window("weighted", quota("2/min"), Slices::Weighted(4)).unwrap(),
        Limit::sliding_window("strict", quota("2/min"), Slices::Strict(10)).unwrap(),
        Limit::sliding_log("log", quota("2/min")).unwrap(),
    ]
}

/// Uses a counter up until the server need not be asked.
fn exhaust(stage: &Stage, store: &Redis, limit: &Limit, key: &str) {
    let asked = (0..20).map(|_| stage.block_on(ask(store, Check::new(limit, key))));
    let by = asked.map(|(applied, _)| applied.by).find(|by| *by == By::Memory);
    assert_eq!(by, Some(By::Memory), "{} is refused without a call in the end", limit.name());
}

fn quiet(kind: Kind) {
    let stage = Stage::on(kind);
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
        assert_eq!(store.counts().calls, calls, "{}: nobody was asked", limit.name());
        let wait = take().retry_after().unwrap();
        clock.set(clock.now() + Span::from_micros(wait.as_micros() - 1));
        assert!(!take().is_allowed(), "{}: a microsecond early", limit.name());
        assert_eq!(store.counts().calls, calls, "{}: still", limit.name());
        clock.set(clock.now() + Span::from_micros(1));
        assert!(take().is_allowed(), "{}: who waited as long as told", limit.name());
        assert_eq!(store.counts().calls, calls + 1, "{}: one call", limit.name());
    }
}

#[test]
fn who_is_refused_costs_no_call_until_it_can_be_admitted() {
    retry_if_stalled(|| quiet(Kind::Redis));
}

#[test]
fn who_is_refused_costs_valkey_no_call_until_it_can_be_admitted() {
    retry_if_stalled(|| quiet(Kind::Valkey));
}

#[test]
fn who_waits_as_long_as_it_was_told_is_admitted() {
    let stage = Stage::on(Kind::Redis);
    let store = stage.start(stage.apart());
    let limit = Limit::token_bucket("quick", "20/s burst 1".parse().unwrap()).unwrap();
    let mut by_memory = 0;
    for _ in 0..20 {
        let (mut applied, mut decision) = stage.block_on(ask(&store, Check::new(&limit, "lone")));
        while decision.is_allowed() {
            (applied, decision) = stage.block_on(ask(&store, Check::new(&limit, "lone")));
        }
        by_memory += u64::from(applied.by == By::Memory);
        let wait = Duration::from(decision.retry_after().unwrap());
        stage.block_on(async { tokio::time::sleep(wait).await });
        let (_, decision) = stage.block_on(ask(&store, Check::new(&limit, "lone")));
        assert!(decision.is_allowed(), "{decision:?} after {wait:?}");
    }
    assert!(by_memory > 0, "some were told without a call");
}

#[test]
fn what_one_node_gives_back_another_no_longer_refuses() {
    retry_if_stalled(|| {
        let stage = Stage::on(Kind::Redis);
        let options = stage.apart();
        let [one, other] = [0, 1].map(|_| stage.start(options.clone()));
        let limit = slow();
        let allowed = |key: &str| stage.block_on(ask(&one, Check::new(&limit, key))).1.is_allowed();
        // A refund.
        let (_, taken) = stage.block_on(ask(&other, Check::new(&limit, "refunded")));
        exhaust(&stage, &one, &limit, "refunded");
        let give_back = Ask::Settle { receipt: *taken.receipt().unwrap(), actual: Cost::ZERO };
        stage.block_on(ask(&other, Check::new(&limit, "refunded").ask(give_back)));
        wait_until("the other node has heard", PATIENCE, || allowed("refunded"));
        // A refund without a receipt.
        exhaust(&stage, &one, &limit, "unused");
        stage.block_on(ask(&other, Check::new(&limit, "unused").ask(Ask::Refund(Cost::ONE))));
        wait_until("the other node has heard", PATIENCE, || allowed("unused"));
        // One's own.
        exhaust(&stage, &one, &limit, "own");
        stage.block_on(ask(&one, Check::new(&limit, "own").ask(Ask::Refund(Cost::ONE))));
        assert!(allowed("own"), "whoever gives it back knows at once");
        // A reset.
        exhaust(&stage, &one, &limit, "reset");
        stage.block_on(ask(&other, Check::new(&limit, "reset").ask(Ask::Reset)));
        wait_until("the other node has heard", PATIENCE, || allowed("reset"));
    });
}

#[test]
fn refusing_without_a_call_changes_no_answer() {
    retry_if_stalled(|| {
        let stage = Stage::on(Kind::Redis);
        for seed in 0..4 {
            walk::<1>(&stage, seed);
            walk::<2>(&stage, seed);
        }
    });
}

/// The same questions, to a plain memory and to nodes of which the first one gives back. Every number of
/// every answer is the same, however many nodes there are.
fn walk<const NODES: usize>(stage: &Stage, seed: u64) {
    let clock = ManualClock::default();
    clock.set(Time::from_micros(1_800_000_000_000_000));
    let options = stage.apart().driven_by(clock.clone());
    let nodes = [(); NODES].map(|()| Limiter::new(stage.start(options.clone())));
    let model = Limiter::new(PlainMemory::with_clock(clock.clone()));
    let (limits, mut chance) = (limits(), Chance::new(seed));
    let (keys, mut receipts) = (["ann", "bob"], Vec::new());
    for step in 0..600 {
        clock.set(clock.now() + Span::from_micros(chance.below(4_000_000) * chance.below(2)));
        let (limit, key) = (&limits[chance.index(limits.len())], keys[chance.index(2)]);
        let cost = Cost::from(u32::try_from(chance.below(3)).unwrap());
        let what = format!("seed {seed}, step {step}: {} {key} {cost:?}", limit.name());
        match chance.below(10) {
            0 if !receipts.is_empty() => {
                let (limit, key, own, theirs) = receipts.swap_remove(chance.index(receipts.len()));
                let limit: &Limit = limit;
                let own = model.refund(limit, key, own).now().unwrap();
                let theirs = stage.block_on(nodes[0].refund(limit, key, theirs).into_future());
                assert_eq!(theirs.unwrap().is_allowed(), own.is_allowed(), "{what} refunded");
                // The other node hears of it in its own time: not part of this.
                for node in &nodes[1..] {
                    heard(stage, node, limit, key);
                }
            }
            2 => {
                let own = model.refund_units(limit, key, cost).now().unwrap();
                let theirs = stage.block_on(nodes[0].refund_units(limit, key, cost).into_future());
                assert_eq!(theirs.unwrap().granted(), own.granted(), "{what} given back");
                if own.granted() > 0 {
                    for node in &nodes[1..] {
                        heard(stage, node, limit, key);
                    }
                }
            }
            1 => {
                let other = &limits[chance.index(limits.len())];
                let mut plan = Plan::new();
                plan.require(Check::new(limit, key).cost(cost));
                plan.require(Check::new(other, key));
                let own = model.check_plan(&plan).now();
                let node = &nodes[chance.index(NODES)];
                let theirs = stage.block_on(node.check_plan(&plan).into_future());
                match (own, theirs) {
                    (Ok(own), Ok(theirs)) => {
                        assert_eq!(told(&theirs), told(&own), "{what} in a plan");
                    }
                    (own, theirs) => assert_eq!(own.is_err(), theirs.is_err(), "{what}"),
                }
            }
            _ => {
                let own = model.check(Check::new(limit, key).cost(cost)).now().unwrap();
                let node = &nodes[chance.index(NODES)];
                let check = Check::new(limit, key).cost(cost);
                let theirs = stage.block_on(node.check(check).into_future()).unwrap();
                assert_eq!(theirs.is_allowed(), own.is_allowed(), "{what}");
                assert_eq!(theirs.answer(), own.answer(), "{what}");
                assert_eq!(theirs.remaining(), own.remaining(), "{what}");
                assert_eq!(theirs.reset_after(), own.reset_after(), "{what}");
                if let (Some(own), Some(theirs)) = (own.receipt(), theirs.receipt()) {
                    receipts.push((limit, key, *own, *theirs));
                }
            }
        }
    }
    let by_memory: u64 = nodes.iter().map(|node| node.store().counts().by_memory).sum();
    assert!(by_memory > 0, "some were refused without a call");
    for node in &nodes {
        assert_eq!(node.store().counts().by_share, 0, "the server was there");
        assert_eq!(node.store().counts().disagreements, 0);
    }
}

/// Waits until a node has heard that something was given back: it asks the server again.
fn heard(stage: &Stage, node: &Limiter<Redis>, limit: &Limit, key: &str) {
    wait_until("the other node has heard", PATIENCE, || {
        let calls = node.store().counts().calls;
        stage.block_on(node.peek(limit, key).into_future()).unwrap();
        node.store().counts().calls > calls
    });
}

/// All that a verdict says, but for the names of receipts.
fn told(verdict: &Verdict) -> (bool, Option<usize>, Option<Span>, Vec<Option<Told>>) {
    let decisions = verdict.decisions().iter().map(|decision| {
        decision.map(|decision| {
            (decision.answer(), decision.granted(), decision.remaining(), decision.reset_after())
        })
    });
    let strictest = verdict.strictest().map(|strictest| strictest.check);
    (verdict.is_allowed(), strictest, verdict.retry_after(), decisions.collect())
}

type Told = (Answer, u64, u64, Span);

/// Nodes and a plain memory on one clock.
struct Fleet<'s> {
    stage: &'s Stage,
    clock: ManualClock,
    nodes: [Limiter<Redis>; 2],
    model: Limiter<PlainMemory<ManualClock>>,
}

impl<'s> Fleet<'s> {
    fn start(stage: &'s Stage) -> Self {
        let clock = ManualClock::default();
        clock.set(Time::from_micros(1_800_000_000_000_000));
        let options = stage.apart().driven_by(clock.clone());
        let nodes = [(); 2].map(|()| Limiter::new(stage.start(options.clone())));
        let model = Limiter::new(PlainMemory::with_clock(clock.clone()));
        Self { stage, clock, nodes, model }
    }

    /// The verdict of a node, which has to be that of the model.
    fn check(&self, node: usize, plan: &Plan<'_>) -> Verdict {
        let own = self.model.check_plan(plan).now().unwrap();
        let node = self.nodes[node].check_plan(plan).into_future();
        let theirs = self.stage.block_on(node).unwrap();
        assert_eq!(told(&theirs), told(&own));
        theirs
    }

    fn refused_by_memory(&self) -> u64 {
        self.nodes.iter().map(|node| node.store().counts().by_memory).sum()
    }
}

#[test]
fn the_longest_wait_of_all_windows_is_named() {
    let stage = Stage::on(Kind::Redis);
    let fleet = Fleet::start(&stage);
    let limit = |name: &'static str, quota: &str| {
        Limit::token_bucket(name, quota.parse().unwrap()).unwrap().without_debt()
    };
    let (second, hour) = (limit("second", "2/s"), limit("hour", "2/h"));
    let mut plan = Plan::new();
    plan.require(Check::new(&second, "caller"));
    plan.require(Check::new(&hour, "caller"));
    let verdicts: Vec<_> = (0..6).map(|_| fleet.check(0, &plan)).collect();
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_allowed()).count(), 2);
    assert!(fleet.refused_by_memory() > 0, "both windows have nothing left");
    assert_eq!(verdicts[5].retry_after(), Some(Span::from_secs(1_800)));
    // One window has refilled: another node may have charged it, so the store is asked.
    fleet.clock.set(fleet.clock.now() + Span::from_secs(2));
    let by_memory = fleet.refused_by_memory();
    let verdict = fleet.check(0, &plan);
    assert_eq!(verdict.retry_after(), Some(Span::from_secs(1_798)));
    assert_eq!(verdict.decisions()[0].unwrap().remaining(), 2);
    assert_eq!(fleet.refused_by_memory(), by_memory);
}

#[test]
fn a_neighbour_that_another_node_exhausts_is_named() {
    let stage = Stage::on(Kind::Redis);
    let fleet = Fleet::start(&stage);
    let bucket = |name: &'static str, quota: &str| {
        Limit::token_bucket(name, quota.parse().unwrap()).unwrap().without_debt()
    };
    let (minute, day) = (bucket("minute", "1/min"), bucket("day", "9/day"));
    let mut both = Plan::new();
    both.require(Check::new(&minute, "caller"));
    both.require(Check::new(&day, "caller"));
    let mut rest = Plan::new();
    rest.require(Check::new(&day, "caller").cost(Cost::from(8)));
    assert!(fleet.check(0, &both).is_allowed());
    assert_eq!(fleet.check(0, &both).strictest().unwrap().check, 0);
    assert!(fleet.check(1, &rest).is_allowed(), "the other node takes what is left of the day");
    let verdict = fleet.check(0, &both);
    assert_eq!(verdict.strictest().unwrap().check, 1, "the day has the longer wait now");
}

#[test]
fn shadows_are_decided_by_the_store() {
    let stage = Stage::on(Kind::Redis);
    let fleet = Fleet::start(&stage);
    let limits = ["enforced", "shadow"]
        .map(|name| Limit::token_bucket(name, "1/min".parse().unwrap()).unwrap().without_debt());
    let mut plan = Plan::new();
    plan.require(Check::new(&limits[0], "caller"));
    plan.require(Check::new(&limits[1], "caller").observed());
    for _ in 0..5 {
        let verdict = fleet.check(0, &plan);
        assert!(verdict.decisions().iter().all(Option::is_some), "the shadow is answered too");
    }
    assert_eq!(fleet.refused_by_memory(), 0);
}

#[test]
fn a_charge_of_another_node_lengthens_the_wait() {
    retry_if_stalled(|| {
        let stage = Stage::on(Kind::Redis);
        let fleet = Fleet::start(&stage);
        let limit = slow();
        let mut plan = Plan::new();
        plan.require(Check::new(&limit, "caller"));
        while fleet.refused_by_memory() == 0 {
            fleet.check(0, &plan);
        }
        let charge = Check::new(&limit, "caller").ask(Ask::Charge(Cost::ONE));
        stage.block_on(fleet.nodes[1].check(charge).into_future()).unwrap();
        fleet.model.check(charge).now().unwrap();
        // It is heard in its own time.
        wait_until("the first node has heard", PATIENCE, || {
            let before = fleet.refused_by_memory();
            stage.block_on(fleet.nodes[0].check_plan(&plan).into_future()).unwrap();
            fleet.refused_by_memory() == before
        });
        let verdict = fleet.check(0, &plan);
        assert_eq!(verdict.retry_after(), Some(Span::from_secs(20)));
    });
}
