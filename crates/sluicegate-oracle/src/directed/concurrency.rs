//! Cases of the concurrency limit.

use super::story::{
    HOUR, MINUTE, SECOND, Story, YEAR, charge, patient, peek, renew, reset, settle, settle_of,
    take, up_to,
};
use crate::trace::{AlgorithmSpec, Case};

fn slots(slots: u64, lease_us: u64) -> AlgorithmSpec {
    AlgorithmSpec::Concurrency { slots, lease_us }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        is_busy_when_all_are_held(),
        frees_on_release(),
        is_lost_after_release(),
        expires_exactly_at_the_lease(),
        renews(),
        cannot_renew_what_is_lost(),
        weighs_holds(),
        takes_up_to(),
        settles_holds(),
        charges_into_debt(),
        cost_zero(),
        several_in_a_set(),
        starts_over_after_a_reset(),
        slots_change_in_flight(),
        lease_changes_in_flight(),
        forgets_expired_holds_at_writes(),
        keeps_keys_apart(),
        patience_has_no_effect(),
        survives_one_slot(),
        a_refused_release_is_undone(),
    ];
    for (how, micros) in [
        ("by_a_microsecond", 1),
        ("by_half_a_second", SECOND / 2),
        ("by_a_second", SECOND),
        ("by_a_second_and_a_microsecond", SECOND + 1),
        ("by_an_hour", HOUR),
        ("by_a_year", YEAR),
    ] {
        cases.push(clock_goes_back(how, micros));
    }
    cases
}

fn is_busy_when_all_are_held() -> Case {
    let mut story = Story::new("is_busy_when_all_slots_are_held", &slots(3, MINUTE));
    for _ in 0..4 {
        story.ask(take("calls", 1));
        story.wait(SECOND);
    }
    story.ask(peek("calls"));
    story.ask(take("calls", 3));
    story.ask(take("calls", 4));
    story.done()
}

fn frees_on_release() -> Case {
    let mut story = Story::new("frees_a_slot_on_release", &slots(2, MINUTE));
    story.ask(take("calls", 1));
    let first = story.last();
    story.wait(SECOND).ask(take("calls", 1));
    let second = story.last();
    story.ask(take("calls", 1));
    story.wait(SECOND).ask(settle("calls", first, 0));
    story.ask(take("calls", 1));
    story.ask(take("calls", 1));
    story.ask(settle("calls", second, 0));
    story.ask(peek("calls"));
    story.done()
}

fn is_lost_after_release() -> Case {
    let mut story = Story::new("a_second_release_is_lost", &slots(2, MINUTE));
    story.ask(take("calls", 1));
    let hold = story.last();
    story.ask(settle("calls", hold, 0));
    story.ask(settle("calls", hold, 0));
    story.ask(renew("calls", hold));
    story.wait(MINUTE).ask(settle("calls", hold, 0));
    story.ask(settle("calls", hold, 5));
    story.ask(take("calls", 2));
    story.done()
}

fn expires_exactly_at_the_lease() -> Case {
    let mut story = Story::new("expires_exactly_at_the_lease", &slots(2, 10 * SECOND));
    story.ask(take("calls", 1));
    let first = story.last();
    story.wait(1).ask(take("calls", 1));
    let second = story.last();
    story.wait(10 * SECOND - 2).ask(take("calls", 1));
    story.wait(1).ask(settle("calls", first, 0));
    story.ask(take("calls", 1));
    story.ask(take("calls", 1));
    story.ask(settle("calls", second, 0));
    story.wait(10 * SECOND).ask(peek("calls"));
    story.done()
}

fn renews() -> Case {
    let mut story = Story::new("a_renewed_hold_lasts_a_lease_longer", &slots(1, 10 * SECOND));
    story.ask(take("calls", 1));
    let hold = story.last();
    for _ in 0..3 {
        story.wait(10 * SECOND - 1).ask(renew("calls", hold));
        story.ask(take("calls", 1));
    }
    story.wait(5 * SECOND).ask(renew("calls", hold));
    story.wait(9 * SECOND).ask(settle("calls", hold, 1));
    story.ask(settle("calls", hold, 0));
    story.ask(take("calls", 1));
    story.done()
}

