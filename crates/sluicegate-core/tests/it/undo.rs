//! Rollback of charges whose sets were refused elsewhere: no trace remains.

use proptest::prelude::*;
use sluicegate_core::{Answer, Cost, Limit, Operation};

use super::counter::{Arrival, Counter, START, arrivals, limits};

/// Microseconds between a charge and its undo: a round trip.
const TRIP: u64 = 20_000;

/// Limits whose takes charge comparable units: slots have ids.
fn counts_units(limit: &Limit) -> bool {
    !limit.holds() && limit.uses_up()
}

/// A counter with previous traffic, and the current time.
fn busy(limit: Limit, past: &[Arrival]) -> (Counter, u64) {
    let mut counter = Counter::new(limit);
    let now = past.iter().fold(START, |now, (gap, cost)| {
        counter.take(now + gap, *cost);
        now + gap
    });
    (counter, now)
}

/// Decisions of a counter on costs from zero to more than its capacity.
fn answers(counter: &Counter, now: u64) -> Vec<(Answer, u64, u64)> {
    let costs = [0, 1, 2, 3, 5, 8, 13, 40];
    let answer = |cost| {
        let decision = counter.try_take(now, cost);
        (decision.answer(), decision.remaining(), decision.reset_after().as_micros())
    };
    costs.into_iter().map(answer).collect()
}

proptest! {
    /// Units that refill between the charge and its undo are not lost.
    #[test]
    fn a_charge_that_is_undone_was_never_made(
        limit in limits().prop_filter("counts units", counts_units),
        past in arrivals(5_000, 6),
        units in 1..=12_u64,
        trip in prop_oneof![Just(0), 1..=TRIP, 1..=5_000_000_u64],
        later in 0..=10_000_u64,
    ) {
        let (without, now) = busy(limit, &past);
        let mut counter = without.clone();
        let taken = counter.take(now, units);
        if let Some(undo) = counter.limit.undo(&taken) {
            counter.ask(now + trip, undo);
            for at in [now + trip, now + trip + later] {
                prop_assert_eq!(answers(&counter, at), answers(&without, at));
            }
        }
    }

    /// Charges overlap, and others are made between them: undoing all of the former costs the
    /// latter no more than the refill of one round trip, and gains them no more than the overlap.
    #[test]
    fn charges_that_overlap_drain_nothing_when_they_are_undone(
        limit in prop::sample::select(vec![
            Limit::token_bucket("whole", "1000/s burst 200".parse().unwrap()).unwrap(),
            Limit::token_bucket("slow", "2/s burst 30".parse().unwrap()).unwrap(),
            Limit::leaky_bucket("fractions", "700/3s burst 50".parse().unwrap()).unwrap(),
        ]),
        steps in prop::collection::vec((0..=3_000_u64, 0..=3_u64, any::<bool>()), 1..200),
    ) {
        let (mut counter, mut without) = (Counter::new(limit.clone()), Counter::new(limit));
        let (mut now, mut most) = (START, 0);
        let mut open: Vec<(u64, u64, Operation)> = Vec::new();
        for (gap, cost, stands) in steps {
            now += gap;
            while open.first().is_some_and(|(at, ..)| at + TRIP <= now) {
                let (at, _, undo) = open.remove(0);
                counter.ask(at + TRIP, undo);
            }
            let taken = counter.take(now, cost);
            if !taken.is_allowed() {
                continue;
            }
            if stands {
                without.ask(now, Operation::Charge(Cost::new(cost).unwrap()));
            } else if let Some(undo) = counter.limit.undo(&taken) {
                open.push((now, cost, undo));
                most = most.max(open.iter().map(|(_, cost, _)| cost).sum());
            }
        }
        for (at, _, undo) in open {
            now = at + TRIP;
            counter.ask(now, undo);
        }
        let level = |counter: &Counter| counter.try_take(now, 0).reset_after().as_micros();
        let (level, true_level) = (level(&counter), level(&without));
        prop_assert!(level <= true_level + TRIP, "{level} instead of {true_level}");
        let overlap = counter.limit.recovery().unwrap().as_micros() * most
            / counter.limit.capacity() + 1;
        prop_assert!(true_level <= level + overlap, "{level} instead of {true_level}");
    }
}
