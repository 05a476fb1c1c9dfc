//! The store passes what every store must pass, on every server that we know.

use sluicegate_conformance::{Driven, history, races, replay, walk};
use sluicegate_testkit::{Kind, retry_if_stalled};

use crate::stage::{Ground, Stage, cluster, sentinels};
use crate::trial::is_long;

/// Steps of random walks; `SLUICEGATE_STEPS=1000000` walks long.
fn steps() -> usize {
    let chosen = std::env::var("SLUICEGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
    chosen.unwrap_or(2_000)
}

/// Walks of its own for each server: what one does not come past, the other may.
fn first_seed(kind: Kind) -> u64 {
    match kind {
        Kind::Redis => 7_000_000,
        Kind::Valkey => 8_000_000,
    }
}

fn conforms<G: Ground>(stage: &Stage<G>, first_seed: u64, steps: usize) {
    replay::vectors(|| Driven::new(|clock| stage.driven(clock)));
    walks(stage, first_seed, steps);
}

fn walks<G: Ground>(stage: &Stage<G>, first_seed: u64, steps: usize) {
    walk::differential(|| Driven::new(|clock| stage.driven(clock)), first_seed, steps);
}

fn stands_threads<G: Ground>(stage: &Stage<G>) {
    races::all(|clock| stage.driven(clock));
    history::all(|clock| stage.driven_on(1, clock), 100);
}

#[test]
fn redis_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| conforms(&Stage::on(Kind::Redis), first_seed(Kind::Redis), steps()));
}

#[test]
fn valkey_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| conforms(&Stage::on(Kind::Valkey), first_seed(Kind::Valkey), steps()));
}

#[test]
fn redis_decides_in_one_step() {
    retry_if_stalled(|| stands_threads(&Stage::on(Kind::Redis)));
}

#[test]
fn valkey_decides_in_one_step() {
    retry_if_stalled(|| stands_threads(&Stage::on(Kind::Valkey)));
}

/// In one slot of a cluster everything is as on one server; sets over many slots are asked side by side.
fn cluster_conforms(kind: Kind, first_seed: u64) {
    let stage = Stage::with(cluster(kind, 0));
    replay::vectors(|| Driven::new(|clock| stage.driven(clock)));
    walk::steady(|| Driven::new(|clock| stage.driven(clock)), first_seed, steps());
    let one_slot = || Driven::new(|clock| stage.driven_on(1, clock));
    walk::differential(one_slot, first_seed + 50_000, steps());
}

/// The primary is an ordinary server once it is found, so walks show whether its name is followed.
fn sentinels_conform(kind: Kind, first_seed: u64) {
    let (stage, steps) = (Stage::with(sentinels(kind)), steps() / 4);
    // Each of the vectors starts a store, and each store asks the sentinels.
    if is_long() { conforms(&stage, first_seed, steps) } else { walks(&stage, first_seed, steps) }
}

#[test]
fn a_primary_that_sentinels_name_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| sentinels_conform(Kind::Redis, 9_000_000));
}

#[test]
fn a_primary_of_valkey_that_sentinels_name_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| sentinels_conform(Kind::Valkey, 9_050_000));
}

#[test]
fn a_cluster_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| cluster_conforms(Kind::Redis, 9_100_000));
}

#[test]
fn a_cluster_of_valkey_gives_the_answers_that_every_store_gives() {
    retry_if_stalled(|| cluster_conforms(Kind::Valkey, 9_200_000));
}

#[test]
fn a_cluster_decides_in_one_step() {
    retry_if_stalled(|| stands_threads(&Stage::with(cluster(Kind::Redis, 0))));
}
