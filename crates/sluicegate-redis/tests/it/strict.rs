//! Tests of strict rules: an admission is on a replica too, or the rule follows its
//! `on_store_error`.

use sluicegate::{DecidedBy, next_set_id};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{Check, Limit, OnStoreError, Operation, Ruling, Set};
use sluicegate_redis::Redis;
use sluicegate_testkit::{PATIENCE, ServerKind, retry_if_stalled, wait_until};

use crate::decided_by::ask;
use crate::fault_trial::long_or;
use crate::harness::{TestBed, TestServers, cluster, sentinels};

const BURST: u64 = 1_000;

fn limit() -> Limit {
    let quota = format!("1/day burst {BURST}").parse().unwrap();
    Limit::token_bucket("orders", quota).unwrap().without_debt()
}

/// Takes one unit. Returns the source of the decision, and whether it was admitted.
fn take<G: TestServers>(
    stage: &TestBed<G>,
    store: &Redis,
    limit: &Limit,
    strict: bool,
) -> (DecidedBy, bool) {
    let check = Check::new(limit, "alice").if_unreachable(OnStoreError::Deny).strictly(strict);
    let (applied, decision) = stage.block_on(ask(store, check));
    (applied.by, decision.is_allowed())
}

fn remaining<G: TestServers>(stage: &TestBed<G>, store: &Redis, limit: &Limit) -> u64 {
    remaining_of(stage, store, limit, "alice")
}

fn remaining_of<G: TestServers>(
    stage: &TestBed<G>,
    store: &Redis,
    limit: &Limit,
    key: &str,
) -> u64 {
    let peek = Check::new(limit, key).with_operation(Operation::peek());
    stage.block_on(ask(store, peek)).1.remaining()
}

#[test]
fn without_a_replica_only_strict_rules_use_their_fallback() {
    retry_if_stalled(|| {
        let stage = TestBed::with(sentinels(ServerKind::Redis));
        let (store, limit) = (stage.start(stage.apart()), limit());
        wait_until("it can be had", PATIENCE, || {
            take(&stage, &store, &limit, true) == (DecidedBy::Store, true)
        });
        let primary = stage.server.primary();
        let replicas = || (0..3).filter(|index| *index != primary);
        for replica in replicas() {
            stage.server.servers()[replica].pause();
        }
        let unconfirmed = store.counts().unconfirmed;
        let before = remaining(&stage, &store, &limit);
        assert_eq!(
            take(&stage, &store, &limit, true),
            (DecidedBy::Policy, false),
            "only the primary has it"
        );
        assert_eq!(store.counts().unconfirmed, unconfirmed + 1);
        wait_until("the charge of the refused set is refunded", PATIENCE, || {
            remaining(&stage, &store, &limit) == before
        });
        assert_eq!(
            take(&stage, &store, &limit, false),
            (DecidedBy::Store, true),
            "other rules need no replica"
        );
        for replica in replicas() {
            stage.server.servers()[replica].resume();
        }
        wait_until("it can be had again", PATIENCE, || {
            take(&stage, &store, &limit, true) == (DecidedBy::Store, true)
        });
    });
}

#[test]
fn strict_admissions_survive_the_primary() {
    retry_if_stalled(|| {
        let stage = TestBed::with(sentinels(ServerKind::Redis));
        let (store, limit) = (stage.start(stage.apart()), limit());
        wait_until("it can be had", PATIENCE, || {
            take(&stage, &store, &limit, true) == (DecidedBy::Store, true)
        });
        for _ in 0..long_or(20, 2) {
            let before = remaining(&stage, &store, &limit);
            let mut admitted = 0;
            for _ in 0..20 {
                admitted +=
                    u64::from(take(&stage, &store, &limit, true) == (DecidedBy::Store, true));
            }
            let killed = stage.server.kill_primary();
            stage.server.wait_until_switched(killed);
            wait_until("the new one is used", PATIENCE, || store.health().up);
            let after = remaining(&stage, &store, &limit);
            assert!(admitted > 0);
            // A charge without an answer may have been counted as well.
            assert!(
                after <= before - admitted,
                "{admitted} of {before} were admitted, {after} are left"
            );
            stage.server.restart(killed);
            stage.server.wait_until_settled();
            wait_until("it can be had", PATIENCE, || {
                take(&stage, &store, &limit, true) == (DecidedBy::Store, true)
            });
        }
    });
}

#[test]
fn in_a_cluster_each_primary_has_its_own_replicas() {
    retry_if_stalled(|| {
        let stage = TestBed::with(cluster(ServerKind::Valkey, 1));
        let (store, limit) = (stage.start(stage.apart()), limit());
        wait_until("it can be had", PATIENCE, || {
            take(&stage, &store, &limit, true) == (DecidedBy::Store, true)
        });
        for server in stage.server.servers() {
            let role = server.info("replication")["role"].clone();
            if role == "slave" {
                server.pause();
            }
        }
        assert_eq!(take(&stage, &store, &limit, true), (DecidedBy::Policy, false));
        assert_eq!(take(&stage, &store, &limit, false), (DecidedBy::Store, true));
        // Of independent checks only refused ones are refunded: some are in one slot, some in
        // others.
        let other = Limit::token_bucket("calls", format!("1/day burst {BURST}").parse().unwrap());
        let other = other.unwrap();
        for (key, limit_of_other) in [("alice", &other), ("bob", &limit)] {
            let strict =
                Check::new(&limit, "alice").if_unreachable(OnStoreError::Deny).strictly(true);
            let checks =
                [strict, Check::new(limit_of_other, key).if_unreachable(OnStoreError::Allow)];
            let left = || {
                let other = remaining_of(&stage, &store, limit_of_other, key);
                (remaining(&stage, &store, &limit), other)
            };
            let (mut decisions, before) = ([None, None], left());
            let set = Set::independent(&checks, next_set_id());
            let applied = stage.block_on(apply_set(&store, &set, &mut decisions)).unwrap();
            assert_eq!(applied.ruling, Ruling::Refused, "{key}");
            assert_eq!(decisions.map(|made| made.unwrap().is_allowed()), [false, true], "{key}");
            wait_until("what was refused is given back", PATIENCE, || {
                left() == (before.0, before.1 - 1)
            });
        }
    });
}
