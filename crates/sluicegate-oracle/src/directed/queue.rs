//! Cases of the queue.

use super::common;
use super::story::{MILLI, SECOND, Story, charge, patient, peek, settle, settle_of, take, up_to};
use crate::trace::{AlgorithmSpec, BucketSpec, Case};

fn queue(amount: u64, period_us: u64, burst: u64) -> AlgorithmSpec {
    AlgorithmSpec::Queue(BucketSpec { amount, period_us, burst, debt: false })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = common::all("seven_per_three_seconds", &queue(7, 3 * SECOND, 6));
    cases.extend(common::edges("with_debt_ten_per_second", &queue(10, SECOND, 4).with_debt(true)));
    cases.extend(common::edges("a_third_of_a_million_per_second", &queue(333_333, SECOND, 3)));
    cases.extend(common::edges("without_places", &queue(3, SECOND, 0)));
    cases.extend(common::edges("ten_million_per_second", &queue(10_000_000, SECOND, 20)));
    cases.extend([
        serves_in_order(),
        shapes_without_places(),
        weighs_costs(),
        leaves_only_from_the_end(),
        leaves_the_end_twice(),
        patience_bounds_the_delay(),
        patience_and_room(),
        earlier_takes_of_a_set_stand_ahead(),
        rate_changes_in_flight(),
    ]);
    cases
}

fn serves_in_order() -> Case {
    let mut story = Story::new("delays_each_to_a_slot_of_its_own", &queue(3, SECOND, 4));
    // Slots are a third of a second apart: 0, 333334, 666667, 1000000, 1333334.
    for _ in 0..6 {
        story.ask(take("calls", 1));
    }
    story.wait(333_333).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.wait(5 * SECOND).ask(take("calls", 1));
    story.wait(100 * MILLI).ask(take("calls", 1));
    story.done()
}

fn shapes_without_places() -> Case {
    let mut story = Story::new("spaces_evenly_without_places", &queue(10, SECOND, 0));
    story.ask(take("calls", 1));
    story.ask(take("calls", 1));
    story.ask(take("calls", 2));
    story.wait(100 * MILLI - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.ask(peek("calls"));
    story.ask(charge("calls", 5));
    story.done()
}

fn weighs_costs() -> Case {
    let mut story = Story::new("a_heavy_request_takes_several_slots", &queue(10, SECOND, 9));
    story.ask(take("calls", 4));
    story.ask(take("calls", 1));
    story.ask(take("calls", 6));
    story.ask(up_to("calls", 1, 6));
    story.ask(take("calls", 1));
    story.wait(450 * MILLI).ask(up_to("calls", 2, 9));
    story.ask(take("calls", 11));
    story.done()
}

fn leaves_only_from_the_end() -> Case {
    let mut story = Story::new("only_the_last_in_line_can_leave", &queue(10, SECOND, 9));
    story.ask(take("calls", 2));
    let first = story.last();
    story.ask(take("calls", 3));
    let second = story.last();
    story.ask(settle("calls", first, 0));
    story.ask(settle("calls", second, 0));
    story.ask(settle("calls", first, 0));
    story.ask(take("calls", 1));
    story.ask(peek("calls"));
    story.done()
}

fn leaves_the_end_twice() -> Case {
    let mut story = Story::new("the_line_can_shrink_from_its_end", &queue(10, SECOND, 9));
    story.ask(take("calls", 2));
    let first = story.last();
    story.ask(take("calls", 3));
    let second = story.last();
    story.wait(150 * MILLI).ask(settle("calls", second, 0));
    story.ask(settle("calls", first, 0));
    story.ask(peek("calls"));
    story.ask(take("calls", 5));
    let third = story.last();
    story.wait(50 * MILLI).ask(settle("calls", third, 2));
    story.ask(settle("calls", third, 0));
    story.ask(take("calls", 1));
    story.done()
}

fn patience_bounds_the_delay() -> Case {
    let mut story = Story::new("refuses_a_delay_beyond_the_patience", &queue(3, SECOND, 9));
    story.ask(patient("calls", 1, 0));
    story.ask(patient("calls", 1, 0));
    story.ask(patient("calls", 1, 333_333));
    story.ask(patient("calls", 1, 333_334));
    let wait = story.ask(patient("calls", 1, 300 * MILLI)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(patient("calls", 1, 300 * MILLI));
    story.wait(1).ask(patient("calls", 1, 300 * MILLI));
    story.ask(patient("calls", 0, 0));
    story.done()
}

fn patience_and_room() -> Case {
    let mut story = Story::new("needs_both_room_and_a_short_delay", &queue(10, SECOND, 4));
    story.ask(take("calls", 5));
    for (units, patience) in [(1, SECOND), (5, SECOND), (3, 100 * MILLI), (2, 400 * MILLI)] {
        let wait = story.ask(patient("calls", units, patience)).retry_after_us.unwrap_or(1);
        story.wait(wait - 1).ask(patient("calls", units, patience));
        story.wait(1).ask(patient("calls", units, patience));
    }
    story.done()
}

fn earlier_takes_of_a_set_stand_ahead() -> Case {
    let mut story = Story::new("earlier_takes_of_a_set_stand_ahead", &queue(10, SECOND, 4));
    story.set(vec![take("calls", 2), take("calls", 1), peek("calls")]);
    let set = story.last();
    story.set(vec![take("calls", 1), take("calls", 2)]);
    story.set(vec![take("calls", 1), patient("calls", 1, 400 * MILLI)]);
    story.ask(settle_of("calls", set, 0, 0));
    story.wait(SECOND).set(vec![take("calls", 3), take("calls", 3)]);
    story.done()
}

fn rate_changes_in_flight() -> Case {
    let (before, after) = (queue(7, 3 * SECOND, 5), queue(11, 2 * SECOND, 2));
    let limits = [("before", "calls", &before), ("after", "calls", &after)];
    let mut story = Story::with("keeps_the_line_when_the_rate_changes", &limits);
    story.ask(take("before", 3));
    let receipt = story.last();
    story.ask(peek("after"));
    story.ask(settle("after", receipt, 1));
    story.ask(take("after", 1));
    let wait = story.ask(take("after", 2)).retry_after_us.unwrap_or(1);
    story.wait(wait).ask(take("after", 2));
    story.ask(take("before", 2));
    story.ask(take("before", 6));
    story.done()
}
