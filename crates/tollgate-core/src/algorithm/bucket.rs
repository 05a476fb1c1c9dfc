//! The token bucket, which read from the other side is the leaky bucket as a meter.
//!
//! Units refill continuously at `amount / period` up to the burst. The state is one
//! moment: when the bucket will be full again. Seen as a meter, the time until then is
//! the water level, and the units refill as it drains; no answer differs.
//!
//! ```text
//! used  = max(full_at, now) - now            time until full
//! level = used + (already + cost) * unit     time until full after this request
//! allowed       <=>  level <= full           full = burst * unit
//! remaining      =   floor((full - level) / unit)
//! retry_after    =   ceil(level - full)
//! ```
//!
//! `2/min` (a unit lasts 30 s, full = 60 s), starting vacant:
//!
//! | now | cost | used | level | answer | remaining | retry after | full at |
//! |---|---|---|---|---|---|---|---|
//! | 0 s | 1 | 0 | 30 | allowed | 1 | | 30 s |
//! | 0 s | 1 | 30 | 60 | allowed | 0 | | 60 s |
//! | 10 s | 1 | 50 | 80 | refused | 0 | 20 s | 60 s |
//! | 30 s | 1 | 30 | 60 | allowed | 0 | | 90 s |
//! | 95 s | 3 | 0 | | refused, for ever | 2 | | 90 s |

use crate::algorithm::{Algorithm, Scene, Standing};
use crate::ask::{Receipt, Take};
use crate::decision::{Decision, Refusal};
use crate::moment::{Moment, Pace};
use crate::state::State;
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    pace: Pace,
    capacity: u64,
    /// How long the whole capacity takes to refill.
    full: Moment,
    /// How far charges without asking may go: `full`, or twice that where debt is allowed.
    deepest: Moment,
    /// No clock of ours makes state that lies further ahead than this.
    horizon: Moment,
}

impl Bucket {
    /// The caller has seen to it that `capacity * pace.parts()` and the time to refill fit.
    pub(crate) fn new(pace: Pace, capacity: u64, debt: bool) -> Self {
        let full = pace.lasting(capacity);
        let deepest = if debt { pace.add(full, full) } else { full };
        let horizon = pace.add(deepest, Moment::lasting(Span::CLOCK_SLACK));
        Self { pace, capacity, full, deepest, horizon }
    }

    pub(crate) fn with_debt(&self, debt: bool) -> Self {
        Self::new(self.pace, self.capacity, debt)
    }

    pub(crate) fn full(&self) -> Span {
        self.full.ceil_span()
    }

    /// The moment of recovery that the state tells.
    pub(super) fn full_at(&self, state: &State) -> Moment {
        match *state {
            State::Bucket { full_at, parts } => self.pace.adopt(full_at, parts),
            _ => Moment::default(),
        }
    }

    /// How long until the bucket is full.
    pub(super) fn used(&self, state: &State, now: Time) -> Moment {
        self.pace.sub(self.full_at(state), Moment::at(now))
    }

    pub(super) fn level(&self, used: Moment, units: u64) -> Moment {
        self.pace.add(used, self.pace.lasting(units))
    }

    pub(super) fn standing(&self, level: Moment) -> Standing {
        Standing {
            limit: self.capacity,
            remaining: self.pace.units_in(self.pace.sub(self.full, level)),
            reset_after: level.ceil_span(),
        }
    }

    /// How long until `level` fits; zero if it does.
    pub(super) fn wait_for(&self, level: Moment) -> Span {
        self.pace.sub(level, self.full).ceil_span()
    }

    /// What a take gets when its least fits: as much of the rest as there is room for.
    pub(super) fn grant(&self, used: Moment, take: Take, already: u64) -> u64 {
        if take.most == take.least {
            return take.least;
        }
        let free = self.pace.units_in(self.pace.sub(self.full, used));
        free.saturating_sub(already).min(take.most)
    }

    fn write(&self, state: &mut State, now: Time, level: Moment) -> Moment {
        let full_at = self.pace.add(Moment::at(now), level);
        *state = if level == Moment::default() {
            State::Vacant
        } else {
            State::Bucket { full_at, parts: self.pace.parts() }
        };
        full_at
    }
}

impl Algorithm for Bucket {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline]
    fn mend(&self, state: &mut State, scene: &Scene) {
        match state {
            State::Vacant => {}
            State::Bucket { full_at, .. } => {
                // Whole microseconds tell almost always.
                if full_at.micros >= scene.now.as_micros() + self.horizon.micros
                    && self.used(state, scene.now) > self.horizon
                {
                    self.write(state, scene.now, self.full);
                }
            }
            _ => {
                self.write(state, scene.now, self.full);
            }
        }
    }

    #[inline]
    fn judge(&self, state: &State, scene: &Scene, take: Take, already: u64) -> Decision {
        let used = self.used(state, scene.now);
        let asked = take.least.saturating_add(already);
        if asked > self.capacity {
            return self.standing(self.level(used, already)).refused(Refusal::CostAboveLimit);
        }
        let level = self.level(used, asked);
        if level <= self.full {
            let granted = self.grant(used, take, already);
            let level =
                if granted == take.least { level } else { self.level(used, already + granted) };
            return self.standing(level).allowed(granted, Span::ZERO);
        }
        let wait = self.wait_for(level);
        // A promised place in line is a debt, and goes no deeper than one.
        let room = Span::from_micros(self.pace.sub(self.deepest, self.full).micros);
        let patience = take.patience.unwrap_or(Span::ZERO).min(room);
        if wait <= patience {
            return self.standing(level).allowed(take.least, wait);
        }
        self.standing(self.level(used, already))
            .refused(Refusal::Exhausted { retry_after: wait - patience })
    }

    fn chargeable(&self, state: &State, scene: &Scene, units: u64) -> u64 {
        let room = self.pace.sub(self.deepest, self.used(state, scene.now));
        self.pace.units_in(room).min(units)
    }

    #[inline]
    fn charge(&self, state: &mut State, scene: &Scene, units: u64) -> Option<Receipt> {
        let level = self.level(self.used(state, scene.now), units);
        let until = self.write(state, scene.now, level);
        Some(Receipt { id: scene.id, units, at: scene.now, until, until_parts: self.pace.parts() })
    }

    fn give_back(&self, state: &mut State, scene: &Scene, receipt: &Receipt, units: u64) -> u64 {
        let used = self.used(state, scene.now);
        // A charge is worth what has not refilled since: giving back more would mint units.
        let until = self.pace.adopt(receipt.until, receipt.until_parts);
        let left = self.pace.sub(until, Moment::at(scene.now));
        let worth = self.pace.lasting(units).min(left);
        if used == Moment::default() || worth == Moment::default() {
            return 0;
        }
        self.write(state, scene.now, self.pace.sub(used, worth));
        self.pace.units_in(worth)
    }

    fn fresh_at(&self, state: &State) -> Time {
        self.full_at(state).ceil()
    }
}
