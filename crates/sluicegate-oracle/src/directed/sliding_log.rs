//! Cases of the sliding log.

use super::common;
use super::story::{HOUR, MINUTE, SECOND, Story, charge, patient, peek, settle, take, up_to};
use crate::trace::{AlgorithmSpec, Case};

fn log(amount: u64, period_us: u64) -> AlgorithmSpec {
    AlgorithmSpec::SlidingLog { amount, period_us, debt: false }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = common::all("five_per_ten_seconds", &log(5, 10 * SECOND));
    for (label, quota) in [
        ("one_per_second", log(1, SECOND)),
        ("thousand_per_hour", log(1000, HOUR)),
        ("three_per_seven_microseconds", log(3, 7)),
        ("two_per_microsecond", log(2, 1)),
    ] {
        cases.extend(common::edges(label, &quota));
    }
    cases.extend([
        frees_exactly_a_period_later(),
        counts_ties(),
        waits_for_enough_stamps(),
        fills_a_thousand(),
        merges_and_splits(),
        gives_back_to_its_time(),
        gives_back_among_ties(),
        files_at_the_newest_time(),
        period_changes_in_flight(),
        amount_changes_in_flight(),
        prunes_at_writes(),
        debt_runs_off(),
        patience_has_no_effect(),
    ]);
    cases
}

fn frees_exactly_a_period_later() -> Case {
    let mut story = Story::new("frees_a_stamp_exactly_a_period_later", &log(2, 10 * SECOND));
    story.ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.wait(10 * SECOND - 2).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.done()
}

fn counts_ties() -> Case {
    let mut story = Story::new("counts_everything_of_one_instant", &log(3, SECOND));
    for _ in 0..4 {
        story.ask(take("calls", 1));
    }
    story.wait(SECOND - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 3));
    story.done()
}

