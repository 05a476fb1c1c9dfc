//! Cases of the cooldown.

// Long because it lists the cases of a cooldown as data.

use super::story::{
    DAY, HOUR, MINUTE, SECOND, Story, YEAR, charge, peek, refund, reset, settle, take, up_to,
};
use crate::trace::{AlgorithmSpec, Case, EscalationSpec};

fn cooldown(after: u64, within_us: u64, block_us: u64) -> AlgorithmSpec {
    let (escalation, pending_us, reset_on_success) = (None, None, false);
    AlgorithmSpec::Cooldown { after, within_us, block_us, escalation, pending_us, reset_on_success }
}

/// Returns the cooldown with attempts that are pending this long.
fn pending(mut spec: AlgorithmSpec, micros: u64) -> AlgorithmSpec {
    if let AlgorithmSpec::Cooldown { pending_us, .. } = &mut spec {
        *pending_us = Some(micros);
    }
    spec
}

/// Returns the cooldown with successes that clear the failures.
fn forgiving(mut spec: AlgorithmSpec) -> AlgorithmSpec {
    if let AlgorithmSpec::Cooldown { reset_on_success, .. } = &mut spec {
        *reset_on_success = true;
    }
    spec
}

fn escalating(
    after: u64,
    within_us: u64,
    block_us: u64,
    factor: u64,
    max_us: u64,
) -> AlgorithmSpec {
    let escalation = Some(EscalationSpec { factor, max_us });
    let (pending_us, reset_on_success) = (None, false);
    AlgorithmSpec::Cooldown { after, within_us, block_us, escalation, pending_us, reset_on_success }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        bears_one_failure_less(),
        blocks_at_the_last_failure(),
        unblocks_exactly_at_the_end(),
        spread_failures_do_not_block(),
        failures_stop_counting_exactly_at_the_edge(),
        counts_several_failures_at_once(),
        ignores_failures_while_blocked(),
        blocks_at_the_first_failure(),
        takes_cost_nothing(),
        success_resets(),
        escalates_up_to_the_most(),
        forgets_the_streak(),
        forgets_after_the_longer_of_both(),
        keeps_the_streak_just_before(),
        reset_forgets_the_streak(),
        charges_nothing(),
        after_changes_in_flight(),
        window_changes_in_flight(),
        escalation_appears_in_flight(),
        many_failures(),
        a_refused_set_reports_no_failure(),
        failures_ahead_of_the_clock(),
        attempts_count_until_they_expire(),
        attempts_and_failures_count_together(),
        a_failure_settles_the_oldest_attempt(),
        a_success_settles_the_oldest_attempt(),
        a_success_clears_failures(),
        a_success_ends_no_block(),
        attempts_outlive_a_block(),
        a_withdrawn_attempt_is_gone(),
        a_settled_attempt_stays_one(),
        a_refused_set_leaves_no_attempt(),
        an_attempt_beside_a_failure(),
        attempts_ahead_of_the_clock(),
        pending_appears_and_goes_in_flight(),
    ];
    for (how, micros) in [
        ("by_a_microsecond", 1),
        ("by_half_a_second", SECOND / 2),
        ("by_a_second", SECOND),
        ("by_a_second_and_a_microsecond", SECOND + 1),
        ("by_a_year", YEAR),
    ] {
        cases.push(blocked_clock_goes_back(how, micros, &cooldown(2, MINUTE, 10 * SECOND)));
        let escalated = escalating(2, MINUTE, 10 * SECOND, 3, 45 * SECOND);
        cases.push(blocked_clock_goes_back(&format!("{how}_escalated"), micros, &escalated));
    }
    cases
}

fn fail(story: &mut Story, times: u64) {
    for _ in 0..times {
        story.ask(charge("calls", 1));
    }
}

fn bears_one_failure_less() -> Case {
    let mut story = Story::new("bears_one_failure_less", &cooldown(3, MINUTE, 10 * SECOND));
    story.ask(take("calls", 1));
    story.ask(charge("calls", 1));
    story.wait(SECOND).ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.wait(MINUTE).ask(peek("calls"));
    story.done()
}

fn blocks_at_the_last_failure() -> Case {
    let mut story = Story::new("blocks_at_the_last_failure", &cooldown(3, MINUTE, 10 * SECOND));
    for _ in 0..3 {
        story.ask(charge("calls", 1));
        story.ask(take("calls", 1));
        story.wait(SECOND);
    }
    story.ask(peek("calls"));
    story.done()
}

