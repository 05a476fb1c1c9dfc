//! The fixed window: so many units per calendar period, which is handed in.
//!
//! ```text
//! allowed  <=>  count + already + cost <= amount
//! retry_after = end of the window - now
//! ```
//!
//! Its known weakness is the edge: the amount can be used at the end of one window and
//! again at the start of the next, twice the amount in a moment.
//!
//! `2/min`, in the minute that starts at 60 s:
//!
//! | now | window | count | answer | remaining | retry after |
//! |---|---|---|---|---|---|
//! | 70 s | 60 to 120 s | 0 | allowed | 1 | |
//! | 110 s | 60 to 120 s | 1 | allowed | 0 | |
//! | 115 s | 60 to 120 s | 2 | refused | 0 | 5 s |
//! | 120 s | 120 to 180 s | 0 | allowed | 1 | |
//! | 119.9 s (clock set back) | 120 to 180 s | 1 | allowed | 0 | |

use crate::algorithm::{Algorithm, EXHAUSTED, Scene, Standing, share};
use crate::ask::{Receipt, Take};
use crate::decision::{Decision, Refusal};
use crate::moment::Moment;
use crate::state::State;
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FixedWindow {
    pub(crate) amount: u64,
    /// How far charges without asking may go.
    pub(crate) deepest: u64,
}

/// The window that counts now, and what was used of it.
#[derive(Clone, Copy)]
struct Window {
    start: Time,
    end: Time,
    count: u64,
}

impl FixedWindow {
    fn read(state: &State, scene: &Scene<'_>) -> Window {
        let (start, end) = scene.period().map_or((scene.now, scene.now), |p| (p.start(), p.end()));
        match *state {
            // Also one that is still to begin: time does not go back for it.
            State::Window { start, end, count } if end > scene.now => Window { start, end, count },
            _ => Window { start, end, count: 0 },
        }
    }

    fn standing(&self, window: Window, used: u64, now: Time) -> Standing {
        Standing {
            limit: self.amount,
            remaining: self.amount.saturating_sub(used),
            reset_after: if used == 0 { Span::ZERO } else { window.end.since(now) },
        }
    }
}

impl Algorithm for FixedWindow {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn mend(&self, state: &mut State, scene: &Scene<'_>) {
        let Some(period) = scene.period() else { return };
        let count = match *state {
            State::Window { start, .. } if start > scene.now + Span::CLOCK_SLACK => self.amount,
            // A period that was changed under load takes the count along, once and for good:
            // otherwise it would come along again after the end that callers were told.
            State::Window { start, end, count }
                if start <= scene.now && scene.now < end && (start, end) != period.bounds() =>
            {
                count
            }
            State::Vacant | State::Window { .. } => return,
            _ => self.amount,
        };
        *state = State::Window { start: period.start(), end: period.end(), count };
    }

    fn judge(&self, state: &State, scene: &Scene<'_>, take: Take, already: u64) -> Decision {
        let window = Self::read(state, scene);
        let used = window.count + already;
        let asked = take.least.saturating_add(already);
        if asked > self.amount {
            return self.standing(window, used, scene.now).refused(Refusal::CostAboveLimit);
        }
        if window.count + asked > self.amount {
            let retry_after = window.end.since(scene.now);
            return self
                .standing(window, used, scene.now)
                .refused(Refusal::Exhausted { retry_after });
        }
        let granted = take.most.min(self.amount - used);
        self.standing(window, used + granted, scene.now).allowed(granted, Span::ZERO)
    }

    fn chargeable(&self, state: &State, scene: &Scene<'_>, units: u64) -> u64 {
        self.deepest.saturating_sub(Self::read(state, scene).count).min(units)
    }

    fn charge(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt> {
        let Window { start, end, count } = Self::read(state, scene);
        *state = State::Window { start, end, count: count + units };
        Some(Receipt {
            id: scene.id(),
            units,
            at: scene.now.max(start),
            until: Moment::at(end),
            until_parts: 1,
        })
    }

    /// Only into the window that was charged, while it lasts.
    fn give_back(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let State::Window { start, end, .. } = *state else { return 0 };
        if (start..end).contains(&receipt.at) { self.refund(state, scene, units) } else { 0 }
    }

    fn refund(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> u64 {
        let State::Window { end, ref mut count, .. } = *state else { return 0 };
        if end <= scene.now {
            return 0;
        }
        let given = units.min(*count);
        *count -= given;
        if *count == 0 {
            *state = State::Vacant;
        }
        given
    }

    fn fresh_at(&self, state: &State) -> Time {
        match *state {
            State::Window { end, .. } => end,
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        match *state {
            State::Window { start, .. } if start > now + Span::CLOCK_SLACK => EXHAUSTED,
            State::Window { end, count, .. } if end > now => {
                share(count.into(), self.amount.into())
            }
            State::Window { .. } => 0,
            _ => EXHAUSTED,
        }
    }
}
