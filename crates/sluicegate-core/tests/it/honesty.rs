//! The predictions in a decision come true, for every algorithm.

use proptest::prelude::*;
use sluicegate_core::{Cost, Limit, Operation, Receipt, Span, State};

use super::counter::{Counter, START, limits, pulse};

#[derive(Debug, Clone, Copy)]
enum Step {
    Take(u64),
    UpTo(u64, u64),
    Wait(u64, u64),
    Charge(u64),
    Reset,
}

fn steps(pulse: u64) -> impl Strategy<Value = Vec<(u64, Step)>> {
    let gap = prop_oneof![3 => Just(0), 2 => 1..=2_u64, 4 => 0..=pulse / 4 + 1, 1 => 0..=pulse * 3];
    let step = prop_oneof![
        6 => (1..=8_u64).prop_map(Step::Take),
        2 => (0..=4_u64, 4..=20_u64).prop_map(|(least, most)| Step::UpTo(least, most)),
        2 => (1..=8_u64, 0..=pulse).prop_map(|(cost, patience)| Step::Wait(cost, patience)),
        2 => (0..=30_u64).prop_map(Step::Charge),
        1 => Just(Step::Reset),
    ];
    prop::collection::vec((gap, step), 1..60)
}

fn traffic() -> impl Strategy<Value = (Limit, Vec<(u64, Step)>)> {
    limits().prop_flat_map(|limit| {
        let steps = steps(pulse(&limit));
        (Just(limit), steps)
    })
}

