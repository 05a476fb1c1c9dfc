//! Cooldown: after so many failures within a time, blocked for a while, longer each time.
//!
//! A take asks "may I try?" and uses nothing; a charge reports failures.
//!
//! ```text
//! allowed  <=>  now >= blocked_until
//! on the last failure:  blocked_until = now + block * factor^(streak - 1), at most `max`
//! ```
//!
//! Three failures within 60 s block for 10 s, doubling up to 30 s:
//!
//! | now | ask | answer | remaining | blocked until | streak |
//! |---|---|---|---|---|---|
//! | 0 s | 2 failures | | 1 | | 0 |
//! | 5 s | 1 failure | | 0 | 15 s | 1 |
//! | 9 s | may I? | blocked, retry after 6 s | 0 | 15 s | 1 |
//! | 15 s | 3 failures | | 0 | 35 s | 2 |
//! | 95 s | 3 failures | | 0 | 105 s | 1 (the row was forgotten at 95) |

use crate::algorithm::{Algorithm, EXHAUSTED, Scene, Standing, share, stamps};
use crate::ask::{Receipt, Take};
use crate::decision::{Decision, Refusal};
use crate::limit::Cooldown;
use crate::state::{Cooling, Stamp, State};
use crate::time::{Span, Time};

impl Cooldown {
    fn live<'a>(&self, state: &'a State, now: Time) -> &'a [Stamp] {
        match state {
            State::Cooling(cooling) => stamps::live(&cooling.failures, now, self.within),
            _ => &[],
        }
    }

    /// How long the `streak`-th block in a row lasts.
    fn length(&self, streak: u32) -> Span {
        let Some(escalation) = self.escalation else { return self.block };
        let factor = u64::from(escalation.factor).saturating_pow(streak.saturating_sub(1));
        let micros = self.block.as_micros().saturating_mul(factor);
        Span::from_micros(micros).min(escalation.max)
    }

    fn longest(&self) -> Span {
        self.escalation.map_or(self.block, |escalation| escalation.max.max(self.block))
    }

    fn blocked_until(state: &State) -> Time {
        match state {
            State::Cooling(cooling) => cooling.blocked_until,
            _ => Time::EPOCH,
        }
    }

    fn is_from_a_wrong_clock(&self, cooling: &Cooling, now: Time) -> bool {
        let newest = cooling.failures.last().map_or(Time::EPOCH, |failure| failure.at);
        cooling.blocked_until > now + self.longest() + Span::CLOCK_SLACK
            || newest > now + Span::CLOCK_SLACK
    }

    /// Whether there is a row of blocks that makes the next one longer.
    fn remembers_row(&self, cooling: &Cooling) -> bool {
        self.escalation.is_some() && cooling.streak > 0
    }

    /// When a row of blocks is forgotten: as long after the last one as that lasted.
    fn forget_at(&self, cooling: &Cooling) -> Time {
        cooling.blocked_until + self.within.max(self.length(cooling.streak))
    }
}

impl Algorithm for Cooldown {
    fn capacity(&self) -> u64 {
        self.after
    }

    fn mend(&self, state: &mut State, scene: &Scene<'_>) {
        let now = scene.now;
        let wrong = match state {
            State::Vacant => false,
            State::Cooling(cooling) => self.is_from_a_wrong_clock(cooling, now),
            _ => {
                *state = State::Cooling(Box::default());
                true
            }
        };
        if let (true, State::Cooling(cooling)) = (wrong, state) {
            cooling.failures.clear();
            cooling.blocked_until = now + self.block;
        }
    }

    fn judge(&self, state: &State, scene: &Scene<'_>, take: Take, _already: u64) -> Decision {
        let blocked = Self::blocked_until(state).since(scene.now);
        let live = self.live(state, scene.now);
        let forgotten = self.fresh_at(state).since(scene.now);
        if !blocked.is_zero() {
            let standing =
                Standing { limit: self.after, remaining: 0, reset_after: forgotten.max(blocked) };
            return standing.refused(Refusal::Blocked { retry_after: blocked });
        }
        let remaining = self.after.saturating_sub(stamps::units(live));
        Standing { limit: self.after, remaining, reset_after: forgotten }
            .allowed(take.most, Span::ZERO)
    }

    fn chargeable(&self, state: &State, scene: &Scene<'_>, units: u64) -> u64 {
        if Self::blocked_until(state) > scene.now {
            return 0;
        }
        let failed = stamps::units(self.live(state, scene.now));
        // Where the number was lowered under failures that still count, the next one blocks.
        self.after.saturating_sub(failed).max(1).min(units)
    }

    /// Failures are not given back, so there is no receipt; a reset forgets them all.
    fn charge(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt> {
        if !matches!(state, State::Cooling(_)) {
            *state = State::Cooling(Box::default());
        }
        let State::Cooling(cooling) = state else { return None };
        if scene.now >= self.forget_at(cooling) {
            cooling.streak = 0;
        }
        stamps::file(&mut cooling.failures, scene.now, self.within, units);
        if stamps::units(&cooling.failures) >= self.after {
            cooling.failures.clear();
            cooling.streak = cooling.streak.saturating_add(1);
            cooling.blocked_until = scene.now + self.length(cooling.streak);
        }
        None
    }

    fn fresh_at(&self, state: &State) -> Time {
        match state {
            State::Cooling(cooling) => {
                let counted = cooling.failures.last().map(|failure| failure.at + self.within);
                let row = if self.remembers_row(cooling) {
                    self.forget_at(cooling)
                } else {
                    cooling.blocked_until
                };
                counted.unwrap_or_default().max(row)
            }
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        let State::Cooling(cooling) = state else { return EXHAUSTED };
        if cooling.blocked_until > now || self.is_from_a_wrong_clock(cooling, now) {
            return EXHAUSTED;
        }
        let failed = share(stamps::units(self.live(state, now)).into(), self.after.into());
        // Without the row it remembers, the next block would be a short one again.
        let row = if self.remembers_row(cooling) && self.forget_at(cooling) > now {
            EXHAUSTED / 2
        } else {
            0
        };
        failed.max(row)
    }
}
