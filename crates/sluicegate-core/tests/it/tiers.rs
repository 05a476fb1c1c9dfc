//! Changes of tier: units carry over, once, and never as a debt.

use proptest::prelude::*;
use sluicegate_core::{
    CellRef, ChargeId, Check, Cooldown, Cost, Decision, Limit, LimitError, Operation, Quota,
    Ruling, Set, Slices, Span, State, Time, decide,
};

use super::counter::{START, arrivals, in_period, quota, rates};

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;

type LimitConstructor = fn(&'static str, Quota) -> Result<Limit, LimitError>;

/// One counter, which is read under one limit and then another, with the marker of its change of
/// tier.
#[derive(Debug, Clone)]
struct TieredCaller {
    cells: [State; 2],
    sets: u128,
}

impl TieredCaller {
    fn new() -> Self {
        Self { cells: [State::Vacant, State::Vacant], sets: 0 }
    }

    fn apply<const N: usize>(
        &mut self,
        now: u64,
        checks: [Check<'_>; N],
    ) -> (Ruling, [Decision; N]) {
        let now = Time::from_micros(now);
        let checks = checks.map(|check| in_period(check, now));
        self.sets += 1;
        let set = Set::all(&checks, ChargeId::from_bits(self.sets << 8));
        let mut decisions = [None; N];
        let places = [CellRef::cell(0).remembered_in(1); N];
        let ruling = decide(&set, now, &places, &mut self.cells, &mut decisions);
        (ruling, decisions.map(|decision| decision.expect("asked")))
    }

    fn ask(&mut self, now: u64, limit: &Limit, ask: Operation) -> Decision {
        let (_, [decision]) = self.apply(now, [Check::new(limit, "key").with_operation(ask)]);
        decision
    }

    fn take(&mut self, now: u64, limit: &Limit, units: u32) -> Decision {
        self.ask(now, limit, Operation::acquire(Cost::from(units)))
    }

    /// Returns the decision of a request that carries over from another tier.
    fn take_after(&mut self, now: u64, from: Quota, limit: &Limit, units: u32) -> Decision {
        let check = Check::new(limit, "key");
        let take = check.cost(Cost::from(units));
        let (_, [rescaled, taken]) = self.apply(now, [check.with_operation(rescale(from)), take]);
        assert!(rescaled.is_allowed(), "it never stands in the way");
        assert_eq!((rescaled.granted(), rescaled.receipt()), (0, None));
        taken
    }
}

fn bucket(text: &str) -> Limit {
    Limit::token_bucket("api", parsed(text)).expect("a limit")
}

fn parsed(text: &str) -> Quota {
    text.parse().expect("a quota")
}

fn rescale(from: Quota) -> Operation {
    Operation::Rescale { from, id: ChargeId::from_bits(u128::MAX) }
}

#[test]
fn units_used_before_are_used_after_and_never_more_than_a_capacity() {
    let cases = [
        // from, used of it, to, left of that
        ("100/min", 90, "10000/min", 9_910),
        ("10000/min", 9_000, "100/min", 0),
        ("10000/min", 40, "100/min", 60),
        ("100/min", 100, "10000/min", 9_900),
        ("100/min burst 20", 20, "7/3s burst 30", 10),
        ("7/3s", 5, "333333/s burst 9", 4),
        ("100/day", 100, "10/s", 0),
        ("10/s", 10, "100/day", 90),
        ("1/us burst 50", 50, "100/min", 50),
    ];
    for (from, used, to, left) in cases {
        let makes: [LimitConstructor; 2] = [Limit::token_bucket, Limit::leaky_bucket];
        for make in makes {
            let limit = |text| make("api", parsed(text)).expect("a limit");
            let mut caller = TieredCaller::new();
            assert!(caller.take(START, &limit(from), used).is_allowed());
            let now = caller.take_after(START, parsed(from), &limit(to), 0);
            assert_eq!(now.remaining(), left, "{used} of {from} under {to}");
            assert!(now.is_allowed(), "exhausted, and not in debt");
        }
    }
}

#[test]
fn a_part_of_a_unit_counts_as_a_whole_one() {
    for (waited, left) in
        [(0, 9_910), (1, 9_910), (600_000 - 1, 9_910), (600_000, 9_911), (600_001, 9_911)]
    {
        let mut caller = TieredCaller::new();
        caller.take(START, &bucket("100/min"), 90);
        let now = START + waited;
        let found = caller.take_after(now, parsed("100/min"), &bucket("10000/min"), 0);
        assert_eq!(found.remaining(), left, "after {waited} us");
    }
}

#[test]
fn a_debt_carries_over_as_units_and_not_as_a_debt() {
    for (to, left) in [("10000/min", 9_850), ("151/min", 1), ("150/min", 0), ("20/min", 0)] {
        let mut caller = TieredCaller::new();
        caller.ask(START, &bucket("100/min"), Operation::Charge(Cost::from(150)));
        let found = caller.take_after(START, parsed("100/min"), &bucket(to), 0);
        assert!(found.is_allowed(), "{to}: in debt not even a peek is");
        assert_eq!(found.remaining(), left, "{to}");
    }
}

#[test]
fn a_queue_keeps_its_line_in_places() {
    let make = |text| Limit::queue("api", parsed(text)).expect("a limit");
    let (slow, quick) = (make("1/s burst 4"), make("10/s burst 9"));
    let mut caller = TieredCaller::new();
    for _ in 0..5 {
        assert!(caller.take(START, &slow, 1).is_allowed());
    }
    let turn = caller.take_after(START, parsed("1/s burst 4"), &quick, 1);
    assert_eq!(turn.delay(), Span::from_millis(500), "behind five that take a tenth of a second");
    assert_eq!(turn.remaining(), 4);
}

#[test]
fn a_slow_tier_is_not_taken_for_a_wrong_clock() {
    let mut caller = TieredCaller::new();
    caller.take(START, &bucket("100/day"), 60);
    let found = caller.take_after(START, parsed("100/day"), &bucket("100/s"), 1);
    assert_eq!(found.remaining(), 39, "hours ahead, and believed");
}

#[test]
fn a_clock_that_was_wrong_before_the_change_leaves_one_old_capacity_used() {
    let mut caller = TieredCaller::new();
    caller.take(START, &bucket("100/min"), 1);
    let found = caller.take_after(START - 60 * MINUTE, parsed("100/min"), &bucket("10000/min"), 0);
    assert_eq!(found.remaining(), 9_900);
}

#[test]
fn the_slack_of_a_clock_is_not_read_as_units() {
    let mut caller = TieredCaller::new();
    caller.take(START, &bucket("10/us"), 10);
    let found = caller.take_after(START - SECOND / 2, parsed("10/us"), &bucket("10000/min"), 0);
    assert_eq!(found.remaining(), 9_980, "a burst and a debt, not five millions");
}

#[test]
fn a_change_counts_once_however_often_it_arrives() {
    let (from, to) = (parsed("100/min"), bucket("10000/min"));
    let mut caller = TieredCaller::new();
    caller.take(START, &bucket("100/min"), 90);
    caller.take_after(START, from, &to, 1_000);
    let found = caller.take_after(START, from, &to, 0);
    assert_eq!(found.remaining(), 8_910, "not 11 units, which is what `from` makes of 1090");
}

#[test]
fn a_change_that_found_nothing_to_carry_over_counts_as_well() {
    let (from, to) = (parsed("100/min"), bucket("10000/min"));
    let mut caller = TieredCaller::new();
    assert!(caller.take_after(START, from, &to, 5_000).is_allowed());
    assert_eq!(caller.take_after(START, from, &to, 0).remaining(), 5_000);
}

#[test]
fn a_change_may_come_with_every_request() {
    for (from, to) in [("100/min", "10000/min"), ("10000/min", "100/min"), ("5/s", "7/s")] {
        let (from, to) = (parsed(from), bucket(to));
        let (mut shadowed, mut spared) = (TieredCaller::new(), TieredCaller::new());
        // So often that some units are always used, and sometimes after a long pause.
        let half = u32::try_from(to.capacity() / 2).expect("small");
        let recovery = to.recovery().expect("a bucket recovers").as_micros();
        let mut now = START;
        for step in 0..2_000 {
            now += recovery / 3 + if step % 97 == 0 { 5 * MINUTE } else { 0 };
            let riding = shadowed.take_after(now, from, &to, half);
            let alone = spared.take(now, &to, half);
            assert_eq!(riding.answer(), alone.answer(), "step {step}");
            assert_eq!(riding.remaining(), alone.remaining(), "step {step}");
        }
    }
}

#[test]
fn a_debt_in_the_new_tier_outlasts_one_recovery_and_its_marker_too() {
    let (from, to) = (parsed("5/s"), bucket("200/min"));
    let mut caller = TieredCaller::new();
    caller.take_after(START, from, &to, 1);
    let charge = Check::new(&to, "key").with_operation(Operation::Charge(Cost::from(399)));
    caller.apply(START, [charge]);
    let later = START + 119 * SECOND;
    assert_eq!(caller.take_after(later, from, &to, 0).reset_after(), Span::from_secs(1));
}

#[test]
fn the_retry_time_of_a_refused_set_is_correct() {
    for (from, to) in [("10000/min", "100/min"), ("100/day", "10/s"), ("10/s", "100/day")] {
        let (used, to) = (bucket(from).capacity(), bucket(to));
        let from_limit = bucket(from);
        let mut caller = TieredCaller::new();
        caller.ask(START, &from_limit, Operation::acquire(Cost::new(used).expect("a cost")));
        let all = u32::try_from(to.capacity()).expect("small");
        let refused = caller.take_after(START, parsed(from), &to, all);
        let wait = refused.retry_after().expect("exhausted").as_micros();
        let try_again = |now| caller.clone().take_after(now, parsed(from), &to, all).is_allowed();
        assert!(!try_again(START + wait - 1), "{from}");
        assert!(try_again(START + wait), "{from}");
    }
}

#[test]
fn a_refused_set_has_carried_over_and_charged_nothing() {
    let (from, to) = (parsed("100/min"), bucket("10000/min"));
    let mut caller = TieredCaller::new();
    caller.take(START, &bucket("100/min"), 90);
    let refused = caller.take_after(START, from, &to, 10_000);
    assert!(!refused.is_allowed());
    assert_eq!((refused.granted(), refused.remaining()), (0, 9_910));
    assert_eq!(caller.take_after(START, from, &to, 0).remaining(), 9_910);
}

#[test]
fn it_runs_first_wherever_in_the_set_it_is() {
    let (from, to) = (parsed("100/min"), bucket("10000/min"));
    let mut caller = TieredCaller::new();
    caller.take(START, &bucket("100/min"), 90);
    let check = Check::new(&to, "key");
    let change = check.with_operation(rescale(from));
    let (ruling, [taken, changed]) = caller.apply(START, [check.cost(Cost::from(9_910)), change]);
    assert_eq!(ruling, Ruling::Admitted);
    assert_eq!((taken.remaining(), changed.remaining()), (0, 0));
}

#[test]
fn a_quota_that_was_never_this_limit_s_changes_nothing() {
    let months = Quota::per_months(100, 1).expect("a quota");
    let none = parsed("100/min").with_burst(0).expect("a quota");
    let inexact = quota(Quota::MAX_AMOUNT - 1, SECOND);
    for from in [months, none, inexact] {
        let to = bucket("10/min");
        let mut caller = TieredCaller::new();
        caller.take(START, &to, 4);
        let before = caller.cells.clone();
        assert_eq!(caller.take_after(START, from, &to, 0).remaining(), 6);
        assert_eq!(caller.cells, before, "nor is there anything to remember");
    }
}

#[test]
fn counting_limits_keep_their_count() {
    let (small, large) = (quota(10, MINUTE), quota(100, MINUTE));
    let cooldown = |after| {
        let (within, block) = (Span::from_secs(60), Span::from_secs(60));
        Limit::cooldown(
            "api",
            Cooldown {
                after,
                within,
                block,
                escalation: None,
                pending: None,
                reset_on_success: false,
            },
        )
    };
    let slices = Slices::Strict(6);
    let pairs = [
        (Limit::fixed_window("api", small), Limit::fixed_window("api", large)),
        (Limit::sliding_log("api", small), Limit::sliding_log("api", large)),
        (Limit::sliding_window("api", small, slices), Limit::sliding_window("api", large, slices)),
        (
            Limit::concurrency("api", 10, Span::from_secs(60)),
            Limit::concurrency("api", 100, Span::from_secs(60)),
        ),
        (cooldown(10), cooldown(100)),
    ];
    for (from, to) in pairs {
        let (from, to) = (from.expect("a limit"), to.expect("a limit"));
        let mut caller = TieredCaller::new();
        caller.ask(START, &from, Operation::Charge(Cost::from(8)));
        assert_eq!(Check::new(&to, "key").with_operation(rescale(small)).settles(), None, "{to:?}");
        let found = caller.take_after(START, small, &to, 0);
        assert_eq!(found.remaining(), 92, "{to:?}");
        assert_eq!(caller.cells[1], State::Vacant, "nothing was remembered");
    }
}

#[test]
fn state_of_another_algorithm_is_exhausted() {
    let log = Limit::sliding_log("api", parsed("10/min")).expect("a limit");
    let mut caller = TieredCaller::new();
    caller.take(START, &log, 1);
    let found = caller.take_after(START, parsed("10/min"), &bucket("1000/min"), 0);
    assert_eq!(found.remaining(), 0);
}

proptest! {
    /// The units left under the old quota determine the used ones, which carry over.
    #[test]
    fn as_many_units_are_used_as_were(
        (before, after) in (rates(), rates()),
        (burst, new_burst) in (1..=12_u64, 1..=24_u64),
        traffic in arrivals(3_000_000, 6),
        queues in any::<bool>(),
    ) {
        let with_burst = |(amount, period), burst| {
            quota(amount, period).with_burst(burst).expect("a burst")
        };
        let make = |quota| {
            let make: LimitConstructor = if queues { Limit::queue } else { Limit::token_bucket };
            make("api", quota).expect("a limit")
        };
        let from = with_burst(before, burst);
        let (old, new) = (make(from), make(with_burst(after, new_burst)));
        let mut caller = TieredCaller::new();
        let mut now = START;
        for (gap, cost) in traffic {
            now += gap;
            caller.take(now, &old, u32::try_from(cost).expect("small"));
            let used = old.capacity() - caller.clone().take(now, &old, 0).remaining();
            let mut changed = caller.clone();
            let found = changed.take_after(now, from, &new, 0);
            prop_assert_eq!(found.remaining(), new.capacity() - used.min(new.capacity()));
            prop_assert_eq!(changed.take_after(now, from, &new, 0), found, "and once");
        }
    }
}
