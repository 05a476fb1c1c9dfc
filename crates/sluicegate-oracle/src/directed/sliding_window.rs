//! Cases of the sliding window.

use super::common;
use super::story::{
    DAWN, DAY, HOUR, MINUTE, SECOND, Story, charge, patient, peek, settle, take, up_to,
};
use crate::trace::{AlgorithmSpec, Case};

fn window(amount: u64, period_us: u64, slices: u64) -> AlgorithmSpec {
    AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict: false, debt: false }
}

fn strict(amount: u64, period_us: u64, slices: u64) -> AlgorithmSpec {
    AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict: true, debt: false }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = common::all("weighted_ten_blocks", &window(10, 10 * SECOND, 10));
    for (label, quota) in [
        ("weighted_one_block", window(7, 3 * SECOND, 1)),
        ("weighted_two_blocks", window(10, MINUTE, 2)),
        ("weighted_sixty_blocks", window(12, MINUTE, 60)),
        ("weighted_odd_blocks", window(5, 7 * 7919, 7)),
        ("weighted_blocks_of_a_microsecond", window(4, 3, 3)),
        ("strict_one_block", strict(7, 3 * SECOND, 1)),
        ("strict_two_blocks", strict(10, MINUTE, 2)),
        ("strict_sixty_blocks", strict(12, MINUTE, 60)),
        ("coarse_ticks", window(10_000_000, DAY, 1)),
        ("coarser_ticks", window(123_456_789, 30 * DAY, 10)),
        ("one_per_hour", window(1, HOUR, 10)),
    ] {
        cases.extend(common::edges(label, &quota));
    }
    for (label, quota) in [
        ("weighted", window(10, MINUTE, 1)),
        ("strict", strict(10, MINUTE, 1)),
        ("weighted_in_slices", window(10, MINUTE, 4)),
        ("strict_in_slices", strict(10, MINUTE, 4)),
    ] {
        cases.extend([
            estimates_exactly_the_amount(label, &quota),
            skips_blocks(label, &quota),
            idles(label, &quota),
            gives_back_to_its_block(label, &quota),
        ]);
    }
    cases.extend([
        ticks_that_do_not_divide_evenly(),
        sees_time_in_coarse_ticks(),
        length_changes_in_flight(),
        slices_change_in_flight(),
        amount_changes_in_flight(),
        stays_in_the_newest_block(),
        patience_has_no_effect(),
    ]);
    cases
}

