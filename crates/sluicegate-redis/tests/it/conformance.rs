//! Runs the conformance suite of stores on every kind of server.

use sluicegate_conformance::{ManualClockStore, history, races, replay, walk};
use sluicegate_testkit::{ServerKind, retry_if_stalled};

use crate::fault_trial::is_long;
use crate::harness::{TestBed, TestServers, cluster, sentinels};

/// Steps of random walks; `SLUICEGATE_STEPS=1000000` runs long ones.
fn steps() -> usize {
    let chosen = std::env::var("SLUICEGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
    chosen.unwrap_or(2_000)
}

/// Different walks for each server, to cover more cases.
fn first_seed(kind: ServerKind) -> u64 {
    match kind {
        ServerKind::Redis => 7_000_000,
        ServerKind::Valkey => 8_000_000,
    }
}

fn conforms<G: TestServers>(stage: &TestBed<G>, first_seed: u64, steps: usize) {
    replay::vectors(|| ManualClockStore::new(|clock| stage.driven(clock)));
    walks(stage, first_seed, steps);
}

fn walks<G: TestServers>(stage: &TestBed<G>, first_seed: u64, steps: usize) {
    walk::differential(|| ManualClockStore::new(|clock| stage.driven(clock)), first_seed, steps);
}

fn survives_threads<G: TestServers>(stage: &TestBed<G>) {
    races::all(|clock| stage.driven(clock));
    history::all(|clock| stage.driven_on(1, clock), 100);
}

#[test]
fn redis_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| {
        conforms(&TestBed::on(ServerKind::Redis), first_seed(ServerKind::Redis), steps());
    });
}

#[test]
fn valkey_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| {
        conforms(&TestBed::on(ServerKind::Valkey), first_seed(ServerKind::Valkey), steps());
    });
}

#[test]
fn redis_decides_in_one_step() {
    retry_if_stalled(|| survives_threads(&TestBed::on(ServerKind::Redis)));
}

#[test]
fn valkey_decides_in_one_step() {
    retry_if_stalled(|| survives_threads(&TestBed::on(ServerKind::Valkey)));
}

/// In one slot of a cluster everything is as on one server; sets in many slots run concurrently.
fn cluster_conforms(kind: ServerKind, first_seed: u64) {
    let stage = TestBed::with(cluster(kind, 0));
    replay::vectors(|| ManualClockStore::new(|clock| stage.driven(clock)));
    walk::steady(|| ManualClockStore::new(|clock| stage.driven(clock)), first_seed, steps());
    let one_slot = || ManualClockStore::new(|clock| stage.driven_on(1, clock));
    walk::differential(one_slot, first_seed + 50_000, steps());
}

/// The primary is an ordinary server, so walks test that its name is resolved.
fn sentinels_conform(kind: ServerKind, first_seed: u64) {
    let (stage, steps) = (TestBed::with(sentinels(kind)), steps() / 4);
    // Each vector starts a store, and each store queries the sentinels.
    if is_long() { conforms(&stage, first_seed, steps) } else { walks(&stage, first_seed, steps) }
}

#[test]
fn a_primary_that_sentinels_name_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| sentinels_conform(ServerKind::Redis, 9_000_000));
}

#[test]
fn a_primary_of_valkey_that_sentinels_name_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| sentinels_conform(ServerKind::Valkey, 9_050_000));
}

#[test]
fn a_cluster_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| cluster_conforms(ServerKind::Redis, 9_100_000));
}

#[test]
fn a_cluster_of_valkey_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| cluster_conforms(ServerKind::Valkey, 9_200_000));
}

#[test]
fn a_cluster_decides_in_one_step() {
    retry_if_stalled(|| survives_threads(&TestBed::with(cluster(ServerKind::Redis, 0))));
}
