//! Refunds without a receipt: exactly what was taken, and never more than that.

use proptest::prelude::*;
use sluicegate_core::{Answer, Cost, Decision, Limit, Operation, Parameters, Slices, Span};

use super::counter::{Arrival, Counter, START, arrivals, limits, pulse, quota, rates};

fn refund(units: u64) -> Operation {
    Operation::Refund(Cost::new(units).expect("a cost"))
}

/// Whether units of this limit can be refunded at all.
fn counts_units(limit: &Limit) -> bool {
    !limit.holds() && !limit.counts_failures()
}

/// Whether a refund reports a success.
fn counts_successes(limit: &Limit) -> bool {
    let Parameters::Cooldown(cooldown) = limit.figures() else { return false };
    cooldown.pending.is_some() || cooldown.reset_on_success
}

/// A counter with previous traffic, and the current time.
fn busy(limit: Limit, past: &[Arrival]) -> (Counter, u64) {
    let mut counter = Counter::new(limit);
    let now = past.iter().fold(START, |now, (gap, cost)| {
        counter.ask(now + gap, Operation::Charge(Cost::new(*cost).expect("a cost")));
        now + gap
    });
    (counter, now)
}

/// All parts of a decision except its receipt.
fn without_receipt(decision: Decision) -> (Answer, [u64; 3]) {
    let numbers = [decision.granted(), decision.remaining(), decision.reset_after().as_micros()];
    (decision.answer(), numbers)
}

/// Traffic with refunds: the gap, the cost, and the units refunded before.
fn two_ways() -> impl Strategy<Value = Vec<(Arrival, u64)>> {
    let refunds = prop_oneof![2 => Just(0), 2 => 1..=4_u64, 1 => 5..=40_u64];
    arrivals(5_000, 6).prop_flat_map(move |arrivals| {
        let refunds = prop::collection::vec(refunds.clone(), arrivals.len());
        (Just(arrivals), refunds).prop_map(|(a, r)| a.into_iter().zip(r).collect())
    })
}

/// The admitted units (positive) and the refunded ones (negative), in order.
fn both_ways(counter: &mut Counter, traffic: &[(Arrival, u64)]) -> Vec<(u64, i128)> {
    let mut now = START;
    let mut flow = Vec::new();
    for ((gap, cost), back) in traffic {
        now += gap;
        if *back > 0 {
            let given = counter.ask(now, refund(*back)).granted();
            assert!(given <= *back);
            flow.push((now, -i128::from(given)));
        }
        if counter.take(now, *cost).is_allowed() {
            flow.push((now, i128::from(*cost)));
        }
    }
    flow
}

