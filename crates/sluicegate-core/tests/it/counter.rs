//! One counter of one limit, used step by step, and random traffic for it.

use proptest::option;
use proptest::prelude::*;
use sluicegate_core::{
    CellRef, ChargeId, Check, Cooldown, Cost, Decision, Escalation, Limit, Operation, Period,
    Quota, Ruling, Set, Slices, Span, State, Time, decide,
};

/// 2026-01-01T00:00:00Z: a whole number of every period used here.
pub(crate) const START: u64 = 1_767_225_600_000_000;

/// One counter.
#[derive(Debug, Clone)]
pub(crate) struct Counter {
    pub(crate) limit: Limit,
    pub(crate) cell: [State; 1],
    sets: u128,
}

impl Counter {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { limit, cell: [State::Vacant], sets: 0 }
    }

    pub(crate) fn ask(&mut self, now: u64, ask: Operation) -> Decision {
        let now = Time::from_micros(now);
        let check = in_period(Check::new(&self.limit, b"key").with_operation(ask), now);
        self.sets += 1;
        let set = Set::one(&check, ChargeId::from_bits(self.sets << 8));
        let mut decisions = [None];
        // Each settlement is stored in a cell of its own.
        let [cell] = &mut self.cell;
        let mut cells = [std::mem::take(cell), State::Vacant];
        let place = CellRef::cell(0).remembered_in(1);
        let ruling = decide(&set, now, &[place], &mut cells, &mut decisions);
        *cell = std::mem::take(&mut cells[0]);
        let decision = decisions[0].expect("one check, one decision");
        assert_eq!(ruling == Ruling::Admitted, decision.is_allowed());
        decision
    }

    pub(crate) fn take(&mut self, now: u64, cost: u64) -> Decision {
        self.ask(now, Operation::acquire(Cost::new(cost).expect("a cost")))
    }

    /// Returns the decision of a take, without taking.
    pub(crate) fn try_take(&self, now: u64, cost: u64) -> Decision {
        self.clone().take(now, cost)
    }
}

/// Returns the check with its calendar window, where its limit needs one.
pub(crate) fn in_period(check: Check<'_>, now: Time) -> Check<'_> {
    if check.limit().calendar().is_none() {
        return check;
    }
    let length = check.limit().recovery().expect("a window of fixed length").as_micros();
    let start = now.as_micros() / length * length;
    let end = Time::from_micros(start + length);
    check.within(Period::new(Time::from_micros(start), end).expect("a period"))
}

/// An arrival: the time since the one before, and the cost.
pub(crate) type Arrival = (u64, u64);

/// Arrivals whose gaps range from none to beyond a whole recovery.
pub(crate) fn arrivals(recovery: u64, most: u64) -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![
        3 => Just(0),
        2 => 1..=2_u64,
        4 => 0..=recovery / 8 + 1,
        2 => 0..=recovery,
        1 => recovery..=recovery * 2,
    ];
    prop::collection::vec((gap, 1..=most), 1..120)
}

/// Returns the admitted arrivals of a counter, as (time, cost).
pub(crate) fn admitted(counter: &mut Counter, arrivals: &[Arrival]) -> Vec<(u64, u64)> {
    let mut now = START;
    let mut admitted = Vec::new();
    for (gap, cost) in arrivals {
        now += gap;
        if counter.take(now, *cost).is_allowed() {
            admitted.push((now, *cost));
        }
    }
    admitted
}

/// The most that was admitted in any interval `(t - length, t]`.
pub(crate) fn most_within(admitted: &[(u64, u64)], length: u64) -> u64 {
    let within = |end: u64| {
        admitted
            .iter()
            .filter(move |(at, _)| *at <= end && at + length > end)
            .map(|(_, cost)| cost)
            .sum()
    };
    admitted.iter().map(|(at, _)| within(*at)).max().unwrap_or(0)
}

pub(crate) fn quota(amount: u64, period_us: u64) -> Quota {
    Quota::new(amount, Span::from_micros(period_us)).expect("a quota")
}

/// Amounts and periods that divide and that do not.
pub(crate) fn rates() -> impl Strategy<Value = (u64, u64)> {
    let period = prop_oneof![
        Just(1_000_000_u64),
        Just(3_000_000),
        Just(60_000_000),
        Just(999_983),
        1..=5_000_u64
    ];
    (1..=20_u64, period)
}

/// Limits of every algorithm, small enough that their edges are reached.
pub(crate) fn limits() -> impl Strategy<Value = Limit> {
    let bucket = |make: fn(&'static str, Quota) -> Result<Limit, sluicegate_core::LimitError>| {
        (rates(), 1..=12_u64).prop_map(move |((amount, period), burst)| {
            let quota = quota(amount, period).with_burst(burst).expect("a burst");
            make("limit", quota).expect("a limit")
        })
    };
    let window = (1..=12_u64, 1..=6_u32, 1..=5_000_u64, any::<bool>()).prop_map(
        |(amount, slices, block, strict)| {
            let quota = quota(amount, u64::from(slices) * block);
            let slices = if strict { Slices::Strict(slices) } else { Slices::Weighted(slices) };
            Limit::sliding_window("limit", quota, slices).expect("a limit")
        },
    );
    let concurrency = (1..=6_u32, 1..=5_000_u64).prop_map(|(slots, lease)| {
        Limit::concurrency("limit", slots, Span::from_micros(lease)).expect("a limit")
    });
    prop_oneof![
        3 => bucket(Limit::token_bucket),
        1 => bucket(Limit::leaky_bucket),
        2 => bucket(Limit::queue),
        1 => (1..=12_u64, 1..=3_u64).prop_map(|(amount, seconds)| {
            Limit::fixed_window("limit", quota(amount, seconds * 1_000_000)).expect("a limit")
        }),
        3 => window,
        2 => (1..=12_u64, 1..=5_000_u64).prop_map(|(amount, window)| {
            Limit::sliding_log("limit", quota(amount, window)).expect("a limit")
        }),
        1 => concurrency,
        1 => cooldowns(),
    ]
}

fn cooldowns() -> impl Strategy<Value = Limit> {
    let options = (any::<bool>(), option::of(1..=5_000_u64), any::<bool>());
    (1..=5_u64, 1..=5_000_u64, 1..=5_000_u64, options).prop_map(
        |(after, within, block, (escalates, pending, reset_on_success))| {
            let max = Span::from_micros(block * 5);
            let cooldown = Cooldown {
                after,
                within: Span::from_micros(within),
                block: Span::from_micros(block),
                escalation: escalates.then_some(Escalation { factor: 2, max }),
                pending: pending.map(Span::from_micros),
                reset_on_success,
            };
            Limit::cooldown("limit", cooldown).expect("a limit")
        },
    )
}

/// A number of microseconds in which something changes in a limit.
pub(crate) fn pulse(limit: &Limit) -> u64 {
    limit.recovery().map_or(3_000, Span::as_micros).max(1)
}
