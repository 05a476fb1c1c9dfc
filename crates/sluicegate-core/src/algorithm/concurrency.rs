//! Concurrency: a limited number of slots in flight, each held for a renewable lease.
//!
//! ```text
//! used     = units of holders whose lease has not run out
//! allowed  <=>  used + already + cost <= slots
//! ```
//!
//! A slot comes back when its holder releases it, or when the lease expires because the holder
//! died. That time is unpredictable, so a refusal carries no time to retry after.
//!
//! Two slots with a lease of 10 s:
//!
//! | now | operation | holders before | answer | remaining |
//! |---|---|---|---|---|
//! | 0 s | a takes 1 | | allowed | 1 |
//! | 1 s | b takes 1 | a until 10 | allowed | 0 |
//! | 2 s | c takes 1 | a until 10, b until 11 | refused, busy | 0 |
//! | 9 s | a renews | a until 10, b until 11 | allowed | 0 |
//! | 11 s | c takes 1 | a until 19 (b expired) | allowed | 0 |

use crate::algorithm::{EXHAUSTED, EvalContext, Evaluator, Usage, share};
use crate::decision::{Decision, Refusal};
use crate::exact_time::ExactTime;
use crate::operation::Take;
use crate::receipt::Receipt;
use crate::state::{Holder, Holders, State};
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Concurrency {
    pub(crate) slots: u64,
    pub(crate) lease: Span,
}

impl Holders {
    /// Returns the units of unexpired holders; visits only the expired ones.
    fn used(&self, now: Time) -> u64 {
        let over = self.list.iter().take_while(|holder| holder.expires <= now);
        self.units - over.map(|holder| holder.units).sum::<u64>()
    }

    /// Returns the time until the last lease expires.
    fn longest(&self, now: Time) -> Span {
        self.list.back().map_or(Span::ZERO, |last| last.expires.since(now))
    }

    fn sweep(&mut self, now: Time) {
        while let Some(first) = self.list.front().filter(|first| first.expires <= now) {
            self.units -= first.units;
            self.list.pop_front();
        }
    }

    /// Removes a holder whose lease has not expired.
    fn remove(&mut self, now: Time, receipt: &Receipt) -> Option<Holder> {
        let alive = |holder: &Holder| holder.id == receipt.id && holder.expires > now;
        let holder = self.list.remove(self.list.iter().position(alive)?)?;
        self.units -= holder.units;
        Some(holder)
    }

    /// Inserts a holder by the end of its lease: at the back, unless the clock was set back.
    fn insert(&mut self, holder: Holder) {
        let index = self.list.partition_point(|other| other.expires <= holder.expires);
        self.units += holder.units;
        self.list.insert(index, holder);
    }
}

impl Concurrency {
    fn used(state: &State, now: Time) -> u64 {
        match state {
            State::Holders(holders) => holders.used(now),
            _ => 0,
        }
    }

    fn usage(&self, state: &State, used: u64, staged: u64, now: Time) -> Usage {
        let longest = match state {
            State::Holders(holders) => holders.longest(now),
            _ => Span::ZERO,
        };
        let leased = if staged > 0 { self.lease } else { Span::ZERO };
        Usage {
            limit: self.slots,
            remaining: self.slots.saturating_sub(used + staged),
            reset_after: longest.max(leased),
        }
    }

    /// Extends the lease of a hold that is still alive; returns its units.
    pub(crate) fn renew(&self, state: &mut State, now: Time, receipt: &Receipt) -> Option<u64> {
        let State::Holders(holders) = state else { return None };
        let holder = holders.remove(now, receipt)?;
        holders.sweep(now);
        holders.insert(Holder { expires: now + self.lease, ..holder });
        Some(holder.units)
    }

    /// The limit of unconditional charges: settlements can hold at most twice the slots.
    fn deepest(&self) -> u64 {
        self.slots * 2
    }
}

impl Evaluator for Concurrency {
    fn capacity(&self) -> u64 {
        self.slots
    }

    fn repair(&self, state: &mut State, context: &EvalContext<'_>) {
        let longest = context.now + self.lease;
        match state {
            State::Vacant => {}
            State::Holders(holders) => {
                let last = holders.list.back().map_or(Time::EPOCH, |last| last.expires);
                if last > longest + Span::CLOCK_SLACK {
                    for holder in &mut holders.list {
                        holder.expires = holder.expires.min(longest);
                    }
                }
            }
            _ => {
                *state = State::Vacant;
                self.charge(state, context, self.slots);
            }
        }
    }

    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision {
        let used = Self::used(state, context.now);
        let asked = take.least.saturating_add(already);
        if asked > self.slots || used + asked > self.slots {
            let never = asked > self.slots;
            let refusal = if never { Refusal::CostAboveLimit } else { Refusal::Busy };
            return self.usage(state, used, already, context.now).refused(refusal);
        }
        let granted = take.most.min(self.slots - used - already);
        self.usage(state, used, already + granted, context.now).allowed(granted, Span::ZERO)
    }

    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64 {
        self.deepest().saturating_sub(Self::used(state, context.now)).min(units)
    }

    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt> {
        if !matches!(state, State::Holders(_)) {
            *state = State::Holders(Box::default());
        }
        let State::Holders(holders) = state else { return None };
        let (id, at, expires) = (context.id(), context.now, context.now + self.lease);
        holders.sweep(at);
        holders.insert(Holder { id, expires, units });
        Some(Receipt { id, units, at, until: ExactTime::at(expires), until_parts: 1 })
    }

    /// Changes the units of a live hold to `actual`; zero releases it.
    fn settle(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        actual: u64,
        staged: u64,
    ) -> Option<u64> {
        let State::Holders(holders) = state else { return None };
        let room = self.deepest().saturating_sub(holders.used(context.now) + staged);
        let holder = holders.remove(context.now, receipt)?;
        holders.sweep(context.now);
        let units = actual.min(holder.units + room);
        if units > 0 {
            holders.insert(Holder { units, ..holder });
        }
        if holders.list.is_empty() {
            *state = State::Vacant;
        }
        Some(units)
    }

    fn recovered_at(&self, state: &State) -> Time {
        match state {
            State::Holders(holders) => holders.list.back().map_or(Time::EPOCH, |last| last.expires),
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        match state {
            State::Holders(holders) => share(holders.used(now).into(), self.slots.into()),
            _ => EXHAUSTED,
        }
    }
}
