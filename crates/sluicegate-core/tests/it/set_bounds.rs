//! All or nothing, over any mix of limits, in any order.

use proptest::prelude::*;
use sluicegate_core::{
    CellRef, ChargeId, Check, Cost, Decision, Limit, Operation, Ruling, Set, Slices, State, Time,
    decide,
};

use super::counter::{Counter, START, in_period, limits};

/// One request: the time since the last one, its cost, and its limits in order.
type Request = (u64, u64, Vec<usize>);

fn traffic() -> impl Strategy<Value = (Vec<Limit>, Vec<Request>)> {
    prop::collection::vec(limits(), 2..6).prop_flat_map(|limits| {
        let owed = Just((0..limits.len()).collect::<Vec<_>>()).prop_shuffle();
        let request = (0..=3_000_u64, 0..=4_u64, owed);
        (Just(limits), prop::collection::vec(request, 1..40))
    })
}

fn apply(
    cells: &mut [State],
    now: u64,
    serial: usize,
    checks: &[(Check<'_>, usize)],
) -> (Ruling, Vec<Option<Decision>>) {
    let places: Vec<CellRef> = checks.iter().map(|(_, cell)| CellRef::cell(*cell)).collect();
    let now = Time::from_micros(now);
    let checks: Vec<Check<'_>> = checks.iter().map(|(check, _)| in_period(*check, now)).collect();
    let set = Set::all(&checks, ChargeId::from_bits((serial as u128) << 8));
    let mut decisions = vec![None; checks.len()];
    let ruling = decide(&set, now, &places, cells, &mut decisions);
    (ruling, decisions)
}

proptest! {
    /// A set refuses exactly when one of its limits would, charges every limit or none, and its
    /// order changes nothing: each limit behaves as if it had been used alone whenever all agreed.
    #[test]
    fn a_set_is_all_or_nothing_in_any_order((limits, requests) in traffic()) {
        let mut cells = vec![State::Vacant; limits.len()];
        let mut alone: Vec<Counter> = limits.iter().cloned().map(Counter::new).collect();
        let mut now = START;
        for (serial, (gap, cost, order)) in requests.into_iter().enumerate() {
            now += gap;
            let cost = Cost::new(cost).expect("a cost");
            let checks: Vec<_> = order
                .iter()
                .map(|index| (Check::new(&limits[*index], b"key").cost(cost), *index))
                .collect();
            let before = cells.clone();
            let (ruling, decisions) = apply(&mut cells, now, serial, &checks);
            let taken = alone.iter().map(|counter| counter.try_take(now, cost.units()));
            let each: Vec<bool> = taken.map(|decision| decision.is_allowed()).collect();
            prop_assert_eq!(ruling == Ruling::Admitted, each.iter().all(|allowed| *allowed));
            for (index, decision) in order.iter().zip(&decisions) {
                prop_assert_eq!(decision.expect("asked").is_allowed(), each[*index]);
            }
            if ruling == Ruling::Admitted {
                for counter in &mut alone {
                    counter.take(now, cost.units());
                }
            } else {
                prop_assert_eq!(&cells, &before, "a refused set changed something");
            }
            for (counter, (limit, cell)) in alone.iter().zip(limits.iter().zip(&cells)) {
                let mut twin = Counter::new(limit.clone());
                twin.cell = [cell.clone()];
                let (twin, counter) = (twin.take(now, 0), counter.clone().take(now, 0));
                prop_assert_eq!(twin.remaining(), counter.remaining());
                prop_assert_eq!(twin.reset_after(), counter.reset_after());
            }
        }
    }

    /// A shadow neither blocks nor lets others go uncharged, and is charged only with the set.
    #[test]
    fn a_shadow_never_blocks((limits, requests) in traffic()) {
        let mut with = vec![State::Vacant; limits.len()];
        let mut without = vec![State::Vacant; limits.len()];
        let mut now = START;
        for (serial, (gap, cost, _)) in requests.into_iter().enumerate() {
            now += gap;
            let cost = Cost::new(cost).expect("a cost");
            let check = |index: usize| Check::new(&limits[index], b"key").cost(cost);
            let shadow = (check(0).observed(), 0);
            let enforced: Vec<_> = (1..limits.len()).map(|index| (check(index), index)).collect();
            let all: Vec<_> = std::iter::once(shadow).chain(enforced.iter().copied()).collect();
            let before = with[0].clone();
            let (shadowed, decisions) = apply(&mut with, now, serial, &all);
            let (plain, _) = apply(&mut without, now, serial, &enforced);
            prop_assert_eq!(shadowed, plain);
            for index in 1..limits.len() {
                let standing = |cells: &[State]| {
                    let mut counter = Counter::new(limits[index].clone());
                    counter.cell = [cells[index].clone()];
                    let peek = counter.take(now, 0);
                    (peek.remaining(), peek.reset_after())
                };
                prop_assert_eq!(standing(&with), standing(&without));
            }
            let shadow_admits = decisions[0].expect("always asked").is_allowed();
            if plain == Ruling::Refused || !shadow_admits {
                prop_assert_eq!(&with[0], &before);
            }
        }
    }

    /// A shadow with alternatives is decided and charged as the term it stands in for would be,
    /// and enforcing checks in the same term make no difference to it.
    #[test]
    fn a_shadow_behaves_like_its_term((limits, requests) in traffic()) {
        let free = Limit::token_bucket("free", "1000/s".parse().expect("a quota"));
        let free = free.expect("a limit");
        let last = limits.len();
        let mut real = vec![State::Vacant; last];
        let mut shadow = vec![State::Vacant; last];
        let mut mixed = vec![State::Vacant; last + 1];
        let mut now = START;
        for (serial, (gap, cost, order)) in requests.into_iter().enumerate() {
            now += gap;
            let cost = Cost::new(cost).expect("a cost");
            let term = |observed: bool| {
                order.iter().enumerate().map(move |(place, index)| (place, *index, observed))
            };
            let check = |(place, index, observed): (usize, usize, bool)| {
                let check = Check::new(&limits[index], b"key").cost(cost);
                let check = if observed { check.observed() } else { check };
                (if place > 0 { check.or_else() } else { check }, index)
            };
            let alone: Vec<_> = term(true).map(check).collect();
            let checks: Vec<_> = term(false).map(check).collect();
            let (_, expected) = apply(&mut real, now, serial, &checks);
            let (ruling, found) = apply(&mut shadow, now, serial, &alone);
            prop_assert_eq!(ruling, Ruling::Admitted, "a shadow blocked");
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(&shadow, &real);

            let mut both = alone;
            both.push((Check::new(&free, b"key").cost(Cost::ZERO).or_else(), last));
            let (ruling, found) = apply(&mut mixed, now, serial, &both);
            prop_assert_eq!(ruling, Ruling::Admitted);
            prop_assert_eq!(&found[..last], &expected[..]);
            prop_assert!(found[last].is_some(), "a shadow stood in for what is enforced");
            prop_assert_eq!(&mixed[..last], &real[..]);
        }
    }

    /// The same key twice sees its own first charge: two halves are one whole.
    #[test]
    fn the_same_key_twice_is_the_sum(
        limit in limits(),
        (first, second) in (1..=6_u64, 1..=6_u64),
        used in 0..=6_u64,
        gap in 0..=3_000_u64,
    ) {
        prop_assume!(limit.uses_up());
        let mut counter = Counter::new(limit.clone());
        counter.take(START, used);
        let now = START + gap;
        let whole = counter.try_take(now, first + second);
        let halves = [first, second]
            .map(|units| (Check::new(&limit, b"key").cost(Cost::new(units).expect("a cost")), 0));
        let mut cells = counter.cell.clone();
        let (ruling, decisions) = apply(&mut cells, now, 1_000, &halves);
        prop_assert_eq!(ruling == Ruling::Admitted, whole.is_allowed());
        let last = decisions[1].expect("asked");
        if whole.is_allowed() {
            prop_assert_eq!(last.remaining(), whole.remaining());
            prop_assert_eq!(last.reset_after(), whole.reset_after());
        } else if decisions[0].expect("asked").is_allowed() {
            prop_assert_eq!(last.refusal(), whole.refusal(), "and the time to retry is for both");
        }
    }
}

/// A charge includes the takes staged before it: together they go one debt deep.
#[test]
fn a_charge_beside_a_take_goes_no_deeper_than_one_debt() {
    let limit = Limit::token_bucket("limit", "1/s burst 2".parse().expect("a quota"));
    let limit = limit.expect("a limit");
    let take = Check::new(&limit, b"key").cost(Cost::from(2));
    let charge = Check::new(&limit, b"key").with_operation(Operation::Charge(Cost::from(9)));
    let mut cells = vec![State::Vacant];
    let (ruling, decisions) = apply(&mut cells, START, 1, &[(take, 0), (charge, 0)]);
    assert_eq!(ruling, Ruling::Admitted);
    assert_eq!(decisions[1].map(|decision| decision.granted()), Some(2), "two used, two owed");
    let mut counter = Counter::new(limit);
    counter.cell = [cells.remove(0)];
    assert_eq!(counter.take(START, 0).reset_after().as_secs_ceil(), 4, "and none is forgiven");
}

/// Two limits that share a counter could not both read it correctly.
#[test]
fn two_limits_on_one_counter_contradict_each_other() {
    let window = |quota: &str| {
        let quota = quota.parse().expect("a quota");
        Limit::sliding_window("limit", quota, Slices::Strict(1)).expect("a limit")
    };
    let (second, week) = (window("5/s"), window("5/week"));
    let mut cells = vec![State::Vacant];
    let checks = [&second, &week].map(|limit| (Check::new(limit, b"key"), 0));
    let (ruling, decisions) = apply(&mut cells, START, 1, &checks);
    assert_eq!((ruling, decisions), (Ruling::Contradictory, vec![None, None]));
    assert_eq!(cells, [State::Vacant]);
}