fn ask(step: Step) -> Operation {
    let cost = |units| Cost::new(units).expect("a cost");
    match step {
        Step::Take(units) => Operation::acquire(cost(units)),
        Step::UpTo(least, most) => Operation::up_to(cost(most), cost(least)),
        Step::Wait(units, patience) => Operation::wait(cost(units), Span::from_micros(patience)),
        Step::Charge(units) => Operation::Charge(cost(units)),
        Step::Reset => Operation::Reset,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, ..ProptestConfig::default() })]

    /// A retry after exactly the given time is admitted, and a microsecond earlier it is too
    /// early. Where the time is unknown, it is absent, with the reason.
    #[test]
    fn retry_after_is_enough_and_tight((limit, steps) in traffic()) {
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            let ask = ask(step);
            let decision = counter.ask(now, ask);
            match decision.retry_after() {
                Some(retry_after) => {
                    prop_assert!(!retry_after.is_zero());
                    let then = now + retry_after.as_micros();
                    prop_assert!(counter.clone().ask(then, ask).is_allowed(), "{ask:?} at {now}");
                    let early = counter.clone().ask(then - 1, ask);
                    prop_assert!(!early.is_allowed(), "{ask:?} at {now}");
                }
                None if decision.is_allowed() => {}
                None => {
                    let reason = decision.refusal().expect("refused").as_str();
                    prop_assert!(reason == "busy" || reason == "cost_above_limit", "{}", reason);
                }
            }
        }
    }

    /// Also right after the limit was changed to another.
    #[test]
    fn retry_after_is_tight_when_the_limit_has_just_changed(
        (limit, steps) in traffic(),
        (other, last) in traffic(),
    ) {
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            counter.ask(now, ask(step));
        }
        counter.limit = other;
        for (gap, step) in last.into_iter().take(3) {
            now += gap;
            let ask = ask(step);
            if let Some(retry_after) = counter.ask(now, ask).retry_after() {
                let then = now + retry_after.as_micros();
                prop_assert!(counter.clone().ask(then, ask).is_allowed(), "{ask:?} at {now}");
                prop_assert!(!counter.clone().ask(then - 1, ask).is_allowed(), "{ask:?} at {now}");
            }
        }
    }

    /// After `reset_after` the counter is as if never used, and not before.
    #[test]
    fn reset_after_is_enough_and_tight((limit, steps) in traffic()) {
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            let decision = counter.ask(now, ask(step));
            let reset = now + decision.reset_after().as_micros();
            let then = counter.clone().take(reset, 0);
            prop_assert_eq!(then.reset_after(), Span::ZERO);
            prop_assert_eq!(then.remaining(), counter.limit.capacity());
            if reset > now {
                let early = counter.clone().take(reset - 1, 0);
                prop_assert!(!early.reset_after().is_zero());
            }
            let recovered_at = counter.limit.recovered_at(&counter.cell[0]).as_micros();
if reset > now {
                prop_assert_eq!(recovered_at, reset, "dropped too early, or kept too long");
            }
        }
    }

    /// `remaining` is what can still be taken, one by one; it never grows without time passing.
    #[test]
    fn remaining_can_be_taken_and_no_more((limit, steps) in traffic()) {
        prop_assume!(limit.uses_up());
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            counter.ask(now, ask(step));
            let mut rest = counter.clone();
            let mut remaining = rest.take(now, 0).remaining();
            while remaining > 0 {
                let decision = rest.take(now, 1);
                prop_assert!(decision.is_allowed());
                prop_assert_eq!(decision.remaining(), remaining - 1);
                prop_assert_eq!(decision.limit(), counter.limit.capacity());
                remaining -= 1;
            }
            prop_assert!(!rest.take(now, 1).is_allowed());
        }
    }

    /// A refund at the same time leaves no trace, and the rest of the units is still there.
    #[test]
    fn a_refund_at_once_leaves_nothing_behind(
        limit in limits(),
        (first, second) in (1..=6_u64, 1..=6_u64),
        gap in 0..=3_000_u64,
    ) {
        prop_assume!(limit.uses_up());
        let mut counter = Counter::new(limit);
        let cost = |units: u64| units.min(counter.limit.capacity());
        let (first, second) = (cost(first), cost(second));
        let refund = |receipt: Receipt| Operation::Settle { receipt, actual: Cost::ZERO };
        let one = *counter.take(START, first).receipt().expect("a fresh counter has room");
        let now = START + gap;
        let before = counter.clone().take(now, 0);
        if let Some(two) = counter.take(now, second).receipt().copied() {
            prop_assert!(counter.ask(now, refund(two)).is_allowed());
            let after = counter.take(now, 0);
            prop_assert_eq!(after.remaining(), before.remaining());
            prop_assert_eq!(after.reset_after(), before.reset_after());
        }
        counter.ask(now, refund(one));
        prop_assert_eq!(counter.take(now, 0).remaining(), counter.limit.capacity());
        if gap == 0 {
            prop_assert_eq!(&counter.cell[0], &State::Vacant);
        }
    }

    /// A refusal and a peek change nothing at all.
    #[test]
    fn refusals_and_peeks_change_nothing((limit, steps) in traffic()) {
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            let before = counter.cell.clone();
            counter.take(now, 0);
            prop_assert_eq!(&counter.cell, &before);
            if !counter.ask(now, ask(step)).is_allowed() {
                prop_assert_eq!(&counter.cell, &before);
            }
        }
    }

    /// A clock that is set back grants nothing, and no caller is locked out for longer than a
    /// recovery from then on (two where a debt is allowed), plus the clock slack.
    #[test]
    fn a_clock_set_back_mints_nothing_and_locks_out_no_caller(
        (limit, steps) in traffic(),
        back in prop_oneof![1..=1_000_000_u64, 1_000_000..=400_000_000_000_000_u64],
    ) {
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            counter.ask(now, ask(step));
        }
        let left = counter.take(now, 0).remaining();
        let earlier = now - back;
        prop_assert!(counter.take(earlier, 0).remaining() <= left, "minted");
        let decision = counter.take(earlier, 1);
        if let Some(retry_after) = decision.retry_after() {
            let recovery = match counter.limit.algorithm() {
                // An escalated block may be the longest one.
                "cooldown" => pulse(&counter.limit) * 2 + 25_000,
                // Blocks leave a window one block after its end.
                _ => pulse(&counter.limit) * 2,
            };
            prop_assert!(retry_after.as_micros() <= recovery + 1_000_000, "{retry_after}");
        }
    }

    /// A jump forward grants at most the refill of the time that seems to have passed: a fresh
    /// budget.
    #[test]
    fn a_clock_that_jumps_a_year_gives_one_budget((limit, steps) in traffic()) {
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            counter.ask(now, ask(step));
        }
        let later = now + 365 * 86_400_000_000;
        prop_assert_eq!(counter.take(later, 0).remaining(), counter.limit.capacity());
    }

    /// A cost above the capacity is refused for ever, with that reason, and 0 is not.
    #[test]
    fn odd_costs_have_right_answers(limit in limits(), cost in any::<u64>()) {
        let Ok(cost) = Cost::new(cost) else { return Ok(()) };
        let counter = Counter::new(limit);
        let decision = counter.try_take(START, cost.units());
        let possible = cost.units() <= counter.limit.capacity()
            || !counter.limit.uses_up();
        prop_assert_eq!(decision.is_allowed(), possible);
        if !possible {
            let refusal = decision.refusal().map(sluicegate_core::Refusal::as_str);
            prop_assert_eq!(refusal, Some("cost_above_limit"));
            prop_assert_eq!(decision.retry_after(), None);
        }
    }

    /// Changing a limit under load grants no second burst. (Windows and logs keep their counts:
    /// the oracle's walks cover that.)
    #[test]
    fn a_changed_quota_gives_no_second_burst((limit, steps) in traffic(), other in limits()) {
        let mut counter = Counter::new(limit);
        let mut now = START;
        for (gap, step) in steps {
            now += gap;
            counter.ask(now, ask(step));
        }
        counter.ask(now, Operation::Charge(Cost::from(1_000)));
        let before = counter.take(now, 0);
        let old = std::mem::replace(&mut counter.limit, other);
        let after = counter.take(now, 0);
        let buckets = ["token_bucket", "leaky_bucket", "queue"];
        let [was, is] = [old.algorithm(), counter.limit.algorithm()]
            .map(|algorithm| if buckets.contains(&algorithm) { "bucket" } else { algorithm });
        if was != is {
            prop_assert_eq!(after.remaining(), 0, "another algorithm starts exhausted");
        } else if is == "bucket" {
            // Its time is kept, to the next part of a microsecond, or it is exhausted.
            let moved = after.reset_after().as_micros().abs_diff(before.reset_after().as_micros());
            prop_assert!(moved <= 1 || after.remaining() == 0);
        }
    }
}
