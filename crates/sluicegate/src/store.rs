//! The interface between a limiter and its store.

use std::future::Future;

use sluicegate_core::{Check, Decision, Ruling, Set, Time};

use crate::clock::Clock;
use crate::error::CheckError;

/// A store of state, which applies a set of checks in one atomic step.
pub trait Store: Send + Sync + 'static {
    /// The number of sets passed to it at a time when they arrive together.
    const TOGETHER: usize = 16;

    /// The clock that is this process's best estimate of the store's time.
    type Clock: Clock;

    /// Returns that clock.
    fn clock(&self) -> &Self::Clock;

    /// Decides the set and charges it, all or nothing, at the store's own time.
    ///
    /// `decisions` has one element for each check of the set.
    fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> impl Future<Output = Result<Applied, CheckError>> + Send + 'a;

    /// Decides the set as [`apply`](Store::apply) does, if that is possible without waiting.
    ///
    /// `None` means that nothing was charged; then call `apply`.
    #[inline]
    fn apply_at_once(
        &self,
        _set: &Set<'_>,
        _decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        None
    }

    /// Decides a set of one check without waiting, and returns its decision.
    #[inline]
    fn apply_one_at_once(&self, _set: &Set<'_>) -> Option<(Applied, Decision)> {
        None
    }

    /// Decides sets of one check each without waiting, appending to `decisions`.
    ///
    /// Returns the number of sets decided; the others, if any, have to be applied one by one.
    #[inline]
    fn apply_each_at_once(&self, _sets: &[Set<'_>], _decisions: &mut Vec<Decision>) -> usize {
        0
    }

    /// Decides sets that have arrived together, each by itself, in their order.
    ///
    /// `decisions` has one element for each check of all sets, one set after the other; `applied`
    /// receives the outcome of each set.
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

    /// Applies a check without returning its result, as when a dropped guard releases its slot.
    fn apply_detached(&self, check: Check<'_>);
}

/// A store whose [`apply`](Store::apply) never waits, so that it can be called synchronously.
pub trait SyncStore: Store {}

/// The outcome of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// Whether it was admitted.
    pub ruling: Ruling,
    /// The store's time of the decision.
    pub now: Time,
    /// The origin of the decision.
    pub by: DecidedBy,
}

impl Applied {
    /// Creates the outcome of a set decided by the store itself, at its own time.
    #[inline]
    pub const fn by_store(ruling: Ruling, now: Time) -> Self {
        Self { ruling, now, by: DecidedBy::Store }
    }
}

/// The origin of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecidedBy {
    /// The store, with the complete state.
    #[default]
    Store,
    /// This process's deny cache: refusals only.
    Memory,
    /// This process within its share of the limits, because the store is unavailable.
    Share,
    /// The fallback of the checks, because the store is unavailable.
    Policy,
}

impl DecidedBy {
    /// Returns the origin as one machine-readable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Memory => "memory",
            Self::Share => "share",
            Self::Policy => "policy",
        }
    }
}