fn estimates_exactly_the_amount(label: &str, quota: &AlgorithmSpec) -> Case {
    let name = format!("{label}_admits_an_estimate_of_exactly_the_amount");
    let mut story = Story::new(name, quota);
    let block = quota.nominal_period();
    story.wait(block - 1).ask(take("calls", 8));
    story.wait(1).ask(take("calls", 2));
    // At a quarter of the block after the window the eight are six.
    story.at(DAWN + (MINUTE / block) * block + block / 4 - 1).ask(take("calls", 2));
    story.wait(1).ask(take("calls", 2));
    story.ask(take("calls", 1));
    story.wait(block / 8 - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.done()
}

fn skips_blocks(label: &str, quota: &AlgorithmSpec) -> Case {
    let mut story = Story::new(format!("{label}_counts_on_after_empty_blocks"), quota);
    let block = quota.nominal_period();
    story.wait(5).ask(take("calls", 3));
    story.wait(2 * block).ask(take("calls", 3));
    story.wait(3 * block).ask(take("calls", 3));
    story.wait(block / 2).ask(peek("calls"));
    story.wait(block).ask(up_to("calls", 1, 10));
    story.wait(block / 2).ask(take("calls", 1));
    story.wait(block).ask(take("calls", 1));
    story.done()
}

fn idles(label: &str, quota: &AlgorithmSpec) -> Case {
    let mut story = Story::new(format!("{label}_is_fresh_after_an_idle_window"), quota);
    let block = quota.nominal_period();
    let rest = story.wait(block / 3).ask(take("calls", 10)).reset_after_us.max(1);
    story.wait(rest - 1).ask(take("calls", 10));
    story.wait(1).ask(take("calls", 10));
    story.wait(MINUTE).ask(peek("calls"));
    story.done()
}

fn gives_back_to_its_block(label: &str, quota: &AlgorithmSpec) -> Case {
    let mut story = Story::new(format!("{label}_gives_back_to_the_block_it_came_from"), quota);
    let block = quota.nominal_period();
    story.ask(take("calls", 4));
    let first = story.last();
    story.wait(block).ask(take("calls", 4));
    let second = story.last();
    story.wait(block / 2).ask(settle("calls", first, 1));
    story.ask(peek("calls"));
    story.ask(settle("calls", second, 0));
    story.ask(up_to("calls", 1, 10));
    story.ask(settle("calls", second, 0));
    story.done()
}

fn ticks_that_do_not_divide_evenly() -> Case {
    let mut story = Story::new("weighs_odd_blocks_exactly", &window(7, 3 * 7919, 3));
    story.ask(take("calls", 7));
    for units in 1..=7 {
        let wait = story.ask(take("calls", units)).retry_after_us.unwrap_or(1);
        story.wait(wait - 1).ask(up_to("calls", units, 7));
        story.wait(1).ask(up_to("calls", units, 7));
    }
    story.done()
}

fn sees_time_in_coarse_ticks() -> Case {
    // 10 million times a day's microseconds is beyond 2^50: a tick is a millisecond.
    let mut story = Story::new("sees_time_in_coarse_ticks", &window(10_000_000, DAY, 1));
    story.ask(take("calls", 10_000_000));
    story.wait(DAY).ask(take("calls", 1));
    for _ in 0..4 {
        story.wait(999).ask(up_to("calls", 0, 10_000_000));
        story.wait(1).ask(up_to("calls", 0, 10_000_000));
    }
    let wait = story.ask(take("calls", 1000)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(take("calls", 1000));
    story.wait(1).ask(take("calls", 1000));
    story.done()
}

fn length_changes_in_flight() -> Case {
    let (short, long) = (window(10, 10 * SECOND, 10), window(10, HOUR, 1));
    let limits = [("short", "calls", &short), ("long", "calls", &long)];
    let mut story = Story::with("refiles_counts_when_the_window_changes", &limits);
    story.wait(3 * SECOND).ask(take("short", 2));
    story.wait(2 * SECOND).ask(take("short", 2));
    story.ask(peek("long"));
    story.wait(7 * SECOND).ask(take("long", 3));
    let receipt = story.last();
    // The hour's block moves to the current one, the latest possible.
    story.ask(peek("short"));
    story.wait(5 * SECOND).ask(peek("short"));
    let wait = story.ask(take("short", 6)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(take("short", 6));
    story.wait(1).ask(take("short", 6));
    story.ask(settle("long", receipt, 0));
    story.ask(peek("long"));
    story.wait(11 * SECOND).ask(peek("short"));
    story.wait(HOUR).ask(take("long", 1));
    story.done()
}

fn slices_change_in_flight() -> Case {
    let (coarse, fine) = (window(10, MINUTE, 2), window(10, MINUTE, 60));
    let wide = window(10, 5 * MINUTE, 10);
    let limits = [("coarse", "calls", &coarse), ("fine", "calls", &fine), ("wide", "calls", &wide)];
    let mut story = Story::with("refiles_counts_when_the_slices_change", &limits);
    story.wait(10 * SECOND).ask(take("fine", 2));
    story.wait(10 * SECOND).ask(take("fine", 2));
    story.wait(15 * SECOND).ask(take("fine", 2));
    story.ask(peek("coarse"));
    story.ask(take("coarse", 1));
    let receipt = story.last();
    story.wait(20 * SECOND).ask(peek("fine"));
    story.ask(take("fine", 1));
    story.ask(settle("fine", receipt, 0));
    // The same blocks, only more of them.
    story.ask(take("coarse", 1));
    story.ask(peek("wide"));
    story.wait(MINUTE).ask(take("wide", 1));
    story.wait(2 * MINUTE).ask(take("coarse", 1));
    story.ask(peek("wide"));
    // More blocks than the coarse window has: no count may be lost.
    for _ in 0..5 {
        story.wait(30 * SECOND).ask(take("wide", 1));
    }
    story.wait(30 * SECOND).ask(take("wide", 6));
    story.done()
}

fn amount_changes_in_flight() -> Case {
    let (small, large) = (window(3, MINUTE, 6), window(20, MINUTE, 6));
    let limits = [("small", "calls", &small), ("large", "calls", &large)];
    let mut story = Story::with("keeps_counts_when_the_amount_changes", &limits);
    story.ask(take("large", 15));
    let wait = story.ask(take("small", 1)).retry_after_us.unwrap_or(1);
    story.ask(take("small", 0));
    story.ask(take("large", 5));
    story.wait(wait - 1).ask(take("small", 1));
    let wait = story.wait(1).ask(take("small", 1)).retry_after_us.unwrap_or(1);
    story.wait(wait).ask(take("small", 1));
    story.done()
}

fn stays_in_the_newest_block() -> Case {
    let mut story =
        Story::new("time_does_not_go_back_before_the_newest_block", &window(10, 4 * SECOND, 4));
    story.at(DAWN + 3 * SECOND - 10).ask(take("calls", 4));
    story.wait(10).ask(take("calls", 2));
    story.back(5).ask(take("calls", 1));
    let early = story.last();
    story.at(DAWN + 2 * SECOND).ask(take("calls", 2));
    story.ask(settle("calls", early, 0));
    story.ask(charge("calls", 5));
    story.ask(take("calls", 1));
    story.at(DAWN + 2 * SECOND - 1).ask(take("calls", 1));
    story.wait(4 * SECOND).ask(up_to("calls", 1, 10));
    story.done()
}

fn patience_has_no_effect() -> Case {
    let mut story = Story::new("patience_has_no_effect", &window(2, SECOND, 1).with_debt(true));
    story.ask(patient("calls", 2, 0));
    story.ask(patient("calls", 1, MINUTE));
    story.done()
}
