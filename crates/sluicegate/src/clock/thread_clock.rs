//! The clock of one thread: ticks since its last reading of the operating system's clock.
//!
//! Each thread keeps an anchor, a reading of ticks and of the operating system's clock at the same
//! time. For a few milliseconds the time is that of the anchor plus the ticks since then, at the
//! rate between the last two anchors; then the thread takes a new anchor. So an error of the rate
//! lasts a few milliseconds, and a machine that was suspended or moved is right at the next
//! anchor. The rate is used once two measurements in a row agree; until then, and where ticks
//! cannot be trusted, every reading is one of the operating system's clock.

use std::cell::Cell;

use super::time_source::{Sample, TimeSource};

/// The ticks after which an anchor is replaced: 8 ms at 2 GHz, 3 ms at 5 GHz.
const REFRESH_TICKS: u64 = 1 << 24;
/// A tick of 8 ns. No processor has one as long, and products of ticks and rates fit 64 bits.
const SLOWEST: u64 = 8 << 32;
/// A tick of 1/16 ns. No processor has one as short.
const FASTEST: u64 = 1 << 28;
/// Two rates agree if they differ by less than a thousandth of themselves.
///
/// Clocks are adjusted by half of that at most.
const AGREEMENT: u64 = 1_000;

/// A reading of both clocks, and the rates of ticks in 2^-32 ns; 0 if there is none.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    ticks: u64,
    nanos: u64,
    /// The rate in use.
    rate: u64,
    /// The rate since the anchor before.
    measured: u64,
}

/// The clock of one thread.
#[derive(Debug)]
pub(super) struct ThreadClock {
    anchor: Cell<Anchor>,
    /// The last result.
    last: Cell<u64>,
}

impl ThreadClock {
    pub(super) const fn new() -> Self {
        let anchor = Anchor { ticks: 0, nanos: 0, rate: 0, measured: 0 };
        Self { anchor: Cell::new(anchor), last: Cell::new(0) }
    }

    /// Returns nanoseconds since some fixed time of this process, never less than before.
    #[inline]
    pub(super) fn nanos(&self, source: &impl TimeSource) -> u64 {
        let Anchor { ticks, nanos, rate, .. } = self.anchor.get();
        // Without a rate, ticks may not even be readable.
        if rate != 0 {
            let passed = source.ticks().wrapping_sub(ticks);
            // Ticks that went back are a very large number here.
            if passed < REFRESH_TICKS {
                return self.rising(nanos + ((passed * rate) >> 32));
            }
        }
        self.anchored(source)
    }

    /// Returns the time of the operating system's clock, and replaces an anchor that is too old.
    #[cold]
    #[inline(never)]
    fn anchored(&self, source: &impl TimeSource) -> u64 {
        if !source.has_sound_ticks() {
            return self.rising(source.nanos());
        }
        let before = self.anchor.get();
        let is_recent =
            |ticks: u64| before.ticks != 0 && ticks.wrapping_sub(before.ticks) < REFRESH_TICKS;
        if is_recent(source.ticks_in_order()) {
            return self.rising(source.nanos());
        }
        let Some(now) = Sample::take(source) else {
            return self.rising(source.nanos());
        };
        let measured = if before.ticks == 0 { 0 } else { rate_between(before, now) };
        let agrees = measured.abs_diff(before.measured) < measured / AGREEMENT;
        let rate = if agrees { measured } else { 0 };
        self.anchor.set(Anchor { ticks: now.ticks, nanos: now.nanos, rate, measured });
        self.rising(now.nanos)
    }

    #[inline]
    fn rising(&self, nanos: u64) -> u64 {
        let nanos = nanos.max(self.last.get());
        self.last.set(nanos);
        nanos
    }
}

/// Returns the rate between two readings; 0 if no processor has it.
fn rate_between(before: Anchor, now: Sample) -> u64 {
    let ticks = u128::from(now.ticks.saturating_sub(before.ticks)).max(1);
    let nanos = u128::from(now.nanos.saturating_sub(before.nanos));
    let rate = u64::try_from((nanos << 32) / ticks).unwrap_or(u64::MAX);
    if (FASTEST..SLOWEST).contains(&rate) { rate } else { 0 }
}

#[cfg(test)]
mod tests;
