//! Cases of the token bucket and the leaky bucket.

use super::common;
use super::story::{
    DAY, HOUR, MILLI, SECOND, Story, charge, patient, peek, settle, settle_of, take, up_to,
};
use crate::trace::{AlgorithmSpec, BucketSpec, Case};

/// Makes a bucket of this kind for the file.
type Kind = fn(BucketSpec) -> AlgorithmSpec;

fn spec(amount: u64, period_us: u64, burst: u64) -> BucketSpec {
    BucketSpec { amount, period_us, burst, debt: false }
}

/// Every case, for this kind of bucket.
pub(super) fn cases(kind: Kind) -> Vec<Case> {
    let mut cases = common::all("seven_per_three_seconds", &kind(spec(7, 3 * SECOND, 7)));
    cases.extend(common::all(
        "with_debt_ten_per_second",
        &kind(spec(10, SECOND, 10)).with_debt(true),
    ));
    for (label, quota) in [
        ("a_third_of_a_million_per_second", spec(333_333, SECOND, 10)),
        ("one_per_day", spec(1, DAY, 1)),
        ("ten_million_per_second", spec(10_000_000, SECOND, 25)),
        ("thirty_six_per_hour_burst_a_day", spec(36, HOUR, 864)),
        ("one_per_two_seconds", spec(1, 2 * SECOND, 3)),
        ("three_per_seven_microseconds", spec(3, 7, 5)),
    ] {
        cases.extend(common::edges(label, &kind(quota)));
    }
    cases.extend([
        waits_if_patient(kind),
        patience_needs_debt(kind),
        patience_is_worth_one_bucket(kind),
        gives_back_only_what_is_left(kind),
        gives_back_the_first_of_two(kind),
        amount_changes_in_flight(kind),
        burst_changes_in_flight(kind),
        refund_under_another_quota(kind),
        fraction_survives(kind),
    ]);
    cases
}

