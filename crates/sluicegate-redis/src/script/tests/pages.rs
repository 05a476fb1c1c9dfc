//! Tests of stored pages (pruned and widened) and of states being in one place only.

use sluicegate_core::{
    ChargeId, Check, Cost, Limit, Operation, Receipt, Ruling, Set, Slices, Span, State, Time,
};
use sluicegate_testkit::Server;

use super::steps::{ScriptServer, ScriptVariant, connect, entry};
use crate::script::cells::StoredCell;
use crate::script::reply::ScriptRuling;

pub(super) const START: u64 = 1_767_225_600_000_000;
pub(super) const SECOND: u64 = 1_000_000;

pub(super) fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap()
}

pub(super) fn at(micros: u64) -> Time {
    Time::from_micros(START + micros)
}

pub(super) fn take(server: &mut ScriptServer, now: Time, limit: &Limit, key: &str) -> Ruling {
    apply(server, now, &Check::new(limit, key)).0
}

pub(super) fn apply(
    server: &mut ScriptServer,
    now: Time,
    check: &Check<'_>,
) -> (Ruling, Option<Receipt>) {
    let set = Set::one(check, ChargeId::from_bits(u128::from(now.as_micros()) << 8));
    let mut answer = server.apply(now, &set);
    let (ruling, decisions) = ScriptServer::explained(&set, &mut answer);
    server.compare(&set, &answer.states);
    (ruling, decisions[0].and_then(|decision| decision.receipt().copied()))
}

/// The only page there is.
fn page(server: &mut ScriptServer, limit: &Limit) -> Vec<u8> {
    let key = server.key_space.page(server.key_space.counter(&Check::new(limit, "any")));
    match server.run(redis::cmd("GET").arg(key)) {
        redis::Value::BulkString(bytes) => bytes,
        _ => Vec::new(),
    }
}

fn entries(page: &[u8]) -> usize {
    page.len().saturating_sub(21) / (usize::from(page[0]) * 16)
}

#[test]
fn a_doubled_page_drops_recovered_entries() {
    for through in ScriptVariant::ALL {
        let redis = Server::redis();
        let mut server = ScriptServer::new(connect(&redis), "t:", 0);
        server.through = through;
        let limit = bucket("a", "1/s burst 5");
        let mut longest = 0;
        for caller in 0..1_000_u64 {
            let now = at(caller * SECOND / 10);
            assert_eq!(take(&mut server, now, &limit, &caller.to_string()), Ruling::Admitted);
            longest = longest.max(entries(&page(&mut server, &limit)));
        }
        // At any time ten callers have not recovered.
        assert!((20..=40).contains(&longest), "{longest} entries");
        let now = at(1_000 * SECOND / 10);
        assert_eq!(take(&mut server, now, &limit, "999"), Ruling::Admitted);
        let counter = server.key_space.counter(&Check::new(&limit, "999"));
        let kept = entry(&page(&mut server, &limit), counter.fingerprint());
        assert_eq!(
            kept.unwrap().as_whole_bucket(),
            Some(now + Span::from_micros(19 * SECOND / 10))
        );
    }
}

#[test]
fn a_page_without_recovered_entries_is_pruned_less_often() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let limit = bucket("a", "1/day");
    let mut prunings = Vec::new();
    for caller in 0..300 {
        take(&mut server, at(0), &limit, &caller.to_string());
        let page = page(&mut server, &limit);
        assert_eq!(entries(&page), caller + 1, "no entry is dropped");
        prunings.push(u32::from_le_bytes(page[17..21].try_into().unwrap()));
    }
    prunings.dedup();
    assert_eq!(prunings, [0, 32 * 16, 64 * 16, 128 * 16, 256 * 16]);
}

#[test]
fn a_fraction_widens_a_page_for_both_scripts() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let whole = bucket("a", "1/s burst 5");
    let fractions = bucket("a", "7/3s burst 5");
    for caller in ["x", "y"] {
        take(&mut server, at(0), &whole, caller);
    }
    let kept = |server: &mut ScriptServer, caller: &str| {
        let fingerprint = server.key_space.counter(&Check::new(&whole, caller)).fingerprint();
        entry(&page(server, &whole), fingerprint)
    };
    let (x, y) = (kept(&mut server, "x"), kept(&mut server, "y"));
    assert_eq!(page(&mut server, &whole)[0], 1);
    take(&mut server, at(0), &fractions, "z");
    assert_eq!(page(&mut server, &whole)[0], 2);
    assert_eq!((kept(&mut server, "x"), kept(&mut server, "y")), (x, y), "nothing is lost");
    assert_eq!(server.full_calls, 0);
    take(&mut server, at(0), &whole, "x");
    take(&mut server, at(0), &whole, "new");
    assert_eq!(server.full_calls, 0, "the fast path reads wide pages");
    take(&mut server, at(0), &whole, "z");
    assert_eq!(server.full_calls, 1, "but no fractions");
    take(&mut server, at(0), &whole, "z");
    assert_eq!(server.full_calls, 1, "which are gone after the full script");
}