fn cannot_renew_what_is_lost() -> Case {
    let mut story = Story::new("an_expired_hold_cannot_be_renewed", &slots(2, 10 * SECOND));
    story.ask(take("calls", 2));
    let hold = story.last();
    story.wait(10 * SECOND).ask(renew("calls", hold));
    story.ask(settle("calls", hold, 0));
    story.ask(take("calls", 2));
    story.ask(renew("calls", hold));
    story.done()
}

fn weighs_holds() -> Case {
    let mut story = Story::new("a_hold_may_weigh_more_than_one", &slots(5, MINUTE));
    story.ask(take("calls", 3));
    let heavy = story.last();
    story.ask(take("calls", 3));
    story.ask(take("calls", 2));
    story.ask(take("calls", 1));
    story.ask(settle("calls", heavy, 0));
    story.ask(take("calls", 4));
    story.ask(take("calls", 3));
    story.done()
}

fn takes_up_to() -> Case {
    let mut story = Story::new("takes_up_to_the_free_slots", &slots(5, MINUTE));
    story.ask(up_to("calls", 1, 3));
    let first = story.last();
    story.ask(up_to("calls", 1, 9));
    story.ask(up_to("calls", 0, 9));
    story.ask(up_to("calls", 1, 9));
    story.ask(up_to("calls", 6, 9));
    story.ask(settle("calls", first, 2));
    story.ask(up_to("calls", 2, 2));
    story.ask(up_to("calls", 1, 2));
    story.done()
}

fn settles_holds() -> Case {
    let mut story = Story::new("a_hold_can_shrink_and_grow", &slots(4, MINUTE));
    story.ask(take("calls", 2));
    let hold = story.last();
    story.ask(settle("calls", hold, 1));
    story.ask(settle("calls", hold, 3));
    story.ask(settle("calls", hold, 3));
    story.ask(take("calls", 1));
    let other = story.last();
    // Together at most twice the slots: one hold has 1, so the other may grow to 7.
    story.ask(settle("calls", hold, 100));
    story.ask(take("calls", 0));
    story.ask(settle("calls", other, 2));
    story.ask(settle("calls", hold, 3));
    story.ask(peek("calls"));
    story.ask(settle("calls", other, 0));
    story.ask(settle("calls", other, 1));
    story.done()
}

fn charges_into_debt() -> Case {
    let mut story = Story::new("a_charge_holds_slots_beyond_the_limit", &slots(3, MINUTE));
    story.ask(charge("calls", 2));
    let first = story.last();
    story.wait(SECOND).ask(charge("calls", 10));
    let second = story.last();
    story.ask(charge("calls", 1));
    story.ask(charge("calls", 0));
    story.ask(take("calls", 0));
    story.ask(settle("calls", second, 0));
    story.ask(renew("calls", first));
    story.ask(take("calls", 1));
    story.done()
}

fn cost_zero() -> Case {
    let mut story = Story::new("a_cost_of_zero_holds_nothing", &slots(1, MINUTE));
    story.ask(take("calls", 0));
    story.ask(take("calls", 1));
    story.ask(take("calls", 0));
    story.ask(take("calls", 1));
    story.ask(take("calls", 2));
    story.done()
}

fn several_in_a_set() -> Case {
    let mut story = Story::new("several_holds_in_a_set_are_released_one_by_one", &slots(4, MINUTE));
    story.set(vec![take("calls", 1), take("calls", 2), peek("calls")]);
    let set = story.last();
    story.set(vec![take("calls", 1), take("calls", 1)]);
    story.set(vec![take("calls", 3), take("calls", 2)]);
    story.ask(settle_of("calls", set, 1, 0));
    story.set(vec![take("calls", 1), take("calls", 2)]);
    story.set(vec![settle_of("calls", set, 0, 0), take("calls", 1)]);
    story.done()
}

fn starts_over_after_a_reset() -> Case {
    let mut story = Story::new("starts_over_after_a_reset", &slots(2, MINUTE));
    story.ask(take("calls", 2));
    let hold = story.last();
    story.ask(reset("calls"));
    story.ask(take("calls", 2));
    story.ask(settle("calls", hold, 0));
    story.ask(renew("calls", hold));
    story.done()
}

