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
