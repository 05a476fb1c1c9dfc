//! What a thread asks, and what it was answered.

use smallvec::SmallVec;
use tollgate_core::{Ask, Check, Cost, Decision, Limit, Receipt};

use super::keys::Key;
use crate::calendar::period_at;
use crate::clock::{Clock, ManualClock};
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
    /// Gives back what the thread's turn before has taken from this limit and key.
    GiveBack,
}

/// What a turn was answered.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) decisions: Vec<Option<Decision>>,
    pub(super) applied: Applied,
}

impl Turn {
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

    /// The check, for a thread whose turn before has this receipt.
    pub(super) fn check(&self, receipt: Option<Receipt>) -> Check<'_> {
        let ask = match (self.wish, receipt) {
            (Wish::Ask(ask), _) => ask,
            (Wish::GiveBack, Some(receipt)) => Ask::Settle { receipt, actual: Cost::ZERO },
            // Refused: there is nothing to give back.
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

impl Answer {
    /// What the next turn of the thread may give back.
    pub(super) fn receipt(&self) -> Option<Receipt> {
        let [decision] = self.decisions[..] else { return None };
        decision?.receipt().copied()
    }
}

pub(super) type Checks<'a> = SmallVec<[Check<'a>; 4]>;