fn waits_if_patient(kind: Kind) -> Case {
    let quota = kind(spec(3, SECOND, 3)).with_debt(true);
    let mut story = Story::new("admits_the_patient_with_a_delay", &quota);
    story.ask(take("calls", 3));
    // One unit takes 333333 and a third microseconds: 333334 is enough, one less is not.
    story.ask(patient("calls", 1, 333_333));
    story.ask(patient("calls", 1, 333_334));
    story.ask(patient("calls", 1, 333_334));
    story.ask(patient("calls", 1, 666_667));
    let wait = story.ask(patient("calls", 1, 500 * MILLI)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(patient("calls", 1, 500 * MILLI));
    story.wait(1).ask(patient("calls", 1, 500 * MILLI));
    story.ask(patient("calls", 0, SECOND));
    story.ask(patient("calls", 4, 10 * SECOND));
    story.done()
}

fn patience_needs_debt(kind: Kind) -> Case {
    let quota = kind(spec(3, SECOND, 3));
    let mut story = Story::new("patience_is_worth_nothing_without_debt", &quota);
    story.ask(patient("calls", 3, 0));
    story.ask(patient("calls", 1, 0));
    story.ask(patient("calls", 1, 10 * SECOND));
    story.wait(333_333).ask(patient("calls", 1, 1));
    story.wait(1).ask(patient("calls", 1, 1));
    story.done()
}

fn patience_is_worth_one_bucket(kind: Kind) -> Case {
    let quota = kind(spec(10, SECOND, 5)).with_debt(true);
    let mut story = Story::new("patience_is_worth_one_bucket_at_most", &quota);
    story.ask(take("calls", 5));
    story.ask(patient("calls", 5, 10 * SECOND));
    let first = story.last();
    story.ask(patient("calls", 1, 10 * SECOND));
    story.wait(100 * MILLI - 1).ask(patient("calls", 1, 10 * SECOND));
    story.wait(1).ask(patient("calls", 1, 10 * SECOND));
    story.ask(up_to("calls", 1, 5));
    story.ask(settle("calls", first, 0));
    story.ask(peek("calls"));
    story.done()
}

fn gives_back_only_what_is_left(kind: Kind) -> Case {
    let mut story = Story::new("gives_back_only_what_is_still_owed", &kind(spec(7, 3 * SECOND, 7)));
    story.ask(take("calls", 4));
    let receipt = story.last();
    // Two and a third units have refilled by themselves.
    story.wait(SECOND).ask(settle("calls", receipt, 0));
    story.ask(take("calls", 7));
    let full = story.last();
    story.wait(428_571).ask(settle("calls", full, 5));
    story.ask(peek("calls"));
    story.ask(take("calls", 2));
    let last = story.last();
    story.wait(2 * SECOND).ask(settle("calls", last, 0));
    story.ask(peek("calls"));
    story.done()
}

fn gives_back_the_first_of_two(kind: Kind) -> Case {
    let mut story = Story::new("gives_back_the_first_of_two", &kind(spec(10, SECOND, 10)));
    story.ask(take("calls", 4));
    let first = story.last();
    story.ask(take("calls", 4));
    let second = story.last();
    // The first is worth 0.4 s from its beginning; half of that has passed.
    story.wait(200 * MILLI).ask(settle("calls", first, 0));
    story.ask(settle("calls", second, 0));
    story.set(vec![take("calls", 2), take("calls", 3)]);
    let set = story.last();
    story.ask(settle_of("calls", set, 0, 0));
    story.ask(settle_of("calls", set, 1, 1));
    story.ask(peek("calls"));
    story.done()
}

fn amount_changes_in_flight(kind: Kind) -> Case {
    let (slow, fast) = (kind(spec(7, 3 * SECOND, 7)), kind(spec(333_333, SECOND, 7)));
    let (slower, same) = (kind(spec(1, 2 * SECOND, 7)), kind(spec(7, 5 * SECOND, 7)));
    let limits = [
        ("slow", "calls", &slow),
        ("fast", "calls", &fast),
        ("slower", "calls", &slower),
        ("same", "calls", &same),
    ];
    let mut story = Story::with("keeps_the_moment_when_the_rate_changes", &limits);
    story.ask(take("slow", 5));
    for handle in ["fast", "slower", "same", "slow"] {
        story.ask(peek(handle));
    }
    // Read under another rate and written under it: the rounding is kept.
    story.wait(1_714_284).ask(up_to("fast", 1, 2));
    story.ask(peek("slow"));
    story.ask(up_to("slow", 0, 7));
    let wait = story.ask(take("slower", 1)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(take("slower", 1));
    story.wait(1).ask(take("slower", 1));
    story.ask(take("same", 1));
    story.wait(SECOND).ask(take("fast", 3));
    story.ask(peek("slow"));
    // Two rates far apart: a short time for one is very long for the other.
    story.ask(charge("slower", 7));
    story.ask(peek("fast"));
    story.ask(peek("slower"));
    story.done()
}

fn burst_changes_in_flight(kind: Kind) -> Case {
    let (small, large) = (kind(spec(10, SECOND, 3)), kind(spec(10, SECOND, 30)));
    let limits = [("small", "calls", &small), ("large", "calls", &large)];
    let mut story = Story::with("keeps_the_moment_when_the_burst_changes", &limits);
    story.ask(take("large", 10));
    let receipt = story.last();
    story.ask(take("small", 1));
    story.ask(take("large", 20));
    story.ask(settle("small", receipt, 5));
    story.ask(peek("large"));
    story.wait(SECOND).ask(take("small", 3));
    story.ask(take("large", 3));
    story.wait(2 * SECOND).ask(take("small", 3));
    story.done()
}

fn refund_under_another_quota(kind: Kind) -> Case {
    let (before, after) = (kind(spec(7, 3 * SECOND, 7)), kind(spec(11, 13 * SECOND, 9)));
    let limits = [("before", "calls", &before), ("after", "calls", &after)];
    let mut story = Story::with("gives_back_under_another_quota", &limits);
    story.ask(take("before", 3));
    let receipt = story.last();
    story.ask(take("after", 1));
    story.wait(100 * MILLI).ask(settle("after", receipt, 1));
    story.ask(peek("before"));
    story.ask(take("after", 2));
    let receipt = story.last();
    story.ask(settle("before", receipt, 0));
    story.ask(peek("after"));
    story.done()
}

fn fraction_survives(kind: Kind) -> Case {
    let mut story = Story::new("loses_no_fraction_over_many_takes", &kind(spec(3, SECOND, 2)));
    // A third of a second is no whole number of microseconds; after 3 takes a second is over.
    story.ask(take("calls", 2));
    for _ in 0..9 {
        let wait = story.ask(take("calls", 1)).retry_after_us.unwrap_or(1);
        story.wait(wait).ask(take("calls", 1));
    }
    story.done()
}
