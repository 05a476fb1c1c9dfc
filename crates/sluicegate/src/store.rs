//! Where state lives: the one thing a limiter asks of a store.

use std::future::Future;

use sluicegate_core::{Check, Decision, Ruling, Set, Time};

use crate::clock::Clock;
use crate::error::CheckError;

/// Where state lives. It applies a set of checks in one atomic step.
pub trait Store: Send + Sync + 'static {
    /// How many sets that have arrived together are handed to it at a time.
    const TOGETHER: usize = 16;

    /// The clock that tells the store's time as well as this process can know it.
    type Clock: Clock;

    /// That clock.
    fn clock(&self) -> &Self::Clock;

    /// Decides the set and charges it, all or nothing, at the store's own time.
    ///
    /// `decisions` has one place for each check of the set.
    fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> impl Future<Output = Result<Applied, CheckError>> + Send + 'a;

    /// Decides the set without waiting, as [`apply`](Store::apply) would, where that is possible
    /// right now. `None` means that nothing was charged, and `apply` has to be asked.
    #[inline]
    fn apply_at_once(
        &self,
        _set: &Set<'_>,
        _decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        None
    }

    /// The same for a set of one check, its decision handed back.
    #[inline]
    fn apply_one_at_once(&self, _set: &Set<'_>) -> Option<(Applied, Decision)> {
        None
    }

    /// The same for many sets of one check each, whose decisions are added to `decisions`; how
    /// many were decided. The others, if any, have to be asked for one by one.
    #[inline]
    fn apply_each_at_once(&self, _sets: &[Set<'_>], _decisions: &mut Vec<Decision>) -> usize {
        0
    }

    /// Decides many sets, each by itself, in their order: what has arrived together.
    ///
    /// `decisions` has one place for each check of all sets, in a row; `applied` gets what was
    /// done with each set.
    fn apply_many<'a>(
        &'a self,
        sets: &'a [Set<'a>],
        decisions: &'a mut [Option<Decision>],
        applied: &'a mut Vec<Applied>,
    ) -> impl Future<Output = Result<(), CheckError>> + Send + 'a {
        async move {
            let mut rest = decisions;
            for set in sets {
                let (own, after) = rest.split_at_mut(set.checks().len());
                applied.push(self.apply(set, own).await?);
                rest = after;
            }
            Ok(())
        }
    }

    /// Applies a check whose answer nobody waits for: a dropped guard gives back what it held.
    fn apply_detached(&self, check: Check<'_>);
}

/// A store whose [`apply`](Store::apply) never waits, so that it can be called from anywhere.
pub trait Immediate: Store {}

/// What a store did with a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// Whether it was admitted.
    pub ruling: Ruling,
    /// The store's time at which it was decided.
    pub now: Time,
    /// Who decided it.
    pub by: By,
}

impl Applied {
    /// What the store itself did, at its own time.
    #[inline]
    pub const fn by_store(ruling: Ruling, now: Time) -> Self {
        Self { ruling, now, by: By::Store }
    }
}

/// Who decided a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// The store, which knows everything.
    #[default]
    Store,
    /// This process, from what it last saw of a counter in the store: nothing but refusals.
    Memory,
    /// This process within its share of the limits, because the store was not there.
    Share,
    /// Nobody: the store was not there, and the checks say what becomes of them then.
    Policy,
}

impl By {
    /// In one word, for machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Memory => "memory",
            Self::Share => "share",
            Self::Policy => "policy",
        }
    }
}
