//! States outside of the core: encoded, shifted in time, and weighed by their use.

// Long because it has one table of states for all algorithms.

use proptest::prelude::*;
use proptest::sample::Index;
use sluicegate_core::{
    Algorithm, CellRef, ChargeId, Check, Cooldown, Cost, Decision, Escalation, Limit, LimitError,
    Operation, Receipt, Refusal, Set, Slices, Span, State, Time, decide,
};

use super::counter::{Counter, START, in_period, limits, pulse, quota};

/// The operation of one step, the time since the one before, and the units.
#[derive(Debug, Clone)]
struct Step {
    gap: u64,
    kind: u8,
    units: u64,
    receipt: Index,
}

/// A limit and steps whose gaps range from none to beyond a whole recovery.
fn traffic() -> impl Strategy<Value = (Limit, Vec<Step>)> {
    traffic_of(limits())
}

fn slides(limit: &Limit) -> bool {
    limit.spec().algorithm() == Some(Algorithm::SlidingWindow)
}

fn traffic_of(limits: impl Strategy<Value = Limit>) -> impl Strategy<Value = (Limit, Vec<Step>)> {
    let indebted = |(limit, debt): (Limit, bool)| if debt { limit } else { limit.without_debt() };
    (limits, any::<bool>()).prop_map(indebted).prop_flat_map(|limit| {
        let pulse = pulse(&limit);
        let gap = prop_oneof![
            3 => Just(0),
            2 => 1..=2_u64,
            4 => 0..=pulse / 8 + 1,
            2 => 0..=pulse,
            1 => pulse..=pulse * 2,
        ];
        let step = (gap, 0..8_u8, 0..=6_u64, any::<Index>())
            .prop_map(|(gap, kind, units, receipt)| Step { gap, kind, units, receipt });
        (Just(limit), prop::collection::vec(step, 1..60))
    })
}

fn cost(units: u64) -> Cost {
    Cost::new(units).expect("a cost")
}

/// The operation of a step; receipts are settled and renewed once there are some.
fn ask(step: &Step, receipts: &[Receipt]) -> Operation {
    let units = cost(step.units);
    let receipt = (!receipts.is_empty()).then(|| *step.receipt.get(receipts));
    match (step.kind, receipt) {
        (0, _) => Operation::Charge(units),
        (1, Some(receipt)) => Operation::Settle { receipt, actual: units },
        (2, Some(receipt)) => Operation::Renew(receipt),
        (3, _) => Operation::wait(units, Span::from_micros(step.gap * 2)),
        (4, _) => Operation::up_to(units, Cost::ZERO),
        _ => Operation::acquire(units),
    }
}

/// Applies the steps to a counter and shows it after each, with the time.
fn walk(limit: Limit, steps: &[Step], mut look: impl FnMut(&Counter, u64)) {
    let mut counter = Counter::new(limit);
    let mut receipts = Vec::new();
    let mut now = START;
    for step in steps {
        now += step.gap;
        let decision = counter.ask(now, ask(step, &receipts));
        receipts.extend(decision.receipt());
        look(&counter, now);
    }
}

fn rescale(from: sluicegate_core::Quota) -> Operation {
    Operation::Rescale { from, id: ChargeId::from_bits(1) }
}

fn encoded(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.encode(&mut bytes);
    bytes
}

