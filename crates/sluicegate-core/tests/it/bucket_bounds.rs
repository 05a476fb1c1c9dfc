//! Buckets admit exactly their envelope, and queues release at exactly their rate.

use proptest::prelude::*;
use sluicegate_core::{Cost, Limit, Operation, Receipt};

use super::counter::{Arrival, Counter, START, admitted, arrivals, quota, rates};

/// The parameters of a bucket with arrivals to match: amount, period, burst, arrivals.
fn traffic() -> impl Strategy<Value = (u64, u64, u64, Vec<Arrival>)> {
    (rates(), 1..=15_u64).prop_flat_map(|((amount, period), burst)| {
        let recovery = (burst * period).div_ceil(amount);
        (Just(amount), Just(period), Just(burst), arrivals(recovery, burst + 1))
    })
}

fn bucket(amount: u64, period: u64, burst: u64) -> Counter {
    let quota = quota(amount, period).with_burst(burst).expect("a burst");
    Counter::new(Limit::token_bucket("limit", quota).expect("a limit"))
}

/// `burst + rate * tau` over every interval that ends with this admission, all times the period.
fn fits(
    envelope: &[(u64, u64)],
    now: u64,
    cost: u64,
    (amount, period, burst): (u64, u64, u64),
) -> bool {
    let (amount, period, burst) = (i128::from(amount), i128::from(period), i128::from(burst));
    let mut sum = i128::from(cost);
    let mut fits = sum <= burst;
    for (at, cost) in envelope.iter().rev() {
        sum += i128::from(*cost);
        fits &= sum * period <= burst * period + amount * i128::from(now - at);
    }
    fits
}

proptest! {
    /// Safety and liveness at once: admitted if and only if the envelope still holds over every
    /// interval. Nothing more is admitted and no conforming request is refused.
    #[test]
    fn a_token_bucket_admits_exactly_its_envelope((amount, period, burst, arrivals) in traffic()) {
        let mut counter = bucket(amount, period, burst);
        let mut envelope = Vec::new();
        let mut now = START;
        for (gap, cost) in arrivals {
            now += gap;
            let expected = fits(&envelope, now, cost, (amount, period, burst));
            prop_assert_eq!(counter.take(now, cost).is_allowed(), expected);
            if expected {
                envelope.push((now, cost));
            }
        }
    }

    /// The time of recovery and a token count are equivalent representations.
    #[test]
    fn the_moment_form_equals_a_count_of_tokens((amount, period, burst, arrivals) in traffic()) {
        let mut counter = bucket(amount, period, burst);
        // Tokens times the period: refilling is then a whole number.
        let full = u128::from(burst) * u128::from(period);
        let mut tokens = full;
        let mut now = START;
        for (gap, cost) in arrivals {
            now += gap;
            tokens = full.min(tokens + u128::from(gap) * u128::from(amount));
            let price = u128::from(cost) * u128::from(period);
            let decision = counter.take(now, cost);
            prop_assert_eq!(decision.is_allowed(), price <= tokens);
            if price <= tokens {
                tokens -= price;
            }
            prop_assert_eq!(u128::from(decision.remaining()), tokens / u128::from(period));
        }
    }

    /// A clock that is read late, by up to `late`, gains at most the refill of that time, once.
    #[test]
    fn late_clocks_gain_no_more_than_their_error(
        (amount, period, burst, arrivals) in traffic(),
        late in prop::collection::vec(0..=400_000_u64, 120),
    ) {
        let mut counter = bucket(amount, period, burst);
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        let mut now = START;
        for ((gap, cost), late) in arrivals.into_iter().zip(&late) {
            now += gap;
            if counter.take(now - late, cost).is_allowed() {
                admitted.push((now, cost));
            }
        }
        let error = late.iter().max().copied().unwrap_or(0);
        for (index, (from, _)) in admitted.iter().enumerate() {
            let mut sum = 0;
            for (to, cost) in &admitted[index..] {
                sum += u128::from(*cost);
                let tau = u128::from(to - from) + u128::from(error);
                prop_assert!(
                    sum * u128::from(period)
                        <= u128::from(burst) * u128::from(period) + u128::from(amount) * tau
                );
            }
        }
    }

    /// A meter that drains answers as a bucket that fills.
    #[test]
    fn a_leaky_bucket_answers_as_a_token_bucket((amount, period, burst, arrivals) in traffic()) {
        let quota = quota(amount, period).with_burst(burst).expect("a burst");
        let mut meter = Counter::new(Limit::leaky_bucket("limit", quota).expect("a limit"));
        let mut bucket = bucket(amount, period, burst);
        let mut now = START;
        for (gap, cost) in arrivals {
            now += gap;
            prop_assert_eq!(meter.take(now, cost), bucket.take(now, cost));
        }
    }

    /// Releases in any interval: at most floor(rate * tau) + 1, to the microsecond in which a
    /// release is reported. No delay is longer than the queue is deep, delays follow the order of
    /// the calls, and no request is refused while there is a place.
    #[test]
    fn a_queue_releases_at_its_rate(((amount, period), depth, gaps) in
        (rates(), 0..=8_u64).prop_flat_map(|((amount, period), depth)| {
            let line = (depth + 1) * period / amount + 1;
            (Just((amount, period)), Just(depth), arrivals(line, 1))
        })
    ) {
        let quota = quota(amount, period).with_burst(depth).expect("a depth");
        let mut queue = Counter::new(Limit::queue("limit", quota).expect("a limit"));
        let mut releases: Vec<u64> = Vec::new();
        let mut now = START;
        for (gap, _) in gaps {
            now += gap;
            let decision = queue.take(now, 1);
            if decision.is_allowed() {
                let delay = decision.delay().as_micros();
                prop_assert!(delay <= (depth * period).div_ceil(amount), "longer than the line");
                prop_assert!(releases.last().is_none_or(|last| *last <= now + delay), "FIFO");
                releases.push(now + delay);
            } else {
                let waiting = releases.iter().filter(|release| **release > now).count();
                prop_assert!(waiting as u64 >= depth, "refused with {waiting} of {depth} waiting");
            }
        }
        for (index, from) in releases.iter().enumerate() {
            for (count, to) in (1_u128..).zip(&releases[index..]) {
                let tau = u128::from(to - from) + 1;
                prop_assert!(count <= tau * u128::from(amount) / u128::from(period) + 1);
            }
        }
    }

    /// After any settlements, in any order and however late, the bucket is never fuller than if
    /// only the settled units had been charged in the first place.
    #[test]
    fn refunds_never_make_a_bucket_fuller_than_it_would_have_been(
        (amount, period, burst, arrivals) in traffic(),
        settlements in prop::collection::vec((0..=3_usize, any::<u64>(), 0..=3_u64), 120),
        debts in any::<bool>(),
    ) {
        let mut counter = bucket(amount, period, burst);
        // The charges by time, and the receipts that have not been settled yet.
        let mut charged: Vec<(u64, u64)> = Vec::new();
        let mut open: Vec<(usize, Receipt)> = Vec::new();
        let mut now = START;
        for ((gap, cost), (count, pick, keep)) in arrivals.into_iter().zip(settlements) {
            now += gap;
            for _ in 0..count.min(open.len()) {
                let place = usize::try_from(pick % open.len() as u64).expect("small");
                let (charge, receipt) = open.swap_remove(place);
                let stands = keep.min(receipt.units());
                let actual = Cost::new(stands).expect("a cost");
                let settled = counter.ask(now, Operation::Settle { receipt, actual });
                // Refused only where ten minutes have passed since; then the charge does not
                // change.
                if !settled.is_allowed() {
                    continue;
                }
                charged[charge].1 = stands;
            }
            let ask = if debts && pick % 3 == 0 {
                Operation::Charge(Cost::new(cost).expect("a cost"))
            } else {
                Operation::acquire(Cost::new(cost).expect("a cost"))
            };
            if let Some(receipt) = counter.ask(now, ask).receipt() {
                open.push((charged.len(), *receipt));
                charged.push((now, receipt.units()));
            }
            // The level that the settled charges would have left, times the period.
            let (mut level, mut last) = (0_u128, START);
            for (at, units) in &charged {
                level = level.saturating_sub(u128::from(at - last) * u128::from(amount));
                level += u128::from(*units) * u128::from(period);
                last = *at;
            }
            level = level.saturating_sub(u128::from(now - last) * u128::from(amount));
            let free = (u128::from(burst) * u128::from(period)).saturating_sub(level);
            let left = counter.clone().take(now, 0).remaining();
            prop_assert!(u128::from(left) <= free / u128::from(period), "{left} left");
        }
    }

    /// A charge that has refilled by itself has no value any more.
    #[test]
    fn a_refund_after_recovery_gives_nothing(
        (amount, period, burst, _) in traffic(),
        cost in 1..=15_u64,
    ) {
        let cost = cost.min(burst);
        let mut counter = bucket(amount, period, burst);
        let receipt = *counter.take(START, cost).receipt().expect("charged");
        let refilled = START + (cost * period).div_ceil(amount);
        counter.take(refilled, burst);
        let settled = counter.ask(refilled, Operation::Settle { receipt, actual: Cost::ZERO });
        prop_assert_eq!(settled.remaining(), 0);
    }
}

