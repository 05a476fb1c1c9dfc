//! Cases of units that come back without a receipt.

use super::story::{
    HOUR, MINUTE, SECOND, Story, YEAR, charge, patient, peek, refund, reset, settle, take, up_to,
};
use crate::trace::{AlgorithmSpec, BucketSpec, Case};

const LARGEST: u64 = (1 << 53) - 1;

/// Every kind of limit that counts units.
fn counting() -> Vec<(&'static str, AlgorithmSpec)> {
    let bucket = |amount, period_us, burst| BucketSpec { amount, period_us, burst, debt: true };
    let period_us = MINUTE;
    let window = |slices, strict| AlgorithmSpec::SlidingWindow {
        amount: 10,
        period_us,
        slices,
        strict,
        debt: true,
    };
    vec![
        ("token_bucket", AlgorithmSpec::TokenBucket(bucket(10, SECOND, 10))),
        ("leaky_bucket", AlgorithmSpec::LeakyBucket(bucket(10, SECOND, 10))),
        ("bucket_in_fractions", AlgorithmSpec::TokenBucket(bucket(7, 3 * SECOND, 10))),
        ("quick_bucket", AlgorithmSpec::TokenBucket(bucket(3_000_000, SECOND, 5_000_000))),
        ("queue", AlgorithmSpec::Queue(bucket(10, SECOND, 9))),
        ("queue_in_fractions", AlgorithmSpec::Queue(bucket(7, 3 * SECOND, 9))),
        ("fixed_window", AlgorithmSpec::FixedWindow { amount: 10, period_us, debt: true }),
        ("sliding_window", window(1, false)),
        ("sliding_window_in_slices", window(6, false)),
        ("strict_sliding_window", window(6, true)),
        ("sliding_log", AlgorithmSpec::SlidingLog { amount: 10, period_us, debt: true }),
    ]
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (label, algorithm) in counting() {
        cases.extend([
            gives_back_what_was_just_taken(label, &algorithm),
            never_gives_more_than_is_used(label, &algorithm),
            gives_twice_when_sent_twice(label, &algorithm),
            takes_the_newest_first(label, &algorithm),
            gives_nothing_of_what_counts_no_more(label, &algorithm),
            repays_debt(label, &algorithm),
            is_undone_with_its_set(label, &algorithm),
            is_met_by_what_comes_after_it(label, &algorithm),
            meets_receipts(label, &algorithm),
        ]);
        for (how, micros) in
            [("by_half_a_second", SECOND / 2), ("by_a_second", SECOND), ("by_a_year", YEAR)]
        {
            cases.push(clock_goes_back(label, how, micros, &algorithm));
        }
    }
    cases.extend([slots_stay(), failures_stay(), quota_changes(), period_changes()]);
    cases
}

fn story(label: &str, sentence: &str, algorithm: &AlgorithmSpec) -> Story {
    let mut story = Story::new(format!("{label}_{sentence}"), algorithm);
    story.wait(12_345);
    story
}

fn gives_back_what_was_just_taken(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "gives_back_what_was_just_taken", algorithm);
    let all = algorithm.nominal_capacity();
    story.ask(take("calls", all));
    story.ask(take("calls", 1));
    story.ask(refund("calls", 1));
    story.ask(take("calls", 1));
    story.ask(refund("calls", 0));
    story.ask(refund("calls", all / 2));
    story.ask(up_to("calls", 1, all));
    story.wait(7).ask(refund("calls", 2));
    story.ask(up_to("calls", 0, all));
    story.done()
}

fn never_gives_more_than_is_used(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "never_gives_more_than_is_used", algorithm);
    let all = algorithm.nominal_capacity();
    story.ask(refund("calls", 1));
    story.ask(refund("calls", LARGEST));
    story.ask(take("calls", 2));
    story.wait(7).ask(refund("calls", LARGEST));
    story.ask(take("calls", all));
    story.ask(take("calls", 1));
    story.ask(refund("calls", all + 1));
    story.ask(take("calls", all));
    story.ask(take("calls", 1));
    story.done()
}

