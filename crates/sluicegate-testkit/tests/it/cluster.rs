//! Tests that a cluster forms, migrates slots, and replaces a failed primary.

use sluicegate_testkit::{Cluster, Connection, RespValue, ServerKind};

use crate::{text, with_both};

/// The slot of every key that begins with `{a}`.
const SLOT: u16 = 15_495;

#[track_caller]
fn assert_error(answer: &RespValue, expected: &str) {
    assert!(matches!(answer, RespValue::Error(said) if said.starts_with(expected)), "{answer:?}");
}

#[test]
fn a_cluster_has_the_configured_nodes() {
    with_both(|kind| {
        let cluster = Cluster::setup(kind).password("secret1").start();
        let ports: Vec<_> = (0..6).map(|node| cluster.known_port(node)).collect();
        assert_eq!(
            cluster.url(),
            format!(
                "redis+cluster://:secret1@127.0.0.1:{},127.0.0.1:{},127.0.0.1:{}",
                ports[0], ports[1], ports[2]
            )
        );
        assert_eq!(cluster.primaries(), [0, 1, 2]);
        for (primary, replica) in [(0, 3), (1, 4), (2, 5)] {
            assert_eq!(cluster.replicas_of(primary), [replica]);
            assert_eq!(cluster.slots_of(replica), []);
        }
        let slots: Vec<_> = (0..3).flat_map(|node| cluster.slots_of(node)).collect();
        assert!(slots.into_iter().eq(0..16_384));
        // Each redirects commands on the other's keys to it.
        let answer = cluster.servers()[0].command(&["GET", "{a}1"]);
        assert_error(&answer, &format!("MOVED {SLOT} 127.0.0.1:{}", ports[2]));
        let mut client = Connection::to(cluster.servers()[0].address()).unwrap();
        assert_error(&client.command(&["PING"]).unwrap(), "NOAUTH");
    });
}

#[test]
fn a_slot_is_migrated_at_once_or_step_by_step() {
    with_both(|kind| {
        let cluster = Cluster::setup(kind).replicas_each(0).start();
        let (from, to) = (cluster.primary_of(SLOT), 0);
        let keys: Vec<_> = (0..250).map(|number| format!("{{a}}{number}")).collect();
        for key in &keys {
            cluster.servers()[from].command(&["SET", key, "1"]);
        }
        cluster.begin_migration(SLOT, from, to);
        assert_eq!(cluster.move_keys(SLOT, from, to, 120), 120);
        let get = |key: &&String| cluster.servers()[from].command(&["GET", key]);
        let (here, there): (Vec<_>, Vec<_>) = keys.iter().partition(|key| get(key) == text("1"));
        assert_eq!((here.len(), there.len()), (130, 120));
        assert_error(&get(&there[0]), &format!("ASK {SLOT} 127.0.0.1:"));
        let both = cluster.servers()[from].command(&["MGET", here[0], there[0]]);
        assert_error(&both, "TRYAGAIN");
        assert_eq!(cluster.primary_of(SLOT), from);
        assert_eq!(cluster.move_keys(SLOT, from, to, usize::MAX), 130);
        cluster.finish_moving(SLOT, from, to);
        assert_eq!(cluster.primary_of(SLOT), to);
        assert_eq!(cluster.servers()[to].keys().len(), keys.len());
        assert_error(&get(&here[0]), "MOVED");
        cluster.move_slot(SLOT, to, from);
        assert_eq!(cluster.primary_of(SLOT), from);
        assert_eq!(cluster.servers()[from].keys().len(), keys.len());
        cluster.wait_until_ok();
    });
}

#[test]
fn a_failed_primary_is_replaced_and_returns_as_a_replica() {
    with_both(|kind| {
        let cluster = Cluster::setup(kind).user("default off").start();
        cluster.servers()[2].command(&["SET", "{a}1", "1"]);
        cluster.servers()[2].command(&["WAIT", "1", "10000"]);
        let slots = cluster.slots_of(2);
        cluster.kill(2);
        cluster.wait_until_taken_over(2);
        assert_eq!((cluster.primary_of(SLOT), cluster.slots_of(5)), (5, slots));
        cluster.restart(2);
        assert_eq!((cluster.replicas_of(5), cluster.servers()[2].keys().len()), (vec![2], 1));
        assert_eq!(cluster.fail_over(5), 2);
        cluster.wait_until_taken_over(5);
        cluster.wait_until_ok();
        assert_eq!(cluster.primaries(), [0, 1, 2]);
    });
}

#[test]
fn migration_and_failover_work_with_tls() {
    let cluster = Cluster::setup(ServerKind::Redis).tls().start();
    assert!(cluster.url().starts_with("rediss+cluster://127.0.0.1:"));
    assert_eq!(cluster.known_port(0), cluster.servers()[0].tls_port());
    cluster.servers()[2].command(&["SET", "{a}1", "1"]);
    cluster.move_slot(SLOT, 2, 0);
    assert_eq!(cluster.servers()[0].keys().len(), 1);
    cluster.fail_over(0);
    cluster.wait_until_taken_over(0);
}