#[test]
fn a_page_that_is_widened_is_not_pruned_sooner() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let pruned = |page: &[u8]| u32::from_le_bytes(page[17..21].try_into().unwrap());
    let whole = bucket("a", "1/day");
    for caller in 0..40 {
        take(&mut server, at(0), &whole, &caller.to_string());
    }
    assert_eq!(pruned(&page(&mut server, &whole)), 32 * 16);
    take(&mut server, at(0), &bucket("a", "7/3s burst 5"), "z");
    assert_eq!(pruned(&page(&mut server, &whole)), 32 * 32);
}

#[test]
fn timestamps_dropped_by_a_shorter_log_are_not_refunded() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let log = |quota: &str| Limit::sliding_log("a", quota.parse().unwrap()).unwrap();
    let (minute, few_seconds) = (log("5/min"), log("5/10s"));
    let (_, receipt) = apply(&mut server, at(0), &Check::new(&minute, "x"));
    let settle = Operation::Settle { receipt: receipt.unwrap(), actual: Cost::ZERO };
    apply(&mut server, at(20 * SECOND), &Check::new(&few_seconds, "x").with_operation(settle));
    assert_eq!(server.keys().len(), 2, "the stamp and the settlement");
}

#[test]
fn a_changed_algorithm_reads_the_previous_state() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let quota = "5/min".parse().unwrap();
    let before = bucket("a", "5/min");
    let others = [
        Limit::queue("a", quota).unwrap(),
        Limit::sliding_log("a", quota).unwrap(),
        Limit::sliding_window("a", quota, Slices::Strict(3)).unwrap(),
        Limit::concurrency("a", 5, Span::from_secs(60)).unwrap(),
    ];
    for (index, after) in others.iter().enumerate() {
        let key = index.to_string();
        assert_eq!(take(&mut server, at(0), &before, &key), Ruling::Admitted);
        let exhausted = if index == 0 { Ruling::Admitted } else { Ruling::Refused };
        assert_eq!(take(&mut server, at(1), after, &key), exhausted, "there");
        // A queue and a bucket read each other's state.
        assert_eq!(take(&mut server, at(2), &before, &key), exhausted, "and back");
    }
    assert_eq!(server.keys().len(), 1, "each is in the page again, and nowhere else");
}

#[test]
fn an_empty_page_is_deleted() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let limits = [
        bucket("a", "5/min"),
        bucket("b", "7/3s burst 5"),
        Limit::sliding_log("c", "5/min".parse().unwrap()).unwrap(),
        Limit::concurrency("d", 5, Span::from_secs(60)).unwrap(),
    ];
    for (limit, step) in limits.iter().zip(0..) {
        let (check, now) = (Check::new(limit, "x"), at(step));
        let (_, receipt) = apply(&mut server, now, &check);
        let actual = Cost::ZERO;
        apply(
            &mut server,
            now,
            &check.with_operation(Operation::Settle { receipt: receipt.unwrap(), actual }),
        );
        take(&mut server, now, limit, "y");
        apply(&mut server, now, &Check::new(limit, "y").with_operation(Operation::Reset));
    }
    let keys: Vec<String> =
        server.keys().into_iter().map(|key| String::from_utf8(key).unwrap()).collect();
    assert_eq!(keys.len(), 3, "only settlements are left: {keys:?}");
    assert!(keys.iter().all(|key| key.contains("}!")), "{keys:?}");
}

#[test]
fn invalid_states_count_as_exhausted() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let log = Limit::sliding_log("a", "5/min".parse().unwrap()).unwrap();
    let limit = bucket("a", "5/min");
    let check = Check::new(&limit, "x");
    let counter = server.key_space.counter(&check);
    let (own, page) = (server.key_space.state_key(counter), server.key_space.page(counter));
    for garbage in ["", "nonsense", "\u{1}", "[1]"] {
        // An invalid value has no entries.
        for limit in [&log, &limit] {
            server.run(redis::cmd("SET").arg(&own).arg(garbage).arg("EX").arg(100));
            assert_eq!(take(&mut server, at(0), limit, "x"), Ruling::Refused, "{garbage:?}");
        }
        server.run(&redis::cmd("FLUSHALL"));
    }
    // An invalid page has no entries, and a list is not a page.
    server.run(redis::cmd("SET").arg(&page).arg("nonsense").arg("EX").arg(100));
    assert_eq!(take(&mut server, at(0), &limit, "x"), Ruling::Admitted);
    server.run(&redis::cmd("FLUSHALL"));
    server.run(redis::cmd("LPUSH").arg(&page).arg("nonsense"));
    assert_eq!(take(&mut server, at(0), &limit, "x"), Ruling::Admitted);
    assert_ne!(server.stored(&StoredCell::Counter(&check)), State::Vacant);
    let answer = server.apply(at(0), &Set::one(&check, ChargeId::from_bits(1)));
    assert_eq!(answer.ruling, ScriptRuling::Decided(Ruling::Admitted));
}
