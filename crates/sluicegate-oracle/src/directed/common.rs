//! Cases that every limit with a rate must pass, for every algorithm.

use super::story::{SECOND, Story, YEAR, charge, peek, reset, settle, take, up_to};
use crate::trace::{AlgorithmSpec, Case};

/// Short cases at the edges, repeated for every quota; `label` names the quota.
pub(super) fn edges(label: &str, algorithm: &AlgorithmSpec) -> Vec<Case> {
    vec![
        refuses_one_past_full(label, algorithm),
        admits_exactly_at_retry_after(label, algorithm),
        recovers_unit_by_unit(label, algorithm),
    ]
}

/// Everything else that does not depend on the algorithm.
pub(super) fn all(label: &str, algorithm: &AlgorithmSpec) -> Vec<Case> {
    let mut cases = edges(label, algorithm);
    cases.extend([
        costs_around_the_capacity(label, algorithm),
        takes_up_to(label, algorithm),
        charges_into_debt(label, algorithm),
        charges_without_debt(label, algorithm),
        gives_back(label, algorithm),
        gives_back_once(label, algorithm),
        gives_back_too_late(label, algorithm),
        settles_up_and_down(label, algorithm),
        starts_over_after_a_reset(label, algorithm),
        keeps_keys_apart(label, algorithm),
        jumps_forward(label, algorithm),
    ]);
    for (how, micros) in [
        ("by_a_microsecond", 1),
        ("by_half_a_second", SECOND / 2),
        ("by_a_second", SECOND),
        ("by_a_second_and_a_microsecond", SECOND + 1),
        ("by_two_seconds", 2 * SECOND),
        ("by_a_year", YEAR),
    ] {
        cases.push(clock_goes_back(label, how, micros, algorithm));
    }
    cases
}

fn story(label: &str, sentence: &str, algorithm: &AlgorithmSpec) -> Story {
    let mut story = Story::new(format!("{label}_{sentence}"), algorithm);
    // Somewhere inside a block and a period, not at its edge.
    story.wait(12_345);
    story
}

fn capacity(algorithm: &AlgorithmSpec) -> u64 {
    algorithm.nominal_capacity()
}

fn refuses_one_past_full(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "refuses_one_past_full", algorithm);
    let all = capacity(algorithm);
    story.ask(peek("calls"));
    if all > 2 {
        story.ask(take("calls", all - 2));
        story.ask(take("calls", 1));
    }
    story.ask(take("calls", 1));
    story.ask(take("calls", 1));
    story.ask(take("calls", 0));
    story.ask(take("calls", all));
    story.done()
}

fn admits_exactly_at_retry_after(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "admits_exactly_at_retry_after", algorithm);
    let all = capacity(algorithm);
    story.ask(take("calls", all));
    for units in [1, all.div_ceil(2), all] {
        let wait = story.ask(take("calls", units)).retry_after_us.unwrap_or(1);
        story.wait(wait - 1).ask(take("calls", units));
        story.wait(1).ask(take("calls", units));
    }
    let rest = story.ask(peek("calls")).reset_after_us.max(1);
    story.wait(rest - 1).ask(peek("calls"));
    story.wait(1).ask(peek("calls"));
    story.ask(take("calls", all));
    story.done()
}

fn recovers_unit_by_unit(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "recovers_unit_by_unit", algorithm);
    let all = capacity(algorithm);
    // Units at different times, so that they come back at different times.
    story.ask(take("calls", all.div_ceil(2)));
    story.wait(algorithm.nominal_period() / 3).ask(take("calls", all / 4));
    story.wait(algorithm.nominal_period() / 3).ask(up_to("calls", 0, all));
    for _ in 0..4 {
        let answer = story.ask(take("calls", 1));
        story.wait(answer.retry_after_us.unwrap_or(1));
    }
    story.ask(peek("calls"));
    story.done()
}

fn costs_around_the_capacity(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "never_admits_more_than_the_capacity", algorithm);
    let all = capacity(algorithm);
    story.ask(take("calls", all + 1));
    story.ask(up_to("calls", all + 1, all + 5));
    story.ask(take("calls", all));
    story.ask(take("calls", all + 1));
    story.ask(take("calls", all));
    story.ask(take("calls", 0));
    story.done()
}

fn takes_up_to(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "takes_up_to_what_is_there", algorithm);
    let all = capacity(algorithm);
    story.ask(up_to("calls", 1, all.div_ceil(2)));
    story.ask(up_to("calls", 1, all + 3));
    story.ask(up_to("calls", 0, all));
    let wait = story.ask(up_to("calls", 1, all)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(up_to("calls", 1, all));
    story.wait(1).ask(up_to("calls", 1, all));
    let wait = story.ask(up_to("calls", all, all)).retry_after_us.unwrap_or(1);
    story.wait(wait).ask(up_to("calls", all, all + 9));
    story.done()
}

