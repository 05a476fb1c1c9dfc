//! What a thread asks, and what it was answered.

use sluicegate_core::{Ask, Check, Cost, Decision, Limit, Receipt};

use super::keys::{Key, name};
use crate::calendar::period_at;
use crate::clock::{Clock, ManualClock};
use crate::memory::hash::Fingerprint;
use crate::store::Applied;

/// One set of checks.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) asked: Vec<Asked>,
}

/// One check of a set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    limit: &'static Limit,
    key: Key,
    wish: Wish,
}

#[derive(Debug, Clone, Copy)]
enum Wish {
    Ask(Ask),
    /// Gives back what the thread has last taken from this limit for this key.
    GiveBack,
}

/// What a turn was answered.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) decisions: Vec<Option<Decision>>,
    pub(super) applied: Applied,
}

impl Turn {
    /// The keys it takes from.
    pub(super) fn taken(&self) -> impl Iterator<Item = Key> {
        let takes = |asked: &&Asked| match asked.wish {
            Wish::Ask(Ask::Take(take)) => take.most() > 0,
            _ => false,
        };
        self.asked.iter().filter(takes).map(|asked| asked.key)
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.asked.extend(other.asked);
        self
    }
}

fn turn(limit: &'static Limit, key: Key, wish: Wish) -> Turn {
    Turn { asked: vec![Asked { limit, key, wish }] }
}

pub(super) fn take(limit: &'static Limit, key: Key) -> Turn {
    take_many(limit, key, 1)
}

pub(super) fn take_many(limit: &'static Limit, key: Key, units: u32) -> Turn {
    turn(limit, key, Wish::Ask(Ask::acquire(Cost::from(units))))
}

pub(super) fn peek(limit: &'static Limit, key: Key) -> Turn {
    turn(limit, key, Wish::Ask(Ask::peek()))
}

pub(super) fn reset(limit: &'static Limit, key: Key) -> Turn {
    turn(limit, key, Wish::Ask(Ask::Reset))
}

pub(super) fn give_back(limit: &'static Limit, key: Key) -> Turn {
    turn(limit, key, Wish::GiveBack)
}

impl Asked {
    pub(super) fn counter(&self) -> (&'static Limit, Key) {
        (self.limit, self.key)
    }

    fn name(&self) -> Fingerprint {
        name(self.limit, self.key)
    }

    /// The check, for a thread that has this receipt for what it has last taken.
    pub(super) fn check(&self, receipt: Option<Receipt>) -> Check<'_> {
        let ask = match (self.wish, receipt) {
            (Wish::Ask(ask), _) => ask,
            (Wish::GiveBack, Some(receipt)) => Ask::Settle { receipt, actual: Cost::ZERO },
            // It was refused: there is nothing to give back.
            (Wish::GiveBack, None) => Ask::peek(),
        };
        let check = Check::new(self.limit, &self.key).ask(ask);
        match self.limit.calendar() {
            // No run goes on until the next one.
            Some(per) => check.within(period_at(per, ManualClock::default().now())),
            None => check,
        }
    }
}

impl Turn {
    /// The checks, for a thread that has these receipts.
    pub(super) fn checks(&self, receipts: &[Option<Receipt>]) -> Vec<Check<'_>> {
        self.asked.iter().zip(receipts).map(|(asked, receipt)| asked.check(*receipt)).collect()
    }
}

/// The receipts of a thread.
#[derive(Debug, Default)]
pub(super) struct Receipts(Vec<(Fingerprint, Option<Receipt>)>);

impl Receipts {
    /// What the checks of a turn may give back.
    pub(super) fn of(&self, turn: &Turn) -> Vec<Option<Receipt>> {
        let last = |asked: &Asked| self.0.iter().rfind(|kept| kept.0 == asked.name())?.1;
        turn.asked.iter().map(last).collect()
    }

    pub(super) fn keep(&mut self, turn: &Turn, answer: &Answer) {
        for (asked, decision) in turn.asked.iter().zip(&answer.decisions) {
            let receipt = decision.as_ref().and_then(|decision| decision.receipt().copied());
            self.0.push((asked.name(), receipt));
        }
    }
}
