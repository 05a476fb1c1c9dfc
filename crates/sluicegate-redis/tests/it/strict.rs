//! Strict rules: what was admitted is on a replica too, or the rule goes by its word on an outage.

use sluicegate::{By, Store, fresh_id};
use sluicegate_core::{Ask, Check, Limit, Outage, Ruling, Set};
use sluicegate_redis::Redis;
use sluicegate_testkit::{Kind, PATIENCE, retry_if_stalled, wait_until};

use crate::asking::ask;
use crate::stage::{Ground, Stage, cluster, sentinels};
use crate::trial::long_or;

const BURST: u64 = 1_000;

fn limit() -> Limit {
    let quota = format!("1/day burst {BURST}").parse().unwrap();
    Limit::token_bucket("orders", quota).unwrap().without_debt()
}

/// Takes one unit, and says who decided that, and whether it was admitted.
fn take<G: Ground>(stage: &Stage<G>, store: &Redis, limit: &Limit, strict: bool) -> (By, bool) {
    let check = Check::new(limit, "alice").if_unreachable(Outage::Deny).strictly(strict);
    let (applied, decision) = stage.block_on(ask(store, check));
    (applied.by, decision.is_allowed())
}

fn remaining<G: Ground>(stage: &Stage<G>, store: &Redis, limit: &Limit) -> u64 {
    remaining_of(stage, store, limit, "alice")
}

fn remaining_of<G: Ground>(stage: &Stage<G>, store: &Redis, limit: &Limit, key: &str) -> u64 {
    let peek = Check::new(limit, key).ask(Ask::peek());
    stage.block_on(ask(store, peek)).1.remaining()
}

#[test]
fn without_a_replica_a_strict_rule_goes_by_its_word_and_no_other_does() {
    retry_if_stalled(|| {
        let stage = Stage::with(sentinels(Kind::Redis));
        let (store, limit) = (stage.start(stage.apart()), limit());
        wait_until("it can be had", PATIENCE, || {
            take(&stage, &store, &limit, true) == (By::Store, true)
        });
        let primary = stage.server.primary();
        let replicas = || (0..3).filter(|index| *index != primary);
        for replica in replicas() {
            stage.server.servers()[replica].pause();
        }
        let unconfirmed = store.counts().unconfirmed;
        let before = remaining(&stage, &store, &limit);
        assert_eq!(take(&stage, &store, &limit, true), (By::Policy, false), "nobody else has it");
        assert_eq!(store.counts().unconfirmed, unconfirmed + 1);
        wait_until("whoever was refused is given back what was charged", PATIENCE, || {
            remaining(&stage, &store, &limit) == before
        });
        assert_eq!(take(&stage, &store, &limit, false), (By::Store, true), "nobody else has to");
        for replica in replicas() {
            stage.server.servers()[replica].resume();
        }
        wait_until("it can be had again", PATIENCE, || {
            take(&stage, &store, &limit, true) == (By::Store, true)
        });
    });
}

#[test]
fn what_a_strict_rule_admitted_survives_the_primary() {
    retry_if_stalled(|| {
        let stage = Stage::with(sentinels(Kind::Redis));
        let (store, limit) = (stage.start(stage.apart()), limit());
        wait_until("it can be had", PATIENCE, || {
            take(&stage, &store, &limit, true) == (By::Store, true)
        });
        for _ in 0..long_or(20, 2) {
            let before = remaining(&stage, &store, &limit);
            let mut admitted = 0;
            for _ in 0..20 {
                admitted += u64::from(take(&stage, &store, &limit, true) == (By::Store, true));
            }
            let killed = stage.server.kill_primary();
            stage.server.wait_until_switched(killed);
            wait_until("the new one is used", PATIENCE, || store.health().up);
            let after = remaining(&stage, &store, &limit);
            assert!(admitted > 0);
            // One that nobody was told of may have arrived as well.
            assert!(
                after <= before - admitted,
                "{admitted} of {before} were admitted, {after} are left"
            );
            stage.server.restart(killed);
            stage.server.wait_until_settled();
            wait_until("it can be had", PATIENCE, || {
                take(&stage, &store, &limit, true) == (By::Store, true)
            });
        }
    });
}

#[test]
fn in_a_cluster_each_primary_has_its_own_replicas() {
    retry_if_stalled(|| {
        let stage = Stage::with(cluster(Kind::Valkey, 1));
        let (store, limit) = (stage.start(stage.apart()), limit());
        wait_until("it can be had", PATIENCE, || {
            take(&stage, &store, &limit, true) == (By::Store, true)
        });
        for server in stage.server.servers() {
            let role = server.info("replication")["role"].clone();
            if role == "slave" {
                server.pause();
            }
        }
        assert_eq!(take(&stage, &store, &limit, true), (By::Policy, false));
        assert_eq!(take(&stage, &store, &limit, false), (By::Store, true));
        // Of checks that do not depend on each other, only those that are refused are given back: some are
        // in one slot, some in others.
        let other = Limit::token_bucket("calls", format!("1/day burst {BURST}").parse().unwrap());
        let other = other.unwrap();
        for (key, limit_of_other) in [("alice", &other), ("bob", &limit)] {
            let strict = Check::new(&limit, "alice").if_unreachable(Outage::Deny).strictly(true);
            let checks = [strict, Check::new(limit_of_other, key).if_unreachable(Outage::Allow)];
            let left = || {
                let other = remaining_of(&stage, &store, limit_of_other, key);
                (remaining(&stage, &store, &limit), other)
            };
            let (mut decisions, before) = ([None, None], left());
            let set = Set::independent(&checks, fresh_id());
            let applied = stage.block_on(store.apply(&set, &mut decisions)).unwrap();
            assert_eq!(applied.ruling, Ruling::Refused, "{key}");
            assert_eq!(decisions.map(|told| told.unwrap().is_allowed()), [false, true], "{key}");
            wait_until("what was refused is given back", PATIENCE, || {
                left() == (before.0, before.1 - 1)
            });
        }
    });
}
