//! Concurrency: at most so many in flight, each holding its slot for a lease it can renew.
//!
//! ```text
//! used     = units of holders whose lease has not run out
//! allowed  <=>  used + already + cost <= slots
//! ```
//!
//! A slot comes back when its holder releases it, or when the lease runs out because the
//! holder died. Nobody knows when that is, so a refusal carries no time to retry after.
//!
//! Two slots with a lease of 10 s:
//!
//! | now | ask | holders before | answer | remaining |
//! |---|---|---|---|---|
//! | 0 s | a takes 1 | | allowed | 1 |
//! | 1 s | b takes 1 | a until 10 | allowed | 0 |
//! | 2 s | c takes 1 | a until 10, b until 11 | refused, busy | 0 |
//! | 9 s | a renews | a until 10, b until 11 | allowed | 0 |
//! | 11 s | c takes 1 | a until 19 (b ran out) | allowed | 0 |

use crate::algorithm::{Algorithm, Scene, Standing};
use crate::ask::{Receipt, Take};
use crate::decision::{Decision, Refusal};
use crate::moment::Moment;
use crate::state::{Holder, State};
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Concurrency {
    pub(crate) slots: u64,
    pub(crate) lease: Span,
}

impl Concurrency {
    fn live(state: &State, now: Time) -> impl Iterator<Item = &Holder> {
        let holders: &[Holder] = match state {
            State::Holders(holders) => holders,
            _ => &[],
        };
        holders.iter().filter(move |holder| holder.expires > now)
    }

    fn used(state: &State, now: Time) -> u64 {
        Self::live(state, now).map(|holder| holder.units).sum()
    }

    fn standing(&self, state: &State, now: Time, staged: u64) -> Standing {
        let latest = Self::live(state, now).map(|holder| holder.expires.since(now)).max();
        let leased = if staged > 0 { self.lease } else { Span::ZERO };
        Standing {
            limit: self.slots,
            remaining: self.slots.saturating_sub(Self::used(state, now) + staged),
            reset_after: latest.unwrap_or_default().max(leased),
        }
    }

    /// Extends the lease of a hold that is still alive; returns its units.
    pub(crate) fn renew(&self, state: &mut State, now: Time, receipt: &Receipt) -> Option<u64> {
        let holder = Self::holder(state, now, receipt)?;
        holder.expires = now + self.lease;
        let units = holder.units;
        Self::sweep(state, now);
        Some(units)
    }

    fn deepest(&self) -> u64 {
        self.slots * 2
    }

    fn holder<'a>(state: &'a mut State, now: Time, receipt: &Receipt) -> Option<&'a mut Holder> {
        let State::Holders(holders) = state else { return None };
        holders.iter_mut().find(|holder| holder.id == receipt.id && holder.expires > now)
    }

    /// Drops holders that ran out or gave everything back.
    fn sweep(state: &mut State, now: Time) {
        if let State::Holders(holders) = state {
            holders.retain(|holder| holder.expires > now && holder.units > 0);
            if holders.is_empty() {
                *state = State::Vacant;
            }
        }
    }
}

impl Algorithm for Concurrency {
    fn capacity(&self) -> u64 {
        self.slots
    }

    fn mend(&self, state: &mut State, scene: &Scene<'_>) {
        match state {
            State::Vacant => {}
            State::Holders(holders) => {
                let longest = scene.now + self.lease;
                if holders.iter().any(|holder| holder.expires > longest + Span::CLOCK_SLACK) {
                    for holder in holders {
                        holder.expires = holder.expires.min(longest);
                    }
                }
            }
            _ => {
                let expires = scene.now + self.lease;
                *state =
                    State::Holders(vec![Holder { id: scene.id(), expires, units: self.slots }]);
            }
        }
    }

    fn judge(&self, state: &State, scene: &Scene<'_>, take: Take, already: u64) -> Decision {
        let used = Self::used(state, scene.now);
        let asked = take.least.saturating_add(already);
        if asked > self.slots {
            return self.standing(state, scene.now, already).refused(Refusal::CostAboveLimit);
        }
        if used + asked > self.slots {
            return self.standing(state, scene.now, already).refused(Refusal::Busy);
        }
        let granted = take.most.min(self.slots - used - already);
        self.standing(state, scene.now, already + granted).allowed(granted, Span::ZERO)
    }

    fn chargeable(&self, state: &State, scene: &Scene<'_>, units: u64) -> u64 {
        self.deepest().saturating_sub(Self::used(state, scene.now)).min(units)
    }

    fn charge(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt> {
        Self::sweep(state, scene.now);
        let expires = scene.now + self.lease;
        let holder = Holder { id: scene.id(), expires, units };
        match state {
            State::Holders(holders) => holders.push(holder),
            _ => *state = State::Holders(vec![holder]),
        }
        Some(Receipt {
            id: scene.id(),
            units,
            at: scene.now,
            until: Moment::at(expires),
            until_parts: 1,
        })
    }

    /// Makes a live hold one of `actual` slots, releasing it at none.
    fn settle(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        receipt: &Receipt,
        actual: u64,
    ) -> Option<u64> {
        let used = Self::used(state, scene.now);
        let holder = Self::holder(state, scene.now, receipt)?;
        let room = self.deepest().saturating_sub(used);
        holder.units = actual.min(holder.units + room);
        let standing = holder.units;
        Self::sweep(state, scene.now);
        Some(standing)
    }

    fn fresh_at(&self, state: &State) -> Time {
        match state {
            State::Holders(holders) => {
                holders.iter().map(|holder| holder.expires).max().unwrap_or_default()
            }
            _ => Time::EPOCH,
        }
    }
}
