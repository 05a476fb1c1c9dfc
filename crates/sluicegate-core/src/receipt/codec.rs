//! Receipts as bytes, for callers that store them until they settle.
//!
//! Numbers in little-endian, one after the other: the id (16 bytes), the units, the time of the
//! charge, the whole microseconds of its end, the parts beyond them, and parts to a microsecond
//! (8 bytes each).

use super::{ChargeId, Receipt};
use crate::cost::Cost;
use crate::exact_time::ExactTime;
use crate::quota::Quota;
use crate::time::Time;

/// Later than any receipt: the largest time in a store, two recoveries and the slack.
const LATEST: u64 = (1 << 53) - 1;

impl Receipt {
    /// The encoded size of a receipt.
    pub const BYTES: usize = 56;

    /// Encodes the receipt for [`Receipt::from_bytes`].
    ///
    /// The bytes are neither secret nor authenticated: sign them, or keep them under another name,
    /// for callers that must not forge receipts.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let Self { id, units, at, until, until_parts } = *self;
        let numbers = [units, at.as_micros(), until.micros, until.parts, until_parts];
        let mut bytes = [0; Self::BYTES];
        let (first, rest) = bytes.split_at_mut(size_of::<u128>());
        first.copy_from_slice(&id.to_bits().to_le_bytes());
        for (place, number) in rest.chunks_exact_mut(size_of::<u64>()).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Decodes a receipt; `None` if no charge can have produced it.
    ///
    /// Accepts any input: a decoded receipt can be settled and renewed on every limit. A forged
    /// receipt is worth no more than the current usage of its counter.
    ///
    /// ```
    /// use sluicegate_core::Receipt;
    ///
    /// assert_eq!(Receipt::from_bytes(b"not a receipt"), None);
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let (id, rest) = bytes.split_first_chunk()?;
        let mut numbers = rest
            .chunks_exact(size_of::<u64>())
            .filter_map(|number| Some(u64::from_le_bytes(number.try_into().ok()?)));
        let mut next =
            |least: u64, most: u64| numbers.next().filter(|number| (least..=most).contains(number));
        let units = next(1, Cost::MAX.units())?;
        let at = Time::computed(next(0, LATEST)?);
        let until = ExactTime { micros: next(0, LATEST)?, parts: next(0, Quota::MAX_AMOUNT - 1)? };
        let until_parts = next(until.parts + 1, Quota::MAX_AMOUNT)?;
        let id = ChargeId::from_bits(u128::from_le_bytes(*id));
        Some(Self { id, units, at, until, until_parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt() -> Receipt {
        Receipt {
            id: ChargeId::from_bits(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10),
            units: 5,
            at: Time::from_micros(1_767_225_600_000_000),
            until: ExactTime { micros: 1_767_225_602_142_857, parts: 1 },
            until_parts: 7,
        }
    }

    #[test]
    fn the_encoding_of_a_receipt_is_stable() {
        let bytes = receipt().to_bytes();
        assert_eq!(bytes[..16], [16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[16..24], [5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[24..32], 1_767_225_600_000_000_u64.to_le_bytes());
        assert_eq!(bytes[32..40], 1_767_225_602_142_857_u64.to_le_bytes());
        assert_eq!(bytes[40..48], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[48..], [7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Receipt::from_bytes(&bytes), Some(receipt()));
    }

    #[test]
    fn receipts_that_no_charge_can_have_are_rejected() {
        let most = Receipt {
            units: Cost::MAX.units(),
            at: Time::computed(LATEST),
            until: ExactTime { micros: LATEST, parts: Quota::MAX_AMOUNT - 1 },
            until_parts: Quota::MAX_AMOUNT,
            ..receipt()
        };
        assert_eq!(Receipt::from_bytes(&most.to_bytes()), Some(most), "all at their largest");
        let until = most.until;
        let wrong = [
            ("no units", Receipt { units: 0, ..most }),
            ("too many units", Receipt { units: most.units + 1, ..most }),
            ("too late a charge", Receipt { at: Time::computed(LATEST + 1), ..most }),
            (
                "too late an end",
                Receipt { until: ExactTime { micros: LATEST + 1, ..until }, ..most },
            ),
            (
                "no parts",
                Receipt { until: ExactTime { parts: 0, ..until }, until_parts: 0, ..most },
            ),
            ("too many parts", Receipt { until_parts: Quota::MAX_AMOUNT + 1, ..most }),
            ("a whole microsecond in parts", Receipt { until_parts: until.parts, ..most }),
        ];
        for (what, receipt) in wrong {
            assert_eq!(Receipt::from_bytes(&receipt.to_bytes()), None, "{what}");
        }
    }

    #[test]
    fn another_length_is_no_receipt() {
        let bytes = receipt().to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Receipt::from_bytes(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(Receipt::from_bytes(&[&bytes[..], &[0]].concat()), None);
    }
}
