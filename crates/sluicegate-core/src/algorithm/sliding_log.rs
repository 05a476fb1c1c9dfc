//! The sliding log: never more than the amount in any window, by remembering each admission.
//!
//! ```text
//! used     = units stamped in (now - window, now]
//! allowed  <=>  used + already + cost <= amount
//! retry_after = when enough of the oldest stamps have left the window
//! ```
//!
//! `2/min`, starting vacant:
//!
//! | now | log before | answer | remaining | retry after |
//! |---|---|---|---|---|
//! | 0 s | | allowed | 1 | |
//! | 50 s | 0 | allowed | 0 | |
//! | 59 s | 0, 50 | refused | 0 | 1 s |
//! | 60 s | 50 (0 just left) | allowed | 0 | |
//! | 61 s | 50, 60 | refused | 0 | 49 s |

use crate::algorithm::{Algorithm, EXHAUSTED, Scene, Standing, share, stamps};
use crate::ask::{Receipt, Take};
use crate::decision::{Decision, Refusal};
use crate::moment::Moment;
use crate::state::{Stamp, State};
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlidingLog {
    pub(crate) amount: u64,
    pub(crate) window: Span,
    /// How far charges without asking may go.
    pub(crate) deepest: u64,
}

impl SlidingLog {
    fn live<'a>(&self, state: &'a State, now: Time) -> &'a [Stamp] {
        match state {
            State::Log(stamps) => stamps::live(stamps, now, self.window),
            _ => &[],
        }
    }

    /// Whether another algorithm left the state, or a clock that has been set back since.
    fn is_wrong(state: &State, now: Time) -> bool {
        match state {
            State::Vacant => false,
            State::Log(stamps) => {
                stamps.last().is_some_and(|newest| newest.at > now + Span::CLOCK_SLACK)
            }
            _ => true,
        }
    }

    /// How long until the newest of these stamps leaves the window.
    fn reset_after(&self, live: &[Stamp], now: Time) -> Span {
        live.last().map_or(Span::ZERO, |newest| (newest.at + self.window).since(now))
    }

    fn standing(&self, live: &[Stamp], used: u64, staged: u64, now: Time) -> Standing {
        let mut reset_after = self.reset_after(live, now);
        if staged > 0 {
            reset_after = reset_after.max(self.window);
        }
        Standing { limit: self.amount, remaining: self.amount.saturating_sub(used), reset_after }
    }

    /// How long until `excess` units have left the window.
    fn wait_for(&self, live: &[Stamp], excess: u64, now: Time) -> Span {
        let mut left = 0;
        live.iter()
            .find(|stamp| {
                left += stamp.units;
                left >= excess
            })
            .map_or(self.window, |stamp| (stamp.at + self.window).since(now))
    }
}

impl Algorithm for SlidingLog {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn mend(&self, state: &mut State, scene: &Scene<'_>) {
        if Self::is_wrong(state, scene.now) {
            *state = State::Log(vec![Stamp { at: scene.now, units: self.amount }]);
        }
    }

    fn judge(&self, state: &State, scene: &Scene<'_>, take: Take, already: u64) -> Decision {
        let live = self.live(state, scene.now);
        let stamped = stamps::units(live);
        let used = stamped + already;
        let asked = take.least.saturating_add(already);
        let standing = self.standing(live, used, already, scene.now);
        if asked > self.amount {
            return standing.refused(Refusal::CostAboveLimit);
        }
        if stamped + asked > self.amount {
            let retry_after = self.wait_for(live, stamped + asked - self.amount, scene.now);
            return standing.refused(Refusal::Exhausted { retry_after });
        }
        let granted = take.most.min(self.amount - used);
        self.standing(live, used + granted, already + granted, scene.now)
            .allowed(granted, Span::ZERO)
    }

    fn chargeable(&self, state: &State, scene: &Scene<'_>, units: u64) -> u64 {
        let used = stamps::units(self.live(state, scene.now));
        self.deepest.saturating_sub(used).min(units)
    }

    fn charge(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt> {
        if !matches!(state, State::Log(_)) {
            *state = State::Log(Vec::new());
        }
        let State::Log(log) = state else { return None };
        let at = stamps::file(log, scene.now, self.window, units);
        let until = Moment::at(at + self.window);
        Some(Receipt { id: scene.id(), units, at, until, until_parts: 1 })
    }

    fn give_back(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let State::Log(log) = state else { return 0 };
        if receipt.at + self.window <= scene.now {
            return 0;
        }
        let given = stamps::strike(log, receipt.at, units);
        if log.is_empty() {
            *state = State::Vacant;
        }
        given
    }

    fn refund(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> u64 {
        let State::Log(log) = state else { return 0 };
        let given = stamps::strike_newest(log, scene.now, self.window, units);
        if log.is_empty() {
            *state = State::Vacant;
        }
        given
    }

    fn fresh_at(&self, state: &State) -> Time {
        match state {
            State::Log(stamps) => {
                stamps.last().map_or(Time::EPOCH, |newest| newest.at + self.window)
            }
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        if Self::is_wrong(state, now) {
            return EXHAUSTED;
        }
        share(stamps::units(self.live(state, now)).into(), self.amount.into())
    }
}
