//! Tests that the server's data names no caller, and has the prefix.

use sluicegate::Limiter;
use sluicegate_conformance::limits::every_algorithm;
use sluicegate_core::{Check, Cost, Limit, Operation};
use sluicegate_redis::Redis;
use sluicegate_testkit::ServerKind;

use crate::harness::TestBed;

const PLANTED: [&str; 3] = ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "ann@example.com", "203.0.113.77"];

/// Leaves all data that a store can: counters of each kind, and settlements.
fn use_all(stage: &TestBed, limiter: &Limiter<Redis>) {
    for limit in every_algorithm(4, "min") {
        for key in PLANTED {
            let check = || Check::new(&limit, key).cost(Cost::from(2));
            let taken = stage.block_on(limiter.check(check()).into_future()).unwrap();
            stage.block_on(limiter.check(check()).into_future()).unwrap();
            let receipt = *taken.receipt().unwrap();
            let settle = Operation::Settle { receipt, actual: Cost::from(1) };
            let check = Check::new(&limit, key).with_operation(settle);
            stage.block_on(limiter.check(check).into_future()).unwrap();
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn hidden(kind: ServerKind) {
    let stage = TestBed::on(kind);
    let limiter = Limiter::new(stage.start(stage.options().secret([7; 32])));
    use_all(&stage, &limiter);
    let (keys, dump) = (stage.server.keys(), stage.server.dump());
    assert!(
        keys.len() >= PLANTED.len() * every_algorithm(4, "min").len(),
        "there is something to look through"
    );
    assert!(contains(&dump, "sluicegate:1:{"), "what is there is found");
    for planted in PLANTED {
        assert!(!contains(&dump, planted), "{planted} is in what is stored");
        // Not in parts either, or as digits.
        assert!(!contains(&dump, &planted[..8]), "{planted} is there in part");
        let digits = planted.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        assert!(!contains(&dump, &digits), "{planted} is there in hexadecimal");
    }
    for key in keys {
        let key = String::from_utf8(key).unwrap();
        assert!(key.starts_with("sluicegate:1:"), "{key} has the version of its format");
    }
}

#[test]
fn redis_holds_no_caller_names() {
    hidden(ServerKind::Redis);
}

#[test]
fn valkey_holds_no_caller_names() {
    hidden(ServerKind::Valkey);
}

#[test]
fn prefixes_are_isolated() {
    let stage = TestBed::on(ServerKind::Redis);
    let start = |prefix: &str| stage.start(stage.options().prefix(prefix).unwrap());
    let [one, other] =
        ["sluicegate:shop:", "sluicegate:blog:"].map(|prefix| Limiter::new(start(prefix)));
    let limit = Limit::token_bucket("api", "1/h burst 5".parse().unwrap()).unwrap();
    let take = |limiter: &Limiter<Redis>| {
        stage.block_on(limiter.check(Check::new(&limit, "caller")).into_future()).unwrap()
    };
    while take(&one).is_allowed() {}
    assert_eq!(take(&other).remaining(), 4, "it has its own");
    assert_eq!(one.store().health().nodes, 1, "nodes of others are not counted");
    stage.block_on(other.reset(&limit, "caller").into_future()).unwrap();
    assert!(!take(&one).is_allowed(), "nor is it reset with the other");
    let keys = stage.server.keys();
    let text = |key: &Vec<u8>| String::from_utf8(key.clone()).unwrap();
    let of = |prefix: &str| keys.iter().filter(|key| text(key).starts_with(prefix)).count();
    assert_eq!(of("sluicegate:shop:1:") + of("sluicegate:blog:1:"), keys.len());
}
