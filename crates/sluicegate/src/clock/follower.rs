//! Draws line after line, so that time told by ticks follows the operating system's clock.
//!
//! A line is drawn from two readings: how long ticks last, and how far off the time has come
//! to be, which the next line makes up for. Each starts where the one before ends, so time is
//! one unbroken, rising curve; all readers read it off the same lines and agree at every tick.

use super::line::{Line, lasting};
use super::machine::Reading;

/// The line that is told by now, and what it takes to draw the next.
#[derive(Debug, Clone)]
pub(super) struct Follower {
    line: Line,
    last: Reading,
    /// How long ticks lasted of late. The middle one counts: a machine that was suspended or
    /// moved spoils one of them.
    rates: [u64; 3],
    /// How much further we are than the operating system's clock, for good.
    ahead: u64,
}

impl Follower {
    /// An operating system's clock this far ahead has seen time that the ticks have not, such as
    /// a move to another machine: we go there at once. In nanoseconds.
    const STEP: u64 = 1_000_000;
    /// One this far behind is not waited for. In nanoseconds.
    const GIVE_UP: u64 = 1_000_000_000;
    /// A line is this part steeper or flatter at most to make up for an error: 500 ppm, the most
    /// that clocks are ever adjusted by.
    const HASTE: u64 = 2_000;

    /// Starts at `now`, having watched the ticks since `first`; `None` if these are no ticks to
    /// tell time by.
    pub(super) fn begin(first: Reading, now: Reading) -> Option<Self> {
        let rate = rate_between(first, now);
        let credible = Line::FASTEST < rate && rate < Line::SLOWEST;
        let line = Line { start: now.ticks, nanos: now.nanos, rate };
        credible.then_some(Self { line, last: now, rates: [rate; 3], ahead: 0 })
    }

    /// The line that is told now.
    pub(super) const fn line(&self) -> Line {
        self.line
    }

    /// Draws the line after this one; `None` if ticks went back.
    ///
    /// It starts where this one ends, or now, if nobody asked for the time in between.
    pub(super) fn follow(&mut self, now: Reading) -> Option<Line> {
        if now.ticks < self.line.start {
            return None;
        }
        self.rates = [self.rates[1], self.rates[2], rate_between(self.last, now)];
        self.last = now;
        let rate = middle(self.rates);
        let start = self.line.end().max(now.ticks);
        // The latest time anybody was told, and the time it should be.
        let told = self.line.at(start);
        let mut due = now.nanos + self.ahead + lasting(start - now.ticks, rate);
        if told > due + Self::GIVE_UP {
            self.ahead += told - due;
            due = told;
        }
        let unseen = now.ticks > self.line.end();
        let nanos = if unseen || due > told + Self::STEP { due.max(told) } else { told };
        self.line = Line { start, nanos, rate: hastened(rate, nanos, due) };
        Some(self.line)
    }

    /// How far to be ahead of the operating system's clock, at `nanos`, to go on by that alone:
    /// not before anything that was told.
    pub(super) fn ahead_of(&self, nanos: u64) -> u64 {
        self.line.at(self.line.end()).saturating_sub(nanos).max(self.ahead)
    }
}

/// The rate at which a line that starts at `nanos` ends where one that starts at `due` would, or
/// as near to it as haste allows.
fn hastened(rate: u64, nanos: u64, due: u64) -> u64 {
    let most = rate / Follower::HASTE;
    let by = |error: u64| {
        let by = (u128::from(error) << 32) / u128::from(Line::LENGTH);
        u64::try_from(by).unwrap_or(most).min(most)
    };
    if due >= nanos { rate + by(due - nanos) } else { rate - by(nanos - due) }
}

/// How long a tick lasted between two readings, in 2^-32 ns.
fn rate_between(first: Reading, now: Reading) -> u64 {
    let ticks = u128::from(now.ticks.saturating_sub(first.ticks)).max(1);
    let nanos = u128::from(now.nanos.saturating_sub(first.nanos));
    let rate = u64::try_from((nanos << 32) / ticks).unwrap_or(u64::MAX);
    rate.clamp(Line::FASTEST, Line::SLOWEST)
}

fn middle(mut rates: [u64; 3]) -> u64 {
    rates.sort_unstable();
    rates[1]
}

#[cfg(test)]
mod tests;
