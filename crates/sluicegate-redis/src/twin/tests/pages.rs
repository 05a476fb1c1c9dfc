//! What the server keeps: pages that are pruned and widened, and states in one place only.

use sluicegate_core::{
    Ask, Check, Cost, Id, Limit, Receipt, Ruling, Set, Slices, Span, State, Time,
};
use sluicegate_testkit::Server;

use super::twin::{Through, Twin, connect, entry};
use crate::twin::answer::Reached;
use crate::twin::cells::Cell;

pub(super) const START: u64 = 1_767_225_600_000_000;
pub(super) const SECOND: u64 = 1_000_000;

pub(super) fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap()
}

pub(super) fn at(micros: u64) -> Time {
    Time::from_micros(START + micros)
}

pub(super) fn take(twin: &mut Twin, now: Time, limit: &Limit, key: &str) -> Ruling {
    apply(twin, now, &Check::new(limit, key)).0
}

pub(super) fn apply(twin: &mut Twin, now: Time, check: &Check<'_>) -> (Ruling, Option<Receipt>) {
    let set = Set::one(check, Id::from_bits(u128::from(now.as_micros()) << 8));
    let mut answer = twin.ask(now, &set);
    let (ruling, decisions) = Twin::explained(&set, &mut answer);
    twin.compare(&set, &answer.states);
    (ruling, decisions[0].and_then(|decision| decision.receipt().copied()))
}

/// The only page there is.
fn page(twin: &mut Twin, limit: &Limit) -> Vec<u8> {
    let key = twin.naming.page(twin.naming.counter(&Check::new(limit, "anybody")));
    match twin.run(redis::cmd("GET").arg(key)) {
        redis::Value::BulkString(bytes) => bytes,
        _ => Vec::new(),
    }
}

fn entries(page: &[u8]) -> usize {
    page.len().saturating_sub(21) / (usize::from(page[0]) * 16)
}

#[test]
fn a_page_that_has_doubled_drops_those_that_have_recovered() {
    for through in Through::ALL {
        let server = Server::redis();
        let mut twin = Twin::new(connect(&server), "t:", 0);
        twin.through = through;
        let limit = bucket("a", "1/s burst 5");
        let mut longest = 0;
        for caller in 0..1_000_u64 {
            let now = at(caller * SECOND / 10);
            assert_eq!(take(&mut twin, now, &limit, &caller.to_string()), Ruling::Admitted);
            longest = longest.max(entries(&page(&mut twin, &limit)));
        }
        // Ten callers have not recovered at any time.
        assert!((20..=40).contains(&longest), "{longest} entries");
        let now = at(1_000 * SECOND / 10);
        assert_eq!(take(&mut twin, now, &limit, "999"), Ruling::Admitted);
        let counter = twin.naming.counter(&Check::new(&limit, "999"));
        let kept = entry(&page(&mut twin, &limit), counter.fingerprint());
        assert_eq!(
            kept.unwrap().as_whole_bucket(),
            Some(now + Span::from_micros(19 * SECOND / 10))
        );
    }
}

#[test]
fn a_page_of_callers_who_have_not_recovered_is_pruned_ever_less_often() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let limit = bucket("a", "1/day");
    let mut prunings = Vec::new();
    for caller in 0..300 {
        take(&mut twin, at(0), &limit, &caller.to_string());
        let page = page(&mut twin, &limit);
        assert_eq!(entries(&page), caller + 1, "nobody is dropped");
        prunings.push(u32::from_le_bytes(page[17..21].try_into().unwrap()));
    }
    prunings.dedup();
    assert_eq!(prunings, [0, 32 * 16, 64 * 16, 128 * 16, 256 * 16]);
}

#[test]
fn a_fraction_widens_a_page_and_both_scripts_go_on_in_it() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let whole = bucket("a", "1/s burst 5");
    let fractions = bucket("a", "7/3s burst 5");
    for caller in ["x", "y"] {
        take(&mut twin, at(0), &whole, caller);
    }
    let kept = |twin: &mut Twin, caller: &str| {
        let fingerprint = twin.naming.counter(&Check::new(&whole, caller)).fingerprint();
        entry(&page(twin, &whole), fingerprint)
    };
    let (x, y) = (kept(&mut twin, "x"), kept(&mut twin, "y"));
    assert_eq!(page(&mut twin, &whole)[0], 1);
    take(&mut twin, at(0), &fractions, "z");
    assert_eq!(page(&mut twin, &whole)[0], 2);
    assert_eq!((kept(&mut twin, "x"), kept(&mut twin, "y")), (x, y), "nothing is lost");
    assert_eq!(twin.asked_again, 0);
    take(&mut twin, at(0), &whole, "x");
    take(&mut twin, at(0), &whole, "new");
    assert_eq!(twin.asked_again, 0, "the quick script knows wide pages");
    take(&mut twin, at(0), &whole, "z");
    assert_eq!(twin.asked_again, 1, "but no fractions");
    take(&mut twin, at(0), &whole, "z");
    assert_eq!(twin.asked_again, 1, "which are gone after that");
}