proptest! {
    /// To the last part of a microsecond: the state is the one before.
    #[test]
    fn a_take_refunded_immediately_restores_the_state(
        limit in limits().prop_filter("counts units", counts_units),
        past in arrivals(5_000, 6),
        units in 1..=12_u64,
    ) {
        let (mut counter, now) = busy(limit, &past);
        // Charged now, so that no repair is left to do.
        counter.ask(now, Operation::Charge(Cost::ONE));
        let before = counter.clone();
        let taken = counter.take(now, units);
        if taken.is_allowed() {
            let given = counter.ask(now, refund(units));
            prop_assert_eq!(given.granted(), units);
            prop_assert_eq!(given.remaining(), before.clone().ask(now, refund(0)).remaining());
        }
        prop_assert_eq!(&counter.cell, &before.cell);
    }

    /// No decision differs afterwards, for any previous traffic.
    #[test]
    fn a_take_refunded_immediately_changes_no_decision(
        limit in limits().prop_filter("counts units", counts_units),
        past in arrivals(5_000, 6),
        units in 1..=12_u64,
        later in 0..=3_u64,
    ) {
        let (mut counter, now) = busy(limit, &past);
        let before = counter.clone();
        if counter.take(now, units).is_allowed() {
            counter.ask(now, refund(units));
        }
        let then = now + later * pulse(&counter.limit) / 3;
        for cost in 0..=units {
            let [found, expected] =
                [&counter, &before].map(|it| without_receipt(it.try_take(then, cost)));
            prop_assert_eq!(found, expected);
        }
    }

    /// A refund of nothing, of a slot or of a plain failure has no effect, and is never refused.
    #[test]
    fn limits_without_refunds_ignore_them(
        limit in limits(),
        past in arrivals(5_000, 6),
        units in 0..=9_u64,
    ) {
        let (mut counter, now) = busy(limit, &past);
        let nothing = units == 0
            || (!counts_units(&counter.limit) && !counts_successes(&counter.limit));
        let before = counter.clone();
        let decision = counter.ask(now, refund(units));
        prop_assert!(decision.is_allowed() && decision.receipt().is_none());
        if nothing {
            prop_assert_eq!(decision.granted(), 0);
            prop_assert_eq!(&counter.cell, &before.cell);
        }
    }

    /// All used units can be refunded, and then the counter is equivalent to a new one.
    #[test]
    fn no_more_comes_back_than_is_used(
        limit in limits().prop_filter("counts units", counts_units),
        past in arrivals(5_000, 6),
    ) {
        let (mut counter, now) = busy(limit, &past);
        let decision = counter.ask(now, refund(Cost::MAX.units()));
        let capacity = counter.limit.capacity();
        let charged: u64 = past.iter().map(|(_, cost)| cost).sum();
        prop_assert!(decision.granted() <= charged);
        prop_assert_eq!((decision.remaining(), decision.reset_after().as_micros()), (capacity, 0));
        prop_assert_eq!(counter.ask(now, refund(1)).granted(), 0);
    }

    /// In any interval a bucket admits its burst, its rate, and the units refunded meanwhile.
    #[test]
    fn a_bucket_admits_no_more_than_came_back(
        ((amount, period), burst, traffic) in (rates(), 1..=12_u64, two_ways()),
    ) {
        let with_burst = quota(amount, period).with_burst(burst).expect("a burst");
        let mut counter = Counter::new(Limit::token_bucket("limit", with_burst).expect("a limit"));
        let flow = both_ways(&mut counter, &traffic);
        let [amount, period, burst] = [amount, period, burst].map(i128::from);
        for (index, (from, _)) in flow.iter().enumerate() {
            let mut sum = 0;
            for (to, units) in &flow[index..] {
                // Fractions of a unit are refunded too, but not reported: less than one each time.
                sum += units - i128::from(*units <= 0);
                prop_assert!(sum * period <= burst * period + amount * i128::from(to - from));
            }
        }
    }

    /// In any window a log and a strict window admit their amount, and the units refunded
    /// meanwhile.
    #[test]
    fn a_window_admits_no_more_than_came_back(
        (amount, slices, block) in (1..=12_u64, 1..=6_u32, 1..=900_u64),
        traffic in two_ways(),
    ) {
        let length = u64::from(slices) * block;
        let quota = quota(amount, length);
        for limit in [
            Limit::sliding_log("limit", quota).expect("a limit"),
            Limit::sliding_window("limit", quota, Slices::Strict(slices)).expect("a limit"),
        ] {
            let flow = both_ways(&mut Counter::new(limit), &traffic);
            for (index, (end, _)) in flow.iter().enumerate() {
                let within = flow[..=index].iter().filter(|(at, _)| at + length > *end);
                let sum: i128 = within.map(|(_, units)| units).sum();
                prop_assert!(sum <= i128::from(amount), "{sum} of {amount}");
            }
        }
    }

    /// So does a calendar period.
    #[test]
    fn a_period_admits_no_more_than_came_back(amount in 1..=12_u64, traffic in two_ways()) {
        let second = 1_000_000;
        let traffic: Vec<_> =
            traffic.into_iter().map(|((gap, cost), back)| ((gap * 50, cost), back)).collect();
        let limit = Limit::fixed_window("limit", quota(amount, second)).expect("a limit");
        let flow = both_ways(&mut Counter::new(limit), &traffic);
        for period in flow.chunk_by(|one, next| one.0 / second == next.0 / second) {
            let sum: i128 = period.iter().map(|(_, units)| units).sum();
            prop_assert!(sum <= i128::from(amount), "{sum} of {amount}");
        }
    }
}

/// The newest first: units used long ago count as long as they would have.
#[test]
fn a_log_keeps_its_oldest_stamps() {
    let limit = Limit::sliding_log("limit", quota(4, 1_000)).expect("a limit");
    let mut log = Counter::new(limit);
    for at in [0, 100, 200] {
        log.take(START + at, 1);
    }
    assert_eq!(log.ask(START + 300, refund(2)).granted(), 2);
    assert_eq!(log.take(START + 300, 4).retry_after().map(Span::as_micros), Some(700));
}