/// Limits of every kind, small and as large as they get.
fn all_kinds() -> Vec<Limit> {
    let (long, most) = (Span::MAX.as_micros(), sluicegate_core::Quota::MAX_AMOUNT);
    let cooldown = |after, within, block, pending: Option<Span>| {
        let escalation = Some(Escalation { factor: 2, max: block });
        let reset_on_success = pending.is_some();
        let cooldown = Cooldown { after, within, block, escalation, pending, reset_on_success };
        Limit::cooldown("limit", cooldown)
    };
    let limits = [
        Limit::token_bucket("limit", quota(5, 1_000)),
        Limit::token_bucket("limit", quota(7, 3_000_000)),
        Limit::token_bucket("limit", quota(1, long)),
        Limit::leaky_bucket("limit", quota(3, 1_000)),
        Limit::queue("limit", quota(7, 1_000)),
        Limit::fixed_window("limit", quota(5, 1_000_000)),
        Limit::fixed_window("limit", quota(most, 60_000_000)),
        Limit::sliding_window("limit", quota(5, 6_000), Slices::Weighted(1)),
        Limit::sliding_window("limit", quota(5, 6_000), Slices::Strict(60)),
        Limit::sliding_window("limit", quota(most, long), Slices::Strict(1)),
        Limit::sliding_log("limit", quota(5, 1_000)),
        Limit::sliding_log("limit", quota(1_000, long)),
        Limit::concurrency("limit", 3, Span::from_micros(1_000)),
        Limit::concurrency("limit", u32::MAX, Span::MAX),
        cooldown(3, Span::from_micros(1_000), Span::from_micros(1_000), None),
        cooldown(1_000, Span::MAX, Span::MAX, None),
        cooldown(
            3,
            Span::from_micros(1_000),
            Span::from_micros(1_000),
            Some(Span::from_micros(700)),
        ),
        cooldown(1_000, Span::MAX, Span::MAX, Some(Span::MAX)),
    ];
    limits.into_iter().map(|limit| limit.expect("a limit")).collect()
}

/// Applies every operation to a state, with every kind of limit, at every kind of time: none may
/// panic, and the resulting state can be encoded and decoded again.
fn survives(state: &State) {
    let times = [0, 1, START, START + 999_983, Time::MAX.as_micros()];
    for limit in all_kinds() {
        for now in times.map(Time::from_micros) {
            let mut receipt = None;
            for ask in [
                Operation::acquire(Cost::ONE),
                Operation::peek(),
                Operation::acquire(Cost::MAX),
                Operation::up_to(Cost::MAX, Cost::ZERO),
                Operation::wait(cost(2), Span::MAX),
                Operation::Charge(cost(2)),
                Operation::Charge(Cost::MAX),
                rescale(quota(5, 1_000)),
                rescale(quota(7, 3_000_000)),
                rescale(quota(1, Span::MAX.as_micros())),
                rescale(quota(sluicegate_core::Quota::MAX_AMOUNT, 1)),
            ] {
                receipt = survives_asking(&limit, state, now, ask).receipt().copied().or(receipt);
            }
            if let Some(receipt) = receipt {
                survives_asking(
                    &limit,
                    state,
                    now,
                    Operation::Settle { receipt, actual: Cost::ZERO },
                );
                survives_asking(
                    &limit,
                    state,
                    now,
                    Operation::Settle { receipt, actual: Cost::MAX },
                );
                survives_asking(&limit, state, now, Operation::Renew(receipt));
            }
            limit.recovered_at(state);
            limit.share_used(state, now);
        }
    }
    let mut earlier = state.clone();
    for by in [1, START, u64::MAX] {
        earlier.earlier_by(Span::from_micros(by));
        assert_eq!(State::decode(&mut &encoded(&earlier)[..]).as_ref(), Ok(&earlier));
    }
    state.heap_bytes();
}

fn survives_asking(limit: &Limit, state: &State, now: Time, ask: Operation) -> Decision {
    // The largest time is in no calendar period.
    let in_calendar = limit.calendar().is_none() || now < Time::MAX;
    let now = if in_calendar { now } else { Time::from_micros(now.as_micros() - 1) };
    let check = in_period(Check::new(limit, b"key").with_operation(ask), now);
    let set = Set::one(&check, ChargeId::from_bits(1 << 8));
    let (mut cells, mut decisions) = ([state.clone(), State::Vacant], [None]);
    let place = CellRef::cell(0).remembered_in(1);
    decide(&set, now, &[place], &mut cells, &mut decisions);
    for cell in &cells {
        let again = State::decode(&mut &encoded(cell)[..]);
        assert_eq!(again.as_ref(), Ok(cell), "left by {ask:?} of {limit:?} on {state:?}");
    }
    decisions[0].expect("one check, one decision")
}