/// Years of greedy requests lose no unit to rounding.
#[test]
fn odd_rates_admit_burst_plus_rate_times_time() {
    let day = 86_400_000_000;
    for (amount, period, burst) in
        [(7, 3_000_000, 7), (333_333, 1_000_000, 5), (1, day, 2), (10_000_000, 1_000_000, 30)]
    {
        let mut counter = bucket(amount, period, burst);
        let mut taken = 0_u128;
        // All but one unit of the bucket's time, so that it is never full.
        let step = (burst - 1) * period / amount - 1;
        let mut now = START;
        for _ in 0..20_000 {
            let everything = Operation::up_to(Cost::MAX, Cost::ZERO);
            taken += u128::from(counter.ask(now, everything).granted());
            let elapsed = u128::from(now - START);
            let due = u128::from(burst) + elapsed * u128::from(amount) / u128::from(period);
            assert_eq!(taken, due, "{amount} per {period} us after {elapsed} us");
            now += step;
        }
    }
}

/// Earn 36 an hour, save a day's worth, fall to the baseline rate when the balance is gone.
#[test]
fn a_credit_balance_bursts_then_falls_to_its_rate() {
    let mut balance = Counter::new(
        Limit::token_bucket("credits", "36/hour burst 24h".parse().expect("a quota"))
            .expect("a limit"),
    );
    assert_eq!(balance.take(START, 0).limit(), 864);
    assert!(balance.take(START, 864).is_allowed(), "a day's savings at once");
    let hour = 3_600_000_000;
    let mut spent = 0;
    for minute in 1..=600 {
        while balance.take(START + minute * hour / 60, 1).is_allowed() {
            spent += 1;
        }
    }
    assert_eq!(spent, 360, "ten hours at the baseline");
    let next_day = START + 10 * hour + 24 * hour;
    assert_eq!(balance.take(next_day, 0).remaining(), 864, "and saved up again");
}

#[test]
fn the_granted_units_are_the_requested_ones() {
    let mut counter = bucket(10, 1_000_000, 10);
    assert_eq!(admitted(&mut counter, &[(0, 4), (0, 7), (0, 6)]), [(START, 4), (START, 6)]);
}
