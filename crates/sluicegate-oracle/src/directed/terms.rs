//! Cases of terms: alternatives and independent terms.

use super::sets::{bucket, fixed, log, sliding};
use super::story::{DAY, HOUR, MINUTE, SECOND, Story, charge, peek, reset, settle_of, take};
use crate::trace::Case;

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    vec![
        grace_alternative(),
        own_share_else_borrow(),
        three_alternatives(),
        alternative_not_asked_takes_nothing(),
        alternative_not_asked_does_nothing(),
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

fn alternative_not_asked_takes_nothing() -> Case {
    let limits = [("main", "main", &log(1, MINUTE)), ("grace", "grace", &log(3, MINUTE))];
    let mut story = Story::with("an_alternative_not_asked_takes_nothing", &limits);
    let term = || vec![take("main", 1), take("grace", 2).or()];
    // The whole grace is left for the checks after it; the next time the term takes some of it.
    story.set([term(), vec![take("grace", 3)]].concat());
    story.wait(MINUTE).ask(take("main", 1));
    story.set([term(), vec![take("grace", 2)]].concat());
    story.set([term(), vec![take("grace", 1)]].concat());
    // Two terms of one main limit: the second sees that the first has used it up.
    story.wait(MINUTE).set([term(), term(), vec![peek("grace")]].concat());
    story.done()
}

fn alternative_not_asked_does_nothing() -> Case {
    let limits = [("main", "main", &log(1, MINUTE)), ("other", "other", &log(5, MINUTE))];
    let mut story = Story::with("an_alternative_not_asked_is_not_touched", &limits);
    story.ask(take("other", 2));
    let receipt = story.last();
    for direct in [charge("other", 2), settle_of("other", receipt, 0, 0), reset("other")] {
        story.set(vec![peek("main"), direct.or()]);
        story.ask(peek("other"));
    }
    // An unconditional operation admits, so nothing after it is needed.
    story.set(vec![charge("main", 1), take("other", 1).or()]);
    story.set(vec![take("main", 1), charge("other", 2).or()]);
    // A wrong clock is corrected only by checks that are evaluated.
    story.back(HOUR).set(vec![peek("main").of("bob"), peek("other").or()]);
    story.wait(HOUR).ask(peek("other"));
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