/// Corrupts some of the bytes.
fn spoiled(mut bytes: Vec<u8>, blows: &[(Index, u8, u8)]) -> Vec<u8> {
    for (at, kind, byte) in blows {
        let at = at.index(bytes.len().max(1)).min(bytes.len());
        match kind {
            0 => bytes.insert(at, *byte),
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            _ if !bytes.is_empty() => bytes[at] ^= byte,
            _ => {}
        }
    }
    bytes
}

proptest! {
    #[test]
    fn states_round_trip((limit, steps) in traffic()) {
        let mut all = Vec::new();
        let mut states = Vec::new();
        walk(limit, &steps, |counter, _| {
            let [state] = &counter.cell;
            let bytes = encoded(state);
            for length in 0..bytes.len() {
                let mut left = &bytes[..length];
                assert!(State::decode(&mut left).is_err(), "{state:?} in {length} bytes");
                assert_eq!(left.len(), length, "nothing is taken off");
            }
            states.push(state.clone());
            all.extend(bytes);
        });
        let mut left = &all[..];
        for state in states {
            prop_assert_eq!(State::decode(&mut left), Ok(state));
        }
        prop_assert!(left.is_empty());
    }

    /// After any corruption of a file, a state that can still be decoded works with all
    /// operations, and is encoded as it was read.
    #[test]
    fn spoiled_bytes_are_refused_or_harmless(
        (limit, steps) in traffic(),
        blows in prop::collection::vec((any::<Index>(), 0..6_u8, any::<u8>()), 1..4),
    ) {
        let mut state = State::Vacant;
        walk(limit, &steps, |counter, _| state = counter.cell[0].clone());
        let bytes = spoiled(encoded(&state), &blows);
        let mut left = &bytes[..];
        if let Ok(state) = State::decode(&mut left) {
            prop_assert_eq!(encoded(&state), &bytes[..bytes.len() - left.len()]);
            survives(&state);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_harmless(tag in 0..10_u8, bytes in prop::collection::vec(
        prop_oneof![2 => 0..4_u8, 1 => any::<u8>()], 0..40,
    )) {
        let bytes = [vec![tag], bytes].concat();
        let mut left = &bytes[..];
        if let Ok(state) = State::decode(&mut left) {
            prop_assert_eq!(encoded(&state), &bytes[..bytes.len() - left.len()]);
            survives(&state);
        }
    }

    /// The used share is zero exactly when the state is fresh, does not shrink with a charge, and
    /// is the maximum when not even one unit is left.
    #[test]
    fn the_used_share_matches_the_usage((limit, steps) in traffic(), later in 0..=6_000_u64) {
        walk(limit, &steps, |counter, now| {
            let [state] = &counter.cell;
            for now in [now, now + later] {
                let time = Time::from_micros(now);
                let share = counter.limit.share_used(state, time);
                let fresh = counter.limit.recovered_at(state) <= time;
                assert_eq!(share == 0, fresh, "{share} of {state:?} at {time:?}");
                let one = counter.try_take(now, 1);
                let exhausted = matches!(
                    one.refusal(),
                    Some(Refusal::Exhausted { .. } | Refusal::Busy | Refusal::Blocked { .. })
                );
                if exhausted {
                    assert_eq!(share, u16::MAX, "{state:?} at {time:?}: {one:?}");
                }
                for units in [1, 2, 1_000] {
                    let mut charged = counter.clone();
                    charged.ask(now, Operation::Charge(cost(units)));
                    let then = charged.limit.share_used(&charged.cell[0], time);
                    assert!(then >= share, "{then} after {share} of {state:?}");
                }
            }
        });
    }

    /// A state left by another limit never weighs less than it will be read as.
    #[test]
    fn the_share_of_a_foreign_state_is_that_of_its_reading(
        (limit, steps) in traffic(),
        other in limits(),
    ) {
        walk(limit, &steps, |counter, now| {
            let time = Time::from_micros(now);
            let mut mended = Counter::new(other.clone());
            mended.cell = counter.cell.clone();
            let before = other.share_used(&mended.cell[0], time);
            let peek = mended.take(now, 0);
            let one = mended.try_take(now, 1);
            if peek.remaining() == 0 && !one.is_allowed() {
                assert_eq!(before, u16::MAX, "{:?} for {other:?}", counter.cell);
            }
            let after = other.share_used(&mended.cell[0], time);
            assert_eq!(before, after, "{:?} became {:?} for {other:?}", counter.cell, mended.cell);
        });
    }

    /// A state that is shifted back gives the same decisions earlier.
    #[test]
    fn an_earlier_state_gives_the_same_answers_earlier(
        (limit, steps) in traffic(),
        by in prop_oneof![1..=10_000_u64, 1..=START / 2],
        later in 0..=6_000_u64,
    ) {
        let windows = [Algorithm::FixedWindow, Algorithm::SlidingWindow];
        let moves = limit.spec().algorithm().is_none_or(|own| !windows.contains(&own));
        prop_assume!(moves);
        walk(limit, &steps, |counter, now| {
            let mut earlier = counter.clone();
            earlier.cell[0].earlier_by(Span::from_micros(by));
            for now in [now, now + later] {
                let charge = Operation::Charge(cost(3));
                for asked in [Operation::peek(), Operation::acquire(Cost::ONE), charge] {
                    let then = counter.clone().ask(now, asked);
                    let decision = earlier.clone().ask(now - by, asked);
                    let numbers = |it: &Decision| {
                        (it.refusal(), it.remaining(), it.reset_after(), it.delay())
                    };
                    let cell = &counter.cell;
                    assert_eq!(numbers(&decision), numbers(&then), "{asked:?} of {cell:?}");
                }
            }
        });
    }

    /// Blocks that are shifted back keep their counts, or are read as exhausted.
    #[test]
    fn an_earlier_window_gives_nothing_away(
        (limit, steps) in traffic_of(limits().prop_filter("only windows that slide", slides)),
        by in 1..=20_000_u64,
    ) {
        walk(limit, &steps, |counter, now| {
            let mut earlier = counter.clone();
            earlier.cell[0].earlier_by(Span::from_micros(by));
            let (then, decision) = (counter.clone().take(now, 0), earlier.take(now - by, 0));
            assert!(decision.remaining() <= then.remaining(), "{decision:?} for {then:?}");
        });
    }
}

/// Shares in 65,535ths, computed by hand.
#[test]
fn shares_have_the_values_computed_by_hand() {
    const SECOND: u64 = 1_000_000;
    let charged = |limit: Result<Limit, LimitError>, units| {
        let mut counter = Counter::new(limit.expect("a limit"));
        counter.ask(START, Operation::Charge(cost(units)));
        counter
    };
    let assert_shares = |counter: &Counter, shares: &[(u64, u16)]| {
        for (now, share) in shares {
            let [state] = &counter.cell;
            let found = counter.limit.share_used(state, Time::from_micros(*now));
            assert_eq!(found, *share, "{} after {} us", counter.limit.algorithm(), now - START);
        }
    };
    let parsed = |quota: &str| quota.parse().expect("a quota");
    let after = |micros: u64| START + micros;

    let bucket = |units| charged(Limit::token_bucket("limit", parsed("4/s")), units);
    let quarter = SECOND / 4;
    assert_shares(
        &bucket(1),
        &[
            (START, 16_384),
            (after(quarter / 2), 8_192),
            (after(quarter - 1), 1),
            (after(quarter), 0),
        ],
    );
    let last_but_one = (after(quarter - 1), u16::MAX);
    assert_shares(&bucket(4), &[(START, u16::MAX), last_but_one, (after(quarter), 49_152)]);
    assert_shares(&bucket(8), &[(START, u16::MAX), (after(SECOND), u16::MAX)]);
    let odd = charged(Limit::token_bucket("limit", parsed("7/3s")), 1);
    assert_shares(&odd, &[(START, 9_363), (after(428_571), 1), (after(428_572), 0)]);
    let queue = charged(Limit::queue("limit", parsed("1/s burst 3")), 1);
    assert_shares(&queue, &[(START, 16_384)]);

    let window = charged(Limit::fixed_window("limit", parsed("10/min")), 3);
    let minute = 60 * SECOND;
    assert_shares(&window, &[(START, 19_661), (after(minute - 1), 19_661), (after(minute), 0)]);
    let sliding = Limit::sliding_window("limit", parsed("10/min"), Slices::Weighted(1));
    let sliding = charged(sliding, 8);
    let overlap = |eighths: u64| after(minute + minute / 8 * eighths);
    assert_shares(
        &sliding,
        &[(START, 52_428), (overlap(1), 45_875), (overlap(8) - 1, 1), (overlap(8), 0)],
    );
    let log = charged(Limit::sliding_log("limit", parsed("10/min")), 3);
    assert_shares(&log, &[(START, 19_661), (after(minute - 1), 19_661), (after(minute), 0)]);

    let slots = charged(Limit::concurrency("limit", 4, Span::from_secs(1)), 1);
    assert_shares(&slots, &[(START, 16_384), (after(SECOND - 1), 16_384), (after(SECOND), 0)]);

    let escalation = Some(Escalation { factor: 2, max: Span::from_secs(9) });
    let (within, block) = (Span::from_secs(5), Span::from_secs(1));
    let cooldown = || {
        Limit::cooldown(
            "limit",
            Cooldown {
                after: 4,
                within,
                block,
                escalation,
                pending: None,
                reset_on_success: false,
            },
        )
    };
    assert_shares(&charged(cooldown(), 1), &[(START, 16_384), (after(5 * SECOND), 0)]);
    let blocked = charged(cooldown(), 4);
    let row = [(after(SECOND), 32_767), (after(6 * SECOND - 1), 32_767), (after(6 * SECOND), 0)];
    assert_shares(&blocked, &[(START, u16::MAX), (after(SECOND - 1), u16::MAX)]);
    assert_shares(&blocked, &row);

    let pending = Some(Span::from_secs(2));
    let cooldown =
        Cooldown { after: 4, within, block, escalation, pending, reset_on_success: false };
    let mut trying = Counter::new(Limit::cooldown("limit", cooldown).expect("a limit"));
    trying.take(START, 1);
    assert_shares(&trying, &[(START, 16_384), (after(2 * SECOND - 1), 16_384)]);
    assert_shares(&trying, &[(after(2 * SECOND), 0)]);
}

#[test]
fn a_settlement_counts_half_until_it_lapses() {
    let limit = Limit::token_bucket("limit", quota(4, 1_000)).expect("a limit");
    let settled = State::Settled { until: Time::from_micros(START) };
    assert_eq!(limit.share_used(&settled, Time::from_micros(START - 1)), u16::MAX / 2);
    assert_eq!(limit.share_used(&settled, Time::from_micros(START)), 0);
    assert_eq!(limit.share_used(&State::Vacant, Time::EPOCH), 0);
}

/// State from a wrong clock is read as exhausted, and weighs as much.
#[test]
fn state_of_a_wrong_clock_is_exhausted() {
    let slack = Span::CLOCK_SLACK.as_micros();
    let parsed = |quota: &str| quota.parse().expect("a quota");
    let within = Span::from_secs(60);
    let cooldown = Cooldown {
        after: 9,
        within,
        block: within,
        escalation: None,
        pending: None,
        reset_on_success: false,
    };
    for limit in [
        Limit::fixed_window("limit", parsed("9/s")),
        Limit::sliding_window("limit", parsed("9/s"), Slices::Strict(1)),
        Limit::sliding_log("limit", parsed("9/s")),
        Limit::cooldown("limit", cooldown),
    ] {
        let mut counter = Counter::new(limit.expect("a limit"));
        counter.ask(START, Operation::Charge(Cost::ONE));
        let share = |now| counter.limit.share_used(&counter.cell[0], Time::from_micros(now));
        assert_eq!(share(START - slack), 7_282, "{}", counter.limit.algorithm());
        assert_eq!(share(START - slack - 1), u16::MAX, "{}", counter.limit.algorithm());
    }
}
