//! An exact limiter that replays the trace, for comparison with its decisions.
//!
//! The store's state is known only while everything that reached it is in the trace. After an
//! outage, a state loss or an unknown beginning only the `least` usage is known, and for a bucket
//! also the most. A decision then has to lie between the results of these two. A window becomes
//! exactly known again when it has passed. A bucket that never fills up does not, which is why its
//! most is tracked.

mod discrepancy;

use std::mem;

use sluicegate::period_at;
use sluicegate_core::{
    Algorithm, CellRef, ChargeId, Check, Cost, Decision, Limit, Operation, Set, Span, State, Time,
    decide,
};

pub(crate) use self::discrepancy::Discrepancy;

use crate::trace::entry::TraceEntry;

/// The possible usage of one counter.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReferenceLimiter {
    least: State,
    doubt: Uncertainty,
}

/// The usage beyond the least.
#[derive(Debug, Clone, Default)]
enum Uncertainty {
    /// None: it is known exactly.
    #[default]
    None,
    /// Up to this state, for a bucket.
    UpTo(Box<State>),
    /// Anything that will have left the window by then.
    Until(u64),
}

impl ReferenceLimiter {
    /// Creates a counter whose usage at `now` is unknown.
    pub(crate) fn unknown(limit: &Limit, now: u64) -> Self {
        let mut unknown = Self::default();
        unknown.may_have_been_charged(limit, now, limit.capacity().saturating_mul(2));
        unknown
    }

    /// Returns whether the store's state is known exactly.
    pub(crate) fn is_exact(&mut self, limit: &Limit, now: u64) -> bool {
        self.end_uncertainty(limit, now);
        matches!(self.doubt, Uncertainty::None)
    }

    /// Applies an admission, and returns its discrepancy.
    pub(crate) fn allow(&mut self, limit: &Limit, entry: &TraceEntry) -> Option<Discrepancy> {
        self.end_uncertainty(limit, entry.at);
        let ask = operation_of(limit, entry);
        let least = step(limit, &mut self.least, entry.at, ask)?;
        if !least.is_allowed() {
            // It was charged nevertheless, and may have been counted.
            self.may_have_been_charged(limit, entry.at, entry.cost);
            return Some(Discrepancy::NotThere { left: least.remaining() });
        }
        let most = match &mut self.doubt {
            Uncertainty::None => Some(least),
            Uncertainty::Until(_) => None,
            Uncertainty::UpTo(most) => {
                let taken = step(limit, most, entry.at, ask)?;
                if !taken.is_allowed() {
                    step(limit, most, entry.at, charge(entry.cost))?;
                }
                Some(taken)
            }
        };
        Discrepancy::about_allowed(entry, &least, most.as_ref())
    }

    /// Returns the discrepancy of a refusal.
    pub(crate) fn refuse(&mut self, limit: &Limit, entry: &TraceEntry) -> Option<Discrepancy> {
        self.end_uncertainty(limit, entry.at);
        let ask = operation_of(limit, entry);
        let least = step(limit, &mut self.least.clone(), entry.at, ask)?;
        let most = match &self.doubt {
            Uncertainty::None => Some(least),
            Uncertainty::Until(_) => None,
            Uncertainty::UpTo(most) => step(limit, &mut State::clone(most), entry.at, ask),
        };
        Discrepancy::about_refused(entry, &least, most.as_ref())
    }

    /// Charges unconditionally.
    pub(crate) fn charge(&mut self, limit: &Limit, now: u64, units: u64) {
        self.end_uncertainty(limit, now);
        step(limit, &mut self.least, now, charge(units));
        if let Uncertainty::UpTo(most) = &mut self.doubt {
            step(limit, most, now, charge(units));
        }
    }

    /// Adds units that may have reached the store.
    pub(crate) fn may_have_been_charged(&mut self, limit: &Limit, now: u64, units: u64) {
        if units == 0 {
            return;
        }
        self.begin_uncertainty(limit, now);
        if let Uncertainty::UpTo(most) = &mut self.doubt {
            step(limit, most, now, charge(units));
        }
    }

    /// Records that the store may have lost, or refunded, units counted by `now`.
    pub(crate) fn may_have_been_forgotten(&mut self, limit: &Limit, now: u64) {
        if self.least != State::Vacant {
            self.begin_uncertainty(limit, now);
            self.least = State::Vacant;
        }
    }

    /// Resets the counter.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Begins a time in which more than the least may have been counted.
    fn begin_uncertainty(&mut self, limit: &Limit, now: u64) {
        if limit.spec().is_bucket() {
            if !matches!(self.doubt, Uncertainty::UpTo(_)) {
                self.doubt = Uncertainty::UpTo(Box::new(self.least.clone()));
            }
            return;
        }
        // Units counted now count until then.
        let mut counted = State::Vacant;
        step(limit, &mut counted, now, charge(1));
        let until = limit.recovered_at(&counted).as_micros();
        self.doubt = match self.doubt {
            Uncertainty::Until(other) => Uncertainty::Until(other.max(until)),
            _ => Uncertainty::Until(until),
        };
    }

    /// Ends the uncertainty once everything has recovered.
    fn end_uncertainty(&mut self, limit: &Limit, now: u64) {
        match &mut self.doubt {
            Uncertainty::None => {}
            Uncertainty::Until(until) if *until > now => {}
            Uncertainty::Until(_) => self.doubt = Uncertainty::None,
            Uncertainty::UpTo(most) => {
                for state in [&mut **most, &mut self.least] {
                    if limit.recovered_at(state).as_micros() <= now {
                        *state = State::Vacant;
                    }
                }
                if **most == self.least {
                    self.doubt = Uncertainty::None;
                }
            }
        }
    }
}

fn charge(units: u64) -> Operation {
    Operation::Charge(Cost::new(units).unwrap_or(Cost::MAX))
}

/// Returns the operation of an entry.
fn operation_of(limit: &Limit, entry: &TraceEntry) -> Operation {
    let cost = Cost::new(entry.cost).unwrap_or(Cost::MAX);
    // Only a queue delays requests without their consent.
    let queues = limit.spec().algorithm() == Some(Algorithm::Queue);
    let offered = (entry.delay_us > 0 && !queues).then_some(entry.delay_us);
    match entry.patience_us.or(offered) {
        Some(patience) => Operation::wait(cost, Span::from_micros(patience)),
        None => Operation::acquire(cost),
    }
}

/// Applies an operation to one counter; `None` only if that fails, which cannot happen here.
fn step(limit: &Limit, state: &mut State, now: u64, ask: Operation) -> Option<Decision> {
    let now = Time::from_micros(now);
    let mut check = Check::new(limit, b"").with_operation(ask);
    if let Some(per) = limit.calendar() {
        check = check.within(period_at(per, now));
    }
    let set = Set::one(&check, ChargeId::from_bits(0));
    let mut cells = [mem::take(state)];
    let mut decisions = [None];
    decide(&set, now, &[CellRef::cell(0)], &mut cells, &mut decisions);
    let [cell] = cells;
    *state = cell;
    let [decision] = decisions;
    decision
}
