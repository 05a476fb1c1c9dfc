//! Cases of the fixed window.

use super::common;
use super::story::{
    DAWN, DAY, HOUR, MINUTE, SECOND, Story, charge, patient, peek, reset, settle, take, up_to,
};
use crate::trace::{AlgorithmSpec, Case};

fn window(amount: u64, period_us: u64) -> AlgorithmSpec {
    AlgorithmSpec::FixedWindow { amount, period_us, debt: false }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = common::all("five_per_second", &window(5, SECOND));
    cases.extend(common::edges("hundred_per_minute", &window(100, MINUTE)));
    cases.extend(common::edges("one_per_day", &window(1, DAY)));
    cases.extend(common::edges("seven_per_three_seconds", &window(7, 3 * SECOND)));
    cases.extend([
        allows_twice_the_amount_around_an_edge(),
        refuses_a_stale_period(),
        stale_in_a_set(),
        period_grows_in_flight(),
        period_shrinks_in_flight(),
        amount_changes_in_flight(),
        irregular_periods(),
        gives_back_in_its_own_window_only(),
        gives_back_after_the_period_changed(),
        debt_ends_with_the_window(),
        patience_has_no_effect(),
        clock_a_little_back_over_the_edge(),
        clock_far_back_over_the_edge(),
        vacant_after_giving_all_back(),
    ]);
    cases
}

