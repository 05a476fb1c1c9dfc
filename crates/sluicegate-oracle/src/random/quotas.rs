//! Random limits: small capacities to reach the edges, and ratios that are not whole.

use std::collections::BTreeMap;

use super::{DAY, HOUR, SECOND};
use crate::trace::{AlgorithmSpec, BucketSpec, EscalationSpec, LimitSpec, QuotaSpec};
use sluicegate_testkit::Rng;

/// Amount and period of buckets.
const RATES: [(u64, u64); 16] = [
    (7, 3 * SECOND),
    (333_333, SECOND),
    (1, DAY),
    (10_000_000, SECOND),
    (36, HOUR),
    (1, 2 * SECOND),
    (1000, 60 * SECOND),
    (3, 7),
    (1, 1),
    (999_983, 1_000_003),
    (5, 1000),
    (100, SECOND),
    (11, 13 * SECOND),
    (1, 400),
    (2, 3),
    (6, 9 * SECOND),
];

/// Periods of everything else.
const PERIODS: [u64; 10] =
    [1, 7, 1000, 7919, 100_000, 999_983, SECOND, 3 * SECOND, 60 * SECOND, HOUR];

/// One to four names, each with one or two definitions of the same algorithm.
pub(super) fn limits(rng: &mut Rng) -> BTreeMap<String, LimitSpec> {
    let mut limits = BTreeMap::new();
    for name in ["red", "green", "blue", "grey"].iter().take(count(rng)) {
        let kind = rng.below(9);
        let first = algorithm(rng, kind);
        let mut add = |handle: String, algorithm| {
            limits.insert(handle, LimitSpec { name: (*name).to_owned(), algorithm });
        };
        if rng.one_in(3) {
            add(format!("{name}_changed"), algorithm_like(rng, kind, &first));
        }
        add((*name).to_owned(), first);
    }
    limits
}

fn count(rng: &mut Rng) -> usize {
    *rng.pick(&[1, 1, 1, 1, 2, 2, 3, 4])
}

/// Another quota for the same cells; half the time only one number differs.
fn algorithm_like(rng: &mut Rng, kind: u64, first: &AlgorithmSpec) -> AlgorithmSpec {
    let mut other = first.clone();
    if rng.one_in(2) {
        return algorithm(rng, kind);
    }
    let (halve, more) = (rng.one_in(2), rng.between(1, 3));
    let change =
        |number: &mut u64| *number = if halve { number.div_ceil(2) } else { *number + more };
    match &mut other {
        AlgorithmSpec::TokenBucket(spec)
        | AlgorithmSpec::LeakyBucket(spec)
        | AlgorithmSpec::Queue(spec) => {
            change(if rng.one_in(2) { &mut spec.burst } else { &mut spec.amount });
        }
        AlgorithmSpec::FixedWindow { amount, .. } | AlgorithmSpec::SlidingWindow { amount, .. } => {
            change(amount);
        }
        AlgorithmSpec::SlidingLog { amount, .. } => {
            change(amount);
            *amount = 1000.min(*amount);
        }
        AlgorithmSpec::Concurrency { slots, .. } => change(slots),
        AlgorithmSpec::Cooldown { after, pending_us, .. } => {
            change(after);
            if rng.one_in(3) {
                *pending_us = pending(rng);
            }
        }
    }
    other
}

fn algorithm(rng: &mut Rng, kind: u64) -> AlgorithmSpec {
    match kind {
        0 => AlgorithmSpec::TokenBucket(bucket(rng, 1)),
        1 => AlgorithmSpec::LeakyBucket(bucket(rng, 1)),
        2 => AlgorithmSpec::Queue(bucket(rng, 0)),
        3 => {
            let amount = capacity(rng);
            let period_us = *rng.pick(&[1000, SECOND, 60 * SECOND, HOUR, DAY, 0]);
            AlgorithmSpec::FixedWindow { amount, period_us, debt: rng.one_in(2) }
        }
        4 | 5 => sliding_window(rng),
        6 => {
            let amount = if rng.one_in(10) { 1000 } else { capacity(rng) };
            let period_us = *rng.pick(&PERIODS);
            AlgorithmSpec::SlidingLog { amount, period_us, debt: rng.one_in(2) }
        }
        7 => {
            let (slots, lease_us) = (rng.between(1, 5), *rng.pick(&PERIODS[2..]));
            AlgorithmSpec::Concurrency { slots, lease_us }
        }
        _ => cooldown(rng),
    }
}

fn capacity(rng: &mut Rng) -> u64 {
    if rng.one_in(8) { 1 } else { rng.between(1, 12) }
}

