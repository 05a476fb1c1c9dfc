//! Random windows: quotas of all algorithms, and slots.

use std::collections::BTreeMap;

use super::{SECOND, TIERS};
use crate::rule_file::{Algorithm, Quota, Window};
use sluicegate_testkit::Rng;

const PERIODS: [u64; 8] = [
    SECOND,
    2 * SECOND,
    7 * SECOND,
    10 * SECOND,
    60 * SECOND,
    900 * SECOND,
    3_600 * SECOND,
    86_400 * SECOND,
];
/// Periods that the calendar has, or that divide a day.
const CALENDAR: [u64; 6] =
    [SECOND, 10 * SECOND, 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND, 604_800 * SECOND];
/// The leases of slots.
pub(in crate::generate) const LEASES: [u64; 3] = [5 * SECOND, 60 * SECOND, 600 * SECOND];

/// The same windows for each tier with other quotas, so that a change of tier meets its counters.
pub(super) fn by_tier(rng: &mut Rng, sliding: bool) -> BTreeMap<String, Vec<Window>> {
    let first = windows(rng, sliding);
    let mut out = BTreeMap::new();
    for tier in TIERS {
        if rng.one_in(6) && !out.is_empty() {
            continue;
        }
        let windows = first.iter().map(|window| requoted(rng, *window)).collect();
        out.insert(tier.to_owned(), windows);
    }
    out
}

/// A window of the same kind and period with another amount.
pub(in crate::generate) fn requoted(rng: &mut Rng, window: Window) -> Window {
    match window {
        Window::Quota { quota, algorithm } => {
            let amount = rng.between(1, 8);
            let burst = quota.burst.map(|_| rng.between(1, 10));
            Window::Quota { quota: Quota { amount, burst, ..quota }, algorithm }
        }
        Window::Slots { lease_us, .. } => Window::Slots { slots: rng.between(1, 3), lease_us },
    }
}

pub(super) fn windows(rng: &mut Rng, sliding: bool) -> Vec<Window> {
    let algorithm = if sliding { sliding_window(rng) } else { algorithm(rng) };
    let mut out: Vec<Window> = Vec::new();
    let count = rng.between(1, 3);
    for _ in 0..count {
        if rng.one_in(8) && !out.iter().any(|one| matches!(one, Window::Slots { .. })) {
            let lease_us = *rng.pick(&LEASES);
            out.push(Window::Slots { slots: rng.between(1, 3), lease_us });
            continue;
        }
        let own = if !sliding && rng.one_in(3) { self::algorithm(rng) } else { algorithm };
        let window = quota_window(rng, own);
        let Window::Quota { quota, .. } = &window else { continue };
        let period = quota.period_us;
        let taken =
            |one: &Window| matches!(one, Window::Quota { quota, .. } if quota.period_us == period);
        if !out.iter().any(taken) {
            out.push(window);
        }
    }
    if out.is_empty() {
        out.push(quota_window(rng, algorithm));
    }
    out
}

fn quota_window(rng: &mut Rng, algorithm: Algorithm) -> Window {
    let periods: &[u64] = match algorithm {
        Algorithm::FixedWindow => &CALENDAR,
        _ => &PERIODS,
    };
    let period_us = *rng.pick(periods);
    let amount = rng.between(1, 8);
    let burst = (algorithm.is_bucket() && rng.one_in(3)).then(|| rng.between(1, 10));
    let algorithm = match algorithm {
        Algorithm::SlidingWindow { strict, .. } => {
            let slices = *rng.pick(&[1, 2, 4, 5, 10]);
            Algorithm::SlidingWindow { slices, strict: strict && slices > 1 }
        }
        other => other,
    };
    Window::Quota { quota: Quota { amount, period_us, burst }, algorithm }
}

fn algorithm(rng: &mut Rng) -> Algorithm {
    match rng.below(10) {
        0..=3 => Algorithm::TokenBucket,
        4 => Algorithm::LeakyBucket,
        5 => Algorithm::Queue,
        6 => Algorithm::FixedWindow,
        7 => Algorithm::SlidingLog,
        _ => sliding_window(rng),
    }
}

fn sliding_window(rng: &mut Rng) -> Algorithm {
    Algorithm::SlidingWindow { slices: 1, strict: rng.one_in(2) }
}