#[test]
fn a_page_that_is_widened_is_not_pruned_sooner() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let pruned = |page: &[u8]| u32::from_le_bytes(page[17..21].try_into().unwrap());
    let whole = bucket("a", "1/day");
    for caller in 0..40 {
        take(&mut twin, at(0), &whole, &caller.to_string());
    }
    assert_eq!(pruned(&page(&mut twin, &whole)), 32 * 16);
    take(&mut twin, at(0), &bucket("a", "7/3s burst 5"), "z");
    assert_eq!(pruned(&page(&mut twin, &whole)), 32 * 32);
}

#[test]
fn what_a_shorter_log_has_forgotten_is_not_given_back() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let log = |quota: &str| Limit::sliding_log("a", quota.parse().unwrap()).unwrap();
    let (minute, few_seconds) = (log("5/min"), log("5/10s"));
    let (_, receipt) = apply(&mut twin, at(0), &Check::new(&minute, "x"));
    let settle = Ask::Settle { receipt: receipt.unwrap(), actual: Cost::ZERO };
    apply(&mut twin, at(20 * SECOND), &Check::new(&few_seconds, "x").ask(settle));
    assert_eq!(twin.keys().len(), 2, "the stamp and the settlement");
}

#[test]
fn a_limit_that_changes_its_algorithm_finds_what_was_there() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
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
        assert_eq!(take(&mut twin, at(0), &before, &key), Ruling::Admitted);
        let exhausted = if index == 0 { Ruling::Admitted } else { Ruling::Refused };
        assert_eq!(take(&mut twin, at(1), after, &key), exhausted, "there");
        // A queue and a bucket read each other's state.
        assert_eq!(take(&mut twin, at(2), &before, &key), exhausted, "and back");
    }
    assert_eq!(twin.keys().len(), 1, "each is in the page again, and nowhere else");
}

#[test]
fn a_page_without_entries_goes() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let limits = [
        bucket("a", "5/min"),
        bucket("b", "7/3s burst 5"),
        Limit::sliding_log("c", "5/min".parse().unwrap()).unwrap(),
        Limit::concurrency("d", 5, Span::from_secs(60)).unwrap(),
    ];
    for (limit, step) in limits.iter().zip(0..) {
        let (check, now) = (Check::new(limit, "x"), at(step));
        let (_, receipt) = apply(&mut twin, now, &check);
        let actual = Cost::ZERO;
        apply(&mut twin, now, &check.ask(Ask::Settle { receipt: receipt.unwrap(), actual }));
        take(&mut twin, now, limit, "y");
        apply(&mut twin, now, &Check::new(limit, "y").ask(Ask::Reset));
    }
    let keys: Vec<String> =
        twin.keys().into_iter().map(|key| String::from_utf8(key).unwrap()).collect();
    assert_eq!(keys.len(), 3, "only settlements are left: {keys:?}");
    assert!(keys.iter().all(|key| key.contains("}!")), "{keys:?}");
}

#[test]
fn what_is_no_state_of_ours_is_read_as_exhausted() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let log = Limit::sliding_log("a", "5/min".parse().unwrap()).unwrap();
    let limit = bucket("a", "5/min");
    let check = Check::new(&limit, "x");
    let counter = twin.naming.counter(&check);
    let (own, page) = (twin.naming.own(counter), twin.naming.page(counter));
    for garbage in ["", "nonsense", "\u{1}", "[1]"] {
        // What is no page holds nobody.
        for limit in [&log, &limit] {
            twin.run(redis::cmd("SET").arg(&own).arg(garbage).arg("EX").arg(100));
            assert_eq!(take(&mut twin, at(0), limit, "x"), Ruling::Refused, "{garbage:?}");
        }
        twin.run(&redis::cmd("FLUSHALL"));
    }
    // A page that is none holds nobody, and a list is no page.
    twin.run(redis::cmd("SET").arg(&page).arg("nonsense").arg("EX").arg(100));
    assert_eq!(take(&mut twin, at(0), &limit, "x"), Ruling::Admitted);
    twin.run(&redis::cmd("FLUSHALL"));
    twin.run(redis::cmd("LPUSH").arg(&page).arg("nonsense"));
    assert_eq!(take(&mut twin, at(0), &limit, "x"), Ruling::Admitted);
    assert_ne!(twin.stored(&Cell::Counter(&check)), State::Vacant);
    let answer = twin.ask(at(0), &Set::one(&check, Id::from_bits(1)));
    assert_eq!(answer.ruling, Reached::Decided(Ruling::Admitted));
}
