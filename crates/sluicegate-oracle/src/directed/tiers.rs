//! Cases of a change of tier: the units carry over, once.

use super::story::{
    DAY, HOUR, MILLI, MINUTE, SECOND, Story, charge, patient, peek, rescale, settle, take, up_to,
};
use crate::trace::{AlgorithmSpec, BucketSpec, Case, QuotaSpec};

/// Makes a limit of a quota.
type Kind = fn(BucketSpec) -> AlgorithmSpec;

const KINDS: [(&str, Kind); 3] = [
    ("token_bucket", AlgorithmSpec::TokenBucket),
    ("leaky_bucket", AlgorithmSpec::LeakyBucket),
    ("queue", AlgorithmSpec::Queue),
];

const FREE: QuotaSpec = quota(100, MINUTE, 100);
const PREMIUM: QuotaSpec = quota(10_000, MINUTE, 10_000);

const fn quota(amount: u64, period_us: u64, burst: u64) -> QuotaSpec {
    QuotaSpec { amount, period_us, burst }
}

fn limit(kind: Kind, quota: QuotaSpec) -> AlgorithmSpec {
    let QuotaSpec { amount, period_us, burst } = quota;
    kind(BucketSpec { amount, period_us, burst, debt: true })
}

/// A case with the limits `old` and `new`, which are one limit before and after the change.
fn change(name: String, kind: Kind, from: QuotaSpec, to: QuotaSpec) -> Story {
    let (old, new) = (limit(kind, from), limit(kind, to));
    Story::with(name, &[("old", "calls", &old), ("new", "calls", &new)])
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (label, kind) in KINDS {
        cases.extend([
            goes_up(label, kind),
            goes_down(label, kind),
            rounds_up(label, kind),
            carries_debt_as_units(label, kind),
            counts_once(label, kind),
            counts_once_even_if_there_was_nothing(label, kind),
            stays_when_refused(label, kind),
            is_done_before_what_is_asked(label, kind),
            believes_a_slow_tier(label, kind),
            ends_a_wrong_clock(label, kind),
            knows_no_months(label, kind),
            is_forgotten_when_nothing_is_left(label, kind),
        ]);
    }
    cases.extend([without_debt(), settles_across(), counts_stay()]);
    cases
}

fn goes_up(label: &str, kind: Kind) -> Case {
    let mut story = change(format!("{label}_going_up_keeps_the_units"), kind, FREE, PREMIUM);
    story.ask(take("old", 90));
    story.ask(peek("new"));
    story.set(vec![rescale("new", FREE, 1), take("new", 1)]);
    story.ask(up_to("new", 1, 10_000));
    story.wait(MILLI).set(vec![rescale("new", FREE, 1), take("new", 1)]);
    story.done()
}

fn goes_down(label: &str, kind: Kind) -> Case {
    let mut story = change(format!("{label}_going_down_exhausts_and_no_more"), kind, PREMIUM, FREE);
    story.ask(take("old", 9_000));
    let first = vec![rescale("new", PREMIUM, 1), take("new", 2)];
    let refused = story.set(first.clone()).decisions[1].and_then(|taken| taken.retry_after_us);
    let wait = refused.unwrap_or(1);
    story.wait(wait - 1).set(first.clone());
    story.wait(1).set(first);
    story.ask(peek("new"));
    story.done()
}

fn rounds_up(label: &str, kind: Kind) -> Case {
    let (from, to) = (quota(7, 3 * SECOND, 7), quota(333_333, SECOND, 9));
    let mut story = change(format!("{label}_rounds_up_to_whole_units"), kind, from, to);
    for (id, waited) in [0, 1, 428_570, 428_571, 428_572, 857_143].into_iter().enumerate() {
        let key = format!("caller_{id}");
        story.ask(take("old", 5).of(&key));
        story.wait(waited);
        story.set(vec![rescale("new", from, id as u64).of(&key), peek("new").of(&key)]);
    }
    story.done()
}

fn carries_debt_as_units(label: &str, kind: Kind) -> Case {
    let (from, to) = (quota(10, SECOND, 10), quota(100, SECOND, 18));
    let mut story = change(format!("{label}_carries_a_debt_over_as_units"), kind, from, to);
    for (id, units) in [11, 16, 18, 19, 20, 25].into_iter().enumerate() {
        let key = format!("caller_{id}");
        story.ask(charge("old", units).of(&key));
        story.set(vec![rescale("new", from, id as u64).of(&key), peek("new").of(&key)]);
        story.ask(take("new", 1).of(&key));
    }
    // The slack of a clock is no debt.
    story.ask(charge("old", 20).of("late"));
    story.back(SECOND).set(vec![rescale("new", from, 9).of("late"), peek("new").of("late")]);
    story.done()
}

fn counts_once(label: &str, kind: Kind) -> Case {
    let mut story = change(format!("{label}_counts_once"), kind, FREE, PREMIUM);
    story.ask(take("old", 90));
    story.set(vec![rescale("new", FREE, 1), take("new", 5_000)]);
    story.set(vec![rescale("new", FREE, 1), rescale("new", FREE, 1), take("new", 1)]);
    story.ask(rescale("new", FREE, 1));
    // Another id is another change.
    story.ask(rescale("new", FREE, 2));
    story.done()
}

fn counts_once_even_if_there_was_nothing(label: &str, kind: Kind) -> Case {
    let name = format!("{label}_counts_once_even_if_there_was_nothing");
    let mut story = change(name, kind, FREE, PREMIUM);
    story.set(vec![rescale("new", FREE, 1), take("new", 5_000)]);
    story.set(vec![rescale("new", FREE, 1), take("new", 1)]);
    story.done()
}

