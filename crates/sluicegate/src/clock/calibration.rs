//! Computes successive segments so that the TSC clock follows the operating system's clock.
//!
//! A segment is computed from two samples: their rate of ticks, and the error accumulated so far,
//! which the next segment corrects. Each starts where the previous one ends, so time is one
//! continuous, rising curve; all readers use the same segments and agree at every tick.

use super::segment::{Segment, lasting};
use super::time_source::Sample;

/// The current segment, and the state to compute the next one.
#[derive(Debug, Clone)]
pub(super) struct Calibrator {
    segment: Segment,
    last: Sample,
    /// The latest rates. The median counts, because a suspended or migrated machine spoils one of
    /// them.
    rates: [u64; 3],
    /// The permanent offset ahead of the operating system's clock.
    ahead: u64,
}

impl Calibrator {
    /// If the operating system's clock is this far ahead, it includes time that the ticks do not,
    /// as after a migration to another machine: the next segment steps to it. In nanoseconds.
    const STEP: u64 = 1_000_000;
    /// A clock this far behind is no longer waited for. In nanoseconds.
    const GIVE_UP: u64 = 1_000_000_000;
    /// The largest correction of a segment's rate, as a divisor: 500 ppm, the most that clocks are
    /// ever adjusted by.
    const MAX_CORRECTION: u64 = 2_000;

    /// Starts at `now`, with a first rate measured since `first`; `None` if ticks are unusable.
    pub(super) fn begin(first: Sample, now: Sample) -> Option<Self> {
        let rate = rate_between(first, now);
        let credible = Segment::FASTEST < rate && rate < Segment::SLOWEST;
        let segment = Segment { start: now.ticks, nanos: now.nanos, rate };
        credible.then_some(Self { segment, last: now, rates: [rate; 3], ahead: 0 })
    }

    /// Returns the current segment.
    pub(super) const fn segment(&self) -> Segment {
        self.segment
    }

    /// Computes the next segment; `None` if ticks went back.
    ///
    /// It starts where the current one ends, or now, if there was no reader in between.
    pub(super) fn follow(&mut self, now: Sample) -> Option<Segment> {
        if now.ticks < self.segment.start {
            return None;
        }
        self.rates = [self.rates[1], self.rates[2], rate_between(self.last, now)];
        self.last = now;
        let rate = middle(self.rates);
        let start = self.segment.end().max(now.ticks);
        // The latest time any reader can have got, and the time it should be.
        let latest = self.segment.at(start);
        let mut due = now.nanos + self.ahead + lasting(start - now.ticks, rate);
        if latest > due + Self::GIVE_UP {
            self.ahead += latest - due;
            due = latest;
        }
        let unseen = now.ticks > self.segment.end();
        let nanos = if unseen || due > latest + Self::STEP { due.max(latest) } else { latest };
        self.segment = Segment { start, nanos, rate: corrected_rate(rate, nanos, due) };
        Some(self.segment)
    }

    /// Returns the offset to the operating system's clock for continuing with that alone.
    ///
    /// At `nanos`; it is large enough that no reader sees time go back.
    pub(super) fn ahead_of(&self, nanos: u64) -> u64 {
        self.segment.at(self.segment.end()).saturating_sub(nanos).max(self.ahead)
    }
}

/// Returns the rate at which a segment from `nanos` ends where one from `due` would.
///
/// Limited to the largest correction.
fn corrected_rate(rate: u64, nanos: u64, due: u64) -> u64 {
    let most = rate / Calibrator::MAX_CORRECTION;
    let by = |error: u64| {
        let by = (u128::from(error) << 32) / u128::from(Segment::LENGTH);
        u64::try_from(by).unwrap_or(most).min(most)
    };
    if due >= nanos { rate + by(due - nanos) } else { rate - by(nanos - due) }
}

/// Returns the rate between two samples, in 2^-32 ns per tick.
fn rate_between(first: Sample, now: Sample) -> u64 {
    let ticks = u128::from(now.ticks.saturating_sub(first.ticks)).max(1);
    let nanos = u128::from(now.nanos.saturating_sub(first.nanos));
    let rate = u64::try_from((nanos << 32) / ticks).unwrap_or(u64::MAX);
    rate.clamp(Segment::FASTEST, Segment::SLOWEST)
}

fn middle(mut rates: [u64; 3]) -> u64 {
    rates.sort_unstable();
    rates[1]
}

#[cfg(test)]
mod tests;