fn gives_twice_when_sent_twice(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "gives_twice_when_sent_twice", algorithm);
    let all = algorithm.nominal_capacity();
    story.ask(take("calls", all));
    story.ask(refund("calls", 2));
    story.ask(refund("calls", 2));
    story.ask(up_to("calls", 0, all));
    story.done()
}

fn takes_the_newest_first(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "takes_the_newest_first", algorithm);
    let all = algorithm.nominal_capacity();
    let step = algorithm.nominal_period() / 5;
    for _ in 0..3 {
        story.ask(take("calls", all / 5));
        story.wait(step);
    }
    story.ask(refund("calls", all / 5 + 1));
    let rest = story.ask(take("calls", all)).retry_after_us.unwrap_or(1);
    story.wait(rest - 1).ask(peek("calls"));
    story.wait(1).ask(peek("calls"));
    story.ask(up_to("calls", 0, all));
    story.ask(refund("calls", all));
    story.ask(peek("calls"));
    story.done()
}

fn gives_nothing_of_what_counts_no_more(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "gives_nothing_of_what_counts_no_more", algorithm);
    let all = algorithm.nominal_capacity();
    let rest = story.ask(take("calls", all / 2)).reset_after_us.max(2);
    story.wait(rest / 2).ask(take("calls", 1));
    story.wait(rest / 2).ask(peek("calls"));
    story.ask(refund("calls", all));
    // Slightly back: units that did not count then are unchanged.
    story.back(rest.min(SECOND) / 2).ask(peek("calls"));
    story.wait(2 * rest).ask(refund("calls", 3));
    story.ask(take("calls", all));
    story.ask(take("calls", 1));
    story.done()
}

fn repays_debt(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "repays_debt", algorithm);
    let all = algorithm.nominal_capacity();
    story.ask(charge("calls", all + 3));
    story.ask(peek("calls"));
    story.ask(refund("calls", 2));
    story.ask(peek("calls"));
    story.ask(refund("calls", 1));
    story.ask(peek("calls"));
    story.ask(patient("calls", 1, algorithm.nominal_period()));
    story.ask(refund("calls", 2));
    story.ask(take("calls", 1));
    story.ask(charge("calls", 2 * all));
    story.ask(refund("calls", 5 * all));
    story.ask(take("calls", all));
    story.done()
}

fn is_undone_with_its_set(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "is_undone_with_its_set", algorithm);
    let all = algorithm.nominal_capacity();
    story.ask(take("calls", all));
    story.set(vec![refund("calls", 2), take("calls", 3)]);
    story.ask(peek("calls"));
    story.independent(vec![refund("calls", 2), take("calls", 3)]);
    story.set(vec![refund("calls", 1), take("calls", all)]);
    story.ask(peek("calls"));
    story.set(vec![take("calls", all), refund("calls", 1).or()]);
    story.set(vec![take("calls", 1), refund("calls", 1).or()]);
    story.ask(up_to("calls", 0, all));
    story.done()
}

fn is_met_by_what_comes_after_it(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "is_met_by_what_comes_after_it", algorithm);
    let all = algorithm.nominal_capacity();
    story.ask(take("calls", all));
    story.set(vec![refund("calls", 2), take("calls", 2)]);
    story.set(vec![take("calls", 2), refund("calls", 2)]);
    story.set(vec![refund("calls", 1), peek("calls"), refund("calls", 1)]);
    // The takes of the same set have not been charged yet.
    story.ask(reset("calls"));
    story.set(vec![take("calls", 2), refund("calls", 2)]);
    story.set(vec![refund("calls", 1), take("calls", 1).of("bob")]);
    story.ask(peek("calls"));
    story.done()
}