fn bucket(rng: &mut Rng, least: u64) -> BucketSpec {
    let (amount, period_us) = if rng.one_in(3) {
        (rng.between(1, 20), rng.between(1, 10 * SECOND))
    } else {
        *rng.pick(&RATES)
    };
    let burst = match rng.below(20) {
        0 => least,
        1 => amount,
        2 => 1_000_000,
        _ => rng.between(least, 12),
    };
    // A million at one a day would take longer than the clock goes.
    let burst = if burst / amount > 1_000_000_000_000_000 / period_us { 12 } else { burst };
    BucketSpec { amount, period_us, burst, debt: rng.one_in(2) }
}

/// Returns a previous quota of a tier; sometimes one that no bucket has.
pub(super) fn quota(rng: &mut Rng) -> QuotaSpec {
    let BucketSpec { amount, period_us, burst, .. } = bucket(rng, 0);
    let period_us = if rng.one_in(20) { 0 } else { period_us };
    QuotaSpec { amount, period_us, burst }
}

fn sliding_window(rng: &mut Rng) -> AlgorithmSpec {
    let slices = *rng.pick(&[1, 1, 2, 3, 7, 10, 60]);
    let strict = rng.one_in(3);
    let debt = rng.one_in(2);
    let (amount, length) = if rng.one_in(12) {
        // So many over so long that time is measured in coarse ticks.
        (*rng.pick(&[10_000_000, 123_456_789]), *rng.pick(&[HOUR, DAY]))
    } else {
        (capacity(rng), *rng.pick(&PERIODS))
    };
    AlgorithmSpec::SlidingWindow { amount, period_us: length * slices, slices, strict, debt }
}

fn cooldown(rng: &mut Rng) -> AlgorithmSpec {
    let (within_us, block_us) = (*rng.pick(&PERIODS), *rng.pick(&PERIODS));
    let escalation = rng.one_in(2).then(|| {
        let (factor, times) = (rng.between(2, 4), rng.between(1, 40));
        EscalationSpec { factor, max_us: block_us * times }
    });
    AlgorithmSpec::Cooldown {
        after: rng.between(1, 5),
        within_us,
        block_us,
        escalation,
        pending_us: pending(rng),
        reset_on_success: rng.one_in(3),
    }
}

/// Returns how long attempts are pending, for half of the cooldowns.
fn pending(rng: &mut Rng) -> Option<u64> {
    rng.one_in(2).then(|| *rng.pick(&PERIODS))
}

impl AlgorithmSpec {
    /// The quota of a bucket or a queue.
    pub(crate) fn quota(&self) -> Option<QuotaSpec> {
        match *self {
            AlgorithmSpec::TokenBucket(spec)
            | AlgorithmSpec::LeakyBucket(spec)
            | AlgorithmSpec::Queue(spec) => {
                let BucketSpec { amount, period_us, burst, .. } = spec;
                Some(QuotaSpec { amount, period_us, burst })
            }
            _ => None,
        }
    }

    /// Returns the capacity that operations should aim at.
    pub(crate) fn nominal_capacity(&self) -> u64 {
        match self {
            AlgorithmSpec::TokenBucket(spec) | AlgorithmSpec::LeakyBucket(spec) => spec.burst,
            AlgorithmSpec::Queue(spec) => spec.burst + 1,
            AlgorithmSpec::FixedWindow { amount, .. }
            | AlgorithmSpec::SlidingWindow { amount, .. }
            | AlgorithmSpec::SlidingLog { amount, .. } => *amount,
            AlgorithmSpec::Concurrency { slots, .. } => *slots,
            AlgorithmSpec::Cooldown { after, .. } => *after,
        }
    }

    /// Returns about how long it takes until something changes.
    pub(crate) fn nominal_period(&self) -> u64 {
        match self {
            AlgorithmSpec::TokenBucket(spec)
            | AlgorithmSpec::LeakyBucket(spec)
            | AlgorithmSpec::Queue(spec) => spec.period_us / spec.amount + 1,
            AlgorithmSpec::FixedWindow { period_us: 0, .. } => 30 * DAY,
            AlgorithmSpec::FixedWindow { period_us, .. }
            | AlgorithmSpec::SlidingLog { period_us, .. } => *period_us,
            AlgorithmSpec::SlidingWindow { period_us, slices, .. } => period_us / slices,
            AlgorithmSpec::Concurrency { lease_us, .. } => *lease_us,
            AlgorithmSpec::Cooldown { within_us, .. } => *within_us,
        }
    }

    /// The period that contains this time, for a fixed window.
    ///
    /// Irregular periods take turns of 31 and 28 days.
    pub(crate) fn period_of(&self, now: u64) -> Option<(u64, u64)> {
        let AlgorithmSpec::FixedWindow { period_us, .. } = self else { return None };
        if *period_us > 0 {
            let start = now - now % period_us;
            return Some((start, start + period_us));
        }
        let start = now - now % (59 * DAY);
        let middle = start + 31 * DAY;
        Some(if now < middle { (start, middle) } else { (middle, start + 59 * DAY) })
    }
}
