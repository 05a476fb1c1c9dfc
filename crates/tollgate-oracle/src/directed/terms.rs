//! Cases of terms: alternatives, observed checks, and terms that stand for themselves.

use super::sets::{bucket, fixed, log, sliding};
use super::story::{DAY, MINUTE, SECOND, Story, peek, reset, settle_of, take};
use crate::trace::Case;

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    vec![
        grace_alternative(),
        own_share_else_borrow(),
        three_alternatives(),
        observe_within_a_term(),
        observe_alone_admits(),
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
    let mut story = Story::with("an_observed_alternative_is_always_asked", &limits);
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

fn independent_same_key() -> Case {
    let mut story = Story::new("independent_terms_see_each_other", &log(3, MINUTE));
    story.independent(vec![take("calls", 2), take("calls", 2), take("calls", 1)]);
    let set = story.last();
    story.independent(vec![settle_of("calls", set, 0, 0), take("calls", 2), take("calls", 1)]);
    story.independent(vec![reset("calls"), take("calls", 4), take("calls", 3), peek("calls")]);
    story.done()
}