fn slots_change_in_flight() -> Case {
    let (few, many) = (slots(2, MINUTE), slots(5, MINUTE));
    let limits = [("few", "calls", &few), ("many", "calls", &many)];
    let mut story = Story::with("keeps_holds_when_the_slots_change", &limits);
    story.ask(take("many", 4));
    let hold = story.last();
    story.ask(take("few", 1));
    story.ask(take("few", 0));
    story.ask(settle("few", hold, 6));
    story.ask(settle("few", hold, 2));
    story.ask(take("few", 0));
    story.ask(take("many", 3));
    story.done()
}

fn lease_changes_in_flight() -> Case {
    let (short, long) = (slots(3, SECOND), slots(3, HOUR));
    let limits = [("short", "calls", &short), ("long", "calls", &long)];
    let mut story = Story::with("shortens_holds_when_the_lease_shrinks", &limits);
    story.ask(take("long", 1));
    let hold = story.last();
    story.ask(take("short", 1));
    story.ask(peek("long"));
    story.wait(SECOND - 1).ask(renew("long", hold));
    story.wait(1).ask(peek("long"));
    story.ask(peek("short"));
    story.wait(SECOND).ask(take("short", 3));
    story.done()
}

fn forgets_expired_holds_at_writes() -> Case {
    let mut story = Story::new("forgets_expired_holds_at_a_write", &slots(2, 10 * SECOND));
    story.ask(take("calls", 1));
    let hold = story.last();
    // A peek writes nothing: with the clock back, the hold is there again.
    story.wait(10 * SECOND).ask(peek("calls"));
    story.back(1).ask(renew("calls", hold));
    story.wait(10 * SECOND).ask(take("calls", 1));
    story.back(1).ask(renew("calls", hold));
    story.ask(take("calls", 1));
    story.done()
}

fn keeps_keys_apart() -> Case {
    let mut story = Story::new("keeps_keys_apart", &slots(1, MINUTE));
    story.ask(take("calls", 1));
    story.ask(take("calls", 1).of("bob"));
    story.ask(take("calls", 1));
    story.ask(take("calls", 1).of("bob"));
    story.done()
}

fn patience_has_no_effect() -> Case {
    let mut story = Story::new("patience_has_no_effect", &slots(1, SECOND));
    story.ask(patient("calls", 1, 0));
    story.ask(patient("calls", 1, HOUR));
    story.done()
}

fn survives_one_slot() -> Case {
    let mut story = Story::new("one_slot_is_a_lock", &slots(1, SECOND));
    for _ in 0..3 {
        story.ask(take("calls", 1));
        let hold = story.last();
        story.wait(SECOND / 2).ask(take("calls", 1));
        story.ask(settle("calls", hold, 0));
    }
    story.done()
}

fn a_refused_release_is_undone() -> Case {
    let mut story = Story::new("a_release_in_a_refused_set_is_undone", &slots(2, MINUTE));
    story.ask(take("calls", 2));
    let hold = story.last();
    story.set(vec![settle("calls", hold, 0), take("calls", 3)]);
    story.ask(peek("calls"));
    story.wait(SECOND).set(vec![renew("calls", hold), take("calls", 1)]);
    story.ask(peek("calls"));
    story.set(vec![settle("calls", hold, 1), take("calls", 1)]);
    story.ask(peek("calls"));
    story.done()
}

fn clock_goes_back(how: &str, micros: u64) -> Case {
    let name = format!("bears_a_clock_that_goes_back_{how}");
    let mut story = Story::new(name, &slots(3, 10 * SECOND));
    story.ask(take("calls", 1));
    let first = story.last();
    story.back(micros).ask(peek("calls"));
    story.ask(take("calls", 1));
    let second = story.last();
    story.wait(10 * SECOND - 1).ask(peek("calls"));
    story.wait(1).ask(peek("calls"));
    story.ask(settle("calls", second, 0));
    story.ask(renew("calls", first));
    story.wait(micros).ask(take("calls", 3));
    story.done()
}
