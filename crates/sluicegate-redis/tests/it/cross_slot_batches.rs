//! Tests that concurrent callers in many slots are counted exactly during migrations and failures.

use futures_util::future::join_all;
use sluicegate::{Check, DecidedBy, Limit};
use sluicegate_redis::Redis;
use sluicegate_testkit::{Cluster, PATIENCE, ServerKind, retry_if_stalled, wait_until};

use crate::decided_by::ask;
use crate::harness::{TestBed, cluster, guarded_cluster};

const CALLERS: usize = 300;
const BURST: u64 = 1_000;

/// Callers that all send one check in each round.
struct Rounds {
    stage: TestBed<Cluster>,
    store: Redis,
    limit: Limit,
    keys: Vec<String>,
    sent: u64,
}

impl Rounds {
    fn on(kind: ServerKind, replicas: u16) -> Self {
        Self::with(cluster(kind, replicas))
    }

    fn with(cluster: Cluster) -> Self {
        let stage = TestBed::with(cluster);
        let store = stage.start(stage.options().deny_cache(false));
        let quota = format!("1/day burst {BURST}").parse().unwrap();
        let limit = Limit::token_bucket("calls", quota).unwrap();
        let keys = (0..CALLERS).map(|caller| format!("caller {caller}")).collect();
        Self { stage, store, limit, keys, sent: 0 }
    }

    /// All callers send at the same time, and all have been counted in every round so far.
    fn ask(&mut self, when: &str) {
        self.sent += 1;
        let asks = self.keys.iter().map(|key| ask(&self.store, Check::new(&self.limit, key)));
        for (applied, decision) in self.stage.block_on(join_all(asks)) {
            assert_eq!(applied.by, DecidedBy::Store, "{when}: {:?}", self.store.counts());
            assert_eq!(decision.remaining(), BURST - self.sent, "{when}");
        }
    }

    /// Slots of one server that have callers.
    fn slots_in_use(&self, of: usize) -> Vec<u16> {
        let cluster = &self.stage.server;
        let slots = cluster.slots_of(of).into_iter();
        slots.filter(|slot| cluster.keys_in_slot(*slot, of) > 0).collect()
    }
}

#[test]
fn callers_stay_counted_during_migrations() {
    retry_if_stalled(|| {
        for kind in ServerKind::ALL {
            let mut rounds = Rounds::on(kind, 0);
            rounds.ask("at first");
            let [from, to] = [0, 1];
            let slots: Vec<u16> = rounds.slots_in_use(from).into_iter().take(5).collect();
            assert_eq!(slots.len(), 5);
            for slot in &slots {
                rounds.stage.server.begin_migration(*slot, from, to);
            }
            rounds.ask("still there");
            for slot in &slots[..3] {
                rounds.stage.server.move_keys(*slot, from, to, 100);
            }
            rounds.ask("here and there");
            for slot in &slots {
                rounds.stage.server.move_keys(*slot, from, to, 100);
                rounds.stage.server.finish_moving(*slot, from, to);
            }
            assert!(rounds.store.counts().redirects >= 3, "{:?}", rounds.store.counts());
            rounds.ask("moved");
            rounds.ask("which is known now");
        }
    });
}

#[test]
fn callers_stay_counted_during_migrations_by_the_server() {
    retry_if_stalled(|| {
        let mut rounds = Rounds::on(ServerKind::Valkey, 0);
        rounds.ask("at first");
        let [from, to] = [0, 1];
        rounds.stage.server.begin_migrating_all(from, to);
        let is_over = |rounds: &Rounds| rounds.stage.server.slots_of(from).is_empty();
        while !is_over(&rounds) && rounds.sent < BURST / 2 {
            rounds.ask("on their way");
        }
        assert!(
            is_over(&rounds),
            "{:?}",
            rounds.stage.server.servers()[from].command(&["CLUSTER", "GETSLOTMIGRATIONS"])
        );
        rounds.ask("moved");
        assert!(rounds.store.counts().redirects > 0);
        rounds.ask("which is known now");
    });
}

#[test]
fn callers_stay_counted_after_an_orderly_failover() {
    retry_if_stalled(|| {
        for kind in ServerKind::ALL {
            let mut rounds = Rounds::on(kind, 1);
            rounds.ask("at first");
            rounds.stage.server.fail_over(0);
            for _ in 0..10 {
                rounds.ask("on its way");
            }
            rounds.stage.server.wait_until_taken_over(0);
            rounds.ask("taken over");
            rounds.ask("which is known now");
        }
    });
}

#[test]
fn a_restarted_server_keeps_callers_of_cross_slot_calls() {
    retry_if_stalled(|| {
        for kind in ServerKind::ALL {
            let kept = guarded_cluster(kind).replicas_each(0).line("appendonly yes");
            let mut rounds = Rounds::with(kept.line("appendfsync always").start());
            for _ in 0..3 {
                rounds.ask("at first");
            }
            for index in 0..3 {
                rounds.stage.server.kill(index);
                rounds.stage.server.restart(index);
            }
            rounds.stage.server.wait_until_ok();
            wait_until("all are reached", PATIENCE, || rounds.store.health().up);
            rounds.ask("read back");
        }
    });
}
