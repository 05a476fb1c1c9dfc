//! Local time of a zone, with the UTC offset cached in one word.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::Time;

use super::days::Weekday;
use crate::calendar::Zone;

/// Offsets are cached for blocks of 4096 seconds, a bit more than an hour. The zone is queried once
/// per block, and for every request only in a block in which clocks are changed.
const BLOCK_BITS: u32 = 12;
/// More than any offset, so that a cached word is never zero.
const BIAS: i64 = 1 << 20;
const OFFSET_BITS: u32 = 21;
const SECONDS_PER_DAY: i64 = 86_400;
/// 1970 began on a Thursday.
const MONDAY_BEFORE_1970: i64 = -3 * SECONDS_PER_DAY;

/// A block of seconds and its offset from UTC, or zero.
///
/// Relaxed ordering is enough: a word is written atomically, and depends on nothing but the zone.
#[derive(Debug, Default)]
pub(super) struct OffsetCache(AtomicU64);

impl OffsetCache {
    /// The local day of the week and minute of the day; `None` beyond the supported years.
    pub(super) fn local_at(&self, zone: &Zone, time: Time) -> Option<(Weekday, u16)> {
        let second = i64::try_from(time.as_micros() / 1_000_000).ok()?;
        let local = second + self.at(zone, second)? - MONDAY_BEFORE_1970;
        let day = Weekday::after_monday(local.div_euclid(SECONDS_PER_DAY).cast_unsigned());
        let minute = local.rem_euclid(SECONDS_PER_DAY) / 60;
        Some((day, u16::try_from(minute).ok()?))
    }

    fn at(&self, zone: &Zone, second: i64) -> Option<i64> {
        let block = second >> BLOCK_BITS;
        let word = self.0.load(Ordering::Relaxed);
        if word != 0 && word >> OFFSET_BITS == block.cast_unsigned() {
            return Some((word % (1 << OFFSET_BITS)).cast_signed() - BIAS);
        }
        let start = block << BLOCK_BITS;
        let Some(offset) = zone.steady_offset(start, start + (1 << BLOCK_BITS)) else {
            return zone.offset_at(second);
        };
        let word = (block << OFFSET_BITS) | (offset + BIAS);
        self.0.store(word.cast_unsigned(), Ordering::Relaxed);
        Some(offset)
    }
}
