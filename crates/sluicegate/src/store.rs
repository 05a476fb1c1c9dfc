//! The interface between a limiter and its store.

mod batch;

use std::future::Future;

use sluicegate_core::{Check, Decision, Ruling, Set, Time};

pub use self::batch::Batch;

use crate::clock::Clock;
use crate::error::CheckError;

/// A store of state, which decides batches of sets.
///
/// Each set is charged as a whole or not at all, in one atomic step at the store's own time; the
/// sets of a batch are decided in their order, each by itself.
pub trait Store: Send + Sync + 'static {
    /// The most requests whose sets are passed as one batch.
    const BATCH: usize = 16;

    /// The clock that is this process's best estimate of the store's time.
    type Clock: Clock;

    /// Returns that clock.
    fn clock(&self) -> &Self::Clock;

    /// Decides the undecided sets of a batch.
    ///
    /// If this fails, the sets that were decided before the failure are in the batch.
    fn apply(&self, batch: &mut Batch<'_>) -> impl Future<Output = Result<(), CheckError>> + Send;

    /// Decides the leading sets of a batch as far as that is possible without waiting.
    #[inline]
    fn try_apply(&self, _batch: &mut Batch<'_>) {}

    /// Decides a set of one check without waiting; `None` if nothing was charged.
    ///
    /// An override point: its answer is that of [`try_apply`](Store::try_apply), but stays in
    /// registers. A check of one bucket takes 405 instructions by it, and 590 in a batch.
    #[inline]
    fn try_apply_one(&self, _set: &Set<'_>) -> Option<(Applied, Decision)> {
        None
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
