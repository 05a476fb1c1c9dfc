//! The store passes what every store must pass, on every server that we know.

use tollgate_conformance::{Driven, history, races, replay, walk};
use tollgate_testbed::Kind;

use crate::stage::Stage;

/// Steps of random walks; `TOLLGATE_STEPS=1000000` walks long.
fn steps() -> usize {
    let chosen = std::env::var("TOLLGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
    chosen.unwrap_or(2_000)
}

/// Walks of its own for each server: what one does not come past, the other may.
fn first_seed(kind: Kind) -> u64 {
    match kind {
        Kind::Redis => 7_000_000,
        Kind::Valkey => 8_000_000,
    }
}

fn conforms(kind: Kind) {
    let stage = Stage::on(kind);
    replay::vectors(|| Driven::new(|clock| stage.driven(clock)));
    walk::differential(|| Driven::new(|clock| stage.driven(clock)), first_seed(kind), steps());
}

fn stands_threads(kind: Kind) {
    let stage = Stage::on(kind);
    races::all(|clock| stage.driven(clock));
    history::all(|clock| stage.driven(clock), 100);
}

#[test]
fn redis_gives_the_answers_that_every_store_gives() {
    conforms(Kind::Redis);
}

#[test]
fn valkey_gives_the_answers_that_every_store_gives() {
    conforms(Kind::Valkey);
}

#[test]
fn redis_decides_in_one_step() {
    stands_threads(Kind::Redis);
}

#[test]
fn valkey_decides_in_one_step() {
    stands_threads(Kind::Valkey);
}