fn meets_receipts(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "stands_beside_receipts", algorithm);
    let all = algorithm.nominal_capacity();
    story.ask(take("calls", all / 2));
    let first = story.last();
    story.ask(take("calls", all / 2));
    let second = story.last();
    story.ask(refund("calls", all / 2 + 1));
    story.ask(settle("calls", second, 0));
    story.ask(settle("calls", first, 0));
    story.ask(peek("calls"));
    story.ask(take("calls", all));
    story.done()
}

fn clock_goes_back(label: &str, how: &str, micros: u64, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, &format!("bears_a_clock_that_goes_back_{how}"), algorithm);
    let all = algorithm.nominal_capacity();
    story.wait(MINUTE).ask(take("calls", all / 2));
    story.wait(MINUTE - 15_000).ask(take("calls", all / 2));
    story.back(micros).ask(refund("calls", 1));
    story.ask(up_to("calls", 0, all));
    story.ask(refund("calls", all / 2 + 2));
    story.ask(peek("calls"));
    story.wait(micros.min(HOUR)).ask(up_to("calls", 0, all));
    story.done()
}

fn slots_stay() -> Case {
    let slots = AlgorithmSpec::Concurrency { slots: 3, lease_us: MINUTE };
    let mut story = Story::new("slots_come_back_from_their_holders_only", &slots);
    story.ask(refund("calls", 1));
    story.ask(take("calls", 3));
    story.ask(refund("calls", 3));
    story.set(vec![refund("calls", 1), take("calls", 1)]);
    story.wait(MINUTE).ask(refund("calls", 1));
    story.ask(take("calls", 3));
    story.back(HOUR).ask(refund("calls", 1));
    story.ask(peek("calls"));
    story.done()
}

fn failures_stay() -> Case {
    let escalation = None;
    let cooldown = AlgorithmSpec::Cooldown {
        after: 3,
        within_us: MINUTE,
        block_us: HOUR,
        escalation,
        pending_us: None,
        reset_on_success: false,
    };
    let mut story = Story::new("failures_are_not_given_back", &cooldown);
    story.ask(charge("calls", 2));
    story.ask(refund("calls", 2));
    story.ask(charge("calls", 1));
    story.ask(refund("calls", 3));
    story.ask(take("calls", 1));
    story.set(vec![refund("calls", 1), take("calls", 1).of("bob")]);
    story.back(YEAR).ask(refund("calls", 1));
    story.ask(take("calls", 1));
    story.done()
}

fn quota_changes() -> Case {
    let bucket = |amount, period_us| {
        AlgorithmSpec::TokenBucket(BucketSpec { amount, period_us, burst: 10, debt: true })
    };
    let (old, new) = (bucket(7, 3 * SECOND), bucket(11, 5 * SECOND));
    let mut story = Story::with(
        "units_come_back_at_the_pace_of_the_quota_that_is_asked",
        &[("old", "calls", &old), ("new", "calls", &new)],
    );
    story.ask(take("old", 10));
    story.wait(7).ask(refund("new", 2));
    story.ask(take("new", 1));
    story.wait(7).ask(refund("old", 3));
    story.ask(refund("new", 0));
    story.ask(up_to("old", 0, 10));
    story.ask(refund("new", 20));
    story.ask(take("new", 10));
    story.done()
}

fn period_changes() -> Case {
    let window = |slices, period_us| AlgorithmSpec::SlidingWindow {
        amount: 10,
        period_us,
        slices,
        strict: false,
        debt: true,
    };
    let (old, new) = (window(6, MINUTE), window(4, HOUR));
    let mut story = Story::with(
        "blocks_are_cut_anew_before_anything_comes_back",
        &[("old", "calls", &old), ("new", "calls", &new)],
    );
    for _ in 0..4 {
        story.ask(take("old", 2));
        story.wait(11 * SECOND);
    }
    story.ask(refund("new", 3));
    story.ask(take("new", 5));
    story.wait(HOUR).ask(refund("new", 1));
    story.ask(refund("old", 9));
    story.ask(peek("old"));
    story.done()
}
