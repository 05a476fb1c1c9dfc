//! Never more in flight than there are slots, and every slot comes back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluicegate_core::{Cost, Limit, Operation, Receipt, Span};

use super::counter::{Counter, START};

const LEASE: u64 = 1_000;

#[derive(Debug, Clone, Copy)]
enum SlotAction {
    Take(u64),
    Release(usize),
    Renew(usize),
    Crash(usize),
}

fn moves() -> impl Strategy<Value = Vec<(u64, SlotAction)>> {
    let gap = prop_oneof![Just(0), 0..=10_u64, 0..=LEASE, Just(LEASE)];
    let step = prop_oneof![
        3 => (1..=3_u64).prop_map(SlotAction::Take),
        2 => any::<usize>().prop_map(SlotAction::Release),
        2 => any::<usize>().prop_map(SlotAction::Renew),
        1 => any::<usize>().prop_map(SlotAction::Crash),
    ];
    prop::collection::vec((gap, step), 1..150)
}

proptest! {
    #[test]
    fn in_flight_never_exceeds_the_slots(slots in 1..=6_u32, moves in moves()) {
        let limit = Limit::concurrency("limit", slots, Span::from_micros(LEASE)).expect("a limit");
        let mut counter = Counter::new(limit);
        // The holders: the receipt, the units, and the end of the lease.
        let mut alive: BTreeMap<usize, (Receipt, u64, u64)> = BTreeMap::new();
        let mut crashed: Vec<(u64, u64)> = Vec::new();
        let mut now = START;
        for (serial, (gap, step)) in moves.into_iter().enumerate() {
            now += gap;
            alive.retain(|_, (_, _, until)| *until > now);
            crashed.retain(|(_, until)| *until > now);
            let held: u64 = alive.values().map(|(_, units, _)| units).sum::<u64>()
                + crashed.iter().map(|(units, _)| units).sum::<u64>();
            prop_assert!(held <= u64::from(slots));
            let pick = |index: usize| alive.keys().copied().nth(index % alive.len().max(1));
            match step {
                SlotAction::Take(units) => {
                    let decision = counter.take(now, units);
                    let fits = held + units <= u64::from(slots);
                    prop_assert_eq!(decision.is_allowed(), fits, "a free slot is free at once");
                    prop_assert_eq!(decision.retry_after(), None, "the time is unknown");
                    if let Some(receipt) = decision.receipt() {
                        alive.insert(serial, (*receipt, units, now + LEASE));
                    }
                }
                SlotAction::Release(index) => if let Some(holder) = pick(index) {
                    let (receipt, _, _) = alive.remove(&holder).expect("alive");
                    let release = Operation::Settle { receipt, actual: Cost::ZERO };
                    prop_assert!(counter.ask(now, release).is_allowed());
                    let again = counter.ask(now, release);
                    let refusal = again.refusal().map(sluicegate_core::Refusal::as_str);
                    prop_assert_eq!(refusal, Some("lost"));
                },
                SlotAction::Renew(index) => if let Some(holder) = pick(index) {
                    let entry = alive.get_mut(&holder).expect("alive");
                    prop_assert!(counter.ask(now, Operation::Renew(entry.0)).is_allowed());
                    entry.2 = now + LEASE;
                },
                SlotAction::Crash(index) => if let Some(holder) = pick(index) {
                    let (_, units, until) = alive.remove(&holder).expect("alive");
                    crashed.push((units, until));
                },
            }
        }
        prop_assert_eq!(counter.take(now + LEASE, 0).remaining(), u64::from(slots));
    }
}

#[test]
fn an_overdue_holder_has_lost_its_slot() {
    let limit = Limit::concurrency("limit", 1, Span::from_micros(LEASE)).expect("a limit");
    let mut counter = Counter::new(limit);
    let receipt = *counter.take(START, 1).receipt().expect("held");
    assert!(counter.ask(START + LEASE - 1, Operation::Renew(receipt)).is_allowed());
    let overdue = counter.ask(START + 2 * LEASE - 1, Operation::Renew(receipt));
    assert_eq!(overdue.refusal().map(sluicegate_core::Refusal::as_str), Some("lost"));
    assert!(counter.take(START + 2 * LEASE - 1, 1).is_allowed(), "another holder has it");
}