fn waits_for_enough_stamps() -> Case {
    let mut story = Story::new("waits_until_enough_stamps_are_gone", &log(6, MINUTE));
    for units in [1, 2, 3] {
        story.ask(take("calls", units));
        story.wait(7 * SECOND);
    }
    for units in 1..=6 {
        story.ask(take("calls", units));
    }
    let wait = story.ask(take("calls", 3)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(take("calls", 3));
    story.wait(1).ask(take("calls", 3));
    story.done()
}

fn fills_a_thousand() -> Case {
    let mut story = Story::new("holds_a_thousand", &log(1000, HOUR));
    for _ in 0..10 {
        story.ask(take("calls", 99));
        story.wait(SECOND);
    }
    story.ask(up_to("calls", 1, 1000));
    story.ask(take("calls", 1));
    story.ask(take("calls", 500));
    story.wait(HOUR - 5 * SECOND).ask(up_to("calls", 1, 1000));
    story.done()
}

fn merges_and_splits() -> Case {
    let mut story = Story::new("a_heavy_stamp_leaves_at_once", &log(5, SECOND));
    story.ask(take("calls", 3));
    story.ask(take("calls", 1));
    let second = story.last();
    story.wait(SECOND / 2).ask(take("calls", 1));
    story.ask(settle("calls", second, 0));
    story.wait(SECOND / 2 - 1).ask(up_to("calls", 1, 5));
    story.wait(1).ask(up_to("calls", 1, 5));
    story.done()
}

fn gives_back_to_its_time() -> Case {
    let mut story = Story::new("gives_back_at_the_time_it_was_filed", &log(4, MINUTE));
    story.ask(take("calls", 2));
    let first = story.last();
    story.wait(SECOND).ask(take("calls", 2));
    let second = story.last();
    story.wait(SECOND).ask(settle("calls", first, 1));
    story.ask(take("calls", 2));
    story.ask(take("calls", 1));
    story.ask(settle("calls", second, 0));
    story.wait(MINUTE - 2 * SECOND).ask(up_to("calls", 1, 4));
    story.ask(settle("calls", first, 0));
    story.done()
}

fn gives_back_among_ties() -> Case {
    let mut story = Story::new("gives_back_no_more_than_is_filed_at_that_time", &log(6, MINUTE));
    story.set(vec![take("calls", 2), take("calls", 1)]);
    let set = story.last();
    story.ask(take("calls", 3));
    let third = story.last();
    story.ask(settle("calls", third, 0));
    story.ask(settle("calls", set, 0));
    story.ask(super::story::settle_of("calls", set, 1, 0));
    story.ask(peek("calls"));
    story.done()
}

fn files_at_the_newest_time() -> Case {
    let mut story =
        Story::new("files_at_the_newest_time_when_the_clock_is_behind", &log(4, 10 * SECOND));
    story.ask(take("calls", 1));
    story.back(SECOND).ask(take("calls", 1));
    let behind = story.last();
    story.ask(peek("calls"));
    story.ask(settle("calls", behind, 0));
    story.ask(take("calls", 3));
    story.wait(11 * SECOND - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.back(SECOND + 1).ask(peek("calls"));
    story.ask(take("calls", 1));
    story.done()
}

fn period_changes_in_flight() -> Case {
    let (short, long) = (log(5, 10 * SECOND), log(5, MINUTE));
    let limits = [("short", "calls", &short), ("long", "calls", &long)];
    let mut story = Story::with("keeps_stamps_when_the_period_changes", &limits);
    story.ask(take("short", 2));
    story.wait(5 * SECOND).ask(take("short", 2));
    let receipt = story.last();
    story.wait(6 * SECOND).ask(peek("short"));
    story.ask(peek("long"));
    story.ask(take("long", 2));
    story.wait(10 * SECOND).ask(peek("short"));
    story.ask(settle("long", receipt, 0));
    story.ask(settle("short", receipt, 0));
    story.ask(take("long", 1));
    story.ask(peek("long"));
    story.done()
}

fn amount_changes_in_flight() -> Case {
    let (small, large) = (log(2, MINUTE), log(9, MINUTE));
    let limits = [("small", "calls", &small), ("large", "calls", &large)];
    let mut story = Story::with("keeps_stamps_when_the_amount_changes", &limits);
    story.ask(take("large", 5));
    story.wait(SECOND).ask(take("large", 3));
    story.ask(take("small", 0));
    story.ask(take("small", 1));
    story.ask(take("large", 1));
    let wait = story.ask(take("small", 2)).retry_after_us.unwrap_or(1);
    story.wait(wait).ask(take("small", 2));
    story.done()
}

fn prunes_at_writes() -> Case {
    let (short, long) = (log(9, 10 * SECOND), log(9, MINUTE));
    let limits = [("short", "calls", &short), ("long", "calls", &long)];
    let mut story = Story::with("forgets_at_a_write_what_is_over", &limits);
    story.ask(take("short", 4));
    story.wait(10 * SECOND).ask(peek("long"));
    story.ask(peek("short"));
    story.ask(peek("long"));
    story.ask(take("short", 1));
    story.ask(peek("long"));
    story.done()
}

fn debt_runs_off() -> Case {
    let mut story =
        Story::new("debt_runs_off_stamp_by_stamp", &log(3, 10 * SECOND).with_debt(true));
    story.ask(take("calls", 3));
    story.wait(SECOND).ask(charge("calls", 2));
    story.wait(SECOND).ask(charge("calls", 2));
    for units in 0..=3 {
        story.ask(take("calls", units));
    }
    story.wait(8 * SECOND - 1).ask(peek("calls"));
    story.wait(1).ask(peek("calls"));
    story.ask(take("calls", 1));
    story.wait(SECOND).ask(take("calls", 2));
    story.done()
}

fn patience_has_no_effect() -> Case {
    let mut story = Story::new("patience_has_no_effect", &log(2, SECOND).with_debt(true));
    story.ask(patient("calls", 2, 0));
    story.ask(patient("calls", 1, MINUTE));
    story.done()
}