fn allows_twice_the_amount_around_an_edge() -> Case {
    let mut story = Story::new("allows_twice_the_amount_around_an_edge", &window(10, MINUTE));
    story.at(DAWN + MINUTE - 1).ask(take("calls", 10));
    story.ask(take("calls", 1));
    story.wait(1).ask(take("calls", 10));
    story.ask(take("calls", 1));
    story.wait(MINUTE - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.done()
}

fn refuses_a_stale_period() -> Case {
    let mut story =
        Story::new("answers_stale_when_the_period_does_not_contain_now", &window(3, MINUTE));
    story.ask(take("calls", 1));
    story.wait(MINUTE);
    story.exactly(vec![take("calls", 1).during(DAWN, DAWN + MINUTE)], false);
    story.exactly(vec![take("calls", 1)], false);
    story.exactly(vec![take("calls", 1).during(DAWN + 2 * MINUTE, DAWN + 3 * MINUTE)], false);
    story.exactly(vec![reset("calls").during(DAWN, DAWN + MINUTE)], false);
    story.ask(take("calls", 3));
    // The last microsecond of a period belongs to it, its end does not.
    story.wait(MINUTE - 1).ask(peek("calls"));
    let stale = take("calls", 1).during(DAWN + MINUTE, DAWN + 2 * MINUTE);
    story.wait(1).exactly(vec![stale], false);
    story.done()
}

fn stale_in_a_set() -> Case {
    let (minute, day) = (window(3, MINUTE), window(5, DAY));
    let limits = [("minute", "minute", &minute), ("day", "day", &day)];
    let mut story = Story::with("one_stale_period_makes_the_whole_set_stale", &limits);
    let good = take("day", 1).during(DAWN, DAWN + DAY);
    let stale = take("minute", 1).during(DAWN, DAWN + MINUTE);
    story.set(vec![take("day", 1), take("minute", 1)]);
    story.wait(MINUTE);
    story.exactly(vec![good.clone(), stale.clone()], false);
    story.exactly(vec![stale.clone(), good.clone()], false);
    story.exactly(vec![good.clone(), stale.clone().or()], false);
    story.exactly(vec![good, stale], true);
    story.set(vec![peek("day"), peek("minute")]);
    story.done()
}

fn period_grows_in_flight() -> Case {
    let (minute, day) = (window(10, MINUTE), window(10, DAY));
    let limits = [("minute", "calls", &minute), ("day", "calls", &day)];
    let mut story = Story::with("keeps_the_count_when_the_period_grows", &limits);
    story.at(DAWN + HOUR).ask(take("minute", 4));
    let receipt = story.last();
    story.ask(peek("day"));
    story.ask(take("day", 4));
    // From now on the count is that of the day.
    story.wait(2 * MINUTE).ask(take("minute", 3));
    story.ask(take("minute", 2));
    story.ask(settle("minute", receipt, 0));
    story.wait(MINUTE).ask(take("day", 1));
    story.done()
}

fn period_shrinks_in_flight() -> Case {
    let (minute, day) = (window(10, MINUTE), window(10, DAY));
    let limits = [("minute", "calls", &minute), ("day", "calls", &day)];
    let mut story = Story::with("keeps_the_count_when_the_period_shrinks", &limits);
    story.at(DAWN + HOUR).ask(take("day", 9));
    story.ask(take("minute", 2));
    story.wait(MINUTE).ask(take("minute", 2));
    story.ask(take("minute", 1));
    story.wait(MINUTE).ask(take("minute", 2));
    story.ask(peek("day"));
    story.done()
}

fn amount_changes_in_flight() -> Case {
    let (small, large) = (window(3, MINUTE), window(10, MINUTE));
    let limits = [("small", "calls", &small), ("large", "calls", &large)];
    let mut story = Story::with("keeps_the_count_when_the_amount_changes", &limits);
    story.ask(take("large", 8));
    story.ask(take("small", 1));
    story.ask(take("small", 0));
    story.ask(take("large", 2));
    story.wait(MINUTE).ask(take("small", 3));
    story.ask(up_to("large", 1, 100));
    story.done()
}

fn irregular_periods() -> Case {
    let mut story = Story::new("counts_by_months_of_different_lengths", &window(2, 0));
    let months = [(0, 31), (31, 59), (59, 90), (90, 120)];
    for (first, next) in months {
        let (start, end) = (DAWN + first * DAY, DAWN + next * DAY);
        story.at(start).ask(take("calls", 1).during(start, end));
        story.at(end - 1).ask(take("calls", 1).during(start, end));
        story.ask(take("calls", 1).during(start, end));
    }
    story.done()
}

fn gives_back_in_its_own_window_only() -> Case {
    let mut story = Story::new("gives_back_in_its_own_window_only", &window(5, MINUTE));
    story.at(DAWN + MINUTE - 10).ask(take("calls", 3));
    let receipt = story.last();
    story.ask(take("calls", 2));
    let second = story.last();
    story.wait(9).ask(settle("calls", receipt, 1));
    story.ask(peek("calls"));
    story.wait(1).ask(take("calls", 2));
    story.ask(settle("calls", second, 0));
    story.ask(peek("calls"));
    story.ask(settle("calls", receipt, 0));
    story.ask(settle("calls", second, 4));
    story.done()
}

fn gives_back_after_the_period_changed() -> Case {
    let (minute, day) = (window(10, MINUTE), window(10, DAY));
    let limits = [("minute", "calls", &minute), ("day", "calls", &day)];
    let mut story = Story::with("gives_nothing_back_to_another_period", &limits);
    story.at(DAWN + HOUR).ask(take("minute", 4));
    let receipt = story.last();
    story.ask(settle("day", receipt, 0));
    story.ask(peek("minute"));
    story.ask(take("day", 1));
    let daily = story.last();
    story.wait(MINUTE).ask(settle("day", daily, 0));
    story.ask(peek("day"));
    story.done()
}

fn debt_ends_with_the_window() -> Case {
    let mut story = Story::new("debt_ends_with_the_window", &window(5, MINUTE).with_debt(true));
    story.ask(charge("calls", 30));
    story.ask(take("calls", 0));
    story.wait(MINUTE - 1).ask(take("calls", 0));
    story.wait(1).ask(take("calls", 5));
    story.done()
}

fn patience_has_no_effect() -> Case {
    let mut story = Story::new("patience_has_no_effect", &window(2, SECOND).with_debt(true));
    story.ask(patient("calls", 2, 0));
    story.ask(patient("calls", 1, MINUTE));
    story.wait(SECOND).ask(patient("calls", 1, 0));
    story.done()
}

fn clock_a_little_back_over_the_edge() -> Case {
    let mut story =
        Story::new("stays_in_the_window_when_the_clock_goes_a_little_back", &window(5, MINUTE));
    story.at(DAWN + MINUTE - 1).ask(take("calls", 5));
    story.wait(1).ask(take("calls", 3));
    let receipt = story.last();
    // Before its beginning by a microsecond, by a second exactly; the old window is lost.
    story.back(1).ask(take("calls", 1));
    let early = story.last();
    story.at(DAWN + MINUTE - SECOND).ask(take("calls", 2));
    story.ask(settle("calls", early, 0));
    story.ask(settle("calls", receipt, 1));
    story.ask(charge("calls", 9));
    story.wait(MINUTE).ask(take("calls", 1));
    story.at(DAWN + 2 * MINUTE).ask(take("calls", 1));
    story.done()
}

fn clock_far_back_over_the_edge() -> Case {
    let mut story = Story::new("is_exhausted_when_the_clock_goes_far_back", &window(5, MINUTE));
    story.at(DAWN + MINUTE).ask(take("calls", 1));
    story.at(DAWN + MINUTE - SECOND - 1).ask(peek("calls"));
    story.ask(take("calls", 1));
    story.wait(SECOND).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    // Rewritten even though the set is refused or only peeks.
    story.at(DAWN - DAY).set(vec![peek("calls")]);
    story.at(DAWN + MINUTE).ask(take("calls", 5));
    story.done()
}

fn vacant_after_giving_all_back() -> Case {
    let mut story = Story::new("is_fresh_after_giving_all_back", &window(5, MINUTE));
    story.ask(take("calls", 5));
    let receipt = story.last();
    story.wait(SECOND).ask(settle("calls", receipt, 0));
    // A vacant cell has no window, so a clock far back finds nothing to correct.
    story.back(HOUR).ask(peek("calls"));
    story.ask(take("calls", 5));
    story.done()
}
