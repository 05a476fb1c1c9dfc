//! Callers in many slots of a cluster who ask at the same time are counted exactly, whatever becomes of
//! the slots meanwhile.

use futures_util::future::join_all;
use sluicegate::{By, Check, Limit};
use sluicegate_redis::Redis;
use sluicegate_testkit::{Cluster, Kind, PATIENCE, retry_if_stalled, wait_until};

use crate::asking::ask;
use crate::stage::{Stage, cluster, guarded_cluster};

const CALLERS: usize = 300;
const BURST: u64 = 1_000;

/// Callers who all ask once in each round.
struct Rounds {
    stage: Stage<Cluster>,
    store: Redis,
    limit: Limit,
    keys: Vec<String>,
    asked: u64,
}

impl Rounds {
    fn on(kind: Kind, replicas: u16) -> Self {
        Self::with(cluster(kind, replicas))
    }

    fn with(cluster: Cluster) -> Self {
        let stage = Stage::with(cluster);
        let store = stage.start(stage.options().deny_cache(false));
        let quota = format!("1/day burst {BURST}").parse().unwrap();
        let limit = Limit::token_bucket("calls", quota).unwrap();
        let keys = (0..CALLERS).map(|caller| format!("caller {caller}")).collect();
        Self { stage, store, limit, keys, asked: 0 }
    }

    /// Everybody asks, at the same time, and everybody has been counted each time so far.
    fn ask(&mut self, when: &str) {
        self.asked += 1;
        let asks = self.keys.iter().map(|key| ask(&self.store, Check::new(&self.limit, key)));
        for (applied, decision) in self.stage.block_on(join_all(asks)) {
            assert_eq!(applied.by, By::Store, "{when}: {:?}", self.store.counts());
            assert_eq!(decision.remaining(), BURST - self.asked, "{when}");
        }
    }

    /// Slots with callers in them, of one server.
    fn slots_in_use(&self, of: usize) -> Vec<u16> {
        let cluster = &self.stage.server;
        let slots = cluster.slots_of(of).into_iter();
        slots.filter(|slot| cluster.keys_in_slot(*slot, of) > 0).collect()
    }
}

#[test]
fn everybody_is_counted_on_while_slots_are_on_their_way() {
    retry_if_stalled(|| {
        for kind in Kind::ALL {
            let mut rounds = Rounds::on(kind, 0);
            rounds.ask("at first");
            let [from, to] = [0, 1];
            let slots: Vec<u16> = rounds.slots_in_use(from).into_iter().take(5).collect();
            assert_eq!(slots.len(), 5);
            for slot in &slots {
                rounds.stage.server.begin_moving(*slot, from, to);
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
fn everybody_is_counted_on_while_the_server_moves_slots_by_itself() {
    retry_if_stalled(|| {
        let mut rounds = Rounds::on(Kind::Valkey, 0);
        rounds.ask("at first");
        let [from, to] = [0, 1];
        rounds.stage.server.begin_giving_away(from, to);
        let is_over = |rounds: &Rounds| rounds.stage.server.slots_of(from).is_empty();
        while !is_over(&rounds) && rounds.asked < BURST / 2 {
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
fn everybody_is_counted_on_when_a_replica_takes_over_in_order() {
    retry_if_stalled(|| {
        for kind in Kind::ALL {
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
fn a_server_that_reads_back_what_was_written_together_knows_everybody() {
    retry_if_stalled(|| {
        for kind in Kind::ALL {
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
