//! Cases of several checks decided together.

use super::story::{
    DAY, HOUR, MINUTE, SECOND, Story, charge, patient, peek, reset, settle, settle_of, take, up_to,
};
use crate::trace::{AlgorithmSpec, BucketSpec, Case, CheckSpec};

pub(super) fn bucket(amount: u64, period_us: u64, burst: u64) -> AlgorithmSpec {
    AlgorithmSpec::TokenBucket(BucketSpec { amount, period_us, burst, debt: false })
}

pub(super) fn fixed(amount: u64, period_us: u64) -> AlgorithmSpec {
    AlgorithmSpec::FixedWindow { amount, period_us, debt: false }
}

pub(super) fn sliding(amount: u64, period_us: u64, slices: u64) -> AlgorithmSpec {
    AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict: false, debt: false }
}

pub(super) fn log(amount: u64, period_us: u64) -> AlgorithmSpec {
    AlgorithmSpec::SlidingLog { amount, period_us, debt: false }
}

fn slots(slots: u64) -> AlgorithmSpec {
    AlgorithmSpec::Concurrency { slots, lease_us: MINUTE }
}

fn cooldown(after: u64) -> AlgorithmSpec {
    AlgorithmSpec::Cooldown {
        after,
        within_us: MINUTE,
        block_us: 10 * SECOND,
        escalation: None,
        pending_us: None,
        reset_on_success: false,
    }
}

/// One limit of every algorithm, each named by its handle.
fn with_all(name: impl Into<String>) -> Story {
    let queue =
        AlgorithmSpec::Queue(BucketSpec { amount: 5, period_us: SECOND, burst: 4, debt: false });
    Story::with(
        name,
        &[
            ("bucket", "bucket", &bucket(7, 3 * SECOND, 5)),
            ("queue", "queue", &queue),
            ("fixed", "fixed", &fixed(5, MINUTE)),
            ("sliding", "sliding", &sliding(5, MINUTE, 6)),
            ("log", "log", &log(5, 10 * SECOND)),
            ("slots", "slots", &slots(5)),
            ("cooldown", "cooldown", &cooldown(2)),
        ],
    )
}

const EVERY: [&str; 7] = ["bucket", "queue", "fixed", "sliding", "log", "slots", "cooldown"];

fn every(units: u64) -> Vec<CheckSpec> {
    EVERY.iter().map(|handle| take(handle, units)).collect()
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = EVERY.iter().map(|refusing| refused_by(refusing)).collect();
    cases.extend(EVERY.iter().map(|handle| same_key_twice(handle)));
    cases.extend(EVERY.iter().map(|handle| direct_asks_are_undone(handle)));
    cases.extend(super::terms::cases());
    cases.extend([
        order_does_not_matter(),
        independent_terms(),
        several_windows_on_one_key(),
        charge_before_take(),
        take_before_charge(),
        reset_and_take(),
        settle_and_take(),
        a_spent_receipt_refuses_the_set(),
        settled_twice_in_a_set(),
        patience_in_a_set(),
        concurrency_and_rate(),
        wrong_clock_is_corrected_in_a_refused_set(),
        an_alternative_not_asked_is_not_corrected(),
        takes_up_to_in_a_set(),
        many_small_takes_of_one_key(),
    ]);
    cases
}

fn exhaust(story: &mut Story, handle: &str) {
    let check = if handle == "cooldown" { charge(handle, 2) } else { take(handle, 5) };
    story.ask(check);
}

fn refused_by(refusing: &str) -> Case {
    let mut story = with_all(format!("charges_nothing_when_{refusing}_refuses"));
    story.set(every(1));
    story.wait(HOUR);
    exhaust(&mut story, refusing);
    story.set(every(1));
    story.set(every(0));
    let rest = EVERY.iter().filter(|handle| **handle != refusing).map(|h| take(h, 1)).collect();
    story.set(rest);
    story.done()
}

fn same_key_twice(handle: &str) -> Case {
    let mut story = with_all(format!("{handle}_sees_the_same_key_twice"));
    story.set(vec![take(handle, 2), take(handle, 3)]);
    let set = story.last();
    story.set(vec![take(handle, 0), take(handle, 1)]);
    if handle != "cooldown" {
        story.ask(settle_of(handle, set, 1, 0));
        story.ask(settle_of(handle, set, 0, 1));
    }
    story.wait(HOUR).set(vec![take(handle, 3), take(handle, 3)]);
    story.set(vec![take(handle, 1), take(handle, 4), take(handle, 1)]);
    story.ask(take(handle, 1));
    let answer = story.set(vec![take(handle, 2), take(handle, 3)]);
    let waits = answer.decisions.iter().flatten().filter_map(|d| d.retry_after_us);
    let wait = waits.max().unwrap_or(1);
    story.wait(wait - 1).set(vec![take(handle, 2), take(handle, 3)]);
    story.wait(1).set(vec![take(handle, 2), take(handle, 3)]);
    story.wait(HOUR).set(vec![take(handle, 2), take(handle, 2).of("bob"), take(handle, 2)]);
    story.set(vec![up_to(handle, 1, 9), up_to(handle, 1, 9)]);
    story.set(vec![up_to(handle, 0, 9), up_to(handle, 0, 9)]);
    story.done()
}