fn charges_into_debt(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story =
        story(label, "charges_one_capacity_into_debt", &algorithm.clone().with_debt(true));
    let all = capacity(algorithm);
    story.ask(charge("calls", 1));
    story.ask(charge("calls", all));
    let wait = story.ask(take("calls", 0)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(peek("calls"));
    story.wait(1).ask(peek("calls"));
    story.ask(charge("calls", 5 * all));
    story.ask(charge("calls", 1));
    let wait = story.ask(take("calls", 1)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.ask(charge("calls", 0));
    story.done()
}

fn charges_without_debt(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let sentence = "charges_no_further_than_exhausted_without_debt";
    let mut story = story(label, sentence, &algorithm.clone().with_debt(false));
    let all = capacity(algorithm);
    story.ask(charge("calls", 1));
    story.ask(charge("calls", 3 * all));
    story.ask(charge("calls", 1));
    let wait = story.ask(take("calls", 1)).retry_after_us.unwrap_or(1);
    story.wait(wait).ask(charge("calls", 2));
    story.ask(peek("calls"));
    story.done()
}

fn gives_back(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "gives_back_at_once_and_later", algorithm);
    let all = capacity(algorithm);
    story.ask(take("calls", all));
    let full = story.last();
    story.ask(settle("calls", full, 0));
    story.ask(take("calls", all.div_ceil(2)));
    let first = story.last();
    story.ask(charge("calls", all / 2));
    let second = story.last();
    story.wait(algorithm.nominal_period() / 3).ask(settle("calls", first, 0));
    story.ask(peek("calls"));
    if all / 2 > 0 {
        story.ask(settle("calls", second, 0));
    }
    story.ask(take("calls", all));
    story.done()
}

fn gives_back_once(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "gives_back_only_once", algorithm);
    let all = capacity(algorithm);
    let rest = story.ask(take("calls", all)).reset_after_us.max(1);
    let receipt = story.last();
    story.ask(settle("calls", receipt, 0));
    story.ask(settle("calls", receipt, 0));
    story.ask(take("calls", all));
    story.ask(settle("calls", receipt, 0));
    story.ask(settle("calls", receipt, all + 1));
    story.wait(rest - 1).ask(settle("calls", receipt, 0));
    story.wait(1).ask(settle("calls", receipt, 0));
    story.done()
}

fn gives_back_too_late(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "gives_nothing_back_once_it_no_longer_matters", algorithm);
    let all = capacity(algorithm);
    let rest = story.ask(take("calls", all)).reset_after_us.max(1);
    let receipt = story.last();
    story.wait(rest).ask(take("calls", 1));
    story.ask(settle("calls", receipt, 0));
    story.ask(peek("calls"));
    let rest = story.ask(take("calls", all - 1)).reset_after_us.max(1);
    if all > 1 {
        let receipt = story.last();
        story.wait(rest - 1).ask(settle("calls", receipt, 0));
        story.ask(peek("calls"));
    }
    story.done()
}

fn settles_up_and_down(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "settles_up_and_down", algorithm);
    let all = capacity(algorithm);
    story.ask(take("calls", all));
    let receipt = story.last();
    story.ask(settle("calls", receipt, 1));
    story.ask(settle("calls", receipt, 0));
    let rest = story.ask(charge("calls", 1)).reset_after_us.max(1);
    let charged = story.last();
    story.ask(settle("calls", charged, 2 + all));
    story.wait(rest).ask(peek("calls"));
    story.wait(story_rest(algorithm)).ask(take("calls", 1));
    let same = story.last();
    story.ask(settle("calls", same, 1));
    story.ask(settle("calls", same, 0));
    story.ask(take("calls", 1).of("bob"));
    let more = story.last();
    story.ask(settle("calls", more, 9 * all).of("bob"));
    story.done()
}

fn story_rest(algorithm: &AlgorithmSpec) -> u64 {
    algorithm.nominal_period() * 3
}

fn starts_over_after_a_reset(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "starts_over_after_a_reset", algorithm);
    let all = capacity(algorithm);
    story.ask(reset("calls"));
    story.ask(take("calls", all));
    let receipt = story.last();
    story.ask(take("calls", 1));
    story.ask(reset("calls"));
    story.ask(settle("calls", receipt, 0));
    story.ask(take("calls", all));
    story.done()
}

fn keeps_keys_apart(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "keeps_keys_apart", algorithm);
    let all = capacity(algorithm);
    story.ask(take("calls", all));
    story.ask(take("calls", 1).of("bob"));
    story.ask(take("calls", 1));
    story.ask(peek("calls").of("bob"));
    story.done()
}

fn jumps_forward(label: &str, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, "is_fresh_after_a_year", &algorithm.clone().with_debt(true));
    let all = capacity(algorithm);
    story.ask(charge("calls", 2 * all));
    story.wait(YEAR).ask(peek("calls"));
    story.ask(take("calls", all));
    story.ask(take("calls", 1));
    story.done()
}

fn clock_goes_back(label: &str, how: &str, micros: u64, algorithm: &AlgorithmSpec) -> Case {
    let mut story = story(label, &format!("bears_a_clock_that_goes_back_{how}"), algorithm);
    let all = capacity(algorithm);
    story.ask(take("calls", all.div_ceil(2)));
    story.back(micros).ask(peek("calls"));
    let part = story.ask(up_to("calls", 1, all));
    let receipt = part.receipt.then(|| story.last());
    let wait = story.ask(take("calls", 1)).retry_after_us.unwrap_or(1);
    story.wait(wait - 1).ask(take("calls", 1));
    story.wait(1).ask(take("calls", 1));
    story.back(micros).ask(take("calls", 1));
    if let Some(receipt) = receipt {
        story.ask(settle("calls", receipt, 0));
    }
    // Forward again, and deep in debt back once more.
    story.wait(2 * micros).ask(charge("calls", 2 * all));
    story.back(micros).ask(peek("calls"));
    let rest = story.ask(take("calls", all)).retry_after_us.unwrap_or(1);
    story.wait(rest).ask(take("calls", all));
    story.done()
}
