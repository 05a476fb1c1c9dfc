//! Local time of a zone, with a cached UTC offset.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use sluicegate::Time;

use super::days::Weekday;
use crate::calendar::Zone;

/// Offsets are cached for blocks of 4096 seconds, a bit more than an hour. The zone is queried once
/// per block, and for every request only in a block in which clocks are changed.
const BLOCK_BITS: u32 = 12;
const SECONDS_PER_DAY: i64 = 86_400;
/// 1970 began on a Thursday.
const MONDAY_BEFORE_1970: i64 = -3 * SECONDS_PER_DAY;

/// The last block of seconds and its offset from UTC.
#[derive(Debug, Default)]
pub(super) struct OffsetCache(ArcSwapOption<(i64, i64)>);

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
        if let Some((own, offset)) = self.0.load().as_deref()
            && *own == block
        {
            return Some(*offset);
        }
        let start = block << BLOCK_BITS;
        let Some(offset) = zone.steady_offset(start, start + (1 << BLOCK_BITS)) else {
            return zone.offset_at(second);
        };
        self.0.store(Some(Arc::new((block, offset))));
        Some(offset)
    }
}