fn stays_when_refused(label: &str, kind: Kind) -> Case {
    let mut story = change(format!("{label}_stays_when_refused"), kind, FREE, PREMIUM);
    story.ask(take("old", 90));
    story.set(vec![rescale("new", FREE, 1), take("new", 9_911)]);
    story.ask(peek("new"));
    story.set(vec![rescale("new", FREE, 1), charge("new", 5), take("new", 10_001)]);
    story.ask(peek("new"));
    story.done()
}

fn is_done_before_what_is_asked(label: &str, kind: Kind) -> Case {
    let name = format!("{label}_is_done_before_what_is_asked");
    let mut story = change(name, kind, FREE, PREMIUM);
    story.ask(take("old", 90));
    story.set(vec![take("new", 9_900), rescale("new", FREE, 1), take("new", 11)]);
    story.set(vec![take("new", 1), rescale("new", FREE, 2).or(), charge("new", 1)]);
    story.independent(vec![take("new", 9), rescale("new", FREE, 3), take("new", 1)]);
    story.ask(peek("new"));
    story.done()
}

fn believes_a_slow_tier(label: &str, kind: Kind) -> Case {
    let (from, to) = (quota(100, DAY, 100), quota(100, SECOND, 100));
    let mut story = change(format!("{label}_believes_a_slow_tier"), kind, from, to);
    story.ask(take("old", 60));
    story.set(vec![rescale("new", from, 1), take("new", 1)]);
    // Without the change, state hours ahead comes from a wrong clock.
    story.ask(take("old", 60).of("bob"));
    story.ask(peek("new").of("bob"));
    story.done()
}

fn ends_a_wrong_clock(label: &str, kind: Kind) -> Case {
    let mut story = change(format!("{label}_ends_a_wrong_clock"), kind, FREE, PREMIUM);
    story.ask(take("old", 1));
    story.back(HOUR).set(vec![rescale("new", FREE, 1), peek("new")]);
    story.done()
}

fn knows_no_months(label: &str, kind: Kind) -> Case {
    let mut story = change(format!("{label}_was_never_by_the_month"), kind, FREE, PREMIUM);
    story.ask(take("old", 90));
    let never = [quota(100, 0, 100), quota(100, MINUTE, 0)];
    for (from, id) in never.into_iter().zip(1..) {
        story.set(vec![rescale("new", from, id), peek("new")]);
        story.set(vec![rescale("new", FREE, id + 10).of("bob"), peek("new").of("bob")]);
    }
    // Nothing was done, so it can still be done.
    story.set(vec![rescale("new", FREE, 1), peek("new")]);
    story.done()
}

fn is_forgotten_when_nothing_is_left(label: &str, kind: Kind) -> Case {
    let (from, to) = (quota(5, SECOND, 5), quota(20, SECOND, 20));
    let name = format!("{label}_is_forgotten_when_nothing_is_left");
    let mut story = change(name, kind, from, to);
    story.set(vec![rescale("new", from, 1), take("new", 1)]);
    // Stored from its last arrival on.
    story.wait(59 * SECOND).set(vec![rescale("new", from, 1), take("new", 20)]);
    story.wait(60 * SECOND - 1).ask(take("new", 20));
    story.ask(rescale("new", from, 1));
    story.wait(60 * SECOND).ask(take("new", 20));
    story.ask(rescale("new", from, 1));
    story.done()
}

fn without_debt() -> Case {
    let (from, to) = (quota(10, SECOND, 10), quota(4, SECOND, 4));
    let (old, new) = (limit(KINDS[0].1, from), limit(KINDS[0].1, to).with_debt(false));
    let limits = [("old", "calls", &old), ("new", "calls", &new)];
    let mut story = Story::with("without_debt_what_was_owed_is_at_most_a_capacity", &limits);
    story.ask(charge("old", 17));
    story.set(vec![rescale("new", from, 1), take("new", 0)]);
    story.ask(patient("new", 1, HOUR));
    story.wait(250 * MILLI).ask(take("new", 1));
    story.done()
}

fn settles_across() -> Case {
    let mut story = change("a_charge_is_settled_across".to_owned(), KINDS[0].1, FREE, PREMIUM);
    story.ask(take("old", 60));
    let receipt = story.last();
    story.ask(take("old", 30));
    let second = story.last();
    story.set(vec![rescale("new", FREE, 1), settle("new", receipt, 20)]);
    story.wait(100 * MILLI).ask(settle("new", second, 50));
    story.ask(peek("new"));
    story.done()
}

fn counts_stay() -> Case {
    let log = |amount| AlgorithmSpec::SlidingLog { amount, period_us: MINUTE, debt: true };
    let day = |amount| AlgorithmSpec::FixedWindow { amount, period_us: DAY, debt: true };
    let slots = |slots| AlgorithmSpec::Concurrency { slots, lease_us: MINUTE };
    let pairs = [(log(10), log(100)), (day(10), day(100)), (slots(10), slots(100))];
    let handles = [("old_log", "new_log"), ("old_day", "new_day"), ("old_slots", "new_slots")];
    let mut limits = Vec::new();
    for ((old, new), (before, after)) in pairs.iter().zip(handles) {
        limits.extend([(before, after, old), (after, after, new)]);
    }
    let mut story = Story::with("what_counts_units_keeps_its_count", &limits);
    for (before, after) in handles {
        story.ask(take(before, 8));
        story.set(vec![rescale(after, FREE, 1), take(after, 1)]);
    }
    story.done()
}
