//! Receipts that come back: intact, corrupted, or forged.

use proptest::prelude::*;
use sluicegate_core::{Cost, Limit, Operation, Quota, Receipt, Time};

use super::counter::{Counter, START, limits, pulse};

/// The units and times of a forged receipt; most are in range, none is likely.
fn invented() -> impl Strategy<Value = [u8; Receipt::BYTES]> {
    let number = |most: u64| prop_oneof![0..=most, 0..=64_u64, Just(most)];
    let time = || prop_oneof![START..=START + 10_000, number((1 << 53) - 1)];
    let parts = || prop_oneof![1..=64_u64, number(Quota::MAX_AMOUNT)];
    (any::<u128>(), number(Cost::MAX.units()), time(), time(), parts(), parts()).prop_map(
        |(id, units, at, until, part, parts)| {
            let mut bytes = [0; Receipt::BYTES];
            bytes[..16].copy_from_slice(&id.to_le_bytes());
            let numbers = [units.max(1), at, until, part % parts.max(1), parts];
            for (place, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
                place.copy_from_slice(&number.to_le_bytes());
            }
            bytes
        },
    )
}

/// Settles and renews a receipt in every way; none may panic or exceed the capacity.
fn survives(counter: &Counter, now: u64, receipt: Receipt) {
    for actual in [0, 1, receipt.units() - 1, receipt.units(), Cost::MAX.units()] {
        let actual = Cost::new(actual).expect("a cost");
        for ask in [Operation::Settle { receipt, actual }, Operation::Renew(receipt)] {
            let mut counter = counter.clone();
            let decision = counter.ask(now, ask);
            assert!(decision.remaining() <= counter.limit.capacity(), "{decision:?}");
            counter.take(now, 1);
        }
    }
}

fn busy(limit: Limit) -> (Counter, Option<Receipt>) {
    let mut counter = Counter::new(limit);
    let receipt = counter.take(START, 1).receipt().copied();
    (counter, receipt)
}

proptest! {
    #[test]
    fn receipts_round_trip(limit in limits(), costs in prop::collection::vec(1..5_u64, 1..9)) {
        let mut counter = Counter::new(limit);
        let step = pulse(&counter.limit) / 5;
        for (index, cost) in (0..).zip(costs) {
            let cost = Cost::new(cost).expect("a cost");
            let decision = counter.ask(START + index * step, Operation::Charge(cost));
            if let Some(receipt) = decision.receipt() {
                prop_assert_eq!(Receipt::from_bytes(&receipt.to_bytes()), Some(*receipt));
            }
        }
    }

    #[test]
    fn a_forged_receipt_is_harmless(
        limit in limits(),
        bytes in invented(),
        later in 0..=9_000_u64,
    ) {
        let (counter, _) = busy(limit);
        if let Some(receipt) = Receipt::from_bytes(&bytes) {
            prop_assert_eq!(receipt.to_bytes(), bytes);
            for now in [START + later, 0, Time::MAX.as_micros() - 1] {
                survives(&counter, now, receipt);
            }
        }
    }

    #[test]
    fn a_corrupted_receipt_is_harmless(
        limit in limits(),
        at in 0..Receipt::BYTES,
        bits in 1..=255_u8,
    ) {
        let (counter, receipt) = busy(limit);
        let mut bytes = receipt.map_or([0; Receipt::BYTES], |receipt| receipt.to_bytes());
        bytes[at] ^= bits;
        if let Some(receipt) = Receipt::from_bytes(&bytes) {
            survives(&counter, START, receipt);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Some(receipt) = Receipt::from_bytes(&bytes) {
            prop_assert_eq!(&receipt.to_bytes()[..], &bytes[..]);
        }
    }
}
