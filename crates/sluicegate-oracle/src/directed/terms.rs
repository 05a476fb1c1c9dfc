//! Cases of terms: alternatives, shadows, and independent terms.

use super::sets::{bucket, fixed, log, sliding};
use super::story::{DAY, HOUR, MINUTE, SECOND, Story, charge, peek, reset, settle_of, take, up_to};
use crate::trace::{Case, CheckSpec};

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    vec![
        grace_alternative(),
        own_share_else_borrow(),
        three_alternatives(),
        observe_within_a_term(),
        observe_alone_admits(),
        shadow_of_a_grace(),
        shadow_of_three_alternatives(),
        shadow_is_not_charged_alone(),
        shadow_and_rule_in_one_term(),
        shadow_not_asked_takes_nothing(),
        shadow_not_asked_does_nothing(),
        independent_shadows(),
        independent_same_key(),
    ]
}

fn grace_alternative() -> Case {
    let limits = [("normal", "normal", &bucket(1, SECOND, 2)), ("grace", "grace", &fixed(1, DAY))];
    let mut story = Story::with("falls_back_to_a_grace_once", &limits);
    for _ in 0..4 {
        story.set(vec![take("normal", 1), take("grace", 1).or()]);
    }
    story.wait(SECOND).set(vec![take("normal", 1), take("grace", 1).or()]);
    story.set(vec![take("normal", 1), take("grace", 1).or()]);
    story.wait(DAY).set(vec![take("normal", 3), take("grace", 1).or()]);
    story.done()
}

fn own_share_else_borrow() -> Case {
    let limits = [("own", "own", &log(2, MINUTE)), ("pool", "pool", &log(3, MINUTE))];
    let mut story = Story::with("uses_the_own_share_then_borrows", &limits);
    for _ in 0..6 {
        story.set(vec![take("own", 1), take("pool", 1).of("everybody").or()]);
    }
    story.set(vec![take("own", 1).of("bob"), take("pool", 1).of("everybody").or()]);
    story.set(vec![peek("own"), peek("own").of("bob"), peek("pool").of("everybody")]);
    story.done()
}

fn three_alternatives() -> Case {
    let limits = [
        ("first", "first", &bucket(1, MINUTE, 1)),
        ("second", "second", &log(1, MINUTE)),
        ("third", "third", &fixed(1, MINUTE)),
        ("all", "all", &sliding(3, MINUTE, 6)),
    ];
    let mut story = Story::with("asks_alternatives_one_after_the_other", &limits);
    let set =
        || vec![take("all", 1), take("first", 1), take("second", 1).or(), take("third", 1).or()];
    for _ in 0..4 {
        story.set(set());
    }
    story.ask(reset("second"));
    // An alternative admits, but the other term does not.
    story.set(set());
    story.ask(peek("second"));
    story.done()
}

fn observe_within_a_term() -> Case {
    let limits = [("new", "new", &bucket(1, SECOND, 1)), ("old", "old", &bucket(1, SECOND, 2))];
    let mut story = Story::with("an_observed_alternative_is_asked_whatever_is_enforced", &limits);
    for _ in 0..3 {
        story.set(vec![take("old", 1), take("new", 1).observed().or()]);
    }
    story.wait(10 * SECOND);
    for _ in 0..3 {
        story.set(vec![take("new", 1).observed(), take("old", 1).or()]);
    }
    story.done()
}

fn observe_alone_admits() -> Case {
    let mut story = Story::new("a_term_that_only_observes_admits", &bucket(1, SECOND, 1));
    for _ in 0..2 {
        story.ask(take("calls", 1).observed());
    }
    story.ask(take("calls", 2).observed());
    story.wait(SECOND).set(vec![take("calls", 1).observed(), take("calls", 1).observed().or()]);
    story.done()
}

fn watched(checks: Vec<CheckSpec>) -> Vec<CheckSpec> {
    checks.into_iter().map(CheckSpec::observed).collect()
}

/// The same steps as `grace_alternative`; they have to leave the same counters.
fn shadow_of_a_grace() -> Case {
    let limits = [("normal", "normal", &bucket(1, SECOND, 2)), ("grace", "grace", &fixed(1, DAY))];
    let mut story = Story::with("a_shadow_falls_back_to_a_grace_once", &limits);
    let set = |units| watched(vec![take("normal", units), take("grace", 1).or()]);
    for _ in 0..4 {
        story.set(set(1));
        story.set(vec![peek("normal"), peek("grace")]);
    }
    story.wait(SECOND).set(set(1));
    story.set(set(1));
    story.wait(DAY).set(set(3));
    story.set(vec![peek("normal"), peek("grace")]);
    story.done()
}

fn shadow_of_three_alternatives() -> Case {
    let limits = [
        ("first", "first", &bucket(1, MINUTE, 1)),
        ("second", "second", &log(2, MINUTE)),
        ("third", "third", &fixed(1, MINUTE)),
        ("all", "all", &sliding(6, MINUTE, 6)),
    ];
    let mut story = Story::with("a_shadow_asks_alternatives_one_after_the_other", &limits);
    let shadow = || watched(vec![take("first", 1), take("second", 1).or(), take("third", 1).or()]);
    let set = || [vec![take("all", 1)], shadow()].concat();
    // The fifth would be refused, and is admitted.
    for _ in 0..5 {
        story.set(set());
    }
    story.ask(reset("second"));
    story.set(set());
    // An enforcing check refuses: nothing is charged, and one alternative is still not needed.
    story.set(set());
    story.set(vec![peek("first"), peek("second"), peek("third"), peek("all")]);
    story.done()
}