fn direct_asks_are_undone(handle: &str) -> Case {
    let mut story = with_all(format!("a_refused_set_undoes_what_it_did_to_{handle}"));
    let other = if handle == "log" { "bucket" } else { "log" };
    story.ask(take(handle, 2));
    let receipt = story.last();
    story.set(vec![charge(handle, 1), take(other, 6)]);
    story.ask(peek(handle));
    story.set(vec![reset(handle), take(other, 6)]);
    story.ask(peek(handle));
    if handle != "cooldown" {
        story.set(vec![settle(handle, receipt, 0), take(other, 6)]);
        story.ask(peek(handle));
        story.set(vec![settle(handle, receipt, 0), take(other, 1)]);
    }
    story.set(vec![charge(handle, 1), take(handle, 1), take(other, 1)]);
    story.ask(peek(handle));
    story.done()
}

fn order_does_not_matter() -> Case {
    let mut story = with_all("the_order_of_checks_does_not_matter");
    for key in ["abc", "acb", "bac", "bca", "cab", "cba"] {
        let by_letter = |letter: char| match letter {
            'a' => take("bucket", 2).of(key),
            'b' => take("log", 2).of(key),
            _ => take("sliding", 2).of(key),
        };
        story.set(key.chars().map(by_letter).collect());
        story.set(key.chars().map(by_letter).collect());
        story.ask(take("log", 1).of(key));
        story.set(key.chars().map(by_letter).collect());
        story.set(vec![peek("bucket").of(key), peek("log").of(key), peek("sliding").of(key)]);
    }
    story.done()
}

fn independent_terms() -> Case {
    let mut story = with_all("independent_terms_are_charged_each_for_itself");
    exhaust(&mut story, "log");
    story.independent(every(1));
    story.independent(vec![take("log", 1), take("bucket", 1).or(), take("slots", 9)]);
    story.independent(vec![take("slots", 9), charge("fixed", 1), take("queue", 1)]);
    story.set(EVERY.iter().map(|handle| peek(handle)).collect());
    story.done()
}

fn several_windows_on_one_key() -> Case {
    let limits = [
        ("second", "second", &log(10, SECOND)),
        ("minute", "minute", &sliding(100, MINUTE, 60)),
        ("day", "day", &fixed(1000, DAY)),
    ];
    let mut story = Story::with("keeps_several_windows_on_one_key", &limits);
    let set = |units| vec![take("second", units), take("minute", units), take("day", units)];
    story.set(set(10));
    story.set(set(1));
    for _ in 0..10 {
        story.wait(SECOND).set(set(10));
    }
    for _ in 0..3 {
        let answer = story.set(set(10));
        let waits = answer.decisions.iter().flatten().filter_map(|d| d.retry_after_us);
        let wait = waits.max().unwrap_or(1);
        story.wait(wait - 1).set(set(10));
        story.wait(1).set(set(10));
    }
    story.done()
}

fn charge_before_take() -> Case {
    let mut story = Story::new("a_take_sees_an_earlier_charge_of_its_set", &log(5, MINUTE));
    story.set(vec![charge("calls", 3), take("calls", 3)]);
    story.ask(peek("calls"));
    story.set(vec![charge("calls", 3), take("calls", 2)]);
    story.ask(peek("calls"));
    story.done()
}

fn take_before_charge() -> Case {
    let mut story = Story::new("a_charge_comes_before_the_takes_of_its_set", &bucket(1, SECOND, 5));
    story.set(vec![take("calls", 2), charge("calls", 2), peek("calls")]);
    let set = story.last();
    story.ask(peek("calls"));
    story.ask(settle_of("calls", set, 1, 0));
    story.ask(settle_of("calls", set, 0, 0));
    story.done()
}

fn reset_and_take() -> Case {
    let mut story = Story::new("a_take_sees_an_earlier_reset_of_its_set", &bucket(1, SECOND, 5));
    story.ask(take("calls", 5));
    story.set(vec![take("calls", 1), reset("calls"), take("calls", 4)]);
    story.ask(peek("calls"));
    story.done()
}

fn settle_and_take() -> Case {
    let mut story = Story::new("a_take_sees_an_earlier_refund_of_its_set", &fixed(5, MINUTE));
    story.ask(take("calls", 5));
    let receipt = story.last();
    story.set(vec![take("calls", 1), settle("calls", receipt, 0)]);
    story.set(vec![settle("calls", receipt, 0), take("calls", 6)]);
    story.set(vec![settle("calls", receipt, 2), take("calls", 3)]);
    story.ask(peek("calls"));
    story.done()
}