fn unblocks_exactly_at_the_end() -> Case {
    let mut story = Story::new("unblocks_exactly_at_the_end", &cooldown(2, MINUTE, 10 * SECOND));
    fail(&mut story, 2);
    story.wait(10 * SECOND - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.done()
}

fn spread_failures_do_not_block() -> Case {
    let mut story = Story::new("failures_spread_out_do_not_block", &cooldown(3, MINUTE, HOUR));
    for _ in 0..6 {
        story.ask(charge("calls", 1));
        story.ask(take("calls", 1));
        story.wait(31 * SECOND);
    }
    story.done()
}

fn failures_stop_counting_exactly_at_the_edge() -> Case {
    let quota = cooldown(2, MINUTE, 10 * SECOND);
    let mut story = Story::new("a_failure_stops_counting_exactly_at_the_edge", &quota);
    story.ask(charge("calls", 1));
    story.wait(MINUTE).ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.wait(MINUTE - 1).ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.done()
}

fn counts_several_failures_at_once() -> Case {
    let quota = cooldown(5, MINUTE, 10 * SECOND);
    let mut story = Story::new("counts_several_failures_at_once", &quota);
    story.ask(charge("calls", 3));
    story.ask(charge("calls", 9));
    story.ask(take("calls", 1));
    story.wait(10 * SECOND).ask(charge("calls", 5));
    story.ask(take("calls", 1));
    story.wait(10 * SECOND).ask(charge("calls", 4));
    story.ask(take("calls", 1));
    story.done()
}

fn ignores_failures_while_blocked() -> Case {
    let quota = cooldown(2, MINUTE, 10 * SECOND);
    let mut story = Story::new("ignores_failures_while_blocked", &quota);
    fail(&mut story, 2);
    story.wait(5 * SECOND).ask(charge("calls", 7));
    story.wait(5 * SECOND - 1).ask(charge("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.ask(peek("calls"));
    story.done()
}

fn blocks_at_the_first_failure() -> Case {
    let mut story = Story::new("blocks_at_the_first_failure", &cooldown(1, SECOND, SECOND));
    for _ in 0..3 {
        story.ask(take("calls", 1));
        story.ask(charge("calls", 1));
        story.ask(take("calls", 1));
        story.wait(SECOND);
    }
    story.done()
}

fn takes_cost_nothing() -> Case {
    let mut story = Story::new("takes_cost_nothing", &cooldown(2, MINUTE, 10 * SECOND));
    story.ask(take("calls", 100));
    story.ask(up_to("calls", 1, 7));
    story.ask(charge("calls", 1));
    story.ask(take("calls", 100));
    story.ask(take("calls", 0));
    story.set(vec![take("calls", 3), take("calls", 3)]);
    story.done()
}

fn success_resets() -> Case {
    let mut story = Story::new("a_reset_forgives", &cooldown(3, MINUTE, 10 * SECOND));
    fail(&mut story, 2);
    story.ask(reset("calls"));
    fail(&mut story, 2);
    story.ask(take("calls", 1));
    story.ask(charge("calls", 1));
    story.ask(reset("calls"));
    story.ask(take("calls", 1));
    story.done()
}

fn escalates_up_to_the_most() -> Case {
    let quota = escalating(2, MINUTE, 10 * SECOND, 3, 100 * SECOND);
    let mut story = Story::new("blocks_longer_each_time_up_to_the_most", &quota);
    // 10, 30, 90, then 100 for good.
    for _ in 0..5 {
        fail(&mut story, 2);
        let wait = story.ask(take("calls", 1)).retry_after_us.unwrap_or(1);
        story.wait(wait - 1).ask(take("calls", 1));
        story.wait(1).ask(take("calls", 1));
    }
    story.done()
}

fn forgets_the_streak() -> Case {
    let quota = escalating(1, MINUTE, 10 * SECOND, 2, HOUR);
    let mut story = Story::new("forgets_the_streak_after_a_quiet_time", &quota);
    fail(&mut story, 1);
    story.wait(10 * SECOND);
    fail(&mut story, 1);
    let rest = story.ask(peek("calls")).reset_after_us.max(1);
    story.wait(rest - 1).ask(peek("calls"));
    story.wait(1).ask(peek("calls"));
    fail(&mut story, 1);
    story.ask(peek("calls"));
    story.done()
}

fn forgets_after_the_longer_of_both() -> Case {
    let quota = escalating(1, SECOND, MINUTE, 10, DAY);
    let mut story = Story::new("the_quiet_time_is_as_long_as_the_block", &quota);
    fail(&mut story, 1);
    story.wait(MINUTE);
    fail(&mut story, 1);
    story.wait(10 * MINUTE).ask(peek("calls"));
    story.wait(10 * MINUTE - 1).ask(peek("calls"));
    fail(&mut story, 1);
    story.wait(100 * MINUTE + 100 * MINUTE).ask(peek("calls"));
    fail(&mut story, 1);
    story.done()
}

fn keeps_the_streak_just_before() -> Case {
    let quota = escalating(2, MINUTE, 10 * SECOND, 2, HOUR);
    let mut story = Story::new("keeps_the_streak_until_the_quiet_time_is_over", &quota);
    fail(&mut story, 2);
    story.wait(70 * SECOND - 2).ask(charge("calls", 1));
    story.wait(1).ask(charge("calls", 1));
    story.ask(peek("calls"));
    // The streak ends at the first failure after it; the second counts from one again.
    story.wait(20 * SECOND + MINUTE).ask(charge("calls", 1));
    story.ask(peek("calls"));
    story.ask(charge("calls", 1));
    story.ask(peek("calls"));
    story.done()
}

fn reset_forgets_the_streak() -> Case {
    let quota = escalating(1, MINUTE, 10 * SECOND, 4, HOUR);
    let mut story = Story::new("a_reset_forgets_the_streak", &quota);
    fail(&mut story, 1);
    story.wait(10 * SECOND);
    fail(&mut story, 1);
    story.ask(reset("calls"));
    story.ask(peek("calls"));
    fail(&mut story, 1);
    story.done()
}

fn charges_nothing() -> Case {
    let mut story = Story::new("no_failure_is_no_failure", &cooldown(1, MINUTE, SECOND));
    story.ask(charge("calls", 0));
    story.ask(take("calls", 1));
    story.ask(charge("calls", 1));
    story.ask(charge("calls", 0));
    story.done()
}

fn after_changes_in_flight() -> Case {
    let (strict, lax) = (cooldown(2, MINUTE, 10 * SECOND), cooldown(5, MINUTE, 10 * SECOND));
    let limits = [("strict", "calls", &strict), ("lax", "calls", &lax)];
    let mut story = Story::with("keeps_failures_when_the_number_changes", &limits);
    story.ask(charge("lax", 3));
    story.ask(take("strict", 1));
    story.ask(take("lax", 1));
    story.ask(charge("strict", 1));
    story.ask(take("lax", 1));
    story.done()
}

fn window_changes_in_flight() -> Case {
    let (short, long) = (cooldown(3, 10 * SECOND, SECOND), cooldown(3, HOUR, MINUTE));
    let limits = [("short", "calls", &short), ("long", "calls", &long)];
    let mut story = Story::with("keeps_failures_when_the_window_changes", &limits);
    story.ask(charge("long", 2));
    story.wait(MINUTE).ask(peek("short"));
    story.ask(peek("long"));
    story.ask(charge("long", 1));
    story.ask(peek("short"));
    story.done()
}

fn escalation_appears_in_flight() -> Case {
    let plain = cooldown(1, MINUTE, 10 * SECOND);
    let escalated = escalating(1, MINUTE, 10 * SECOND, 2, HOUR);
    let limits = [("plain", "calls", &plain), ("escalated", "calls", &escalated)];
    let mut story = Story::with("counts_the_streak_even_without_escalation", &limits);
    story.ask(charge("plain", 1));
    story.ask(peek("escalated"));
    story.wait(10 * SECOND).ask(charge("escalated", 1));
    story.ask(peek("plain"));
    story.wait(20 * SECOND).ask(charge("plain", 1));
    story.wait(10 * SECOND).ask(charge("escalated", 1));
    story.done()
}

fn many_failures() -> Case {
    let mut story = Story::new("bears_a_thousand_failures", &cooldown(1000, HOUR, DAY));
    story.ask(charge("calls", 500));
    story.wait(MINUTE).ask(charge("calls", 499));
    story.ask(take("calls", 1));
    story.wait(HOUR - MINUTE - 1).ask(peek("calls"));
    story.wait(1).ask(peek("calls"));
    story.ask(charge("calls", 500));
    story.ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.done()
}

fn a_refused_set_reports_no_failure() -> Case {
    let quota = cooldown(2, MINUTE, 10 * SECOND);
    let mut story = Story::new("failures_in_a_refused_set_are_undone", &quota);
    story.ask(charge("calls", 2).of("bob"));
    story.set(vec![charge("calls", 2), take("calls", 1).of("bob")]);
    story.ask(take("calls", 1));
    story.set(vec![charge("calls", 2), take("calls", 1)]);
    story.ask(take("calls", 1));
    story.set(vec![charge("calls", 2), take("calls", 1)]);
    story.ask(take("calls", 1));
    story.done()
}

fn failures_ahead_of_the_clock() -> Case {
    let quota = escalating(3, MINUTE, 10 * SECOND, 2, HOUR);
    let mut story = Story::new("failures_far_ahead_of_the_clock_block", &quota);
    story.ask(charge("calls", 1));
    story.back(SECOND).ask(charge("calls", 1));
    story.ask(peek("calls"));
    story.back(1).ask(peek("calls"));
    story.wait(10 * SECOND).ask(peek("calls"));
    fail(&mut story, 3);
    story.ask(peek("calls"));
    story.done()
}

fn blocked_clock_goes_back(how: &str, micros: u64, quota: &AlgorithmSpec) -> Case {
    let mut story = Story::new(format!("bears_a_clock_that_goes_back_{how}"), quota);
    fail(&mut story, 2);
    story.wait(10 * SECOND);
    fail(&mut story, 2);
    story.back(micros).ask(peek("calls"));
    story.ask(charge("calls", 1));
    let wait = story.ask(take("calls", 1)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    fail(&mut story, 2);
    story.ask(peek("calls"));
    story.done()
}

/// Three failures in a minute block for ten seconds; attempts are pending for two.
fn trying() -> AlgorithmSpec {
    pending(cooldown(3, MINUTE, 10 * SECOND), 2 * SECOND)
}

fn attempts_count_until_they_expire() -> Case {
    let mut story = Story::new("attempts_count_until_they_expire", &trying());
    story.ask(take("calls", 1));
    story.wait(SECOND).ask(take("calls", 2));
    story.ask(peek("calls"));
    story.ask(take("calls", 1));
    story.ask(take("calls", 4));
    story.ask(up_to("calls", 0, 3));
    story.wait(SECOND - 1).ask(take("calls", 1));
    story.wait(1).ask(up_to("calls", 1, 3));
    story.wait(SECOND).ask(take("calls", 2));
    story.wait(2 * SECOND).ask(peek("calls"));
    story.done()
}

fn attempts_and_failures_count_together() -> Case {
    let mut story = Story::new("attempts_and_failures_count_together", &trying());
    fail(&mut story, 1);
    story.wait(59 * SECOND).ask(take("calls", 2));
    // The failure stops counting before the attempts do.
    story.ask(take("calls", 1));
    story.ask(take("calls", 2));
    story.wait(SECOND).ask(take("calls", 1));
    story.wait(SECOND).ask(take("calls", 2));
    story.done()
}

fn a_failure_settles_the_oldest_attempt() -> Case {
    let mut story = Story::new("a_failure_settles_the_oldest_attempt", &trying());
    story.ask(take("calls", 1));
    story.wait(SECOND).ask(take("calls", 1));
    story.ask(charge("calls", 1));
    story.wait(SECOND).ask(peek("calls"));
    story.ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.ask(take("calls", 1));
    story.ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.wait(10 * SECOND).ask(take("calls", 3));
    story.done()
}

fn a_success_settles_the_oldest_attempt() -> Case {
    let mut story = Story::new("a_success_settles_the_oldest_attempt", &trying());
    story.ask(refund("calls", 1));
    story.ask(take("calls", 2));
    fail(&mut story, 1);
    story.wait(SECOND).ask(take("calls", 1));
    story.ask(refund("calls", 0));
    story.ask(refund("calls", 1));
    story.wait(SECOND).ask(peek("calls"));
    story.ask(refund("calls", 5));
    story.ask(peek("calls"));
    story.done()
}

fn a_success_clears_failures() -> Case {
    let limits = [
        ("plain", "plain", &forgiving(cooldown(3, MINUTE, 10 * SECOND))),
        ("pending", "pending", &forgiving(trying())),
        ("strict", "strict", &cooldown(3, MINUTE, 10 * SECOND)),
    ];
    let mut story = Story::with("a_success_clears_failures", &limits);
    for handle in ["plain", "pending", "strict"] {
        story.ask(charge(handle, 2));
        story.ask(take(handle, 1));
        story.ask(refund(handle, 1));
        story.ask(peek(handle));
        story.ask(charge(handle, 2));
        story.ask(peek(handle));
    }
    story.done()
}

fn a_success_ends_no_block() -> Case {
    let spec = forgiving(escalating(2, MINUTE, 10 * SECOND, 2, HOUR));
    let mut story = Story::new("a_success_ends_no_block", &pending(spec, 5 * SECOND));
    story.ask(take("calls", 2));
    fail(&mut story, 2);
    story.ask(refund("calls", 1));
    story.ask(take("calls", 1));
    story.wait(10 * SECOND).ask(refund("calls", 1));
    story.ask(take("calls", 1));
    story.ask(charge("calls", 2));
    story.ask(peek("calls"));
    story.done()
}

fn attempts_outlive_a_block() -> Case {
    let spec = pending(cooldown(3, MINUTE, SECOND), 5 * SECOND);
    let mut story = Story::new("attempts_outlive_a_block", &spec);
    fail(&mut story, 1);
    story.ask(take("calls", 2));
    // A report without an attempt counts, too.
    story.ask(charge("calls", 1));
    story.ask(take("calls", 1));
    story.ask(charge("calls", 2));
    story.wait(SECOND).ask(take("calls", 1));
    story.wait(4 * SECOND).ask(take("calls", 3));
    story.done()
}

fn a_withdrawn_attempt_is_gone() -> Case {
    let mut story = Story::new("a_withdrawn_attempt_is_gone", &trying());
    story.ask(take("calls", 2));
    let two = story.last();
    story.ask(take("calls", 1));
    let one = story.last();
    story.ask(settle("calls", two, 1));
    story.ask(settle("calls", two, 0));
    story.ask(settle("calls", one, 0));
    story.ask(peek("calls"));
    story.wait(SECOND).ask(take("calls", 1));
    let late = story.last();
    story.wait(2 * SECOND).ask(settle("calls", late, 0));
    story.done()
}

fn a_settled_attempt_stays_one() -> Case {
    let mut story = Story::new("a_settled_attempt_stays_one", &trying());
    story.ask(take("calls", 1));
    let step = story.last();
    story.ask(settle("calls", step, 7));
    story.ask(peek("calls"));
    story.done()
}

fn a_refused_set_leaves_no_attempt() -> Case {
    let limits = [("calls", "calls", &trying()), ("other", "other", &trying())];
    let mut story = Story::with("a_refused_set_leaves_no_attempt", &limits);
    story.ask(take("other", 3));
    story.set(vec![take("calls", 1), take("other", 1)]);
    story.ask(peek("calls"));
    story.set(vec![take("calls", 1), take("calls", 1)]);
    story.set(vec![take("calls", 1), take("calls", 1)]);
    story.ask(peek("calls"));
    story.done()
}

fn an_attempt_beside_a_failure() -> Case {
    let mut story = Story::new("an_attempt_beside_a_failure", &trying());
    story.set(vec![take("calls", 1), charge("calls", 2)]);
    story.ask(peek("calls"));
    story.set(vec![charge("calls", 1), take("calls", 1)]);
    story.ask(peek("calls"));
    story.wait(10 * SECOND).set(vec![refund("calls", 1), take("calls", 3)]);
    story.done()
}

fn attempts_ahead_of_the_clock() -> Case {
    let mut story = Story::new("attempts_ahead_of_the_clock", &trying());
    story.ask(take("calls", 1));
    story.back(SECOND).ask(take("calls", 1));
    story.ask(peek("calls"));
    story.back(1).ask(take("calls", 1));
    story.wait(10 * SECOND).ask(take("calls", 1));
    story.done()
}

fn pending_appears_and_goes_in_flight() -> Case {
    let (with, without) = (trying(), cooldown(3, MINUTE, 10 * SECOND));
    let limits = [("with", "calls", &with), ("without", "calls", &without)];
    let mut story = Story::with("pending_appears_and_goes_in_flight", &limits);
    story.ask(charge("without", 1));
    story.ask(take("with", 2));
    story.ask(take("with", 1));
    story.ask(take("without", 9));
    story.ask(take("with", 1));
    story.done()
}