fn shadow_is_not_charged_alone() -> Case {
    let limits = [
        ("main", "main", &log(2, MINUTE)),
        ("grace", "grace", &log(2, MINUTE)),
        ("all", "all", &bucket(1, MINUTE, 1)),
    ];
    let mut story = Story::with("a_shadow_of_alternatives_is_charged_with_its_set", &limits);
    let shadow = || watched(vec![take("main", 1), take("grace", 1).or()]);
    story.ask(take("all", 1));
    // Before and after the term that refuses.
    story.set([shadow(), vec![take("all", 1)]].concat());
    story.set([vec![take("all", 1)], shadow()].concat());
    story.ask(take("main", 2));
    story.set([shadow(), vec![take("all", 1)]].concat());
    story.set(vec![peek("main"), peek("grace")]);
    story.wait(MINUTE).set([shadow(), shadow(), shadow(), vec![take("all", 1)]].concat());
    story.set(vec![peek("main"), peek("grace")]);
    story.done()
}

fn shadow_and_rule_in_one_term() -> Case {
    let limits = [
        ("old", "old", &log(2, MINUTE)),
        ("old_grace", "old_grace", &log(2, MINUTE)),
        ("new", "new", &log(1, MINUTE)),
        ("new_grace", "new_grace", &log(2, MINUTE)),
    ];
    let mut story = Story::with("observed_and_enforced_checks_of_a_term_go_apart", &limits);
    let old = || take("old", 1);
    let old_grace = || take("old_grace", 1);
    let new = || take("new", 1).observed();
    let new_grace = || take("new_grace", 1).observed();
    for order in [
        [old(), new().or(), old_grace().or(), new_grace().or()],
        [new(), old().or(), new_grace().or(), old_grace().or()],
        [old(), old_grace().or(), new().or(), new_grace().or()],
        [new(), new_grace().or(), old().or(), old_grace().or()],
    ] {
        // The fifth is refused by the enforcing checks.
        for _ in 0..5 {
            story.set(order.to_vec());
        }
        story.wait(MINUTE);
    }
    // The shadow runs out later than the rule.
    for _ in 0..3 {
        story.set(vec![old(), up_to("new_grace", 0, 1).observed().or(), new().or()]);
    }
    story.done()
}

fn shadow_not_asked_takes_nothing() -> Case {
    let limits = [("main", "main", &log(1, MINUTE)), ("grace", "grace", &log(3, MINUTE))];
    let mut story = Story::with("an_observed_alternative_not_asked_takes_nothing", &limits);
    let shadow = || watched(vec![take("main", 1), take("grace", 2).or()]);
    // The whole grace is left for the checks after it; the next time the shadow takes some of it.
    story.set([shadow(), vec![take("grace", 3)]].concat());
    story.wait(MINUTE).ask(take("main", 1));
    story.set([shadow(), vec![take("grace", 2)]].concat());
    story.set([shadow(), vec![take("grace", 1)]].concat());
    // Two shadows of one main limit: the second sees that the first has used it up.
    story.wait(MINUTE).set([shadow(), shadow(), vec![peek("grace")]].concat());
    story.done()
}

fn shadow_not_asked_does_nothing() -> Case {
    let limits = [("main", "main", &log(1, MINUTE)), ("other", "other", &log(5, MINUTE))];
    let mut story = Story::with("an_observed_alternative_not_asked_is_not_touched", &limits);
    story.ask(take("other", 2));
    let receipt = story.last();
    for direct in [charge("other", 2), settle_of("other", receipt, 0, 0), reset("other")] {
        story.set(vec![peek("main").observed(), direct.observed().or()]);
        story.ask(peek("other"));
    }
    // An unconditional operation admits, so nothing after it is needed.
    story.set(vec![charge("main", 1).observed(), take("other", 1).observed().or()]);
    story.set(vec![take("main", 1).observed(), charge("other", 2).observed().or()]);
    // A wrong clock is corrected only by checks that are evaluated.
    story.back(HOUR).set(vec![peek("main").of("bob").observed(), peek("other").observed().or()]);
    story.wait(HOUR).ask(peek("other"));
    story.done()
}

fn independent_shadows() -> Case {
    let limits = [("main", "main", &log(1, MINUTE)), ("grace", "grace", &log(2, MINUTE))];
    let mut story = Story::with("independent_shadows_fall_back_each_for_itself", &limits);
    let shadow = || watched(vec![take("main", 1), take("grace", 1).or()]);
    let refused = || vec![take("grace", 9)];
    story.independent([refused(), shadow(), shadow()].concat());
    story.independent([shadow(), refused(), shadow()].concat());
    story.set(vec![peek("main"), peek("grace")]);
    story.done()
}

fn independent_same_key() -> Case {
    let mut story = Story::new("independent_terms_see_each_other", &log(3, MINUTE));
    story.independent(vec![take("calls", 2), take("calls", 2), take("calls", 1)]);
    let set = story.last();
    story.independent(vec![settle_of("calls", set, 0, 0), take("calls", 2), take("calls", 1)]);
    story.independent(vec![reset("calls"), take("calls", 4), take("calls", 3), peek("calls")]);
    story.done()
}
