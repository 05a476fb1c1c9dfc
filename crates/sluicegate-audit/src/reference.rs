//! A lone exact limiter that is asked what was asked: what there was to grant, and for how long not.
//!
//! What the store has counted is known only as long as everything that reached it is in the trace.
//! After an outage, a loss or an unknown beginning only the `least` that it may have counted is
//! known, and of a bucket also the most. An answer then has to lie between what these two give.
//! A window forgets by itself: some time later all is known again. A bucket that is never let fill
//! up does not, which is why the most is kept of it.

mod answer;

use std::mem;

use sluicegate::period_at;
use sluicegate_core::{
    Ask, Check, Cost, Decision, Id, Limit, Place, Set, Span, State, Time, decide,
};

pub(crate) use self::answer::Wrong;

use crate::entry::Entry;

/// What the counter of one key may have counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reference {
    least: State,
    doubt: Doubt,
}

/// How much more than the least may have been counted.
#[derive(Debug, Clone, Default)]
enum Doubt {
    /// Nothing: it is known exactly.
    #[default]
    None,
    /// Up to this, of a bucket.
    UpTo(Box<State>),
    /// Anything that will have left the window by then.
    Until(u64),
}

impl Reference {
    /// A counter of which nothing is known at `now`.
    pub(crate) fn unknown(limit: &Limit, now: u64) -> Self {
        let mut unknown = Self::default();
        unknown.may_have_been_charged(limit, now, limit.capacity().saturating_mul(2));
        unknown
    }

    /// Whether it is known what the store has counted.
    pub(crate) fn is_exact(&mut self, limit: &Limit, now: u64) -> bool {
        self.settle_down(limit, now);
        matches!(self.doubt, Doubt::None)
    }

    /// Takes what was allowed, and says what is not true about the answer.
    pub(crate) fn allow(&mut self, limit: &Limit, entry: &Entry) -> Option<Wrong> {
        self.settle_down(limit, entry.at);
        let ask = ask(limit, entry);
        let least = step(limit, &mut self.least, entry.at, ask)?;
        if !least.is_allowed() {
            // It was taken all the same, and may have been counted.
            self.may_have_been_charged(limit, entry.at, entry.cost);
            return Some(Wrong::NotThere { left: least.remaining() });
        }
        let most = match &mut self.doubt {
            Doubt::None => Some(least),
            Doubt::Until(_) => None,
            Doubt::UpTo(most) => {
                let taken = step(limit, most, entry.at, ask)?;
                if !taken.is_allowed() {
                    step(limit, most, entry.at, charge(entry.cost))?;
                }
                Some(taken)
            }
        };
        Wrong::about_allowed(entry, &least, most.as_ref())
    }

    /// Says what is not true about a refusal.
    pub(crate) fn refuse(&mut self, limit: &Limit, entry: &Entry) -> Option<Wrong> {
        self.settle_down(limit, entry.at);
        let ask = ask(limit, entry);
        let least = step(limit, &mut self.least.clone(), entry.at, ask)?;
        let most = match &self.doubt {
            Doubt::None => Some(least),
            Doubt::Until(_) => None,
            Doubt::UpTo(most) => step(limit, &mut State::clone(most), entry.at, ask),
        };
        Wrong::about_refused(entry, &least, most.as_ref())
    }

    /// Charges without asking.
    pub(crate) fn charge(&mut self, limit: &Limit, now: u64, units: u64) {
        self.settle_down(limit, now);
        step(limit, &mut self.least, now, charge(units));
        if let Doubt::UpTo(most) = &mut self.doubt {
            step(limit, most, now, charge(units));
        }
    }

    /// Units that may have reached the store, and may not.
    pub(crate) fn may_have_been_charged(&mut self, limit: &Limit, now: u64, units: u64) {
        if units == 0 {
            return;
        }
        self.begin_to_doubt(limit, now);
        if let Doubt::UpTo(most) = &mut self.doubt {
            step(limit, most, now, charge(units));
        }
    }

    /// The store may have forgotten what it had counted by `now`, or given some of it back.
    pub(crate) fn may_have_been_forgotten(&mut self, limit: &Limit, now: u64) {
        if self.least != State::Vacant {
            self.begin_to_doubt(limit, now);
            self.least = State::Vacant;
        }
    }

    /// The counter was emptied.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// From now on more may have been counted than is known.
    fn begin_to_doubt(&mut self, limit: &Limit, now: u64) {
        if matches!(limit.algorithm(), "token_bucket" | "leaky_bucket" | "queue") {
            if !matches!(self.doubt, Doubt::UpTo(_)) {
                self.doubt = Doubt::UpTo(Box::new(self.least.clone()));
            }
            return;
        }
        // What would be counted now counts until then.
        let mut counted = State::Vacant;
        step(limit, &mut counted, now, charge(1));
        let until = limit.fresh_at(&counted).as_micros();
        self.doubt = match self.doubt {
            Doubt::Until(other) => Doubt::Until(other.max(until)),
            _ => Doubt::Until(until),
        };
    }

    /// What has recovered is known again: there is nothing to it.
    fn settle_down(&mut self, limit: &Limit, now: u64) {
        match &mut self.doubt {
            Doubt::None => {}
            Doubt::Until(until) if *until > now => {}
            Doubt::Until(_) => self.doubt = Doubt::None,
            Doubt::UpTo(most) => {
                for state in [&mut **most, &mut self.least] {
                    if limit.fresh_at(state).as_micros() <= now {
                        *state = State::Vacant;
                    }
                }
                if **most == self.least {
                    self.doubt = Doubt::None;
                }
            }
        }
    }
}

fn charge(units: u64) -> Ask {
    Ask::Charge(Cost::new(units).unwrap_or(Cost::MAX))
}

/// What an entry asked for.
fn ask(limit: &Limit, entry: &Entry) -> Ask {
    let cost = Cost::new(entry.cost).unwrap_or(Cost::MAX);
    // Only a queue makes somebody wait who did not offer to.
    let offered = (entry.delay_us > 0 && limit.algorithm() != "queue").then_some(entry.delay_us);
    match entry.patience_us.or(offered) {
        Some(patience) => Ask::wait(cost, Span::from_micros(patience)),
        None => Ask::acquire(cost),
    }
}

/// Asks one counter; `None` only if it could not be asked, which has no cause here.
fn step(limit: &Limit, state: &mut State, now: u64, ask: Ask) -> Option<Decision> {
    let now = Time::from_micros(now);
    let mut check = Check::new(limit, b"").ask(ask);
    if let Some(per) = limit.calendar() {
        check = check.within(period_at(per, now));
    }
    let set = Set::one(&check, Id::from_bits(0));
    let mut cells = [mem::take(state)];
    let mut decisions = [None];
    decide(&set, now, &[Place::cell(0)], &mut cells, &mut decisions);
    let [cell] = cells;
    *state = cell;
    let [decision] = decisions;
    decision
}
