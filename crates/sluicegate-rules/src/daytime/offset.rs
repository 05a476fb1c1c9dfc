//! What clocks of a zone show, from an offset that is remembered in one word.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::Time;

use super::days::Weekday;
use crate::calendar::Zone;

/// Offsets are remembered for blocks of 4096 seconds, a bit more than an hour: the zone is
/// asked as rarely as that, and all the time only in the block in which clocks are changed.
const BLOCK_BITS: u32 = 12;
/// More than any offset, so that what is remembered is never zero.
const BIAS: i64 = 1 << 20;
const OFFSET_BITS: u32 = 21;
const SECONDS_PER_DAY: i64 = 86_400;
/// 1970 began on a Thursday.
const MONDAY_BEFORE_1970: i64 = -3 * SECONDS_PER_DAY;

/// A block of seconds and by how much clocks are ahead of UTC in it, or zero.
///
/// Threads need no order: a word is whole, and everything in it follows from the zone.
#[derive(Debug, Default)]
pub(super) struct Offset(AtomicU64);

impl Offset {
    /// The day of the week and the minute of the day that clocks show; `None` beyond the years
    /// that are known.
    pub(super) fn shown_at(&self, zone: &Zone, time: Time) -> Option<(Weekday, u16)> {
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