fn a_spent_receipt_refuses_the_set() -> Case {
    let mut story = Story::new("a_spent_receipt_refuses_the_set", &log(5, MINUTE));
    story.ask(take("calls", 2));
    let receipt = story.last();
    story.ask(settle("calls", receipt, 1));
    story.set(vec![take("calls", 1), settle("calls", receipt, 0)]);
    story.set(vec![take("calls", 1), settle("calls", receipt, 0)]);
    story.independent(vec![settle("calls", receipt, 0), take("calls", 1)]);
    story.set(vec![settle("calls", receipt, 0), take("calls", 1).or()]);
    story.done()
}

fn settled_twice_in_a_set() -> Case {
    let mut story = Story::new("a_receipt_is_spent_within_its_set_too", &log(5, MINUTE));
    story.ask(take("calls", 2));
    let receipt = story.last();
    story.set(vec![settle("calls", receipt, 0), settle("calls", receipt, 0)]);
    story.set(vec![settle("calls", receipt, 0), settle("calls", receipt, 0)]);
    story.done()
}

fn patience_in_a_set() -> Case {
    let quota = bucket(10, SECOND, 5).with_debt(true);
    let mut story = Story::new("patience_counts_what_the_set_took_before", &quota);
    story.set(vec![take("calls", 3), patient("calls", 2, SECOND), patient("calls", 0, SECOND)]);
    story.set(vec![patient("calls", 1, SECOND / 10), patient("calls", 1, SECOND / 5)]);
    story.set(vec![patient("calls", 1, SECOND), patient("calls", 1, 399_999)]);
    story.set(vec![patient("calls", 3, SECOND), patient("calls", 3, SECOND)]);
    story.done()
}

fn concurrency_and_rate() -> Case {
    let limits = [("jobs", "jobs", &slots(2)), ("rate", "rate", &bucket(10, SECOND, 4))];
    let mut story = Story::with("holds_a_slot_only_if_the_rate_allows", &limits);
    story.set(vec![take("jobs", 1), take("rate", 3)]);
    let first = story.last();
    story.set(vec![take("jobs", 1), take("rate", 3)]);
    story.ask(peek("jobs"));
    story.set(vec![take("rate", 1), take("jobs", 1)]);
    story.wait(SECOND).set(vec![take("rate", 1), take("jobs", 1)]);
    story.set(vec![settle("jobs", first, 0), settle_of("rate", first, 1, 0)]);
    story.set(vec![take("rate", 1), take("jobs", 1)]);
    story.done()
}

fn wrong_clock_is_corrected_in_a_refused_set() -> Case {
    let mut story = with_all("a_wrong_clock_is_corrected_even_in_a_refused_set");
    story.set(every(1));
    story.ask(charge("cooldown", 1));
    story.back(HOUR).set(EVERY.iter().map(|handle| take(handle, 6)).collect());
    // Back at the first time: corrected states stay corrected.
    story.wait(HOUR).set(EVERY.iter().map(|handle| peek(handle)).collect());
    story.set(every(1));
    story.done()
}

fn an_alternative_not_asked_is_not_corrected() -> Case {
    let limits = [("first", "first", &log(2, MINUTE)), ("second", "second", &log(2, MINUTE))];
    let mut story = Story::with("an_alternative_that_is_not_asked_is_not_touched", &limits);
    story.ask(take("second", 1));
    story.back(HOUR).set(vec![take("first", 1), take("second", 1).or()]);
    story.wait(HOUR).ask(peek("second"));
    story.back(HOUR).set(vec![take("first", 2), take("second", 1).or()]);
    story.wait(HOUR).ask(peek("second"));
    story.done()
}

fn takes_up_to_in_a_set() -> Case {
    let mut story = with_all("takes_up_to_what_each_has");
    story.set(EVERY.iter().map(|handle| up_to(handle, 1, 3)).collect());
    story.set(EVERY.iter().map(|handle| up_to(handle, 1, 3)).collect());
    story.set(EVERY.iter().map(|handle| up_to(handle, 0, 3)).collect());
    story.set(EVERY.iter().map(|handle| up_to(handle, 1, 3)).collect());
    story.done()
}

fn many_small_takes_of_one_key() -> Case {
    let mut story = Story::new("many_takes_of_one_key_count_together", &bucket(7, 3 * SECOND, 5));
    story.set((0..6).map(|_| take("calls", 1)).collect());
    story.set((0..5).map(|_| take("calls", 1)).collect());
    let set = story.last();
    story.wait(SECOND).ask(settle_of("calls", set, 0, 0));
    story.ask(settle_of("calls", set, 4, 0));
    story.ask(settle_of("calls", set, 2, 0));
    story.ask(peek("calls"));
    story.done()
}
